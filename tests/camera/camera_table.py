"""A reader that looks through a camera, and what it said."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self

from drivers.camera.driver import CameraDriver
from drivers.camera.options import CameraOptions
from drivers.driver import Frame
from drivers.reader_thread import Reader, ReaderEnvironment
from shoe_daemon.table.observations import Link, Observation, Placed, Unreadable
from tests.camera.fake_cameras import capture_threads
from tests.waiting import PATIENCE, wait_for

_RETRY_S = 0.1


class Watching:
    """Runs a real reader with the real driver."""

    def __init__(self, url: str, profile: Path) -> None:
        self._frames: list[Frame] = []
        driver = CameraDriver(CameraOptions(profile=str(profile), evidence=""))
        quick = ReaderEnvironment(wait=lambda seconds: time.sleep(min(seconds, _RETRY_S)))
        sink = self._frames.append
        self.reader = Reader("camera", driver, url, driver.line, sink, environment=quick)

    def __enter__(self) -> Self:
        # One that hung in its source when its reader was stopped may not be taken for this one's.
        wait_for(lambda: not list(capture_threads()), "the end of those who looked before")
        self.reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.stop()
        assert self.reader.join(PATIENCE)

    @property
    def said(self) -> list[Observation]:
        return [each for frame in list(self._frames) for each in frame.observations]

    @property
    def links(self) -> list[Link]:
        return [each for each in self.said if isinstance(each, Link)]

    @property
    def cards(self) -> list[Observation]:
        return [each for each in self.said if isinstance(each, Placed | Unreadable)]

    @property
    def lost(self) -> list[str]:
        """Why the line was lost, each time."""
        return [str(link.detail) for link in self.links if not link.up]

    def wait_lost(self, count: int = 1) -> str:
        wait_for(lambda: len(self.lost) >= count, "the loss of the camera")
        return self.lost[count - 1]

    def wait_card(self) -> Observation:
        wait_for(lambda: self.cards, "a card")
        return self.cards[0]
