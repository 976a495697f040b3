"""Reading a journal, while it is written or afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.journal import journal_file
from shoe_daemon.journal.journal_entries import Head, Identity, StoredEvent
from shoe_daemon.table import AnyObservation, Command, Session, decode_observation
from shoe_daemon.table.table import Table

_PAGE = 500
"""Rows at a time: a long read must not keep the writer's WAL from being emptied."""


_NO_END: Final = 1 << 62


class Checkpoint(Struct, frozen=True):
    """The table after an observation."""

    observation: int
    seq: int
    shoe: int | None
    body: bytes


class Capture(Struct, frozen=True, gc=False):
    """
    The raw bytes of one frame.

    Attributes:
        id: Its number, from 1.
        at: When the bytes came.
        source: The reader's id; None where there is only one.
        raw: The bytes.
        after: The number of the observation that was stored last before them.
    """

    id: int
    at: str
    source: str | None
    raw: bytes
    after: int


class ObservationRow(Struct, frozen=True):
    """An observation with its number, and the number of the capture that it came from."""

    id: int
    observation: AnyObservation
    capture: int | None


class FoldSource(Struct, frozen=True):
    """
    All that a table is folded from at a start.

    Attributes:
        checkpoint: The table as the last shoe started; None folds from nothing.
        observations: Those after it, in order.
        head: Where the journal ends.
    """

    checkpoint: bytes | None
    observations: Iterator[AnyObservation]
    head: Head


