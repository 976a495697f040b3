"""Parts of the demo: simulated shoe, daemon, broker, supervisor, subscriber, display."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from drivers import create_driver
from drivers.simulators.lines import Line, PtyLine
from drivers.simulators.simulator import Simulator
from shoe_daemon.config.sections import Config, JournalSettings, ReaderSettings, TableSettings
from shoe_daemon.config.table import set_up
from shoe_daemon.demo.clients import AnsweredOrder, Subscriber, SupervisorClient
from shoe_daemon.demo.dealer import (
    CameraDealer,
    CountingLine,
    Dealer,
    DealerThread,
    WaitConditions,
)
from shoe_daemon.demo.display import OPERATOR, PIN, DisplayProcess, has_display
from shoe_daemon.demo.shoe import (
    QUIET_S,
    DemoSettings,
    reader_options,
    shoe_of,
    simulator_of,
)
from shoe_daemon.demo.summary import ResultCheck
from shoe_daemon.demo.supervisor import AutoSupervisor
from shoe_daemon.demo.view_model import NO_BOARD, Addresses, Health
from shoe_daemon.game import House
from shoe_daemon.mqtt.broker import EmbeddedBroker
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.service import Core, Daemon
from shoe_daemon.table import Event, PublicTable, ResultOn

SITE: Final = "demo"
TABLE: Final = "table-1"
NAME: Final = "Demo table"
RECOGNISER_TOPIC: Final = "demo/recogniser"

_MAX_QUEUED: Final = 1000
_PUT_TIMEOUT_S: Final = 0.1
_REVEAL_AFTER_S: Final = 0.5
"""Seconds at real pace: tucked cards are turned before a third card is drawn."""

_DECISION_S: Final = 6.0
"""Seconds at real pace that the supervisor needs for a decision."""

_PERSON_S: Final = 600.0
"""Seconds that a person has for one; then the scripted supervisor decides."""


class News(Struct, frozen=True):
    """Events and the table after them, or an answered command of the supervisor."""

    events: tuple[Event, ...] = ()
    table: PublicTable | None = None
    answered: AnsweredOrder | None = None


class DemoRunner:
    """
    All parts, running until `__exit__`.

    Attributes:
        house: House rules.
        seed: Seed of the shoe.
        table: The table before the first event.
        addresses: Addresses of the parts.
        check: Compares published rounds with the cards dealt.
        dealer: Deals.
        subscriber: Counts MQTT messages.
        supervisor: Decides irregularities.
    """

    def __init__(self, settings: DemoSettings, house: House, folder: Path) -> None:
        self.house = house
        self.check = ResultCheck()
        self._news: queue.Queue[News] = queue.Queue(_MAX_QUEUED)
        self._leaving = threading.Event()
        self._failure: BaseException | None = None
        self._board: DisplayProcess | None = None
        self._parts = ExitStack()
        with ExitStack() as parts:
            self._build(settings, folder, parts)
            self._parts = parts.pop_all()

    def _build(self, settings: DemoSettings, folder: Path, parts: ExitStack) -> None:
        shoe = shoe_of(settings, self.house)
        self.seed = shoe.seed
        broker = parts.enter_context(EmbeddedBroker(settings.port))
        conditions = WaitConditions(lambda: self.health.reader_up, lambda: self._decided)
        decision_s = _DECISION_S / settings.speed if settings.speed else 0
        if settings.decide:
            conditions, decision_s = conditions._replace(longest_s=_PERSON_S), _PERSON_S
        self._line: CountingLine | None = None
        page = ""
        if settings.camera:
            camera = CameraDealer(shoe, folder, self.check, conditions)
            reader, page = camera.reader, camera.page
            self.dealer: DealerThread = camera
        else:
            options = reader_options(settings)
            simulator = simulator_of(settings)(create_driver(settings.driver, options))
            link = folder / "shoe" if "unplug" in settings.faults else None
            self._line = line = CountingLine(_line_of(simulator, broker) or PtyLine(link))
            parts.callback(line.close)
            reader = ReaderSettings(driver=settings.driver, port=line.address, options=options)
            # Without slots the daemon cannot know that its first card was the first of a round.
            self.check.joins_late = simulator.ends_in_silence
            self.dealer = Dealer(
                shoe, line, settings.speed, self.check, conditions, simulator=simulator
            )
        config = _configuration(settings, folder, reader, broker.port)
        setup = set_up(config, folder)
        topics = Topics(SITE, TABLE)
        everything = topics.root + "/#"
        address = (broker.host, broker.port)
        board = self._start_board(settings, address, folder, parts)
        decide = f"{board[0]}/pit/table/{TABLE} as {OPERATOR}, PIN {PIN}" if board[0] else ""
        self.addresses = Addresses(
            *(reader.port, str(setup.journal), *address, everything, *board, page),
            decide if settings.decide else "",
        )
        self.subscriber = parts.enter_context(Subscriber(*address, everything))
        self.supervisor = parts.enter_context(
            SupervisorClient(
                address,
                topics,
                AutoSupervisor(lambda: self.dealer.on_table),
                decision_s=decision_s,
                on_answer=lambda answered: self._put(News(answered=answered)),
            )
        )
        self._daemon = Daemon(setup, on_events=self._tell)
        self.table = self._daemon.core.table.public()
        parts.enter_context(self._running())
        if self._board is not None:
            self._board.wait()
        parts.enter_context(self.dealer)

    def _start_board(
        self, settings: DemoSettings, broker: tuple[str, int], folder: Path, parts: ExitStack
    ) -> tuple[str, str]:
        """Start the display if possible; return its URL, or the reason why not."""
        if not settings.board:
            return "", "no board for a browser, as told"
        if not has_display():
            return "", NO_BOARD
        self._board = parts.enter_context(
            DisplayProcess(broker, folder, port=settings.board_port, takes_orders=settings.decide)
        )
        return self._board.url, ""

    def __enter__(self) -> Self:
        """Return the running parts."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all parts in reverse order."""
        self._parts.close()

    @contextmanager
    def _running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, name="demo-daemon", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._leaving.set()
            self._daemon.stop()
            thread.join()

    def _run(self) -> None:
        try:
            self._daemon.run()
        except BaseException as error:  # noqa: BLE001 - raised by `news`
            self._failure = error

    def _tell(self, events: list[Event], core: Core) -> None:
        # On the core's thread: a slow output slows the table down.
        self._put(News(tuple(events), core.table.public()))

    def _put(self, news: News) -> None:
        while not self._leaving.is_set():
            try:
                self._news.put(news, timeout=_PUT_TIMEOUT_S)
            except queue.Full:
                continue
            return

    def news(self, timeout: float) -> list[News]:
        """
        Return what has happened; wait `timeout` seconds for the first news.

        Raises:
            BaseException: The error that ended the daemon.
        """
        if self._failure is not None:
            raise self._failure
        found: list[News] = []
        try:
            found.append(self._news.get(timeout=timeout))
            while len(found) < _MAX_QUEUED:
                found.append(self._news.get_nowait())
        except queue.Empty:
            pass
        return found

    @property
    def _decided(self) -> bool:
        daemon, supervisor = self._daemon, self.supervisor
        return (
            (self._line is None or self._line.all_read(daemon.readers[0].counts.bytes))
            and daemon.is_idle
            and supervisor.processed >= daemon.core.table.state.seq
            and not supervisor.busy
        )

    @property
    def settled(self) -> bool:
        """True when all events have reached the subscriber."""
        daemon, health = self._daemon, self.health
        return (
            self.dealer.over
            and self._decided
            and self._news.empty()
            and health.published == daemon.core.table.state.seq == self.subscriber.last
        )

    @property
    def health(self) -> Health:
        """Current state of the parts."""
        reader, publisher = self._daemon.readers[0], self._daemon.publisher
        heard = reader.ages.last_frame
        health = publisher.health if publisher else None
        return Health(
            reader_up=reader.ages.link is not None,
            reader_detail=reader.detail,
            silence=None if heard is None else int(time.monotonic() - heard),
            broker_up=health is not None and health.connected,
            published=health.cursor if health else 0,
            queued=health.queued if health else 0,
            seen=self.subscriber.events,
            board_up=self._board is not None and self._board.up,
            alarm=None if (alarm := self._daemon.core.alarm) is None else alarm.text,
        )


