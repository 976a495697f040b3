"""
How long to wait: after a lost connection, after a refusal, between complaints.
"""

from __future__ import annotations

import random
from typing import Final

from msgspec import Struct

__all__ = ["Backoff", "Pace", "Rarely", "Refusals"]

_TWINS: Final = 3
"""So many sessions in a row that end young are no accident."""


class Pace(Struct, frozen=True, kw_only=True):
    """
    All spans, in seconds. Nothing but a test needs others than these.

    Attributes:
        answer: The broker must answer a connection within this.
        first: The wait after the first loss; it doubles with each that follows.
        most: The longest wait for a broker that is away.
        refused: The first wait after a refused publish; it doubles too.
        refused_most: The longest wait after a refused publish.
        settled: A session that lived so long was a good one.
        twins: The wait while another client seems to use our id.
        will_delay: How long the broker holds our will back for our return.
    """

    answer: float = 5.0
    first: float = 0.5
    most: float = 10.0
    refused: float = 5.0
    refused_most: float = 60.0
    settled: float = 10.0
    twins: float = 15.0
    will_delay: int = 3


class Backoff:
    """
    The waits between connections.

    A session that was accepted proves nothing: two clients with one id throw
    each other out for ever. So only a session that lived resets the wait, and
    young ones in a row make it long.
    """

    def __init__(self, pace: Pace, chance: random.Random) -> None:
        self._pace = pace
        self._chance = chance
        self._failures = 0
        self._young = 0

    @property
    def twins(self) -> bool:
        """
        Whether another client seems to use our id.
        """
        return self._young >= _TWINS

    def failed(self) -> float:
        """
        Return the wait after a connection that did not come about.
        """
        # The broker is away: that explains the sessions that ended young.
        self._young = 0
        self._failures += 1
        return self._wait()

    def forgotten(self) -> None:
        """
        The broker does not know our session any more: it was the broker that ended,
        and no other client that threw us out.
        """
        self._young = self._failures = 0

    def lost(self, lived: float, *, taken_over: bool = False) -> float:
        """
        Return the wait after a session that lived so long.
        """
        if taken_over:
            self._young = max(self._young + 1, _TWINS)
        elif lived < self._pace.settled:
            self._young += 1
        else:
            self._young = self._failures = 0
        self._failures += 1
        return self._wait()

    def _wait(self) -> float:
        if self.twins:
            # A wide spread, lest both sides return at the same moment for ever.
            return self._pace.twins * self._chance.uniform(0.7, 1.3)
        doubled = self._pace.first * 2.0 ** min(self._failures - 1, 16)
        return min(doubled, self._pace.most) * self._chance.uniform(0.8, 1.2)


class Refusals:
    """
    Refusals of one kind of message in a row.

    Attributes:
        count: How many.
        until: When to try again.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self.count = 0
        self.until = 0.0

    def note(self, now: float) -> None:
        """
        One more.
        """
        doubled = self._pace.refused * 2.0 ** min(self.count, 16)
        self.count += 1
        self.until = now + min(doubled, self._pace.refused_most)

    def forget(self) -> None:
        """
        One was taken.
        """
        self.count = 0
        self.until = 0.0


class Rarely:
    """
    Lets the first complaint of each kind through, then one in a minute.
    """

    def __init__(self, every: float = 60.0) -> None:
        self._every = every
        self._last: dict[str, float] = {}

    def __call__(self, kind: str, now: float) -> bool:
        """
        Tell whether this complaint is to be made now.
        """
        last = self._last.get(kind)
        if last is not None and now - last < self._every:
            return False
        self._last[kind] = now
        return True

    def forget(self, kind: str) -> None:
        """
        The cause is gone: the next complaint of this kind is a first one.
        """
        self._last.pop(kind, None)
