"""A simulated camera that is also the clock: time advances when a picture is fully processed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from drivers import LineError
from drivers.camera.driver import CameraDriver
from drivers.camera.image import Image
from drivers.camera.line import CameraLine, start_line
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck, Source
from drivers.simulators.camera.scene import Scene, Shot, Truth
from drivers.simulators.camera.settings import Station
from drivers.simulators.shoe import DealtRound
from shoe_daemon.table import to_microseconds

__all__ = ["BEGIN", "Film", "FilmDriver"]

BEGIN: Final = to_microseconds("2026-01-01T00:00:00Z")
"""Time of the first picture."""

_AHEAD: Final = 10_000_000.0
"""Offset of the monotonic clock, so that it is never behind the machine's clock."""

_SILENT: Final = 3.0
"""Seconds without a picture after which a live camera is given up."""

_FROZEN: Final = 3.0
_SEES_OUT: Final = 2.5
_AFTERWARDS: Final = 12.0
"""Seconds of pictures after the end of play, and seconds that then pass without pictures."""


class Film:
    """
    The scene before the camera, and the clock.

    Attributes:
        now: Seconds.
        over: True after the end of play.
        pictures: Number of pictures taken.
    """

    def __init__(
        self,
        scene: Scene,
        begins: Callable[[DealtRound, Truth], None],
        ends: Callable[[DealtRound], None],
    ) -> None:
        """
        Args:
            scene: The play.
            begins: Called with each round at its start.
            ends: Called with each round when its cards are collected.
        """
        self.now = 0.0
        self.over = threading.Event()
        self.pictures = 0
        self._scene = scene
        self._begins = begins
        self._ends = ends
        self._playing: DealtRound | None = None
        self._shots = self._all()

    def monotonic(self) -> float:
        """Return the time of a monotonic clock."""
        return _AHEAD + self.now

    def wall(self) -> int:
        """Return the time of a wall clock."""
        return BEGIN + int(self.now * 1_000_000)

    @property
    def station(self) -> Station:
        """The camera's position."""
        return self._scene.settings.station

    def reset_camera(self) -> None:
        """Move a pushed camera back."""
        self._scene.reset_camera()

    def picture(self) -> Image | None:
        """
        Take the next picture; None after the end.

        Raises:
            LineError: The camera delivered no picture for too long.
        """
        last = self.now
        for shot in self._shots:
            self._pass(shot)
            if shot.image is not None:
                self.pictures += 1
                return shot.image
            if self.now - last > _SILENT:
                raise LineError(f"no picture for {self.now - last:.1f} s")
        self.over.set()
        return None

    def wait(self, seconds: float) -> None:
        """Let time pass without pictures."""
        until = self.now + seconds
        while self.now < until:
            shot = next(self._shots, None)
            if shot is None:
                self.over.set()
                return
            self._pass(shot)

    def _pass(self, shot: Shot) -> None:
        self.now = shot.at
        dealt, truth = self._scene.playing, shot.truth
        if dealt is not None and dealt is not self._playing and (truth.cards or truth.moving):
            self._playing = dealt
            self._begins(dealt, truth)
        if truth.finished is not None:
            self._ends(truth.finished)

    def _all(self) -> Iterator[Shot]:
        scene = self._scene
        yield from scene.frames()
        # The empty table first; then time passes.
        at, span = self.now, 1 / scene.settings.fps
        for number in range(1, int(_SEES_OUT / span)):
            moment = at + number * span
            yield Shot(scene.empty(), moment, Truth(moment))
        self.now += _AFTERWARDS


class _Turns:
    """Alternates between camera and reader."""

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle
        self._changed = threading.Condition()
        self._looking = self._closed = False

    def take(self) -> None:
        """Wait until the previous picture is processed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._looking or self._closed)
            if self._closed:
                raise LineError("closed")
            self._looking = True

    def dealt_with(self, *, told: bool) -> None:
        """Note that the picture is processed and its observations are delivered."""
        if told:
            self._settle()
        with self._changed:
            self._looking = False
            self._changed.notify_all()

    def close(self) -> None:
        """Note that there is no reader any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Source(Source):
    """The simulated camera in place of a device."""

    def __init__(self, film: Film, turns: _Turns) -> None:
        self._film = film
        self._turns = turns

    def read(self) -> tuple[Any, float | None]:
        self._turns.take()
        image = self._film.picture()
        if image is None:
            self._turns.take()  # until it is closed
        return image, self._film.now

    def interrupt(self) -> None:
        self._turns.close()


class _Line:
    """The camera's line; notes when its reader asks for more."""

    def __init__(self, line: CameraLine, turns: _Turns) -> None:
        self._line = line
        self._turns = turns
        self._owed = self._told = False

    def read(self) -> bytes:
        if self._owed:
            self._turns.dealt_with(told=self._told)
        looked = self._line.frame_count
        said = self._line.read()
        self._owed = self._line.frame_count != looked
        self._told = bool(said)
        return said

    def check(self) -> None:
        self._line.check()

    def write(self, data: bytes) -> None:
        self._line.write(data)

    def close(self) -> None:
        self._turns.close()
        self._line.close()


class FilmDriver(CameraDriver):
    """The camera driver with a simulated source."""

    film: Film
    settle: Callable[[], None]

    def open_line(self, url: str) -> _Line:
        turns = _Turns(self.settle)
        film, profile = self.film, self.profile()
        capture = CaptureThread(
            url,
            lambda: _Source(film, turns),
            FrameCheck(url, profile.camera.size, frozen_after=_FROZEN),
            # Lossless: wait for each picture to be processed.
            CapturePace(live=False, real_time=False),
        )
        return _Line(start_line(url, capture, profile, self.options, self.evidence), turns)
