"""Verification of a journal's hash chain, numbering and columns."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import merge
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.journal.chain import (
    Head,
    capture_hash,
    checkpoint_hash,
    event_hash,
    observation_hash,
)
from shoe_daemon.journal.database import SALTED_SINCE, Anchor, read_anchor
from shoe_daemon.journal.part import Part, journal_start
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.table import to_microseconds

_QUERIES: Final = {
    "observation": """
        SELECT id, 4 * id AS place, at, source, type, body, capture, hash, {salt} FROM observation
        WHERE id > ? AND id <= ? ORDER BY id
    """,
    "event": """
        SELECT seq, 4 * observation + 1 AS place, observation, at, shoe, round, type, body, hash,
            {salt} FROM event WHERE seq > ? AND seq <= ? ORDER BY seq
    """,
    "checkpoint": """
        SELECT observation, 4 * observation + 2 AS place, seq, shoe, body, hash, {salt}
        FROM checkpoint WHERE observation > ? AND observation <= ? ORDER BY observation
    """,
    "capture": """
        SELECT id, 4 * after + 3 AS place, at, source, bytes, after, hash, {salt} FROM capture
        WHERE id > ? AND id <= ? ORDER BY id
    """,
}
"""The rows of each table; `place` is their order of writing."""

_NEXT_EVENT: Final = """
    SELECT observation, body FROM event WHERE seq > ? ORDER BY seq LIMIT 1
