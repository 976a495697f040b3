"""Fixtures of a camera's line: the profile of a small table, and a reader for its cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.camera import camera_as_line
from tests.camera import overhead_scene
from tests.camera.known_deck_recogniser import ByHeart


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile's file; a test module of another table has one of its own."""
    return overhead_scene.profile(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stations read with `ByHeart`, in place of the recogniser."""
    monkeypatch.setattr(camera_as_line, "load_recogniser", lambda *_: ByHeart())
