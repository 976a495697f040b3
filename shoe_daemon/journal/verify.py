"""Verification of a journal's hash chain, numbering and columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from shoe_daemon.journal.entries_and_hash_chain import (
    Head,
    capture_hash,
    checkpoint_hash,
    event_hash,
    observation_hash,
)
from shoe_daemon.journal.journal_database import SALTED_SINCE
from shoe_daemon.journal.journal_reader import JournalReader
from shoe_daemon.journal.part import Part, journal_start
from shoe_daemon.journal.start_after_pruning import Anchor, read_anchor

_CAPTURES: Final = """
    SELECT id, at, source, bytes, after, hash, {salt} FROM capture
    WHERE id > ? AND id <= ? ORDER BY id
"""
_OBSERVATIONS: Final = """
    SELECT id, at, source, type, body, capture, hash, {salt} FROM observation
    WHERE id > ? AND id <= ? ORDER BY id
"""
_EVENTS: Final = """
    SELECT seq, observation, at, shoe, round, type, body, hash, {salt} FROM event
    WHERE seq > ? AND seq <= ? ORDER BY seq
"""
_CHECKPOINTS: Final = """
    SELECT observation, seq, shoe, body, hash, {salt} FROM checkpoint
    WHERE observation > ? AND observation <= ? ORDER BY observation
"""

_NO_END: Final = 1 << 62

_PROGRESS_EVERY: Final = 1000


class JournalFault(Struct, frozen=True):
    """
    The first row at which verification failed.

    Attributes:
        row: Table and number, such as ``event 8``.
        what: A sentence with the expected value.
    """

    row: str
    what: str


class ChainVerdict(Struct, frozen=True):
    """
    The result of verifying the chain, with the numbers of valid rows.

    Attributes:
        broken: The first fault; None if there is none.
        hash: The hash of the last valid link.
        found_at: The row with the hash given as `find`; None if not found.
        anchor: Where the journal begins, if its oldest shoes were removed.
    """

    broken: JournalFault | None
    captures: int
    observations: int
    events: int
    checkpoints: int
    hash: bytes
    found_at: str | None
    anchor: Anchor | None = None


def verify(
    reader: JournalReader,
    *,
    find: bytes | None = None,
    part: Part | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ChainVerdict:
    """
    Verify the chain from its start, in one snapshot of a journal that may be written meanwhile;
    with `part` that part only.

    `find` is a head hash noted elsewhere: if no row has it, the journal is another one, or
    truncated. `progress` is called with the observations done and their total.
    """
    connection = reader.connection
    factories = connection.text_factory, connection.row_factory
    connection.text_factory, connection.row_factory = bytes, sqlite3.Row
    try:
        with reader.snapshot():
            return _Walk(connection, reader, find, part, progress).run()
    finally:
        connection.text_factory, connection.row_factory = factories


class FaultFound(Exception):  # noqa: N818 - a finding, not a failure
    """The first fault: `fault` names its row."""

    def __init__(self, row: str, what: str) -> None:
        super().__init__(what)
        self.fault = JournalFault(row, what)


class _ObservationBody(Struct):
    at: str
    type: str
    source: str | None = None
    next_seq: int | None = None


class _EventBody(Struct):
    at: str
    round: int | None
    seq: int
    shoe: int | None
    site: str
    table: str
    type: str


_decode_observation = msgspec.json.Decoder(_ObservationBody).decode
_decode_event = msgspec.json.Decoder(_EventBody).decode


Row = TypeVar("Row")
Body = TypeVar("Body")


class RowQueue(Generic[Row]):
    """Rows in order, of which the next is known."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def take_while(self, belongs: Callable[[Row], bool]) -> Iterator[Row]:
        """Yield rows while they belong; the first other row stays in `next`."""
        while self.next is not None and belongs(self.next):
            row = self.next
            self.next = next(self._rows, None)
            yield row