def _line_of(simulator: Simulator, broker: EmbeddedBroker) -> Line | None:
    """Open the simulator's own kind of line, a topic of the broker; None for a serial line."""
    open_line: Callable[[str], Line] | None = getattr(simulator, "open_line", None)
    return open_line and open_line(f"mqtt://{broker.host}:{broker.port}/{RECOGNISER_TOPIC}")


def _configuration(
    settings: DemoSettings, folder: Path, reader: ReaderSettings, port: int
) -> Config:
    house, policy = (_absolute(each) for each in (settings.house, settings.policy))
    file = house if house.endswith(".toml") else None
    return Config(
        site=SITE,
        table=TableSettings(
            id=TABLE,
            name=NAME,
            reveal_after=_REVEAL_AFTER_S / settings.speed if settings.speed else 0,
            quiet_gap=QUIET_S / settings.speed if settings.speed else 0,
            draw_within=QUIET_S / settings.speed if settings.speed else 0,
            house=None if file else house,
            house_file=file,
            policy=policy,
            simulated=True,
            # Published when the dealer calls the result, so that an irregularity holds it back.
            result_on=ResultOn.CONFIRMED,
        ),
        journal=JournalSettings(path=str(folder / "journal.db")),
        mqtt=MqttSettings(port=port, protocol="3.1.1"),
        reader=(reader,),
    )


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if name.endswith(".toml") else name
