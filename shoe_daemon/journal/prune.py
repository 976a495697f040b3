"""Removal of the oldest shoes; the hash chain of the others stays provable."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple

from shoe_daemon.journal import database
from shoe_daemon.journal.database import (
    Anchor,
    JournalUnwritable,
    error_reason,
    file_error,
    read_anchor,
)
from shoe_daemon.journal.lock import WriterLock
from shoe_daemon.journal.part import last_capture
from shoe_daemon.journal.start_check import inspect

_STARTS: Final = """
    SELECT shoe, seq, min(observation), at FROM event WHERE type = 'shoe_started'
    GROUP BY shoe ORDER BY shoe LIMIT 2
"""
_FIRST_OF_FRAME: Final = """
    SELECT min(o.id) FROM observation s JOIN observation o ON o.id BETWEEN s.id - 1000 AND s.id
    WHERE s.id = ? AND (o.id = s.id OR o.capture = s.capture)
"""
_LAST_EVENT: Final = """
    SELECT seq, observation, hash FROM event WHERE seq < ? AND observation <= ?
    ORDER BY seq DESC LIMIT 1
"""
_UNUSED_SEQ: Final = """
    SELECT max(body ->> '$.next_seq') - 1 FROM observation WHERE type = 'gap' AND id <= ?
"""
_ACKNOWLEDGED: Final = "SELECT min(seq) FROM cursor WHERE consumer <> 'check'"
"""The check of the whole journal waits for none."""

_SET_ANCHOR: Final = "INSERT OR REPLACE INTO anchor VALUES (1, ?, ?, ?, ?, ?, ?)"


class Removal(Struct, frozen=True):
    """
    The result of a removal.

    Attributes:
        anchor: Where the journal begins now; None at its start.
    """

    shoes: int
    anchor: Anchor | None


def remove_old_shoes(path: Path, before: str, at: str, *, compact: bool = False) -> Removal:
    """
    Remove the shoes that ended before a time; the last shoe stays in any case.

    Each shoe is removed in a transaction of its own: after a crash or a power cut the journal is
    valid, and the removal can be repeated. Events that a consumer has not acknowledged stay.
    `compact` gives the room back to the file system; otherwise later entries use it.

    Raises:
        UserError: A daemon writes the journal, or it cannot be written.
    """
    path = database.resolve_link(path)
    database.check_file(path)
    with closing(WriterLock.take(path)) as lock:
        lock.take_file(path)
        try:
            _, version = inspect(path)
            with closing(database.connect(path, "mode=rw")) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                database.migrate(connection, version)
                count = sum(1 for _ in _remove(connection, before, at))
                if compact:
                    connection.execute("VACUUM")
                return Removal(count, read_anchor(connection))
        except sqlite3.Error as error:
            raise file_error(path, "cannot be written", error) from error


def remove_oldest_shoe(path: Path, before: str, at: str) -> int | None:
    """
    Remove the oldest shoe, if it ended before a time and is not the last; as `remove_old_shoes`.

    For the process that writes the journal, between two of its transactions.

    Returns:
        The removed shoe; None if there is none to remove.

    Raises:
        JournalUnwritable: The shoe is still whole.
    """
    try:
        with closing(database.connect(path, "mode=rw")) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            return next(_remove(connection, before, at), None)
    except sqlite3.Error as error:
        line = f"{path}: its oldest shoe cannot be removed: {error_reason(error)}"
        raise JournalUnwritable(line) from error


def _remove(connection: sqlite3.Connection, before: str, at: str) -> Iterator[int]:
    """Remove shoe after shoe, and yield the number of each."""
    (acknowledged,) = connection.execute(_ACKNOWLEDGED).fetchone()
    # A shoe has ended when the next one starts.
    while len(starts := connection.execute(_STARTS).fetchall()) > 1:
        (shoe, *_), (_, seq, start, ended) = starts
        if ended >= before:
            return
        anchor = _anchor_before(connection, seq, start, shoe=shoe, at=at)
        if acknowledged is not None and anchor.seq > acknowledged:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            _remove_up_to(connection, anchor)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # on a full disk SQLite has ended it
                connection.execute("ROLLBACK")
            raise
        yield shoe


def _anchor_before(
    connection: sqlite3.Connection, seq: int, start: int, *, shoe: int, at: str
) -> Anchor:
    """
    Return the anchor before the frame that started the shoe after `shoe`.

    `seq` and `start` are the event and the observation that started it.
    """
    (first,) = connection.execute(_FIRST_OF_FRAME, (start,)).fetchone()
    last = first - 1
    event, of, digest = connection.execute(_LAST_EVENT, (seq, last)).fetchone()
    if of != last:
        (digest,) = connection.execute(
            "SELECT hash FROM observation WHERE id = ?", (last,)
        ).fetchone()
    checkpoint = connection.execute(
        "SELECT hash FROM checkpoint WHERE observation = ?", (last,)
    ).fetchone()
    digest = digest if checkpoint is None else checkpoint[0]
    # A restored journal skips numbers, and the gap that says so may be removed.
    (unused,) = connection.execute(_UNUSED_SEQ, (last,)).fetchone()
    event = max(event, unused or 0)
    return Anchor(last_capture(connection, last), last, event, shoe, at, digest)


def _remove_up_to(connection: sqlite3.Connection, anchor: Anchor) -> None:
    last = (anchor.observation,)
    connection.execute("DELETE FROM event WHERE seq <= ?", (anchor.seq,))
    connection.execute("DELETE FROM checkpoint WHERE observation <= ?", last)
    # The session in effect says by which program and readers the next rows were written.
    connection.execute(
        "DELETE FROM observation WHERE id <= :last AND id <> ifnull((SELECT max(id)"
        " FROM observation WHERE type = 'session' AND id <= :last), 0)",
        {"last": anchor.observation},
    )
    connection.execute("DELETE FROM capture WHERE id <= ?", (anchor.capture,))
    connection.execute(_SET_ANCHOR, astuple(anchor))