class _Walk:
    """One pass over the journal: counts valid rows and stops at the first fault."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        reader: JournalReader,
        find: bytes | None,
        part: Part | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self._identity = reader.identity
        self._progress = progress
        (self._total,) = connection.execute(
            "SELECT ifnull(max(id), 0) FROM observation"
        ).fetchone()
        self._find = find
        self._anchor = read_anchor(connection)
        start = journal_start(connection, reader.identity) if part is None else part.start
        self._start = start
        self._end = None if part is None else part.end
        self._hash, self._seq = start.hash, start.seq
        self._capture, self._observation = start.capture, start.observation
        self._found_at = "start" if self._hash == find else None
        self._events_seen = self._checkpoints_seen = 0
        self._is_salted = False
        # A reader never migrates.
        salt = "salt" if reader.version >= SALTED_SINCE else "NULL AS salt"
        # In a whole journal no row may be before its start.
        low = Head(-_NO_END, start.observation, -_NO_END, b"") if part is None else start
        high = self._end or Head(_NO_END, _NO_END, _NO_END, b"")

        def rows(query: str, after: int, last: int) -> Iterator[sqlite3.Row]:
            return connection.execute(query.format(salt=salt), (after, last))

        self._captures = RowQueue(rows(_CAPTURES, low.capture, high.capture))
        self._observations = rows(_OBSERVATIONS, low.observation, high.observation)
        self._events = RowQueue(rows(_EVENTS, low.seq, high.seq))
        after = low.observation if part else -_NO_END
        self._checkpoints = RowQueue(rows(_CHECKPOINTS, after, high.observation))

    def run(self) -> ChainVerdict:
        """Verify up to the end or the first fault."""
        broken = None
        try:
            self._walk()
        except FaultFound as found:
            broken = found.fault
        return ChainVerdict(
            broken,
            self._capture - self._start.capture,
            self._observation - self._start.observation,
            self._events_seen,
            self._checkpoints_seen,
            self._hash,
            self._found_at,
            self._anchor,
        )

    def _walk(self) -> None:
        self._follow_captures()
        for observation in self._observations:
            self._check_observation(observation)
            for event in self._events.take_while(
                lambda row: row["observation"] <= self._observation
            ):
                self._check_event(event)
            for checkpoint in self._checkpoints.take_while(
                lambda row: row["observation"] <= self._observation
            ):
                self._check_checkpoint(checkpoint)
            self._follow_captures()
            if self._observation % _PROGRESS_EVERY == 0:
                self._progress(self._observation, self._total)
        self._check_nothing_is_left()
        if self._end is not None:
            _expect(f"event {self._end.seq}", "hash", self._hash.hex(), self._end.hash.hex())

    def _follow_captures(self) -> None:
        for capture in self._captures.take_while(lambda row: row["after"] <= self._observation):
            self._check_capture(capture)

    def _check_capture(self, row: sqlite3.Row) -> None:
        name = f"capture {row['id']}"
        _expect(name, "number", row["id"], self._capture + 1)
        _expect(name, "`after`", row["after"], self._observation)
        made = capture_hash(
            self._hash,
            row["salt"],
            at=row["at"],
            source=row["source"],
            after=row["after"],
            raw=row["bytes"],
        )
        self._link(name, row, made)
        self._capture = row["id"]

    def _check_observation(self, row: sqlite3.Row) -> None:
        name = f"observation {row['id']}"
        _expect(name, "number", row["id"], self._observation + 1)
        made = observation_hash(self._hash, row["salt"], row["body"], row["capture"])
        self._link(name, row, made)
        if row["capture"] is not None:
            _expect(name, "`capture`", row["capture"], self._capture)
        body = _decoded(name, _decode_observation, row["body"])
        for column in ("at", "source", "type"):
            _expect_column(name, column, row[column], getattr(body, column))
        self._observation = row["id"]
        if body.type == "gap" and body.next_seq is not None:
            # A restored journal never uses the numbers before: others may have been told them.
            self._seq = max(self._seq, body.next_seq - 1)

    def _check_event(self, row: sqlite3.Row) -> None:
        name = f"event {row['seq']}"
        _expect(name, "number", row["seq"], self._seq + 1)
        _expect(name, "`observation`", row["observation"], self._observation)
        self._link(name, row, event_hash(self._hash, row["salt"], row["body"]))
        body = _decoded(name, _decode_event, row["body"])
        _expect(name, "body's `seq`", body.seq, row["seq"])
        _expect(name, "`shoe`", row["shoe"], body.shoe)
        _expect(name, "`round`", row["round"], body.round)
        for column in ("at", "type"):
            _expect_column(name, column, row[column], getattr(body, column))
        _expect(name, "body's `site`", body.site, self._identity.site)
        _expect(name, "body's `table`", body.table, self._identity.table)
        self._seq = row["seq"]
        self._events_seen += 1

    def _check_checkpoint(self, row: sqlite3.Row) -> None:
        name = f"checkpoint of observation {row['observation']}"
        _expect(name, "`observation`", row["observation"], self._observation)
        _expect(name, "`seq`", row["seq"], self._seq)
        made = checkpoint_hash(
            self._hash, row["salt"], seq=row["seq"], shoe=row["shoe"], body=row["body"]
        )
        self._link(name, row, made)
        self._checkpoints_seen += 1

    def _link(self, name: str, row: sqlite3.Row, made: bytes) -> None:
        stored = row["hash"]
        if stored != made:
            raise FaultFound(
                name,
                f"its hash is {stored.hex()[:16]}…, but the hash before it and what it holds"
                f" give {made.hex()[:16]}…",
            )
        if self._is_salted and row["salt"] is None:
            raise FaultFound(name, "it has no salt, but the row before it has one")
        self._is_salted = row["salt"] is not None
        self._hash = made
        if made == self._find:
            self._found_at = name

    def _check_nothing_is_left(self) -> None:
        last = f"the last observation is {self._observation}"
        if row := self._captures.next:
            raise FaultFound(
                f"capture {row['id']}", f"it comes after observation {row['after']}; {last}"
            )
        if event := self._events.next:
            raise FaultFound(
                f"event {event['seq']}", f"it is of observation {event['observation']}; {last}"
            )
        if checkpoint := self._checkpoints.next:
            raise FaultFound(f"checkpoint of observation {checkpoint['observation']}", last)


def _expect(name: str, what: str, found: object, expected: object) -> None:
    if found != expected:
        raise FaultFound(name, f"its {what} is {_plain(found)}, expected {_plain(expected)}")


def _expect_column(name: str, column: str, found: bytes | None, expected: str | None) -> None:
    if found != (None if expected is None else expected.encode()):
        raise FaultFound(
            name, f"its `{column}` is {_plain(found)}, its body says {_plain(expected)}"
        )


def _plain(value: object) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return "nothing" if text is None else repr(text)


def _decoded(name: str, decode: Callable[[bytes], Body], body: bytes) -> Body:
    try:
        return decode(body)
    except msgspec.DecodeError as error:
        raise FaultFound(name, f"its body is not what it should be: {error}") from error
