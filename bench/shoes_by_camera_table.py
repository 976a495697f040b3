"""
The daemon of a table whose camera is simulated, in the time of its pictures.

All of it is the real one: the camera's driver with its threads, the reader, the core, the
journal on disk, the publisher, and a broker from which everything is heard again. Only what
time it is comes of the pictures: the camera takes its next one when all that the one before
was worth is in the journal. So nothing is lost on a slow machine, and a shoe that is played
again is the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from bench.shoes_by_camera_ear import Ear
from bench.shoes_by_camera_verdict import Dealt
from drivers.camera.capture import Capture, Pace
from drivers.camera.driver import CameraDriver, CameraOptions
from drivers.camera.frames import Image
from drivers.camera.line import CameraLine, judge_of, watch
from drivers.reader import Surroundings
from drivers.simulators.shoe import DealtRound
from drivers.simulators.table.calibrated import PROFILE, write_simulated_profile
from drivers.simulators.table.scene import Scene, Shot
from drivers.simulators.table.settings import Settings, Station
from drivers.simulators.table.truth import Truth
from drivers.transport import LineError
from shoe_daemon.clock import Clock
from shoe_daemon.config import Config, ReaderSettings, Setup, TableSettings, set_up
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.service import Daemon
from shoe_daemon.table.events import Event
from shoe_daemon.table.moments import to_microseconds
from shoe_daemon.table.options import ResultOn, RoundEnd

__all__ = ["BEGIN", "Film", "Table", "play_shoe"]

BEGIN: Final = to_microseconds("2026-01-01T00:00:00Z")
"""The moment of the first picture."""

_AHEAD: Final = 10_000_000.0
"""The pictures' monotonic clock is so far ahead of the machine's that it is never behind."""

_SILENT: Final = 3.0
"""Seconds without a picture after which a live camera is given up."""

_FROZEN: Final = 3.0
_SEES_OUT: Final = 2.5
_AFTERWARDS: Final = 12.0
"""Seconds for which the table is looked at when all has been played, and that pass then."""

_PATIENCE: Final = 120.0
_SOON: Final = 0.0005


class Film:
    """
    What is before the camera, and what time it is.

    Attributes:
        now: Seconds.
        over: All has been played, and was looked at.
        pictures: How many were taken.
    """

    def __init__(
        self,
        scene: Scene,
        begins: Callable[[DealtRound, Truth], None],
        ends: Callable[[DealtRound], None],
    ) -> None:
        """
        Args:
            scene: What is played.
            begins: Told each round as it begins.
            ends: Told each round when its cards are taken away.
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
        """
        Give what time it is, as a monotonic clock does.
        """
        return _AHEAD + self.now

    def wall(self) -> int:
        """
        Give what time it is, as a wall clock does.
        """
        return BEGIN + int(self.now * 1_000_000)

    @property
    def station(self) -> Station:
        """
        Where the camera is.
        """
        return self._scene.settings.station

    def set_right(self) -> None:
        """
        Put the camera back to where it was, where it was pushed.
        """
        self._scene.set_right()

    def picture(self) -> Image | None:
        """
        Take the next picture; None where all is over.

        Raises:
            LineError: None has come for too long.
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
        """
        Let time pass without a camera.
        """
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
        # The empty table for a moment; then time passes.
        at, span = self.now, 1 / scene.settings.fps
        for number in range(1, int(_SEES_OUT / span)):
            moment = at + number * span
            yield Shot(scene.empty(), moment, Truth(moment))
        self.now += _AFTERWARDS


class _Turns:
    """
    Either the camera's turn, or that of who looks through it.
    """

    def __init__(self, settle: Callable[[], None]) -> None:
        self._settle = settle
        self._changed = threading.Condition()
        self._looking = self._closed = False

    def take(self) -> None:
        """
        Wait until what was taken before has been dealt with.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._looking or self._closed)
            if self._closed:
                raise LineError("closed")
            self._looking = True

    def dealt_with(self, *, told: bool) -> None:
        """
        The picture has been looked at, and what there was to say was said.
        """
        if told:
            self._settle()
        with self._changed:
            self._looking = False
            self._changed.notify_all()

    def close(self) -> None:
        """
        Nobody looks any more.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Source:
    """
    The simulated camera, in place of a device.
    """

    def __init__(self, film: Film, turns: _Turns) -> None:
        self._film = film
        self._turns = turns

    def read(self) -> tuple[Any, float | None]:
        self._turns.take()
        image = self._film.picture()
        if image is None:
            self._turns.take()  # until it is closed
        return image, self._film.now

    def check(self) -> None:
        pass

    def wake(self) -> None:
        self._turns.close()

    def close(self) -> None:
        pass


class _Line:
    """
    The camera's line, which tells when its reader comes for more.
    """

    def __init__(self, line: CameraLine, turns: _Turns) -> None:
        self._line = line
        self._turns = turns
        self._owed = self._told = False

    def read(self) -> bytes:
        if self._owed:
            self._turns.dealt_with(told=self._told)
        looked = self._line.looked
        said = self._line.read()
        self._owed = self._line.looked != looked
        self._told = bool(said)
        return said

    def check(self) -> None:
        self._line.check()

    def write(self, data: bytes) -> None:
        self._line.write(data)

    def close(self) -> None:
        self._turns.close()
        self._line.close()


class _Driver(CameraDriver):
    """
    The driver, but that its source is a film.
    """

    film: Film
    settle: Callable[[], None]

    def open_line(self, url: str) -> _Line:
        turns = _Turns(self.settle)
        film, profile = self.film, self.profile()
        capture = Capture(
            url,
            lambda: _Source(film, turns),
            judge_of(url, profile, frozen_after=_FROZEN),
            # No picture is lost: one that nobody has looked at is waited for.
            Pace(live=False, own=False),
        )
        return _Line(watch(url, capture, profile, self.options, self.evidence), turns)


def play_shoe(settings: Settings, folder: Path, broker: int) -> Table:
    """
    Play one shoe to its end, and hear what a broker brings of it.
    """
    write_simulated_profile(settings, folder)
    setup = _setup(settings, folder, broker)
    with Ear(broker, Topics(setup.config.site, setup.config.table.id)) as ear:
        table = Table(settings, setup, ear)
        table.play()
    return table


class Table:
    """
    A table that is played at.

    Attributes:
        film: What is before its camera.
        rounds: Those that were dealt.
    """

    def __init__(self, settings: Settings, setup: Setup, ear: Ear) -> None:
        self._ear = ear
        self.rounds: list[Dealt] = []
        self.film = film = Film(Scene(settings), self._begins, self._ends)
        around = Surroundings(
            clock=film.monotonic,
            wait=film.wait,
            jitter=Random(f"jitter {settings.seed}").random,
        )
        (reading,) = setup.readers
        driver = _Driver(_options(settings)).beside(setup.journal.parent, setup.journal)
        driver.film, driver.settle = film, self._settle
        hurried = replace(reading, driver=driver)
        self._daemon = daemon = Daemon(replace(setup, readers=(hurried,)), surroundings=around)
        daemon.core.clock = Clock(wall=film.wall, monotonic=film.monotonic)

    @property
    def events(self) -> list[Event]:
        """
        All that the broker brought.
        """
        return self._ear.events

    def play(self) -> None:
        """
        Play to the end.
        """
        daemon, film = self._daemon, self.film
        running = threading.Thread(target=daemon.run, name="daemon")
        running.start()
        try:
            while not film.over.wait(0.1):
                if not running.is_alive():
                    raise RuntimeError("the daemon has ended")
            self._catch_up()
        finally:
            daemon.stop()
            running.join()

    def _begins(self, dealt: DealtRound, truth: Truth) -> None:
        self._catch_up()
        if self.rounds:
            self._ear.decide()
        else:
            self._ear.open_shoe()
        if self._ear.down:
            # Who hears that the camera is lost has a look at it.
            self.film.set_right()
        trouble = truth.trouble and truth.trouble.value
        self.rounds.append(Dealt(dealt, trouble, self.film.now))

    def _ends(self, dealt: DealtRound) -> None:
        """
        Press the dealer's button, where no camera sees that the table is cleared.
        """
        if self.film.station is Station.THROAT:
            self._catch_up()
            self._ear.call(aborted=dealt.aborted)

    def _catch_up(self) -> None:
        """
        Wait until all that is due has been heard.
        """
        _until(lambda: self._daemon.settled and not self._overdue, "the core's turn")
        self._ear.catch_up(self._daemon.core.table.state.seq)

    def _settle(self) -> None:
        _until(lambda: self._daemon.settled, "the journal")

    @property
    def _overdue(self) -> bool:
        deadline = self._daemon.core.table.deadline
        return deadline is not None and deadline[0] <= self.film.wall()


def _until(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(_SOON)


def _options(settings: Settings) -> CameraOptions:
    return CameraOptions(station=settings.station.value, profile=PROFILE)


def _setup(settings: Settings, folder: Path, broker: int) -> Setup:
    overhead = settings.station is Station.OVERHEAD
    reader = ReaderSettings(
        id="camera",
        driver="camera",
        port="camera:raw:simulated",
        options={"station": settings.station.value, "profile": PROFILE},
    )
    table = TableSettings(
        id=settings.station.value,
        decks=settings.decks,
        # Of a shoe's mouth alone nobody knows whether a card is late or forgotten.
        round_end=RoundEnd.AUTO if overhead else RoundEnd.BUTTON,
        result_on=ResultOn.CONFIRMED,
    )
    config = Config(
        site=f"shoe-{settings.seed}",
        table=table,
        mqtt=MqttSettings(host="127.0.0.1", port=broker),
        reader=(reader,),
    )
    return set_up(config, folder)
