"""Read access to a journal, also while a daemon writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final, Literal, Self

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.journal import database
from shoe_daemon.journal.chain import Head, Identity, StoredEvent
from shoe_daemon.journal.database import read_anchor
from shoe_daemon.table import (
    AnyObservation,
    Command,
    Table,
    decode_observation,
    fold,
    is_staff,
    to_microseconds,
)

_PAGE = 500
"""Rows per query: a long read must not block the writer's WAL checkpoint."""

_OBSERVATIONS: Final = (
    "SELECT id, CAST(body AS BLOB) FROM observation WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
)
_NO_END: Final = 1 << 62

_MAX_INTERVAL_US: Final = 3_600_000_000
"""The longest time between two observations that `recent_commands` believes."""


class Checkpoint(Struct, frozen=True):
    """The table's state after an observation."""

    observation: int
    seq: int
    shoe: int | None
    body: bytes


class Capture(Struct, frozen=True, gc=False):
    """
    The raw bytes of one frame.

    Attributes:
        source: The reader's id; None for the only reader.
        after: The id of the last observation stored before the bytes.
    """

    id: int
    at: str
    source: str | None
    raw: bytes
    after: int


class EventRow(Struct, frozen=True, gc=False):
    """An event with its columns; `body` is its JSON, byte for byte."""

    seq: int
    at: str
    shoe: int | None
    round: int | None
    type: str
    body: bytes


class NextEvents(Struct, frozen=True):
    """
    What events are to come.

    Attributes:
        first_at: When the first one happened.
        last_seq: The last of them.
        last_at: When it happened.
        months: The months of all, such as ``2026-11``.
    """

    count: int
    first_at: str
    last_seq: int
    last_at: str
    months: tuple[str, ...]


class ObservationRow(Struct, frozen=True):
    """An observation with its id, and the id of its capture."""

    id: int
    observation: AnyObservation
    capture: int | None


