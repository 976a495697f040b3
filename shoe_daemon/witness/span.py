"""When a clip begins and ends. No clock, no file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct


class Cause(Struct, frozen=True):
    """
    A reason for a clip.

    Attributes:
        kind: An irregularity's kind, or the type of an event, such as ``round_held``.
        seq: The number of the event; the id of an irregularity is the same number.
        shoe: The shoe concerned; None outside a shoe.
        round: The round concerned; None outside a round.
    """

    kind: str
    seq: int
    shoe: int | None = None
    round: int | None = None


End = Literal["decided", "too_long"]
"""Why a clip ends: everything was decided, or there was no decision within the longest time."""


class ClipSpan:
    """
    Decides when a clip begins and ends.

    A cause begins a clip. It lasts while something is undecided, and some seconds longer; further
    causes join it. A clip that became too long ends without a decision, and only another cause
    begins the next one.

    Attributes:
        causes: The causes of the clip, each once, in the order in which they came.

    Args:
        after_s: Seconds after the last cause and the decision.
        longest_s: Seconds after which a clip ends in any case.
    """

    def __init__(self, after_s: float, longest_s: float) -> None:
        self.causes: tuple[Cause, ...] = ()
        self._after_s = after_s
        self._longest_s = longest_s
        self._undecided = False
        self._began_at: float | None = None
        self._touched_at = 0.0

    @property
    def is_open(self) -> bool:
        """True from a cause to the end of its clip."""
        return self._began_at is not None

    def follow(self, causes: Iterable[Cause], now: float, *, undecided: bool) -> None:
        """
        Note new causes, and whether a person still has to decide from now on.

        A cause that is known to the open clip is nothing new. `now` is of a clock that is never
        set.
        """
        self._touch(now)
        self._undecided = undecided
        for cause in causes:
            if self._began_at is None:
                self._began_at, self.causes = now, ()
            if cause not in self.causes:
                self.causes += (cause,)
            self._touched_at = now

    def end(self, now: float) -> End | None:
        """Return why the open clip ends now; None while it goes on, or without a clip."""
        if self._began_at is None:
            return None
        self._touch(now)
        if now - self._touched_at >= self._after_s and not self._undecided:
            return self._close("decided")
        return self._close("too_long") if now - self._began_at >= self._longest_s else None

    def _close(self, end: End) -> End:
        self._began_at = None
        return end

    def _touch(self, now: float) -> None:
        if self._undecided and self._began_at is not None:
            self._touched_at = now
