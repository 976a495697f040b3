"""
`simulate floor`: the MQTT messages of many tables, for sizing brokers, displays and networks.

The real core deals, and each table has the connection of a daemon. There are no readers and no
journals: a table keeps its last events in memory only.
"""

from __future__ import annotations

import heapq
import math
import resource
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection as Pipe
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from drivers.simulators.shoe import CUT_BEHIND, coup_of, lawful
from shoe_daemon.errors import UserError
from shoe_daemon.game import DECK, FIRST_CARDS, Card, Slot
from shoe_daemon.journal import StoredEvent
from shoe_daemon.logs import configure_logging, no_logs
from shoe_daemon.mqtt import topics
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError
from shoe_daemon.mqtt.documents import Device, encode_message
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.queues import Document
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import TableIdentity, Topics
from shoe_daemon.process import TERMINAL_ENDS, stop_on_signals
from shoe_daemon.service.state import TableDocuments
from shoe_daemon.table import (
    Options,
    RoundEnd,
    Table,
    encode_event,
    from_microseconds,
    observations,
)

CARD_S, BETTING_S = 3.0, 10.0
"""Some 146 rounds, 3,900 messages and 6.5 MB an hour; `bench.mqtt_traffic` counts real tables."""

_DECKS: Final = 8
_LIMITS: Final = {"player": "100-50,000", "banker": "100-50,000", "tie": "25-5,000"}
_EXCESS: Final = 20
"""One round in this many has an excess card, which an operator acknowledges."""
_SHOE_US: Final = 3_600_000_000
"""Longer than a shoe takes."""
_DEVICE: Final = topics.device("shoe")
_DEVICE_S: Final = 10.0
_EVENTS: Final = 200
"""Events that a table keeps for a broker that is away."""

_PER_TABLE: Final = 4
"""File descriptors."""
_CONNECT_EVERY_S: Final = 0.01
_REPORT_EVERY_S: Final = 0.5
_LATE_S: Final = 10.0
_STOP_S: Final = 5.0
_STOPS_AT_ONCE: Final = 32


class Point(NamedTuple):
    """A table between two rounds, and the cards that are left in its shoe."""

    table: bytes
    cards: tuple[Card, ...]


class Step(NamedTuple):
    """
    The effects of a card, a result or an order.

    Attributes:
        documents: Suffix and document of each retained topic that has changed.
        pause_s: Seconds until the next step.
    """

    events: list[StoredEvent]
    documents: list[tuple[str, Document]]
    pause_s: float


class DealtTable:
    """A table with its shoe, dealt step by step; it starts at a point of another one."""

    def __init__(
        self, identity: TableIdentity, heartbeat: int, chance: Random, start: Point | None = None
    ) -> None:
        self.identity, self._chance = identity, chance
        self._documents = TableDocuments(identity.session, heartbeat)
        self._table = Table() if start is None else Table.restore(start.table)
        self._cards = [] if start is None else chance.sample(start.cards, len(start.cards))
        options = Options(
            name=identity.name, limits=_LIMITS, round_end=RoundEnd.DEVICE, simulated=True
        )
        session = observations.Session(site=identity.site, table=identity.table, options=options)
        if start is None:
            self._table.apply(session)
        else:
            self._table.state.session = session
        self._observations = self._deal()

    @property
    def seq(self) -> int:
        """The last event."""
        return self._table.state.seq

    @property
    def cards_left(self) -> int:
        """The number of cards in the shoe."""
        return len(self._cards)

    def point(self) -> Point:
        """Return where it is, between two rounds."""
        return Point(self._table.checkpoint(), tuple(self._cards))

    def documents(self) -> list[tuple[str, Document]]:
        """Return the documents that have changed."""
        return list(self._documents.changed(self._table, None))

    def step(self, now_us: int) -> Step:
        """Deal a card, or call a result, in microseconds since 1970."""
        observation = next(self._observations)
        events = self._table.apply(replace(observation, at=from_microseconds(now_us)))
        stored = [StoredEvent(each.seq, each.type, encode_event(each)) for each in events]
        ended = isinstance(observation, observations.Result)
        return Step(stored, self.documents(), BETTING_S if ended else CARD_S)

    def _deal(self) -> Iterator[observations.Observation]:
        acknowledge = observations.Command(name="acknowledge", operator="ann", reason="seen")
        new_shoe = observations.Command(name="new_shoe", operator="ann", reason="the cut card")
        while True:
            for alert in self._table.public().alerts:
                yield replace(acknowledge, irregularity=alert.data.id)
            if len(self._cards) <= CUT_BEHIND:
                self._cards = self._chance.sample(list(DECK) * _DECKS, len(DECK) * _DECKS)
                yield new_shoe
            yield from self._round()

    def _round(self) -> Iterator[observations.Observation]:
        cards = lawful(iter(self._cards))
        del self._cards[: len(cards)]
        for slot, card in cards:
            yield observations.CardDrawn(slot=slot, card=card)
        if len(cards) == 2 * FIRST_CARDS and not self._chance.randrange(_EXCESS):
            yield observations.CardDrawn(slot=Slot.P3, card=self._cards.pop(0))
        yield observations.Result(outcome=coup_of(cards).outcome)


