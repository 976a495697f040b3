"""
What was laid and has not been told yet, in the order in which it was laid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drivers.camera.stations.slot_tracker import Seen
from shoe_daemon.game.coup import DEALING_ORDER, Slot

__all__ = ["Laid", "Ledger"]

_TOGETHER: Final = 0.03
"""Seconds for each place by which cards are taken to be laid in dealing order."""


class Laid:
    """
    A card that was laid.

    Attributes:
        slot: Where.
        since: When it came.
        seen: What is to be told of it; None while nothing is known.
        ready: When that was known.
        late: Milliseconds for which it had lain still then.
        is_down: Whether it showed its back.
    """

    def __init__(self, slot: Slot, since: float) -> None:
        self.slot = slot
        self.since = since
        self.seen: Seen | None = None
        self.ready = 0.0
        self.late = 0
        self.is_down = False


class Ledger:
    """
    Cards that are owed.
    """

    def __init__(self) -> None:
        self._owed: list[Laid] = []

    def __bool__(self) -> bool:
        return bool(self._owed)

    def lay(self, slot: Slot, since: float) -> Laid:
        """
        A card was found on a place; return what is owed of it.
        """
        for laid in self._owed:
            if laid.slot is slot:
                return laid
        laid = Laid(slot, since)
        self._owed.append(laid)
        self._owed.sort(key=_moment)
        return laid

    def lift(self, slot: Slot) -> None:
        """
        A place is empty again. What was read is still owed, and so is a card of which
        the back was seen: it may come back, or be turned elsewhere. Anything else was
        only taken for a card.
        """
        self._owed = [
            laid for laid in self._owed if laid.slot is not slot or laid.seen or laid.is_down
        ]

    def due(self, waits: Callable[[Laid], bool]) -> list[Laid]:
        """
        Take what can be told: nothing that was laid before it is unknown.

        Args:
            waits: Whether it has to wait for something that may become a card.
        """
        told: list[Laid] = []
        while self._owed and self._owed[0].seen is not None and not waits(self._owed[0]):
            told.append(self._owed.pop(0))
        return told

    def settle(self) -> list[Laid]:
        """
        Take all that is owed, known or not: the cards were taken off.
        """
        owed, self._owed = self._owed, []
        return owed


def _moment(laid: Laid) -> float:
    # What came into sight together was laid as cards are dealt.
    return laid.since + _TOGETHER * DEALING_ORDER.index(laid.slot)
