"""
Proof that the events are what the observations come to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.verify import Broken
from shoe_daemon.table.events import Event, encode_event
from shoe_daemon.table.observations import AnyObservation


class Fold(Protocol):
    """
    What is needed of a table.
    """

    def apply(self, observation: AnyObservation, /) -> Sequence[Event]:
        """
        Take an observation and return what it comes to.
        """
        ...


class Refolded(Struct, frozen=True):
    """
    What folding a journal again came to.

    Attributes:
        broken: The first observation whose events differ; None where none does.
        events: Those that are the same, byte for byte.
    """

    broken: Broken | None
    events: int


def refold(reader: JournalReader, table: Fold) -> Refolded:
    """
    Fold all observations with a fresh table and compare the events' bytes.

    A difference in a journal whose chain holds means that another version of
    the program folded it, with other rules than this one's.
    """
    seq = 0
    for number, observation in enumerate(reader.observations(), start=1):
        made = [encode_event(event) for event in table.apply(observation)]
        stored = reader.events_of(number, after_seq=seq)
        if made != stored:
            return Refolded(Broken(f"observation {number}", _difference(made, stored, seq)), seq)
        seq += len(made)
    return Refolded(None, seq)


def _difference(made: list[bytes], stored: list[bytes], seq: int) -> str:
    pairs = zip([*made, None], [*stored, None], strict=False)
    place, (one, other) = next(
        (place, pair) for place, pair in enumerate(pairs, start=1) if pair[0] != pair[1]
    )
    return f"event {seq + place} is {_line(other)}, but folding gives {_line(one)}"


def _line(body: bytes | None) -> str:
    return "missing" if body is None else body.decode(errors="replace")
