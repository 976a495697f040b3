"""Read access to a journal, also while a daemon writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.journal import journal_database
from shoe_daemon.journal.journal_entries import Head, Identity, StoredEvent
from shoe_daemon.table import AnyObservation, Command, Session, Table, decode_observation

_PAGE = 500
"""Rows per query: a long read must not block the writer's WAL checkpoint."""


_NO_END: Final = 1 << 62


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
        id: The capture's number, from 1.
        at: The time of reception.
        source: The reader's id; None for the only reader.
        raw: The bytes.
        after: The id of the last observation stored before the bytes.
    """

    id: int
    at: str
    source: str | None
    raw: bytes
    after: int


class ObservationRow(Struct, frozen=True):
    """An observation with its id, and the id of its capture."""

    id: int
    observation: AnyObservation
    capture: int | None


class FoldSource(Struct, frozen=True):
    """
    Input for folding the table at a start.

    Attributes:
        checkpoint: The table's state at the start of the last shoe; None: fold from the beginning.
        observations: The observations after the checkpoint.
        head: The end of the journal.
    """

    checkpoint: bytes | None
    observations: Iterator[AnyObservation]
    head: Head


class JournalReader:
    """A read-only connection for one thread."""

    def __init__(self, path: Path, *, mode: str = "mode=ro") -> None:
        journal_database.check_file(path)
        self.path = path = journal_database.resolve_link(path)
        with journal_database.explain_read_errors(path):
            self.connection = journal_database.connect(path, mode)
            try:
                self.version = journal_database.check_version(self.connection, path)
                self.identity: Identity = journal_database.read_identity(self.connection, path)
            except BaseException:
                self.connection.close()
                raise

    def events(self, after_seq: int, limit: int = _PAGE) -> list[StoredEvent]:
        """Return at most `limit` events after `after_seq`."""
        rows = self.connection.execute(
            "SELECT seq, type, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
            (after_seq, limit),
        )
        return [StoredEvent(*row) for row in rows]

    def events_of(self, observation: int, *, after_seq: int) -> list[bytes]:
        """
        Return the JSON of the events of one observation; `after_seq` is the last event before
        them.
        """
        rows = self.connection.execute(
            "SELECT observation, CAST(body AS BLOB) FROM event WHERE seq > ? ORDER BY seq",
            (after_seq,),
        )
        return [body for of, body in takewhile(lambda row: row[0] == observation, rows)]

    def head(self) -> Head:
        """Return the end of the journal."""
        return read_head(self.connection, self.identity)

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

    def last_session(self) -> Session | None:
        """Return the last session."""
        row = self.connection.execute(
            "SELECT id, body FROM observation WHERE type = 'session' ORDER BY id DESC LIMIT 1"
        ).fetchone()
        session = None if row is None else self._decode(*row)
        return session if isinstance(session, Session) else None

    def last_commands(self, most: int, *, among: int) -> list[Command]:
        """
        Return the latest commands, newest first: at most `most`, searched in the last `among`
        observations.
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
        """Yield the observations after `after_id`, up to and excluding `before`."""
        for identifier, body in self.observation_lines(after_id):
            if identifier == before:
                return
            yield self._decode(identifier, body)

    def observation_rows(self, last: int) -> Iterator[ObservationRow]:
        """Yield the observations up to `last`, each with its capture."""
        query = (
            "SELECT id, CAST(body AS BLOB), capture FROM observation"
            " WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
        )
        for identifier, body, capture in self._pages(query, last):
            yield ObservationRow(identifier, self._decode(identifier, body), capture)

    def captures(self, last: int) -> Iterator[Capture]:
        """Yield the captures up to `last`."""
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
        """Yield id and JSON of the observations after `after_id`."""
        while page := self.connection.execute(
            "SELECT id, CAST(body AS BLOB) FROM observation WHERE id > ? ORDER BY id LIMIT ?",
            (after_id, _PAGE),
        ).fetchall():
            yield from page
            after_id = page[-1][0]

    def fold_source(self, *, from_nothing: bool = False, before: int | None = None) -> FoldSource:
        """
        Return the input for folding the table, up to and excluding observation `before`.

        With `from_nothing` the whole journal is folded: for a checkpoint that `Table.restore`
        rejects.
        """
        checkpoint = None if from_nothing else self.last_checkpoint(before)
        if checkpoint is None:
            return FoldSource(None, self.observations(before=before), self.head())
        after = self.observations(checkpoint.observation, before)
        return FoldSource(checkpoint.body, after, self.head())

    def close(self) -> None:
        """Close the connection."""
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
    """Return the end of a journal."""
    # One statement, hence one snapshot: a writer may be active.
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
    Fold the table from the last checkpoint; from the beginning if its version is unknown.

    With `before`, observations from that id on are ignored: the table of an earlier start.
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
    journal_database.check_file(path)
    path = journal_database.resolve_link(path)
    at_rest = not journal_database.wal_of(path).exists()
    before = path.stat()
    try:
        with (
            journal_database.explain_read_errors(path),
            JournalReader(path, mode="immutable=1" if at_rest else "mode=ro") as reader,
        ):
            journal_database.check_schema(reader.connection, path, reader.version)
            yield reader
    except (UserError, sqlite3.Error):
        _check_still_at_rest(path, before.st_mtime_ns, at_rest=at_rest)
        raise
    _check_still_at_rest(path, before.st_mtime_ns, at_rest=at_rest)


def _check_still_at_rest(path: Path, written: int, *, at_rest: bool) -> None:
    began = journal_database.wal_of(path).exists() or path.stat().st_mtime_ns != written
    if at_rest and began:
        raise UserError(f"{path}: a daemon began to write it while it was read: try again")
