"""
A part of the chain, so that a long journal need not be verified from its beginning.

It begins after a signature or after the checkpoint at the start of a shoe.
"""

from __future__ import annotations

import sqlite3
from typing import Final, Literal, NamedTuple

from shoe_daemon.journal.chain import Head, Identity
from shoe_daemon.journal.database import read_anchor
from shoe_daemon.journal.signatures import signed_head

Basis = Literal["start", "signature", "shoe"]

_CHECKPOINTS: Final = """
    SELECT observation, seq, hash FROM checkpoint WHERE seq < ? ORDER BY observation DESC LIMIT 2
"""
_LAST_CAPTURE: Final = """
    SELECT capture FROM observation WHERE id <= ? AND capture IS NOT NULL ORDER BY id DESC LIMIT 1
"""
_LAST_EVENT: Final = (
    "SELECT seq, observation, hash FROM event WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
)


class Part(NamedTuple):
    """
    A part of the chain.

    Attributes:
        start: The place before it, whose hash is taken as it is.
        end: The place where it ends; None for the end of the journal.
        basis: What holds the hash of `start`: the start of the journal (or the note where its
            oldest shoes were removed), a signature, or the checkpoint at the start of a shoe.
    """

    start: Head
    end: Head | None
    basis: Basis


def part_around(
    connection: sqlite3.Connection, identity: Identity, first: int, last: int | None = None
) -> Part:
    """
    Return the part with the events from `first` to `last`, or to the journal's end.

    It begins after the last signature before them. If no signature was made during the shoe
    before, it begins after the last checkpoint. It ends with the observation of `last`.
    """
    start, basis = _start_before(connection, identity, first)
    return Part(start, None if last is None else _head_after(connection, last, start), basis)


def journal_start(connection: sqlite3.Connection, identity: Identity) -> Head:
    """Return the place before the first row of a journal."""
    anchor = read_anchor(connection)
    if anchor is None:
        return Head(0, 0, 0, identity.hash())
    return Head(anchor.seq, anchor.observation, anchor.capture, anchor.hash)


def next_shoe(connection: sqlite3.Connection, after: int) -> Head | None:
    """Return the place after the first checkpoint after an observation; None without one."""
    row = connection.execute(
        "SELECT seq, observation, hash FROM checkpoint WHERE observation > ?"
        " ORDER BY observation LIMIT 1",
        (after,),
    ).fetchone()
    return None if row is None else _head(connection, *row)


def last_capture(connection: sqlite3.Connection, observation: int) -> int:
    """Return the last capture before the end of an observation; 0 for none."""
    found = connection.execute(_LAST_CAPTURE, (observation,)).fetchone()
    capture = found[0] if found else 0
    # After it, frames without an observation.
    rows = connection.execute("SELECT id, after FROM capture WHERE id > ? ORDER BY id", (capture,))
    for number, after in rows:
        if after >= observation:
            break
        capture = number
    return int(capture)


def _start_before(
    connection: sqlite3.Connection, identity: Identity, first: int
) -> tuple[Head, Basis]:
    beginning = journal_start(connection, identity)
    shoes = [
        row for row in connection.execute(_CHECKPOINTS, (first,)) if row[0] > beginning.observation
    ]
    signed = signed_head(connection, before=first)
    since = shoes[-1][0] if len(shoes) > 1 else beginning.observation
    if signed is not None and signed.observation >= since:
        return signed, "signature"
    if not shoes:
        return beginning, "start"
    observation, seq, digest = shoes[0]
    return _head(connection, seq, observation, digest), "shoe"


def _head_after(connection: sqlite3.Connection, event: int, start: Head) -> Head:
    """Return the place after the observation that caused an event."""
    row = connection.execute(_LAST_EVENT, (event,)).fetchone()
    if row is None or row[0] <= start.seq:
        return start
    seq, observation, digest = row
    rows = connection.execute(
        "SELECT seq, observation, hash FROM event WHERE seq > ? ORDER BY seq", (seq,)
    )
    for later, of, hashed in rows:
        if of != observation:
            break
        seq, digest = later, hashed
    found = connection.execute(
        "SELECT hash FROM checkpoint WHERE observation = ?", (observation,)
    ).fetchone()
    return _head(connection, seq, observation, digest if found is None else found[0])


def _head(connection: sqlite3.Connection, seq: int, observation: int, digest: bytes) -> Head:
    return Head(seq, observation, last_capture(connection, observation), digest)
