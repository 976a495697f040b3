"""The frames of a reader are also those of a witness."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from drivers import SharesFrames, VideoFrame, create_driver
from drivers.camera.camera_as_line import CameraLine
from drivers.camera.line_messages import Statement
from shoe_daemon.witness.video_sources import SharedFrames

FRAMES = [
    VideoFrame(np.full((4, 4, 3), number, np.uint8), number / 10, number) for number in (1, 2)
]


class _Capture:
    def __init__(self) -> None:
        self._frames = list(FRAMES)

    def take(self, _timeout: float) -> VideoFrame | None:
        return self._frames.pop(0) if self._frames else None


class _Station:
    def process(self, frame: VideoFrame) -> list[Statement]:
        assert self.shown[-1] is frame, "it is shown before it is read"
        return []

    def __init__(self) -> None:
        self.shown: list[VideoFrame] = []


def test_each_frame_is_shown_before_it_is_read() -> None:
    station = _Station()
    line = CameraLine("camera", _Capture(), station)  # type: ignore[arg-type]
    line.receivers = [station.shown.append]
    for _ in range(3):
        line.read()
    assert list(map(id, station.shown)) == list(map(id, FRAMES))


def test_a_slow_witness_has_the_newest_frame_only() -> None:
    shared = SharedFrames()
    assert shared.take(0) is None
    for frame in FRAMES:
        shared.offer(frame)
    assert shared.take(0) is FRAMES[-1]
    assert shared.take(0) is None


def test_a_camera_shares_its_frames_also_beside_its_files(tmp_path: Path) -> None:
    driver = create_driver("camera", {})
    assert isinstance(driver, SharesFrames)
    assert isinstance(driver.beside(tmp_path, tmp_path / "journal.db"), SharesFrames)  # type: ignore[attr-defined]
