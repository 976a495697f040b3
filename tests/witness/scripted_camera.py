"""A witness whose clock and camera a test controls: no thread, no waiting, the real encoder."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from drivers import LineError, VideoFrame
from shoe_daemon.witness.config import WitnessSettings
from shoe_daemon.witness.span import Cause
from shoe_daemon.witness.thread import Witness, WitnessEnvironment

START = datetime(2026, 11, 23, 21, 0, tzinfo=UTC)
SETTINGS = WitnessSettings(
    id="pit", source="rtsp://camera/1", before=10, after=3, longest=60, fps=2
)
WIDTH, HEIGHT = 320, 180
_PERIOD_S = 0.25
CLOSED = Cause("missing_draw", 17, 1, 4)


def shade_of(second: float) -> int:
    """Grey value of the camera's picture at a time, so that a test knows when it was taken."""
    return 30 + round(second * 2) % 200


class ScriptedCamera:
    """
    Drives one witness through a script of moments; the clock is advanced by waiting.

    Attributes:
        statements: What the witness put into the journal.
        lines: The same, as bytes.
        now: Seconds since the start.
        records: Whether the journal takes what it is given.
    """

    records = True

    def __init__(
        self,
        folder: Path,
        settings: WitnessSettings = SETTINGS,
        *,
        gone: Callable[[float], bool] = lambda _second: False,
        full: Callable[[], bool] = lambda: False,
        opens_after_s: float = 0,
    ) -> None:
        self.now = 0.0
        self.statements: list[dict[str, Any]] = []
        self.lines: list[bytes] = []
        self._gone, self._full = gone, full
        self._opens_after_s = opens_after_s
        self._script: list[tuple[float, Callable[[], None]]] = []
        environment = WitnessEnvironment(
            self._open,
            lambda: self.now,
            lambda: START + timedelta(seconds=self.now),
            self._advance,
            lambda: 0.5,
        )
        self.witness = Witness(settings, folder, "hall.table-7", self._record, environment)

    def at(self, second: float, *causes: Cause, undecided: bool = False) -> None:
        """Tell the witness of causes, and of what is undecided, at a moment."""
        self.call(second, lambda: self.witness.follow(causes, undecided=undecided))

    def call(self, second: float, action: Callable[[], None]) -> None:
        """Call a function at a moment."""
        self._script.append((second, action))
        self._script.sort(key=lambda each: each[0])

    def run(self, seconds: float) -> list[dict[str, Any]]:
        """Let so many seconds pass, stop the witness, and return its statements."""
        self.call(seconds, self.witness.stop)
        self.witness.run()
        return self.statements

    def _record(self, line: bytes) -> None:
        if self._full():
            raise queue.Full
        self.statements.append(json.loads(line))
        self.lines.append(line)
        if self.records:
            self.witness.recorded(line)

    def _open(self) -> ScriptedCamera:
        if self._gone(self.now):
            raise LineError("rtsp://camera/1: no stream comes from there")
        self._advance(self._opens_after_s)
        return self

    def _advance(self, seconds: float) -> None:
        until = self.now + max(seconds, 0.001)
        while self._script and self._script[0][0] <= until:
            self._script.pop(0)[1]()
        self.now = until

    def take(self, timeout: float) -> VideoFrame | None:
        """Return the picture of the moment; see `VideoSource`."""
        self._advance(min(timeout, _PERIOD_S))
        if self._gone(self.now):
            raise LineError("rtsp://camera/1: the stream broke off")
        image = np.full((HEIGHT, WIDTH, 3), shade_of(self.now), np.uint8)
        return VideoFrame(image, self.now, 0)

    def stop(self) -> None:
        """Do nothing; see `VideoSource`."""


def shades(path: Path) -> list[int]:
    """Return the grey value of each picture of a clip, at a place without text."""
    video = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    found: list[int] = []
    while True:
        good, image = video.read()
        if not good:
            video.release()
            return found
        assert image.shape == (HEIGHT, WIDTH, 3)
        found.append(int(np.median(image[: HEIGHT // 3])))