def device(table: DealtTable) -> bytes:
    """Return the document of a reader that works."""
    frames = 3 * table.seq
    return encode_message(
        Device(
            byte_age=12,
            bytes=16 * frames,
            event_age=1200,
            frame_age=12,
            frames=frames,
            noise=0,
            repeats=2 * table.seq,
            seq=table.seq,
            session=table.identity.session,
            state="connected",
        )
    )


def _now_us() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


class _Published:
    """A table with the connection of a daemon, and the events that this publishes."""

    def __init__(self, mqtt: MqttSettings, table: DealtTable) -> None:
        self.table = table
        self._events = deque[StoredEvent](maxlen=_EVENTS)
        self.publisher = Publisher(mqtt, table.identity, self, table.seq, lambda _cursor: None)
        self.topics = Topics(table.identity.site, table.identity.table, mqtt.prefix)

    def events(self, after_seq: int, limit: int) -> list[StoredEvent]:
        """Return events for the publisher's thread."""
        kept = self._events.copy()  # at once: the other thread adds events
        return [each for each in kept if each.seq > after_seq][:limit]

    def connect(self) -> float:
        """Start the connection, with everything that is retained; once."""
        self._retain(self.table.documents())
        self.publisher.start()
        return math.inf

    def deal(self) -> float:
        """Publish the next step; return the seconds until the one after it."""
        step = self.table.step(_now_us())
        self._events += step.events
        self._retain(step.documents)
        self.publisher.notify(self.table.seq)
        return step.pause_s

    def report_device(self) -> float:
        """Publish the state of the reader; return the seconds until the next time."""
        self.publisher.retain(_DEVICE, device(self.table), 0)
        return _DEVICE_S

    def _retain(self, documents: Iterable[tuple[str, Document]]) -> None:
        for suffix, document in documents:
            self.publisher.retain(suffix, document, self.table.seq)


class Progress(NamedTuple):
    """
    The progress of a process, or of all of them.

    Attributes:
        late_s: Seconds that it is behind.
        error: Why a table is not connected, or what the broker refuses; None if nothing.
    """

    connected: int = 0
    events: int = 0
    late_s: float = 0.0
    error: str | None = None


class Floor(NamedTuple):
    """The tables to simulate; `mqtt` has absolute paths."""

    mqtt: MqttSettings
    site: str
    tables: int
    minutes: float
    processes: int


def simulate_floor(wanted: Floor, show: Callable[[Progress, float], None]) -> Progress:
    """
    Publish until the time is over, or a signal comes; then clear what is retained.

    Args:
        wanted: The tables.
        show: Receives the progress and the seconds that are left, twice a second.

    Raises:
        UserError: The broker cannot be reached, or this computer is too slow.
    """
    Topics(wanted.site, "table", wanted.mqtt.prefix)
    try:
        with _cleaner(wanted.mqtt):
            pass
    except BrokerProbeError as error:
        raise UserError(f"the broker at {wanted.mqtt.name} {error}") from error
    with stop_on_signals(*TERMINAL_ENDS) as stopping, _processes(wanted) as pipes:
        done = [Progress()] * len(pipes)
        until = time.monotonic() + 60 * wanted.minutes
        while (left_s := until - time.monotonic()) > 0:
            show(_sum(done), left_s)
            if stopping.wait(min(left_s, _REPORT_EVERY_S)):
                break
            done = [_newest(*each) for each in zip(pipes, done, strict=True)]
    return _sum(done)


def _sum(parts: list[Progress]) -> Progress:
    connected, events, late_s, errors = zip(*parts, strict=True)
    return Progress(sum(connected), sum(events), max(late_s), next(filter(None, errors), None))


def _newest(pipe: Pipe, progress: Progress) -> Progress:
    while pipe.poll():
        try:
            progress = pipe.recv()
        except EOFError as error:
            raise UserError("a process has ended; its error is above") from error
        if progress.late_s > _LATE_S:
            raise UserError(
                f"the tables are {progress.late_s:.0f} s late: this computer is too slow for"
                " them; expected fewer --tables"
            )
    return progress


@contextmanager
def _processes(wanted: Floor) -> Iterator[list[Pipe]]:
    """Run the processes within the block; each ends with its pipe, so none outlives this one."""
    context, pipes, processes = get_context("spawn"), list[Pipe](), []
    resource_tracker.ensure_running()  # its start would unblock the signals
    # The processes inherit this: Ctrl-C goes to all of them, and only this one shall end them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_ENDS)
    try:
        for number in range(wanted.processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_simulate_part, args=(theirs, wanted, number))
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield pipes
    finally:
        for pipe in pipes:
            with suppress(OSError):
                pipe.send(None)
        left = [error for error in map(_last, pipes) if error]
        for process in processes:
            process.join()
    if left:
        raise UserError(f"messages are left at the broker: {left[0]}; run it again for a moment")


