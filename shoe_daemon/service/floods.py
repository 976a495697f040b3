"""
Floods of a reader: a line that sends much more than a table can need, by a fault or on purpose.

Frames that carry a card are always kept, and so are changes of the link, which the reader itself
limits. Of all others ten in a second are kept; beyond them, only their number and the hash of
their bytes are, in one `Gap`. What says that a round, a bet or a card began or ended has its own
ten in a second, so that a flood of errors hides no result. After a card the count begins again: a
lawful line sends a few other frames for each card, however fast it is played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from hashlib import sha256
from typing import Any, Final, NamedTuple

from msgspec import Struct

from drivers import Frame
from shoe_daemon.journal.clips import is_witness
from shoe_daemon.table import observations as seen

MAX_SINGLE: Final = 10
"""Frames of a kind in a second that are kept one by one."""

SPAN_S: Final = 1.0
"""A second begins with the first frame after the one before."""

_ALARM_S: Final = 10.0
"""The alarm lasts for so long after the last frame that was omitted."""

_CARDS: Final = (
    seen.CardDrawn,
    seen.Disclosed,
    seen.Withdrawn,
    seen.Carried,
    seen.Placed,
)
_ALWAYS_KEPT: Final = (*_CARDS, seen.Link)
_SIGNALS: Final = (
    # No shoe passes ten cards a second: a gap tells as much as so many unread ones.
    seen.Unreadable,
    seen.Booted,
    seen.CutCardSeen,
    seen.TableCleared,
    seen.Result,
    seen.NoMoreBets,
    seen.BettingOpen,
    seen.Command,
)


class Omission(NamedTuple):
    """The gap for omitted frames; `received` is when the last was (monotonic)."""

    gap: seen.Gap
    received: float


class Rate(NamedTuple):
    """Frames without a card that a reader has sent within a second."""

    reader: str
    frames: int


class _Line(Struct):
    """
    A reader's line. Times are monotonic seconds.

    Attributes:
        began: When its current second began.
        sent: Frames without a card in that second.
        signals, others: How many of each kind were kept, since the last card too.
        omitted: Frames that no gap has counted yet.
        hash: The SHA-256 of their bytes; replaced, never changed.
        received: When the last of them was.
        due: When their gap is written at the latest.
        rate: Frames of the last second in which some were omitted.
        alarm_until: The end of its alarm.
    """

    began: float = float("-inf")
    sent: int = 0
    signals: int = 0
    others: int = 0
    omitted: int = 0
    hash: Any = None
    received: float = 0.0
    due: float = float("inf")
    rate: int = 0
    alarm_until: float = float("-inf")

    def keeps(self, frame: Frame) -> bool:
        """Count a frame without a card; return whether it is kept."""
        if frame.received - self.began >= SPAN_S:
            self.began, self.sent = frame.received, 0
            self.signals = self.others = 0
        self.sent += 1
        if any(isinstance(each, _SIGNALS) for each in frame.observations):
            self.signals += 1
            return self.signals <= MAX_SINGLE
        self.others += 1
        return self.others <= MAX_SINGLE

    def omit(self, frame: Frame, now: float) -> None:
        """Add a frame to those that the next gap counts."""
        if not self.omitted:
            self.hash, self.due = sha256(), now + SPAN_S
        self.hash = self.hash.copy()
        self.hash.update(frame.raw)
        self.omitted += 1
        self.received, self.rate, self.alarm_until = frame.received, self.sent, now + _ALARM_S


class Floods:
    """
    Judges the frames of all readers of a table. Reads no clock: `now` is the monotonic time at
    which a frame is processed.
    """

    def __init__(self, lines: Mapping[str, _Line] | None = None) -> None:
        self._lines = dict(lines or {})

    def copy(self) -> Floods:
        """Return an independent copy: frames that could not be journaled are judged again."""
        return Floods({name: copy(line) for name, line in self._lines.items()})

    def keeps(self, source: str, frame: Frame, now: float) -> bool:
        """Return whether a frame is kept; otherwise it is counted for the next gap."""
        # A witness is a part of the daemon, and has one line for a dispute.
        if is_witness(source):
            return True
        if any(isinstance(each, _ALWAYS_KEPT) for each in frame.observations):
            if any(isinstance(each, _CARDS) for each in frame.observations):
                for line in self._lines.values():
                    line.signals = line.others = 0
            return True
        line = self._lines.setdefault(source, _Line())
        if line.keeps(frame):
            return True
        line.omit(frame, now)
        return False

    def is_due(self, now: float) -> bool:
        """Return whether a gap must be written though no other frame is kept."""
        return any(line.due <= now for line in self._lines.values())

    def take(self) -> Iterator[Omission]:
        """Yield the gaps of all readers, earliest first, which must then be written."""
        for source, line in sorted(self._lines.items(), key=lambda item: item[1].received):
            if line.omitted:
                gap = seen.Gap(
                    source=source,
                    detail=seen.GapDetail.FLOOD,
                    count=line.omitted,
                    sha256=line.hash.hexdigest(),
                )
                line.omitted, line.hash, line.due = 0, None, float("inf")
                yield Omission(gap, line.received)

    def highest(self, now: float) -> Rate | None:
        """Return the highest rate of the last seconds; None without a flood."""
        rates = [
            Rate(source, line.rate)
            for source, line in self._lines.items()
            if now < line.alarm_until
        ]
        return max(rates, key=lambda each: each.frames, default=None)
