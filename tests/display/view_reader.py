"""Reads the small view back, as a person would: cards, totals, panel."""

from __future__ import annotations

import re

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Hand, Slot
from shoe_daemon.table.public_document_types import PublicTable

__all__ = ["faces", "folded_down", "public_cards"]

_SUITS = {"♠": "S", "♥": "H", "♦": "D", "♣": "C"}
_MIDDLE = 4
_TOP = 3
"""Rows in which ranks and suits of upright cards stand."""

_UPRIGHT = re.compile(r"▐(10|[2-9AJQK]) +▌")
_SIGN = re.compile(r"▐ +([♠♥♦♣]) +▌")
_LYING = re.compile(r"▐(10|[2-9AJQK]) +([♠♥♦♣]) +\1▌")


def faces(text: str) -> dict[Hand, list[Card]]:
    """Return the cards whose faces are drawn, each hand's in their order."""
    rows = text.split("\n")
    middle = len(rows[0]) // 2
    found: dict[Hand, list[Card]] = {}
    for hand, part in ((Hand.PLAYER, slice(0, middle)), (Hand.BANKER, slice(middle, None))):
        ranks = _UPRIGHT.findall(rows[_TOP][part])
        signs = _SIGN.findall(rows[_MIDDLE][part])
        upright = [rank + _SUITS[sign] for rank, sign in zip(ranks, signs, strict=True)]
        lying = [rank + _SUITS[sign] for rank, sign in _LYING.findall(rows[_MIDDLE][part])]
        found[hand] = [Card(name) for name in upright + lying]
    return found


def public_cards(table: PublicTable) -> dict[Hand, list[Card]]:
    """Return the cards that are to be seen, each hand's from the first to the third."""
    lying = {card.slot: card.card for card in (table.round.cards if table.round else ())}
    return {
        hand: [
            face
            for slot in Slot
            if slot.value[0] == hand.value[0].upper() and (face := lying.get(slot))
        ]
        for hand in (Hand.PLAYER, Hand.BANKER)
    }


def folded_down(text: str) -> int:
    """Count the cards that lie face down."""
    rows = text.split("\n")
    return len(re.findall("▐▚+▌", rows[_MIDDLE]))
