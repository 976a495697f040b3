"""The weights of the recogniser, unpacked once in each worker: that takes a fifth of a second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from drivers.camera.recognition import recogniser

__all__ = ["weights"]


@pytest.fixture(scope="session", autouse=True)
def weights() -> Iterator[None]:
    """Keep what was unpacked."""
    unpacked = lru_cache(vars(recogniser)["_network_files"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recogniser, "_network_files", unpacked)
        yield
