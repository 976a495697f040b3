"""
A complete daemon with a simulated camera, whose clock follows the pictures.

Camera driver, threads, reader, core, journal, publisher and broker are the real ones; only the
clock is derived from the pictures. So no picture is lost on a slow machine, and a repeated shoe
gives the same result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from msgspec.structs import replace

from bench.vision.round_verdicts import Dealt
from bench.vision.simulated_camera_and_clock import Film, FilmDriver
from bench.vision.simulated_table_staff import TableStaff
from drivers import ReaderEnvironment
from drivers.camera.options import CameraOptions
from drivers.simulators.camera.scene_renderer import Scene, Truth
from drivers.simulators.camera.scene_settings import Settings, Station
from drivers.simulators.camera.simulation_files import PROFILE, write_simulated_profile
from drivers.simulators.simulated_shoe import DealtRound
from shoe_daemon.config import Setup, set_up
from shoe_daemon.config_sections import Config, ReaderSettings, TableSettings
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.never_backwards_clock import Clock
from shoe_daemon.service import Daemon
from shoe_daemon.table import Event, ResultOn, RoundEnd

__all__ = ["Table", "play_shoe"]

_TIMEOUT_S: Final = 120.0
_SOON: Final = 0.0005


def play_shoe(settings: Settings, folder: Path, broker: int) -> Table:
    """Play one shoe and collect its messages from the broker."""
    write_simulated_profile(settings, folder)
    setup = _setup(settings, folder, broker)
    with TableStaff(broker, Topics(setup.config.site, setup.config.table.id)) as staff:
        table = Table(settings, setup, staff)
        table.play()
    return table


class Table:
    """
    A table in play.

    Attributes:
        film: The scene before its camera.
        rounds: The rounds dealt.
    """

    def __init__(self, settings: Settings, setup: Setup, staff: TableStaff) -> None:
        self._staff = staff
        self.rounds: list[Dealt] = []
        self.film = film = Film(Scene(settings), self._begins, self._ends)
        around = ReaderEnvironment(
            clock=film.monotonic,
            wait=film.wait,
            jitter=Random(f"jitter {settings.seed}").random,
        )
        (reading,) = setup.readers
        driver = FilmDriver(_options(settings)).beside(setup.journal.parent, setup.journal)
        driver.film, driver.settle = film, self._settle
        hurried = replace(reading, driver=driver)
        self._daemon = daemon = Daemon(replace(setup, readers=(hurried,)), environment=around)
        daemon.core.clock = Clock(wall=film.wall, monotonic=film.monotonic)

    @property
    def events(self) -> list[Event]:
        """All events received from the broker."""
        return self._staff.events

    def play(self) -> None:
        """Play to the end."""
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
            self._staff.decide()
        else:
            self._staff.open_shoe()
        if self._staff.down:
            # On a lost camera, staff puts it right.
            self.film.reset_camera()
        trouble = truth.trouble and truth.trouble.value
        self.rounds.append(Dealt(dealt, trouble, self.film.now))

    def _ends(self, dealt: DealtRound) -> None:
        """Press the dealer's button, if no camera sees that the table is cleared."""
        if self.film.station is Station.THROAT:
            self._catch_up()
            self._staff.call(aborted=dealt.aborted)

    def _catch_up(self) -> None:
        """Wait until all due events are received."""
        _until(lambda: self._daemon.is_idle and not self._overdue, "the core's turn")
        self._staff.catch_up(self._daemon.core.table.state.seq)

    def _settle(self) -> None:
        _until(lambda: self._daemon.is_idle, "the journal")

    @property
    def _overdue(self) -> bool:
        deadline = self._daemon.core.table.deadline
        return deadline is not None and deadline[0] <= self.film.wall()


def _until(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _TIMEOUT_S
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
        # A camera in the shoe's exit cannot tell a late card from a forgotten one.
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
