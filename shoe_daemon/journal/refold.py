"""
Check that the observations decode from the raw bytes, and that the events fold from the
observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon import __version__
from shoe_daemon.journal.database import read_anchor
from shoe_daemon.journal.raw import DecoderOf, RawCheck, RawVerdict
from shoe_daemon.journal.reader import Capture, JournalReader, ObservationRow, fold_table
from shoe_daemon.journal.verify import FaultFound, JournalFault
from shoe_daemon.table import Gap, Session, Table, encode_event, was_applied

Progress = Callable[[int, int], None]
"""Called with the number of rows done and the total."""

_PROGRESS_EVERY: Final = 1000

_PLACE: Final = """
    SELECT shoe, round, CAST(at AS BLOB) FROM event
    WHERE seq BETWEEN ?1 AND ?1 + 1 AND observation <= ?2 ORDER BY seq DESC LIMIT 1
"""


class OtherVersion(Struct, frozen=True):
    """
    A part of a journal, written by another program version, that folds to other events today.

    Attributes:
        program: That version; None if the session does not record it.
        observations: Number of observations whose events differ.
    """

    program: str | None
    from_event: int
    to_event: int
    observations: int
    first: JournalFault


class RefoldResult(Struct, frozen=True):
    """
    The result of decoding and folding a journal again.

    Attributes:
        broken: The first difference in a part written by this version; None if there is none.
        events: Number of events that are identical, byte for byte.
        other_versions: Parts that this version cannot judge.
    """

    broken: JournalFault | None
    events: int
    other_versions: tuple[OtherVersion, ...]
    program: str
    raw: RawVerdict


def refold(
    reader: JournalReader,
    decoder_of: DecoderOf,
    *,
    program: str = __version__,
    progress: Progress = lambda _done, _total: None,
) -> RefoldResult:
    """
    Decode all raw bytes and fold all observations again, and compare byte for byte.

    The check ends at the first difference in a part written by this version: there, the journal
    was changed. In a part of another version the program itself may have changed, so the check
    continues.
    """
    return _Refold(reader, decoder_of, program).run(progress)


Row = TypeVar("Row")


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


class _Refold:
    def __init__(self, reader: JournalReader, decoder_of: DecoderOf, program: str) -> None:
        self._reader = reader
        self._raw = RawCheck(decoder_of)
        self._program = program
        self._table = Table()
        self._other = False
        self._written_by: str | None = None
        self._parts: list[OtherVersion] = []
        self._part_begins = 1
        self._in_part = False
        self._seq = self._same = self._observation = 0
        self._unproved_until = 0
        if (anchor := read_anchor(reader.connection)) is not None:
            # The state at the anchor is unknown: the comparison begins at the first checkpoint.
            first = reader.first_checkpoint()
            self._seq, self._part_begins = anchor.seq, anchor.seq + 1
            self._unproved_until = first.observation if first else 0

    def run(self, progress: Progress) -> RefoldResult:
        broken = None
        try:
            self._walk(progress)
        except FaultFound as found:
            broken = self._placed(found.fault)
        return RefoldResult(
            broken, self._same, tuple(self._parts), self._program, self._raw.verdict()
        )

    def _placed(self, fault: JournalFault) -> JournalFault:
        """Return a fault with the shoe, round and time of its event, or of the one before it."""
        row = self._reader.connection.execute(_PLACE, (self._seq, self._observation)).fetchone()
        if row is None:
            return fault
        shoe, number, at = row
        return replace(fault, shoe=shoe, round=number, at=at.decode())

    def _walk(self, progress: Progress) -> None:
        head = self._reader.head()
        captures = RowQueue(self._reader.captures(head.capture))
        rows = self._reader.observation_rows(head.observation)
        for row, following in pairwise(chain(rows, [None])):
            if row is None:
                break
            self._observation = row.id
            self._decode(captures, row.id)
            if isinstance(row.observation, Session):
                self._begin(row.id, row.observation)
            self._raw.observation(row)
            applied = was_applied(None if following is None else following.observation)
            self._fold(row, applied=applied)
            if row.id % _PROGRESS_EVERY == 0:
                progress(row.id, head.observation)
        self._decode(captures, head.observation + 1)
        self._raw.finish()

    def _decode(self, captures: RowQueue[Capture], before: int) -> None:
        """Decode the captures that were stored before an observation."""
        for capture in captures.take_while(lambda row: row.after < before):
            self._raw.capture(capture)

    def _begin(self, number: int, session: Session) -> None:
        other = session.program != self._program
        if self._other and not other:
            # At this start the daemon folded the journal again: replace the old version's table.
            self._table = fold_table(self._reader, before=number)
            self._table.state.seq = self._seq
        if session.program != self._written_by:
            self._part_begins, self._in_part = self._seq + 1, False
        self._other, self._written_by = other, session.program

    def _fold(self, row: ObservationRow, *, applied: bool) -> None:
        if row.id <= self._unproved_until:
            self._pass_over(row)
            return
        events = self._table.apply(row.observation) if applied else []
        made = [encode_event(event) for event in events]
        if isinstance(row.observation, Gap) and row.observation.next_seq is not None:
            self._seq = max(self._seq, row.observation.next_seq - 1)
        stored = self._reader.events_of(row.id, after_seq=self._seq)
        if made == stored:
            self._same += len(stored)
        else:
            found = FaultFound(f"observation {row.id}", _difference(made, stored, self._seq))
            if not self._other:
                raise found
            self._add(found.fault)
        self._seq += len(stored)
        self._table.state.seq = self._seq
        if self._in_part:
            self._parts[-1] = replace(self._parts[-1], to_event=self._seq)

    def _pass_over(self, row: ObservationRow) -> None:
        self._seq += len(self._reader.events_of(row.id, after_seq=self._seq))
        if row.id == self._unproved_until:
            self._table = fold_table(self._reader, before=row.id + 1)
            self._table.state.seq = self._seq

    def _add(self, difference: JournalFault) -> None:
        if not self._in_part:
            self._in_part = True
            part = OtherVersion(self._written_by, self._part_begins, self._seq, 0, difference)
            self._parts.append(part)
        part = self._parts[-1]
        self._parts[-1] = replace(part, observations=part.observations + 1)


def _difference(made: list[bytes], stored: list[bytes], seq: int) -> str:
    pairs = zip([*made, None], [*stored, None], strict=False)
    place, (one, other) = next(
        (place, pair) for place, pair in enumerate(pairs, start=1) if pair[0] != pair[1]
    )
    return f"event {seq + place} is {_line(other)}, but folding gives {_line(one)}"


def _line(body: bytes | None) -> str:
    return "missing" if body is None else body.decode(errors="replace")
