"""
A complete daemon with a simulated camera, whose clock follows the pictures.

Camera driver, threads, reader, core, journal, publisher and broker are the real ones; only the
clock is derived from the pictures. So no picture is lost on a slow machine, and a repeated shoe
gives the same result.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, Self

from msgspec.structs import replace
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench.vision.shoe_camera import Film, FilmDriver
from bench.vision.verdicts import Dealt
from drivers import ReaderEnvironment
from drivers.camera.options import CameraOptions
from drivers.simulators.camera.files import PROFILE, write_simulated_profile
from drivers.simulators.camera.scene import Scene, Truth
from drivers.simulators.camera.settings import Settings, Station
from drivers.simulators.shoe import DealtRound
from shoe_daemon.config.sections import Config, ReaderSettings, TableSettings
from shoe_daemon.config.table import Setup, set_up
from shoe_daemon.mqtt.connection import leave
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.service import Daemon
from shoe_daemon.service.clock import Clock
from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    ReaderStatus,
    ResultOn,
    RoundEnd,
    decode_event,
)

_PLAY_TIMEOUT_S: Final = 120.0
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
    until = time.monotonic() + _PLAY_TIMEOUT_S
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


_TIMEOUT_S: Final = 60.0
_OPERATOR: Final = "bench"


class TableStaff:
    """
    Subscribed from `__enter__` to `__exit__`.

    Attributes:
        events: All events in order, without duplicates.
        seq: The last event's number.
        alerts: Open irregularities by id.
        down: The camera is lost.
    """

    def __init__(self, port: int, topics: Topics) -> None:
        self.events: list[Event] = []
        self.seq = 0
        self.alerts: dict[int, Irregularity] = {}
        self.down = False
        self._topics = topics
        self._changed = threading.Condition()
        self._ready = False
        self._answered: set[str] = set()
        self._fault = ""
        self._numbers = itertools.count(1)
        self._client = client = paho.Client(CallbackAPIVersion.VERSION2)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async("127.0.0.1", port)

    def __enter__(self) -> Self:
        """Subscribe, and wait for the acknowledgement."""
        self._client.loop_start()
        self._wait(lambda: self._ready, "the broker")
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        leave(self._client)
        self._client.on_connect = self._client.on_subscribe = self._client.on_message = None

    def catch_up(self, seq: int) -> None:
        """Wait until an event is received."""
        self._wait(lambda: self.seq >= seq, f"event {seq}")

    def open_shoe(self) -> None:
        """Start a new shoe, as an operator."""
        self._order("new-shoe", reason="a new shoe")

    def call(self, *, aborted: bool) -> None:
        """End a round, as the dealer; an aborted one is void, and its coup ends too."""
        if aborted:
            self._order("void-round", reason="the cards were taken back")
        self._order("confirm-result", reason="called")

    def decide(self) -> None:
        """Void held rounds and acknowledge irregularities, as a supervisor."""
        if not self.alerts:
            return
        self._order("void-round", reason="not as dealt")
        for each in sorted(self.alerts):
            self._order("acknowledge", irregularity=each, reason="seen")

    def _order(self, verb: str, **more: object) -> None:
        number = f"bench-{next(self._numbers)}"
        order = {"id": number, "operator": _OPERATOR, **more}
        self._client.publish(self._topics.command(verb), json.dumps(order), 1)
        self._wait(lambda: number in self._answered, f"an answer to {verb}")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        with self._changed:
            met = self._changed.wait_for(lambda: bool(self._fault) or condition(), _TIMEOUT_S)
        if self._fault:
            raise RuntimeError(self._fault)
        if not met:
            raise TimeoutError(f"waited in vain for {what}")

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        root = self._topics.root
        client.subscribe([(f"{root}/{each}", 1) for each in ("event/#", "staff/#", "reply/#")])

    def _on_subscribe(self, *_: object) -> None:
        with self._changed:
            self._ready = True
            self._changed.notify_all()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        reply = self._topics.reply("")
        with self._changed:
            try:
                if message.topic.startswith(reply):
                    self._answered.add(message.topic.removeprefix(reply))
                elif "/event/" in message.topic:
                    self._hear(decode_event(bytes(message.payload)))
            except Exception as error:  # noqa: BLE001 - told where somebody waits
                self._fault = f"{message.topic}: {error!r}"
            self._changed.notify_all()

    def _hear(self, event: Event) -> None:
        if event.seq <= self.seq:
            return  # a duplicate
        if event.seq != self.seq + 1:
            raise ValueError(f"event {event.seq} after {self.seq}")
        self.seq = event.seq
        self.events.append(event)
        match event.data:
            case Irregularity() as found:
                self.alerts[found.id] = found
            case IrregularityClosed(id=number):
                self.alerts.pop(number, None)
            case ReaderStatus(link=link):
                self.down = link == "down"
