"""Fixtures of a camera's line: the profile of a small table, and a reader for its cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.camera import line
from drivers.camera.sources import (
    address,
    capture,
    mjpeg,
    v4l2,
    video,
)
from tests.camera import overhead_scene
from tests.camera.known_deck_recogniser import ByHeart
from tests.camera.weights import weights

__all__ = ["weights"]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile's file; a test module of another table has one of its own."""
    return overhead_scene.profile(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short timeouts, for a camera of which nothing comes in any time."""
    for module, name in (
        (capture, "_SILENCE_LIMIT_S"),
        (capture, "_RELEASE_TIMEOUT_S"),
        (mjpeg, "_FRAME_TIMEOUT_S"),
        (mjpeg, "_OPEN_TIMEOUT_S"),
        (video, "OPEN_TIMEOUT_S"),
        (video, "READ_TIMEOUT_S"),
        (v4l2, "READ_TIMEOUT_S"),
        (address, "_RTSP_PROBE_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, 1.0)


@pytest.fixture
def by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stations read with `ByHeart`, in place of the recogniser."""
    monkeypatch.setattr(line, "load_recogniser", lambda *_: ByHeart())
