"""Fixtures of the installation tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import argon2
import pytest


@pytest.fixture(scope="module", autouse=True)
def _quick_hashes() -> Iterator[None]:
    """Hash PINs and passwords with little work."""
    quick = partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    with patch.object(argon2, "PasswordHasher", quick):
        yield
