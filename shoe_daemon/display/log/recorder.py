"""
Fills the history: a thread writes what the feed receives, another one requests missing events.

Public subscribers see jumps in `seq`, since events for staff share the sequence. So the numbers
alone do not show a loss. For each table the store has the ranges of numbers of which every public
event is stored. While one subscription runs, all events arrive in order, and the range grows; what
lies between the ranges is requested from the table with the order `replay`, whose reply says how
many public events there are.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
import structlog
from msgspec import Struct, field

from shoe_daemon.display.log.derived import MAX_SEQ, SeqRange, event_id
from shoe_daemon.display.log.queries import missing_ranges, newest_journals
from shoe_daemon.display.log.sql import Database, LogStatus, UnreadableError
from shoe_daemon.display.log.store import (
    NEW_JOURNAL_MARGIN,
    HistoryStore,
    ReceivedEvent,
    connect_read_only,
    is_damage,
    logged_event,
    move_aside,
    now_us,
)
from shoe_daemon.errors import UserError
from shoe_daemon.floor.messages import (
    InvalidMessage,
    TopicParts,
    decode,
    parse_topic,
)
from shoe_daemon.floor.table import Message
from shoe_daemon.limits import LogRateLimit, RetryDelay
from shoe_daemon.mqtt.client import send_command
from shoe_daemon.mqtt.commands import Reply, decode_reply
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import STATE, Topics

_log = structlog.get_logger(__name__)

MAX_QUEUED: Final = 50_000
MAX_BATCH: Final = 2_000
COMMIT_INTERVAL_S: Final = 0.2
"""Time that messages are gathered for one transaction."""

RETRY_S: Final = 5.0
PRUNE_INTERVAL_S: Final = 3600.0
MIN_FREE_BYTES: Final = 64_000_000
"""Free space that the history leaves on its disk."""

REPLAYED_EVENTS: Final = 5000
"""Events that one `replay` publishes."""

REPLY_TIMEOUT_S: Final = 10.0
PROGRESS_TIMEOUT_S: Final = 20.0
"""Time without a further event after which a replay counts as interrupted."""

REQUEST_INTERVAL_S: Final = 1.0
FIRST_RETRY_S: Final = 2.0
MAX_RETRY_S: Final = 600.0
OPERATOR: Final = "display"
"""The operator's name in the requests."""

_DAY_US: Final = 86_400_000_000

Mark = Literal["connected", "lost", "dropped", "stop"]


class _Covered(NamedTuple):
    """A range of which every public event is stored."""

    journal: int
    range: SeqRange


class _Subscription(Struct):
    """
    Facts about one table that are certain while the subscription runs without loss.

    Attributes:
        first: Every public event from this number on is received.
        last: The last one that has been received.
        state_seq: `seq` of the last `state`.
    """

    first: int
    last: int
    state_seq: int


class _StateHead(Struct):
    """The part of a `state` that matters here."""

    seq: int
    session: str


_decode_state = msgspec.json.Decoder(_StateHead).decode


class _Batch(Struct):
    """Entries that one transaction stores."""

    events: list[ReceivedEvent] = field(default_factory=list)
    covered: list[tuple[int, SeqRange]] = field(default_factory=list)
    heads: dict[int, int] = field(default_factory=dict)

    def set_head(self, journal: int, seq: int) -> None:
        self.heads[journal] = max(seq, self.heads.get(journal, 0))


