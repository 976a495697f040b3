"""
The log in the back office's database, which `shoe-daemon forward` fills with events.

One display at a time derives from them what the pages search; all displays read it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
import psycopg
import structlog
from psycopg.types.string import TextLoader

from shoe_daemon.display.log.derived import Derivation, event_id, keys_of
from shoe_daemon.display.log.sql import (
    QUERY_LIMIT_S,
    LogStatus,
    Rows,
    SearchTimeoutError,
    UnreadableError,
)
from shoe_daemon.display.log.summaries import LoggedEvent
from shoe_daemon.errors import UserError
from shoe_daemon.limits import LoggedFailure, RetryDelay
from shoe_daemon.postgres import DatabaseError, connect, explained

_log = structlog.get_logger(__name__)

PAGE: Final = 2000
"""Events of a transaction."""

INTERVAL_S: Final = 1.0
STOP_S: Final = 5.0
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtext('shoe_log'))"
_PENDING: Final = (
    "SELECT journal.id, coalesce(progress.seq, 0), head FROM journal"
    " LEFT JOIN progress ON progress.journal = journal.id"
    " WHERE head > coalesce(progress.seq, 0) ORDER BY journal.id"
)
_EVENTS: Final = (
    "SELECT id - ?, at, shoe, number, type, data FROM event"
    " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
)
_PROGRESS: Final = (
    "INSERT INTO progress (journal, seq) VALUES (?, ?)"
    " ON CONFLICT (journal) DO UPDATE SET seq = excluded.seq"
)
_COPIED: Final = "SELECT site || '.' || name, head FROM journal ORDER BY latest, id"
_decode = msgspec.json.Decoder().decode


@lru_cache
def _translate(query: str) -> Any:  # noqa: ANN401 - psycopg wants a literal
    """Return SQL of the log as psycopg has it."""
    words = query.replace("?", "%s").replace(" NOT INDEXED", "").split(" INDEXED BY ")
    return words[0] + "".join(each[each.find(" ") :] for each in words[1:] if " " in each)


class Postgres:
    """A connection, as `Database` describes it."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection, self._is_limited = connection, False
        connection.adapters.register_loader("json", TextLoader)

    def execute(self, query: str, values: Sequence[object] = (), /) -> Rows:
        """Run a statement."""
        with explained():
            return self._connection.execute(_translate(query), values)

    def executemany(self, query: str, rows: Iterable[Sequence[object]], /) -> None:
        """Run a statement for each row."""
        with explained(), self._connection.cursor() as cursor:
            cursor.executemany(_translate(query), rows)

    def search(self, query: str, values: Sequence[object]) -> list[Any]:
        """Return the rows of a query; see `Database`."""
        if not self._is_limited:
            self.execute(f"SET statement_timeout = {QUERY_LIMIT_S * 1000:.0f}")
            self._is_limited = True
        try:
            return self.execute(query, values).fetchall()
        except DatabaseError as error:
            if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
                raise SearchTimeoutError from error
            raise

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is done within the block."""
        with explained(), self._connection.transaction():
            yield

    def behind(self) -> int:
        """Return how many events wait to be derived, those for staff included."""
        return sum(head - seq for _, seq, head in self.execute(_PENDING))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class PostgresLog:
    """
    The log, and the thread that derives, from `start` to `stop`.

    Attributes:
        copied: The last copied event of each table, by keys; None before the first look.

    Args:
        database: A connection string of libpq.
        password: Reads the password of the account; returns None for an account without.
    """

    def __init__(self, database: str, password: Callable[[], str | None]) -> None:
        self.status = LogStatus()
        self.copied: dict[str, int] | None = None
        self._database, self._password = database, password
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._failure = LoggedFailure(_log, "log_database_failed", "log_database_connected")
        self._delay = RetryDelay()

    def start(self) -> None:
        """Start the thread; a fault is in `status`."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; what it has not derived the next one derives."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(STOP_S)

    @contextmanager
    def open(self) -> Iterator[Postgres]:
        """Open the database for reading; see `Log`."""
        try:
            database = self._connect()
        except UserError as error:
            raise UnreadableError(str(error)) from error
        with closing(database):
            try:
                yield database
            except DatabaseError as error:
                raise UnreadableError(str(error)) from error

    def _connect(self) -> Postgres:
        settings = {
            "application_name": "shoe-daemon display",
            "options": "-c search_path=shoe_log",
        }
        return Postgres(connect(self._database, self._password(), **settings))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(self._connect()) as database:
                    self._follow(database)
            except Exception as error:  # noqa: BLE001 - no error may end the thread
                self.status.failure = str(error)
                self._failure.failed(time.monotonic(), reason=str(error))
                self._stopping.wait(self._delay.next())

    def _follow(self, database: Postgres) -> None:
        has_lock = False
        while not self._stopping.is_set():
            has_lock = has_lock or cast("bool", database.execute(_LOCK).fetchone()[0])
            more = has_lock and derive(database)
            self.copied = dict(database.execute(_COPIED))
            self.status.failure = None
            self._failure.succeeded()
            self._delay.reset()
            self._stopping.wait(0 if more else INTERVAL_S)


def derive(database: Postgres) -> bool:
    """Derive from a page of new events of each journal; return whether there may be more."""
    more = False
    for journal, seq, head in database.execute(_PENDING).fetchall():
        first, last = event_id(journal, seq), event_id(journal, head)
        with database.transaction():
            derivation = Derivation(database)
            rows = database.execute(_EVENTS, (event_id(journal, 0), first, last, PAGE)).fetchall()
            for row in rows:
                event = LoggedEvent._make([*row[:-1], _decode(row[-1])])
                derivation.note(keys_of(journal, event), event)
            derivation.write()
            is_full = len(rows) == PAGE
            database.execute(_PROGRESS, (journal, rows[-1][0] if is_full else head))
        more = more or is_full
    return more