class JournalReader:
    """A read-only connection for one thread."""

    def __init__(self, path: Path, *, mode: str = "mode=ro") -> None:
        database.check_file(path)
        self.path = path = database.resolve_link(path)
        with database.explain_read_errors(path):
            self.connection = database.connect(path, mode)
            try:
                self.version = database.check_version(self.connection, path)
                self.identity: Identity = database.read_identity(self.connection, path)
            except BaseException:
                self.connection.close()
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """
        Read the same state of the journal throughout, whatever its daemon writes or removes;
        within another snapshot, that one.
        """
        if self.connection.in_transaction:
            yield
            return
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("COMMIT")

    def events(self, after_seq: int, limit: int = _PAGE) -> list[StoredEvent]:
        """Return at most `limit` events after `after_seq`."""
        rows = self.connection.execute(
            "SELECT seq, type, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
            (after_seq, limit),
        )
        return [StoredEvent(*row) for row in rows]

    def next_events(self, after_seq: int, limit: int) -> NextEvents | None:
        """Return which events come after `after_seq`, at most `limit`; None without one."""
        count, first, last, at = self.connection.execute(
            "SELECT count(*), min(at), max(seq), max(at)"
            " FROM (SELECT seq, at FROM event WHERE seq > ? ORDER BY seq LIMIT ?)",
            (after_seq, limit),
        ).fetchone()
        if count == 0:
            return None
        months = {first[:7], at[:7]}
        if len(months) > 1:
            # A clock may have jumped by decades: only the months that occur.
            query = (
                "SELECT DISTINCT substr(at, 1, 7)"
                " FROM (SELECT at FROM event WHERE seq > ? ORDER BY seq LIMIT ?)"
            )
            months = {month for (month,) in self.connection.execute(query, (after_seq, limit))}
        return NextEvents(count, first, last, at, tuple(sorted(months)))

    def event_rows(self, after_seq: int, last_seq: int) -> Iterator[list[EventRow]]:
        """Yield pages of the events after `after_seq`, up to and with `last_seq`."""
        query = (
            "SELECT seq, at, shoe, round, type, CAST(body AS BLOB) FROM event"
            " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        )
        while rows := self.connection.execute(query, (after_seq, last_seq, _PAGE)).fetchall():
            yield [EventRow(*row) for row in rows]
            after_seq = rows[-1][0]

    def count_events(self, after_seq: int) -> int:
        """Return the number of events after `after_seq`."""
        query = "SELECT count(*) FROM event WHERE seq > ?"
        count: int = self.connection.execute(query, (after_seq,)).fetchone()[0]
        return count

    def count_public_events(
        self, first: int, last: int, withheld: Sequence[tuple[int, int]] = ()
    ) -> int:
        """
        Return the number of events from `first` to `last` that are not for staff only; those
        between the numbers of `withheld` do not count.
        """
        query = "SELECT type, count(*) FROM event WHERE seq BETWEEN ? AND ?"
        query += " AND seq NOT BETWEEN ? AND ?" * len(withheld) + " GROUP BY type"
        # Counted by SQLite, because the core waits for it.
        rows = self.connection.execute(query, (first, last, *chain.from_iterable(withheld)))
        return sum(count for kind, count in rows if not is_staff(kind))

    def events_of(self, observation: int, *, after_seq: int) -> list[bytes]:
        """Return the JSON of the events of one observation, which follow the event `after_seq`."""
        rows = self.connection.execute(
            "SELECT observation, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq",
            (after_seq,),
        )
        return [body for of, body in takewhile(lambda row: row[0] == observation, rows)]

    def head(self) -> Head:
        """Return the end of the journal."""
        return read_head(self.connection, self.identity)

    def last_program(self) -> str | None:
        """Return the version of the daemon that started last; None if it is not recorded."""
        row = self.connection.execute(
            "SELECT body ->> '$.program' FROM observation WHERE type = 'session'"
            " ORDER BY id DESC LIMIT 1"
        ).fetchone()
        program: str | None = row[0] if row else None
        return program

    def cursor(self, consumer: str) -> int:
        """Return the last event acknowledged by a consumer; 0 for none."""
        row = self.connection.execute(
            "SELECT seq FROM cursor WHERE consumer = ?", (consumer,)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def last_checkpoint(self, before: int | None = None) -> Checkpoint | None:
        """Return the last checkpoint, or the last one before the given observation."""
        row = self.connection.execute(
            "SELECT observation, seq, shoe, body FROM checkpoint"
            " WHERE observation < ? ORDER BY observation DESC LIMIT 1",
            (_NO_END if before is None else before,),
        ).fetchone()
        return None if row is None else Checkpoint(*row)

    def first_checkpoint(self) -> Checkpoint | None:
        """Return the first checkpoint."""
        row = self.connection.execute(
            "SELECT observation, seq, shoe, body FROM checkpoint ORDER BY observation LIMIT 1"
        ).fetchone()
        return None if row is None else Checkpoint(*row)

    def recent_commands(self, span_s: float) -> Iterator[tuple[Command, float]]:
        """
        Yield the commands of operators in the last `span_s` seconds of the journal, newest first,
        each with its age in seconds, to a minute.

        The time between two observations counts for at most an hour: the clock may have been set.
        """
        rows = self.connection.execute(
            "SELECT id, substr(at, 1, 16), CASE WHEN type = 'command' AND source IS NULL"
            " THEN CAST(body AS BLOB) END FROM observation ORDER BY id DESC"
        )
        age_us, minute, minute_us = 0, "", 0
        for identifier, at, body in rows:
            if at != minute:  # most are of the same one, which makes a start quicker
                later_us, minute_us = minute_us, self._microseconds(identifier, f"{at}:00Z")
                age_us += min(max(later_us - minute_us, 0), _MAX_INTERVAL_US) if minute else 0
                minute = at
            if age_us > span_s * 1_000_000:
                return
            if body is not None:
                command = self._decode(identifier, body)
                if isinstance(command, Command):
                    yield command, age_us / 1_000_000

    def observations(
        self, after_id: int = 0, before: int | None = None
    ) -> Iterator[AnyObservation]:
        """Yield the observations after `after_id`, up to and excluding `before`."""
        for identifier, body in self._pages(_OBSERVATIONS, after_id, before):
            yield self._decode(identifier, body)

    def observation_rows(self, last: int) -> Iterator[ObservationRow]:
        """Yield the observations up to `last`, each with its capture."""
        query = (
            "SELECT id, CAST(body AS BLOB), capture FROM observation"
            " WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
        )
        for identifier, body, capture in self._pages(query, before=last + 1):
            yield ObservationRow(identifier, self._decode(identifier, body), capture)

    def captures(self, last: int) -> Iterator[Capture]:
        """Yield the captures up to `last`."""
        query = (
            "SELECT id, at, source, bytes, after FROM capture"
            " WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
        )
        return (Capture(*row) for row in self._pages(query, before=last + 1))

    def event_lines(self, shoe: int | None = None) -> Iterator[bytes]:
        """
        Yield the JSON of all events, or of those of one shoe.

        Raises:
            UserError: There is no such shoe.
        """
        first, end = (1, None) if shoe is None else self._span(shoe, "seq")
        query = "SELECT seq, CAST(body AS BLOB) FROM event WHERE seq > ? AND seq < ?"
        if shoe is not None:
            query += f" AND shoe = {shoe:d}"
        query += " ORDER BY seq LIMIT ?"
        yield from (body for _, body in self._pages(query, first - 1, end))

    def observation_lines(self, shoe: int | None = None) -> Iterator[bytes]:
        """
        Yield the JSON of all observations; for one shoe, preceded by the session in effect at
        its start.

        Raises:
            UserError: There is no such shoe.
        """
        first, end = (1, None) if shoe is None else self._span(shoe)
        query = (
            "SELECT CAST(body AS BLOB) FROM observation WHERE type = 'session' AND id < ?"
            " ORDER BY id DESC LIMIT 1"
        )
        yield from self.connection.execute(query, (first,)).fetchone() or ()
        yield from (body for _, body in self._pages(_OBSERVATIONS, first - 1, end))

    def _span(
        self, shoe: int, column: Literal["observation", "seq"] = "observation"
    ) -> tuple[int, int | None]:
        """Return the first observation of a shoe, and of the next one; or their events."""
        starts = "FROM event WHERE type = 'shoe_started'"
        (first,) = self.connection.execute(
            f"SELECT min({column}) {starts} AND shoe = ?",
            (shoe,),
        ).fetchone()
        if first is None:
            low, high = self.connection.execute(f"SELECT min(shoe), max(shoe) {starts}").fetchone()
            known = "it has none at all" if low is None else f"its shoes are {low} to {high}"
            raise UserError(f"{self.path}: has no shoe {shoe}; {known}")
        row = self.connection.execute(
            f"SELECT min({column}) {starts} AND shoe > ? GROUP BY shoe ORDER BY shoe LIMIT 1",
            (shoe,),
        ).fetchone()
        return first, None if row is None else row[0]

    def _pages(
        self, query: str, after_id: int = 0, before: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query by `id > ?`, `id < ?` and a limit; the id comes first."""
        end = _NO_END if before is None else before
        while page := self.connection.execute(query, (after_id, end, _PAGE)).fetchall():
            yield from page
            after_id = page[-1][0]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _microseconds(self, identifier: int, at: str) -> int:
        try:
            return to_microseconds(at)
        except ValueError as error:
            raise UserError(f"{self.path}: observation {identifier}: {error}") from error

    def _decode(self, identifier: int, body: bytes | str) -> AnyObservation:
        try:
            return decode_observation(body)
        except UserError as error:
            raise UserError(f"{self.path}: observation {identifier}: {error}") from error


def read_head(connection: sqlite3.Connection, identity: Identity) -> Head:
    """Return the end of a journal."""
    # One statement, hence one snapshot: a writer may be active.
    row = connection.execute(
        """
        WITH o AS (SELECT id, hash FROM observation ORDER BY id DESC LIMIT 1),
             e AS (SELECT seq, observation, hash FROM event ORDER BY seq DESC LIMIT 1),
             k AS (SELECT observation, hash FROM checkpoint ORDER BY observation DESC LIMIT 1),
             c AS (SELECT id, after, hash FROM capture ORDER BY id DESC LIMIT 1),
             g AS (SELECT max(body ->> '$.next_seq') - 1 AS seq FROM observation
                   WHERE type = 'gap' AND id > ifnull((SELECT observation FROM e), 0))
        SELECT max(ifnull((SELECT seq FROM e), 0), ifnull((SELECT seq FROM g), 0)),
               ifnull((SELECT id FROM o), 0),
               ifnull((SELECT id FROM c), 0),
               coalesce((SELECT hash FROM c WHERE after = ifnull((SELECT id FROM o), 0)),
                        (SELECT k.hash FROM k, o WHERE k.observation = o.id),
                        (SELECT e.hash FROM e, o WHERE e.observation = o.id),
                        (SELECT hash FROM o))
        """
    ).fetchone()
    return Head(row[0], row[1], row[2], row[3] or identity.hash())


def is_last_salted(connection: sqlite3.Connection) -> bool:
    """Return whether the last observation of a journal of the newest version has a salt."""
    row = connection.execute("SELECT salt FROM observation ORDER BY id DESC LIMIT 1").fetchone()
    return row is not None and row[0] is not None


def fold_table(reader: JournalReader, *, before: int | None = None) -> Table:
    """
    Fold the table from the last checkpoint; from the beginning if its version is unknown.

    With `before`, observations from that id on are ignored: the table of an earlier start.
    """
    checkpoint = reader.last_checkpoint(before)
    try:
        table = Table.restore(checkpoint.body) if checkpoint else Table()
    except UserError:
        checkpoint, table = None, Table()
    if checkpoint is None and (anchor := read_anchor(reader.connection)) is not None:
        table.state.seq, table.state.shoes = anchor.seq, anchor.shoe
    after = 0 if checkpoint is None else checkpoint.observation
    for _ in fold(table, reader.observations(after, before)):
        pass
    return table


@contextmanager
def open_read_only(path: Path) -> Iterator[JournalReader]:
    """
    Open a journal for reading, whether a daemon writes it or not.

    A journal without a writer is opened as immutable: no files are created beside it, which a
    daemon of another user could not write. If a daemon starts to write during the read, the result
    is unreliable, and an error is raised. (If a killed daemon left a WAL, SQLite creates its
    index, with the journal's owner.)

    Raises:
        UserError: The file is no journal, cannot be read, or a daemon started to write it.
    """
    database.check_file(path)
    path = database.resolve_link(path)
    at_rest = not database.wal_of(path).exists()
    before = path.stat()
    try:
        with (
            database.explain_read_errors(path),
            JournalReader(path, mode="immutable=1" if at_rest else "mode=ro") as reader,
        ):
            database.check_schema(reader.connection, path, reader.version)
            yield reader
    except (UserError, sqlite3.Error):
        _check_still_at_rest(path, before.st_mtime_ns, at_rest=at_rest)
        raise
    _check_still_at_rest(path, before.st_mtime_ns, at_rest=at_rest)


def _check_still_at_rest(path: Path, written: int, *, at_rest: bool) -> None:
    began = database.wal_of(path).exists() or path.stat().st_mtime_ns != written
    if at_rest and began:
        raise UserError(f"{path}: a daemon began to write it while it was read: try again")