class JournalReader:
    """A read-only connection of its own, for one thread."""

    def __init__(self, path: Path, *, mode: str = "mode=ro") -> None:
        journal_file.check_file(path)
        self.path = path = journal_file.real(path)
        with journal_file.readable(path):
            self.connection = journal_file.connect(path, mode)
            try:
                self.version = journal_file.check_version(self.connection, path)
                self.identity: Identity = journal_file.read_identity(self.connection, path)
            except BaseException:
                self.connection.close()
                raise

    def events(self, after_seq: int, limit: int = _PAGE) -> list[StoredEvent]:
        """Return the events that follow `after_seq`, at most `limit`."""
        rows = self.connection.execute(
            "SELECT seq, type, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
            (after_seq, limit),
        )
        return [StoredEvent(*row) for row in rows]

    def events_of(self, observation: int, *, after_seq: int) -> list[bytes]:
        """Return the lines of an observation's events, given the last one before them."""
        rows = self.connection.execute(
            "SELECT observation, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq",
            (after_seq,),
        )
        return [body for of, body in takewhile(lambda row: row[0] == observation, rows)]

    def head(self) -> Head:
        """Return where the journal ends."""
        return read_head(self.connection, self.identity)

    def cursor(self, consumer: str) -> int:
        """Return the last event that a consumer is known to have; 0 where none."""
        row = self.connection.execute(
            "SELECT seq FROM cursor WHERE consumer = ?", (consumer,)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def last_checkpoint(self, before: int | None = None) -> Checkpoint | None:
        """Return the last checkpoint; the last before an observation, where one is given."""
        row = self.connection.execute(
            "SELECT observation, seq, shoe, body FROM checkpoint"
            " WHERE observation < ? ORDER BY observation DESC LIMIT 1",
            (_NO_END if before is None else before,),
        ).fetchone()
        return None if row is None else Checkpoint(*row)

    def last_session(self) -> Session | None:
        """Return the last start, or change of configuration."""
        row = self.connection.execute(
            "SELECT id, body FROM observation WHERE type = 'session' ORDER BY id DESC LIMIT 1"
        ).fetchone()
        session = None if row is None else self._decode(*row)
        return session if isinstance(session, Session) else None

    def last_orders(self, most: int, *, among: int) -> list[Command]:
        """
        Return the operators' last orders, the latest first, at most `most` of those
        among the last `among` observations.
        """
        rows = self.connection.execute(
            """
            SELECT id, CAST(body AS BLOB) FROM observation
            WHERE type = 'command' AND id > (SELECT max(id) FROM observation) - ?
            ORDER BY id DESC LIMIT ?
            """,
            (among, most),
        )
        found = (self._decode(*row) for row in rows)
        return [each for each in found if isinstance(each, Command)]

    def observations(
        self, after_id: int = 0, before: int | None = None
    ) -> Iterator[AnyObservation]:
        """Yield the observations that follow `after_id`, up to the one `before` another."""
        for identifier, body in self.observation_lines(after_id):
            if identifier == before:
                return
            yield self._decode(identifier, body)

    def observation_rows(self, last: int) -> Iterator[ObservationRow]:
        """Yield the observations up to `last` with the captures that they came from."""
        query = (
            "SELECT id, CAST(body AS BLOB), capture FROM observation"
            " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        )
        for identifier, body, capture in self._pages(query, last):
            yield ObservationRow(identifier, self._decode(identifier, body), capture)

    def captures(self, last: int) -> Iterator[Capture]:
        """Yield the raw bytes of all frames up to capture `last`."""
        query = (
            "SELECT id, at, source, bytes, after FROM capture"
            " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        )
        return (Capture(*row) for row in self._pages(query, last))

    def _pages(self, query: str, last: int) -> Iterator[tuple[Any, ...]]:
        after = 0
        while page := self.connection.execute(query, (after, last, _PAGE)).fetchall():
            yield from page
            after = page[-1][0]

    def observation_lines(self, after_id: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield id and line of the observations that follow `after_id`."""
        while page := self.connection.execute(
            "SELECT id, CAST(body AS BLOB) FROM observation WHERE id > ? ORDER BY id LIMIT ?",
            (after_id, _PAGE),
        ).fetchall():
            yield from page
            after_id = page[-1][0]

    def fold_source(self, *, from_nothing: bool = False, before: int | None = None) -> FoldSource:
        """
        Return what a table is folded from, up to the one `before` an observation.

        Where `Table.restore` refuses a checkpoint, as one of another version,
        `from_nothing` gives the whole journal.
        """
        checkpoint = None if from_nothing else self.last_checkpoint(before)
        if checkpoint is None:
            return FoldSource(None, self.observations(before=before), self.head())
        after = self.observations(checkpoint.observation, before)
        return FoldSource(checkpoint.body, after, self.head())

    def close(self) -> None:
        """Give the connection back."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decode(self, identifier: int, body: bytes | str) -> AnyObservation:
        try:
            return decode_observation(body)
        except UserError as error:
            raise UserError(f"{self.path}: observation {identifier}: {error}") from error


def read_head(connection: sqlite3.Connection, identity: Identity) -> Head:
    """Return where a journal ends."""
    # One statement is one moment: a writer may be at work.
    row = connection.execute(
        """
        WITH o AS (SELECT id, hash FROM observation ORDER BY id DESC LIMIT 1),
             e AS (SELECT seq, observation, hash FROM event ORDER BY seq DESC LIMIT 1),
             k AS (SELECT observation, hash FROM checkpoint ORDER BY observation DESC LIMIT 1),
             c AS (SELECT id, after, hash FROM capture ORDER BY id DESC LIMIT 1)
        SELECT ifnull((SELECT seq FROM e), 0), ifnull((SELECT id FROM o), 0),
               ifnull((SELECT id FROM c), 0),
               coalesce((SELECT hash FROM c WHERE after = ifnull((SELECT id FROM o), 0)),
                        (SELECT k.hash FROM k, o WHERE k.observation = o.id),
                        (SELECT e.hash FROM e, o WHERE e.observation = o.id),
                        (SELECT hash FROM o))
        """
    ).fetchone()
    return Head(row[0], row[1], row[2], row[3] or identity.hash())


def fold_table(reader: JournalReader, *, before: int | None = None) -> Table:
    """
    Fold the table from the last checkpoint, or from nothing if this version cannot read it.

    `before` stops before that observation: the table with which a start continued then.
    """
    source = reader.fold_source(before=before)
    try:
        table = Table.restore(source.checkpoint) if source.checkpoint else Table()
    except UserError:
        source, table = reader.fold_source(from_nothing=True, before=before), Table()
    for observation in source.observations:
        table.apply(observation)
    return table


@contextmanager
def looking_at(path: Path) -> Iterator[JournalReader]:
    """
    Give a reader of a journal that a daemon may be writing, or not.

    Beside a journal at rest nothing is made, since a daemon that runs as
    somebody else could not write it: it is read as immutable. Should a daemon
    begin to write it meanwhile, the answer would be worth nothing, and is
    refused. (Beside what a killed daemon left, SQLite needs its index and
    makes it anew, owned as the journal is.)

    Raises:
        UserError: It is no journal, cannot be read, or was not at rest.
    """
    journal_file.check_file(path)
    path = journal_file.real(path)
    at_rest = not journal_file.wal_of(path).exists()
    before = path.stat()
    try:
        with (
            journal_file.readable(path),
            JournalReader(path, mode="immutable=1" if at_rest else "mode=ro") as reader,
        ):
            journal_file.check_schema(reader.connection, path, reader.version)
            yield reader
    except (UserError, sqlite3.Error):
        _check_rest(path, before.st_mtime_ns, at_rest=at_rest)
        raise
    _check_rest(path, before.st_mtime_ns, at_rest=at_rest)


def _check_rest(path: Path, written: int, *, at_rest: bool) -> None:
    began = journal_file.wal_of(path).exists() or path.stat().st_mtime_ns != written
    if at_rest and began:
        raise UserError(f"{path}: a daemon began to write it while it was read: try again")
