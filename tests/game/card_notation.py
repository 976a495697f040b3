"""Short ways to write cards and rounds."""

from __future__ import annotations

from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Coup


def cards(text: str) -> tuple[Card, ...]:
    """Read cards from text: ``"AS 10H KD"``."""
    return tuple(Card(word) for word in text.split())


def coup(text: str) -> Coup:
    """Read a round from text, Player's cards first: ``"9S KD / 3H 4C 10S"``."""
    player, banker = text.split("/")
    return Coup.of(cards(player), cards(banker))


shoes = st.lists(st.sampled_from(DECK), min_size=6, max_size=6)
"""Six cards, as a shoe of many decks may deal them."""

lawful_coups = shoes.map(Coup.deal)
"""Rounds that were dealt by the rules."""