class HistoryRecorder:
    """
    The writing thread, from `start` to `stop`.

    `put` and the other methods that it offers to the feed's thread return at once: what does not
    fit into the queue is dropped, and requested from the table later.

    Attributes:
        path: The database; created if it does not exist.
    """

    def __init__(self, path: Path, *, prefix: str, days: int) -> None:
        self.path, self.status = path, LogStatus()
        self.copied: dict[str, int] | None = None
        self._prefix, self._days = prefix, days
        self._queue: deque[Message | _Covered | Mark] = deque()
        self._dropped = False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._store: HistoryStore | None = None
        self._damaged = False
        self._subscribed = False
        self._live: set[int] = set()
        self._subscriptions: dict[int, _Subscription] = {}
        self._sessions: dict[str, str] = {}
        self._next_prune = 0.0
        self._may_log = LogRateLimit()

    def start(self) -> None:
        """Open the database, and start the thread; a fault is in `status`."""
        try:
            self._opened()
        except (sqlite3.Error, OSError, UserError) as error:
            self._fail(error)
        self._thread.start()

    def stop(self) -> None:
        """Write what is queued and stop the thread."""
        self._append("stop")
        if self._thread.is_alive():
            self._thread.join(RETRY_S)

    # For any thread.

    def put(self, message: Message) -> None:
        """Take a message of the subscription; only events and `state` count."""
        if "/event/" in message.topic or message.topic.endswith(f"/{STATE}"):
            with self._condition:
                if len(self._queue) >= MAX_QUEUED:
                    self._dropped = True
                    return
                if self._dropped:
                    self._queue.append("dropped")
                    self._dropped = False
                self._queue.append(message)
                self._condition.notify()

    def connected(self) -> None:
        """The broker has confirmed all subscriptions."""
        self._append("connected")

    def lost(self) -> None:
        """The connection to the broker is lost."""
        self._append("lost")

    def cover(self, journal: int, covered: SeqRange) -> None:
        """Record that every public event of a range is stored."""
        self._append(_Covered(journal, covered))

    @contextlib.contextmanager
    def open(self) -> Iterator[Database]:
        """Open the database for reading; see `Log`. A damaged one is replaced soon."""
        moved_aside = self.status.moved_aside
        try:
            with contextlib.closing(connect_read_only(self.path)) as database:
                yield database
        except sqlite3.Error as error:
            if self.status.failure is None and is_damage(error):
                self._report_damage(moved_aside)
            raise UnreadableError(str(error)) from error

    def _report_damage(self, moved_aside: int | None) -> None:
        with self._condition:
            # What has been replaced since is not replaced again.
            if moved_aside == self.status.moved_aside:
                self._damaged = True
                self._condition.notify()

    def take_live(self) -> set[int]:
        """Return the journals of tables with live messages since the last call."""
        with self._condition:
            live, self._live = self._live, set()
        return live

    def _append(self, item: _Covered | Mark) -> None:
        with self._condition:
            self._queue.append(item)
            self._condition.notify()

    # The thread.

    def _run(self) -> None:
        stopping = False
        while not stopping:
            with self._condition:
                if not self._queue and not self._damaged:
                    self._condition.wait(max(0.0, self._next_prune - time.monotonic()))
                waiting = bool(self._queue) and self._queue[-1] != "stop"
            if waiting:
                time.sleep(COMMIT_INTERVAL_S)
            stopping = self._step()
        if self._store is not None:
            self._store.close()

    def _step(self) -> bool:
        """Write one batch, and delete what is too old; return whether to stop."""
        with self._condition:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
        try:
            if self._damaged:
                self._replace(sqlite3.DatabaseError("found damaged while it was read"))
            self._write(batch)
            if time.monotonic() >= self._next_prune:
                self._prune()
            self.status.failure = None
        except (sqlite3.Error, OSError, UserError) as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - no message may end the thread
            if self._may_log("history_failed", time.monotonic()):
                _log.error("history_failed", exc_info=error)
            self._fail(error)
        return bool(batch) and batch[-1] == "stop"

    def _write(self, items: list[Message | _Covered | Mark]) -> None:
        if not items:
            return
        if shutil.disk_usage(self.path.parent).free < MIN_FREE_BYTES:
            raise OSError(f"{self.path.parent}: less than {MIN_FREE_BYTES // 1_000_000} MB free")
        store = self._opened()
        batch = _Batch()
        for item in items:
            match item:
                case Message():
                    self._read(store, item, batch)
                case _Covered():
                    batch.covered.append((item.journal, item.range))
                case mark:
                    batch.covered += self._ranges()
                    self._apply_mark(mark)
        batch.covered += self._ranges()
        store.add(batch.events, batch.covered, batch.heads.items())

    def _opened(self) -> HistoryStore:
        if self._store is None:
            self._store = HistoryStore(self.path)
        return self._store

    def _apply_mark(self, mark: Mark) -> None:
        self._subscriptions.clear()
        if mark == "dropped":
            if self._may_log("history_messages_dropped", time.monotonic()):
                _log.warning("history_messages_dropped", queue=MAX_QUEUED)
        else:
            self._subscribed = mark == "connected"

    def _ranges(self) -> list[tuple[int, SeqRange]]:
        return [
            (journal, SeqRange(each.first, each.last))
            for journal, each in self._subscriptions.items()
            if each.last >= each.first
        ]

    def _read(self, store: HistoryStore, message: Message, batch: _Batch) -> None:
        if not message.payload:
            return
        try:
            topic = parse_topic(message.topic, self._prefix)
            if topic.kind == STATE:
                self._read_state(store, topic, message, batch)
                return
            event = logged_event(decode(topic, message.payload).body)
        except (InvalidMessage, ValueError):
            return  # counted by the model of the boards
        batch.events.append(ReceivedEvent(topic.site, topic.table, event))
        journal = store.journal(topic.site, topic.table)
        batch.set_head(journal, event.seq)
        subscription = self._subscriptions.get(journal)
        if subscription is not None:
            subscription.last = max(subscription.last, event.seq)

    def _read_state(
        self, store: HistoryStore, topic: TopicParts, message: Message, batch: _Batch
    ) -> None:
        state = _decode_state(message.payload)
        if not 0 <= state.seq <= MAX_SEQ:
            return
        journal, table = store.journal(topic.site, topic.table), topic.key
        if not message.retained:
            if self._sessions.get(table) != state.session:
                self._sessions[table] = state.session
                if state.seq + NEW_JOURNAL_MARGIN < store.head(journal):
                    _log.warning("history_new_journal", table=table, seq=state.seq)
                    journal = store.begin_journal(topic.site, topic.table)
            self._follow_state(journal, state.seq)
        batch.set_head(journal, state.seq)

    def _follow_state(self, journal: int, seq: int) -> None:
        if not self._subscribed:
            return
        subscription = self._subscriptions.get(journal)
        if subscription is None:
            # The events up to `seq` were published before; all later ones will be received.
            self._subscriptions[journal] = _Subscription(seq + 1, seq, seq)
            with self._condition:
                self._live.add(journal)
            return
        if subscription.state_seq == seq:
            # A heartbeat without an event between: the numbers up to here are complete.
            subscription.last = max(subscription.last, seq)
        subscription.state_seq = seq

    def _prune(self) -> None:
        self._next_prune = time.monotonic() + PRUNE_INTERVAL_S
        store = self._store
        if store is not None and store.prune(now_us() - self._days * _DAY_US):
            self._next_prune = time.monotonic()

    def _fail(self, error: Exception) -> None:
        """Report an error; what the batch had is requested from the tables again."""
        self._subscriptions.clear()
        if isinstance(error, sqlite3.Error) and is_damage(error):
            with contextlib.suppress(OSError, UserError, sqlite3.Error):
                self._replace(error)
                return
        self.status.failure = str(error)
        if self._may_log("history_not_written", time.monotonic()):
            _log.error("history_not_written", file=str(self.path), reason=str(error))

    def _replace(self, error: sqlite3.Error) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
        moved = move_aside(self.path)
        with self._condition:
            self.status.moved_aside, self._damaged = now_us(), False
        self._subscriptions.clear()
        _log.error("history_damaged", file=str(self.path), moved_to=str(moved), reason=str(error))
        self._store = HistoryStore(self.path)