def _last(pipe: Pipe) -> str | None:
    """Return the error of a process that was asked to end."""
    try:
        while isinstance(last := pipe.recv(), Progress):
            pass
    except (EOFError, OSError):
        return "a process has ended early"
    return None if last is None else str(last)


# ---- one of the processes ----


def _simulate_part(pipe: Pipe, wanted: Floor, part: int) -> None:
    """Publish every so many-th table until the pipe has something or ends; then clear them."""
    configure_logging(quiet=True)
    with no_logs(), suppress(OSError):  # the first process may have gone
        pipe.send(_simulate_tables(pipe, wanted, part))


def _simulate_tables(pipe: Pipe, wanted: Floor, part: int) -> str | None:
    numbers = range(part + 1, wanted.tables + 1, wanted.processes)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files != resource.RLIM_INFINITY and files < _PER_TABLE * len(numbers):
        raise UserError(f"{files} files may be open; expected {_PER_TABLE * len(numbers)}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    tables = [_Published(wanted.mqtt, each) for each in _dealt_tables(wanted, numbers)]
    try:
        with suppress(OSError):
            _publish(pipe, tables)
    finally:
        left = _end(wanted.mqtt, tables)
    return left


def _dealt_tables(wanted: Floor, numbers: Iterable[int]) -> Iterator[DealtTable]:
    """Deal one shoe, and give tables that go on from different points of it."""
    session, chance, now = secrets.token_hex(4), Random(), _now_us()
    heartbeat = wanted.mqtt.heartbeat
    first = DealtTable(TableIdentity(wanted.site, "first", session), heartbeat, chance)
    now -= _SHOE_US
    points: list[Point] = []
    while not points or first.cards_left > CUT_BEHIND:
        pause_s = first.step(now).pause_s
        now += int(pause_s * 1e6)
        if pause_s == BETTING_S:
            points.append(first.point())
    for number in numbers:
        name = f"table-{number:04}"
        identity = TableIdentity(wanted.site, name, session, f"Baccarat {number}")
        yield DealtTable(identity, heartbeat, chance, chance.choice(points))


def _publish(pipe: Pipe, tables: list[_Published]) -> None:
    chance, begin, late_s = Random(), time.monotonic(), 0.0
    first_seq = sum(each.table.seq for each in tables)

    def report() -> float:
        nonlocal late_s
        health = [each.publisher.health for each in tables]
        connected = sum(each.connected for each in health)
        errors = (each.refusal if each.connected else each.last_error for each in health)
        events = sum(each.table.seq for each in tables) - first_seq
        pipe.send(Progress(connected, events, late_s, next(filter(None, errors), None)))
        late_s = 0.0
        return _REPORT_EVERY_S

    # What is due when: each action returns the seconds until its next time.
    actions: list[Callable[[], float]] = [report]
    due = [(begin, 0)]
    for number, each in enumerate(tables):
        at = begin + number * _CONNECT_EVERY_S
        for action, first in (
            (each.connect, 0.0),
            (each.deal, chance.uniform(CARD_S, 10 * CARD_S)),
            (each.report_device, chance.uniform(0, _DEVICE_S)),
        ):
            due.append((at + first, len(actions)))
            actions.append(action)
    heapq.heapify(due)
    while not pipe.poll(max(0.0, due[0][0] - time.monotonic())):
        at, number = due[0]
        late_s = max(late_s, time.monotonic() - at)
        heapq.heapreplace(due, (at + actions[number](), number))


def _end(mqtt: MqttSettings, tables: list[_Published]) -> str | None:
    """End the connections and clear what is retained; return what has failed."""
    with ThreadPoolExecutor(_STOPS_AT_ONCE) as threads:
        list(threads.map(lambda each: each.publisher.stop(_STOP_S), tables))
    try:
        with _cleaner(mqtt) as probe:
            for each in tables:
                for suffix in (*topics.RETAINED, _DEVICE):
                    if refusal := probe.publish(each.topics.retained(suffix), b"", retain=True):
                        return refusal
    except BrokerProbeError as error:
        return f"{mqtt.name} {error}"
    return None


@contextmanager
def _cleaner(mqtt: MqttSettings) -> Iterator[BrokerProbe]:
    """
    Connect to the first broker that can be reached.

    Raises:
        BrokerProbeError: None can.
    """
    client_id, failure = f"shoe-simulate-{secrets.token_hex(4)}", BrokerProbeError("no broker")
    with ExitStack() as stack:
        for broker in mqtt.each:
            try:
                probe = stack.enter_context(BrokerProbe(broker, client_id))
            except BrokerProbeError as error:
                failure = error
            else:
                yield probe
                return
    raise failure
