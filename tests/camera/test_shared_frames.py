"""The frames of a reader are also those of a witness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drivers import VideoFrame
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck, Source
from drivers.transport import LineError
from shoe_daemon.witness.sources import SharedFrames
from tests.waiting import wait_for

_PIXELS = np.random.default_rng(1).integers(0, 255, (3, 64, 64, 3), np.uint8)
FRAMES = [VideoFrame(image, number / 10, number) for number, image in enumerate(_PIXELS, 1)]


class _Frames(Source):
    def __init__(self) -> None:
        self._frames = list(FRAMES)

    def read(self) -> tuple[Any, float | None]:
        if not self._frames:
            raise LineError("no more frames")
        return self._frames.pop(0).image, None


def test_each_frame_is_shown_also_while_the_reader_is_busy_with_another() -> None:
    shown: list[VideoFrame] = []
    check = FrameCheck("camera", (64, 64))
    capture = CaptureThread("camera", _Frames, check, CapturePace(live=True))
    capture.receivers = [shown.append]
    capture.start()  # nothing takes the frames
    wait_for(lambda: len(shown) == len(FRAMES), "all frames")
    for seen, frame in zip(shown, FRAMES, strict=True):
        assert np.array_equal(seen.image, frame.image)
    taken: list[VideoFrame] = []
    with pytest.raises(LineError, match="no more frames"):
        taken.extend(iter(lambda: capture.take(1), None))
    assert taken[-1] is shown[-1], "it is the same frame, not a copy"


def test_a_slow_witness_has_the_newest_frame_only() -> None:
    shared = SharedFrames()
    assert shared.take(0) is None
    for frame in FRAMES:
        shared.offer(frame)
    assert shared.take(0) is FRAMES[-1]
    assert shared.take(0) is None