class _Missing(NamedTuple):
    """Numbers of a table's newest journal of which events may be missing."""

    journal: int
    site: str
    table: str
    range: SeqRange


class HistoryRequests:
    """
    The thread that requests missing events, one table after another, the newest events first.

    Args:
        mqtt: The broker, with the account that may publish `cmd/replay`.
    """

    def __init__(self, recorder: HistoryRecorder, mqtt: MqttSettings) -> None:
        self._recorder, self._mqtt = recorder, mqtt
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history-requests", daemon=True)
        self._retry_delays: defaultdict[int, RetryDelay] = defaultdict(
            lambda: RetryDelay(FIRST_RETRY_S, MAX_RETRY_S)
        )
        self._may_log = LogRateLimit()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; a request under way is abandoned."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(REQUEST_INTERVAL_S):
            try:
                self._request_missing()
            except UnreadableError:
                continue  # the pages report it
            except Exception as error:  # noqa: BLE001 - no error may end the thread
                if self._may_log("history_request_failed", time.monotonic()):
                    _log.error("history_request_failed", exc_info=error)

    def _request_missing(self) -> None:
        if self._recorder.status.failure is not None:
            return
        for journal in self._recorder.take_live():
            # The table is back: what failed before may succeed now.
            self._retry_delays.pop(journal, None)
        with self._recorder.open() as connection:
            for journal, site, table, head in newest_journals(connection):
                if time.monotonic() < self._retry_delays[journal].retry_at:
                    continue
                missing = missing_ranges(connection, journal, head)
                if not missing:
                    self._retry_delays.pop(journal, None)
                elif not self._stopping.is_set():
                    newest = _Missing(journal, site, table, missing[0])
                    self._request(connection, newest)

    def _request(self, connection: Database, missing: _Missing) -> None:
        delay = self._retry_delays[missing.journal]
        first = max(missing.range.first, missing.range.last - REPLAYED_EVENTS + 1)
        try:
            reply = self._send(missing, first)
            self._recorder.status.refused = None
            covered = SeqRange(first, first + (reply.replayed or 0) - 1)
            self._await(connection, missing.journal, covered, reply.replayed_public or 0)
        except UserError as error:
            self._recorder.status.refused = str(error)
            delay.failed(time.monotonic())
            if self._may_log("history_incomplete", time.monotonic()):
                table = f"{missing.site}.{missing.table}"
                _log.warning("history_incomplete", table=table, reason=str(error))
        else:
            delay.reset()
            # The writing thread must have recorded the range before the next look.
            delay.retry_at = time.monotonic() + REQUEST_INTERVAL_S

    def _send(self, missing: _Missing, first: int) -> Reply:
        topics = Topics(missing.site, missing.table, self._mqtt.prefix)
        command_id = f"{OPERATOR}-{secrets.token_hex(12)}"
        order = {"id": command_id, "operator": OPERATOR, "from_seq": first}
        answer = send_command(
            self._mqtt,
            topics.command("replay"),
            msgspec.json.encode(order, order="sorted"),
            reply=topics.reply(command_id),
            timeout_s=REPLY_TIMEOUT_S,
        )
        try:
            reply = decode_reply(answer)
        except msgspec.DecodeError as error:
            raise UserError(f"invalid reply: {error}") from error
        if not reply.ok:
            raise UserError(f"the table refuses it: {reply.refused}")
        if reply.replayed is None or reply.replayed_public is None:
            raise UserError("the table's daemon is too old: its replies count no public events")
        return reply

    def _await(self, connection: Database, journal: int, covered: SeqRange, expected: int) -> None:
        """
        Wait until so many events of a range are stored.

        Raises:
            UserError: They do not arrive.
        """
        span = (event_id(journal, covered.first), event_id(journal, covered.last))
        query = "SELECT count(*) FROM event WHERE id BETWEEN ? AND ?"
        found, since = -1, time.monotonic()
        while not self._stopping.is_set():
            count = connection.execute(query, span).fetchone()[0]
            if count >= expected:
                self._recorder.cover(journal, covered)
                return
            if count != found:
                found, since = count, time.monotonic()
            if time.monotonic() - since > PROGRESS_TIMEOUT_S:
                raise UserError(f"{expected - count} of {expected} events did not arrive")
            self._stopping.wait(COMMIT_INTERVAL_S)
