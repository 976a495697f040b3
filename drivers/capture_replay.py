"""
Decodes a capture to observations.

Bytes have no times, so each frame gets one: 1970-01-01T00:00:00Z plus its number in
milliseconds. Frames are counted from 1, without repeats and noise: a clean copy of
a noisy capture gives the same observations.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from drivers.driver_interface import Driver, Frame, FrameKind
from shoe_daemon.table.observations import Observation

__all__ = ["frames_of", "observations_of"]

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - written as UTC below


def frames_of(driver: Driver, data: bytes) -> list[Frame]:
    """Decode a whole capture, received at time 0."""
    return driver.decoder().feed(data, 0.0)


def observations_of(driver: Driver, data: bytes) -> Iterator[Observation]:
    """Yield the observations of a whole capture, each with its `at`."""
    frames = (frame for frame in frames_of(driver, data) if frame.kind is FrameKind.FRAME)
    for number, frame in enumerate(frames, 1):
        time = _EPOCH + timedelta(milliseconds=number)
        at = f"{time.isoformat(timespec='milliseconds')}Z"
        yield from (replace(observation, at=at) for observation in frame.observations)
