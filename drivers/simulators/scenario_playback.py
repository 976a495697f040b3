"""Plays a scenario on a line at any speed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from threading import Event
from typing import Final

from msgspec import Struct

from drivers.simulators.angel_eye_dealing import Scene
from drivers.simulators.angel_eye_faulty_line import COPIES, Step
from drivers.simulators.serial_servers import Line

_POLL_INTERVAL_S: Final = 0.02
_MIN_UNPLUG_S: Final = 0.05


class Pace(Struct, frozen=True):
    """
    The speed of playback.

    Attributes:
        speed: Multiple of real time; 0 as fast as the reader accepts.
        copies: Copies of each report, 1 or more.
    """

    speed: float = 1.0
    copies: int = COPIES


def play(scenes: Iterable[Scene], line: Line, pace: Pace, stopping: Event) -> Iterator[Scene]:
    """
    Play scenes until they end or `stopping` is set; yield each scene when it is over.

    Playback starts when a reader is ready. At speed 0 it also waits whenever no reader is
    connected; at other speeds the time continues, and reports without a reader are lost.
    """
    player = _Player(line, pace, stopping)
    player.wait_for_listener()
    for scene in scenes:
        for step in scene.steps:
            player.perform(step)
            if stopping.is_set():
                return
        yield scene
    line.drain(stopping)


class _Player:
    def __init__(self, line: Line, pace: Pace, stopping: Event) -> None:
        self._line = line
        self._pace = pace
        self._stopping = stopping
        self._began: float | None = None

    def perform(self, step: Step) -> None:
        """Perform one step at its time."""
        if step.unplugged:
            self._unplug(step)
        for at, data in step.writes(self._pace.copies):
            self._wait_until(at)
            if not self._pace.speed and not self._line.is_open():
                self.wait_for_listener()
            self._line.send(data, self._stopping)

    def wait_for_listener(self) -> None:
        """Wait until a reader is ready."""
        while not self._line.is_ready() and not self._stopping.wait(_POLL_INTERVAL_S):
            pass

    def _unplug(self, step: Step) -> None:
        self._wait_until(step.at)
        self._line.drain(self._stopping)
        self._line.unplug()
        if self._pace.speed:
            self._wait_until(step.at + step.unplugged)
        else:
            self._stopping.wait(_MIN_UNPLUG_S)
        self._line.plug()

    def _wait_until(self, at: float) -> None:
        if not self._pace.speed:
            return
        now = time.monotonic()
        if self._began is None:
            self._began = now - at / self._pace.speed
        self._stopping.wait(max(0.0, self._began + at / self._pace.speed - now))