"""

_NO_END: Final = 1 << 62

_LISTED: Final = 50
"""The most breaks that are listed; all are counted."""

_PROGRESS_EVERY: Final = 1000


class JournalFault(Struct, frozen=True):
    """
    A row at which verification failed.

    Attributes:
        row: Table and number, such as ``event 8``.
        what: A sentence with the expected value.
        shoe: The shoe and round of the row; of the event before it where the row has none.
        at: When the row was written; None if its time cannot be read.
    """

    row: str
    what: str
    shoe: int | None = None
    round: int | None = None
    at: str | None = None

    def __str__(self) -> str:
        """Return the place and what is wrong there, in one line."""
        shoe = "" if self.shoe is None else f", shoe {self.shoe:,}"
        number = "" if self.round is None else f", round {self.round:,}"
        at = "" if self.at is None else f", {self.at}"
        return f"{self.row}{shoe}{number}{at}: {self.what}"


class ChainVerdict(Struct, frozen=True):
    """
    The result of verifying the chain, with the numbers of valid rows before the first break.

    A valid chain is unchanged as far as it goes. It does not prove its end: a chain whose last
    rows were removed is valid.

    Attributes:
        breaks: The first 50 rows that do not follow from the row before them. Between two breaks
            the rows are a valid chain by themselves.
        break_count: How many there are.
        seq: The last event before the first break.
        hash: The hash of the last link before the first break.
        found_at: The row with the hash given as `find`; None if not found.
        anchor: Where the journal begins, if its oldest shoes were removed.
    """

    breaks: tuple[JournalFault, ...]
    break_count: int
    captures: int
    observations: int
    events: int
    checkpoints: int
    seq: int
    hash: bytes
    found_at: str | None
    anchor: Anchor | None = None

    @property
    def broken(self) -> JournalFault | None:
        """The first break; None if there is none."""
        return self.breaks[0] if self.breaks else None


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

    After a break the rows that follow are verified as a chain of their own.

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
    """A fault: `fault` names its row."""

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


Body = TypeVar("Body")


class _Walk:
    """One pass over the journal: counts valid rows up to the first break, and notes all breaks."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        reader: JournalReader,
        find: bytes | None,
        part: Part | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self._connection = connection
        self._identity = reader.identity
        self._progress = progress
        (self._total,) = connection.execute(
            "SELECT ifnull(max(id), 0) FROM observation"
        ).fetchone()
        self._find = find
        self._anchor = read_anchor(connection)
        start = journal_start(connection, reader.identity) if part is None else part.start
        self._end = None if part is None else part.end
        self._hash, self._observation = start.hash, start.observation
        # The numbers of the last rows; None after a break, until the next row of the kind.
        self._capture: int | None = start.capture
        self._seq: int | None = start.seq
        # In a whole journal no row may be before its start.
        low = Head(-_NO_END, start.observation, -_NO_END, b"") if part is None else start
        high = self._end or Head(_NO_END, _NO_END, _NO_END, b"")
        after = -_NO_END if part is None else low.observation
        self._spans = {
            "observation": (low.observation, high.observation),
            "event": (low.seq, high.seq),
            "checkpoint": (after, high.observation),
            "capture": (low.capture, high.capture),
        }
        self._last_seq = self._seq
        self._last_event: _EventBody | None = None
        self._found_at = "start" if self._hash == find else None
        self._valid = Counter[str]()
        self._is_salted = False
        self._breaks: list[JournalFault] = []
        self._break_count = 0
        # A reader never migrates.
        self._salt = "salt" if reader.version >= SALTED_SINCE else "NULL AS salt"

    def run(self) -> ChainVerdict:
        """Verify up to the end."""
        checks = {
            "observation": self._check_observation,
            "event": self._check_event,
            "checkpoint": self._check_checkpoint,
            "capture": self._check_capture,
        }
        before_break: ChainVerdict | None = None
        for _, kind, row in merge(*map(self._rows, checks)):
            try:
                checks[kind](row)
            except FaultFound as found:
                before_break = before_break or self._verdict()
                self._note(kind, row, found.fault)
                self._begin_again(kind, row)
            else:
                self._valid[kind] += 1
            if kind == "observation" and row["id"] % _PROGRESS_EVERY == 0:
                self._progress(row["id"], self._total)
        end = self._end
        if end is not None and not self._breaks and self._hash != end.hash:
            what = f"its hash is {self._hash.hex()[:16]}…, expected {end.hash.hex()[:16]}…"
            self._breaks, self._break_count = [JournalFault(f"event {end.seq}", what)], 1
        return replace(
            before_break or self._verdict(),
            breaks=tuple(self._breaks),
            break_count=self._break_count,
            found_at=self._found_at,
        )

    def _rows(self, kind: str) -> Iterator[tuple[int, str, sqlite3.Row]]:
        """Yield the rows of a table, each with its place in the order of writing."""
        query = _QUERIES[kind].format(salt=self._salt)
        for row in self._connection.execute(query, self._spans[kind]):
            yield row["place"], kind, row

    def _verdict(self) -> ChainVerdict:
        valid = self._valid
        return ChainVerdict(
            (),
            0,
            valid["capture"],
            valid["observation"],
            valid["event"],
            valid["checkpoint"],
            self._seq or 0,
            self._hash,
            self._found_at,
            self._anchor,
        )

    def _note(self, kind: str, row: sqlite3.Row, fault: JournalFault) -> None:
        self._break_count += 1
        if len(self._breaks) < _LISTED:
            of = self._event_of(kind, row)
            self._breaks.append(
                replace(
                    fault,
                    shoe=of.shoe if of else None,
                    round=of.round if of else None,
                    at=None if kind == "checkpoint" else _timestamp(row["at"]),
                )
            )

    def _event_of(self, kind: str, row: sqlite3.Row) -> _EventBody | None:
        """Return the event of a row: the first that it caused, else the last before it."""
        if kind == "event":
            return _event(row["body"]) or self._last_event
        if kind != "checkpoint":
            caused_by = row["after"] + 1 if kind == "capture" else row["id"]
            following = self._connection.execute(_NEXT_EVENT, (self._last_seq,)).fetchone()
            if following is not None and following["observation"] == caused_by:
                return _event(following["body"]) or self._last_event
        return self._last_event

    def _begin_again(self, kind: str, row: sqlite3.Row) -> None:
        """Continue with the chain that begins after this row."""
        self._hash, self._is_salted = row["hash"], row["salt"] is not None
        self._observation = row["place"] // 4
        self._capture = row["id"] if kind == "capture" else None
        self._seq = row["seq"] if kind in ("event", "checkpoint") else None
        if kind == "event":
            self._last_seq = row["seq"]
            self._last_event = _event(row["body"]) or self._last_event

    def _check_capture(self, row: sqlite3.Row) -> None:
        name = f"capture {row['id']}"
        _expect_next(name, row["id"], self._capture)
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
        _expect_next(name, row["id"], self._observation)
        made = observation_hash(self._hash, row["salt"], row["body"], row["capture"])
        self._link(name, row, made)
        if row["capture"] is not None and self._capture is not None:
            _expect(name, "`capture`", row["capture"], self._capture)
        body = _decoded(name, _decode_observation, row["body"])
        for column in ("at", "source", "type"):
            _expect_column(name, column, row[column], getattr(body, column))
        self._observation = row["id"]
        if body.type == "gap" and body.next_seq is not None and self._seq is not None:
            # A restored journal never uses the numbers before: others may have been told them.
            self._seq = max(self._seq, body.next_seq - 1)

    def _check_event(self, row: sqlite3.Row) -> None:
        name = f"event {row['seq']}"
        _expect_next(name, row["seq"], self._seq)
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
        self._seq = self._last_seq = row["seq"]
        self._last_event = body

    def _check_checkpoint(self, row: sqlite3.Row) -> None:
        name = f"checkpoint of observation {row['observation']}"
        _expect(name, "`observation`", row["observation"], self._observation)
        if self._seq is not None:
            _expect(name, "`seq`", row["seq"], self._seq)
        made = checkpoint_hash(
            self._hash, row["salt"], seq=row["seq"], shoe=row["shoe"], body=row["body"]
        )
        self._link(name, row, made)

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


def _event(body: bytes) -> _EventBody | None:
    try:
        return _decode_event(body)
    except msgspec.DecodeError:
        return None


def _timestamp(at: bytes) -> str | None:
    try:
        text = at.decode()
        to_microseconds(text)
    except ValueError:
        return None
    return text


def _expect_next(name: str, number: int, last: int | None) -> None:
    if last is not None:
        _expect(name, "number", number, last + 1)


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
