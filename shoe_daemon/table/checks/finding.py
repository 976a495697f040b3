"""A finding: what one view of a round shows to be irregular."""

from __future__ import annotations

from typing import NamedTuple

from shoe_daemon.game import IrregularityKind, Slot
from shoe_daemon.table.detail_texts import Detail
from shoe_daemon.table.drawn_card import DrawnCard


class Finding(NamedTuple):
    """
    What one view of a round shows to be irregular.

    Attributes:
        key: The same as long as the cause is the same.
        slot: The slot concerned.
        card: The card concerned, with its face if the view may know it.
    """

    key: str
    kind: IrregularityKind
    detail: Detail
    slot: Slot | None = None
    card: DrawnCard | None = None
