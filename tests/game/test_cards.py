"""A card has one name, and counts what every rule sheet says."""

from __future__ import annotations

import msgspec
import pytest

from shoe_daemon.game.cards import CARDS_PER_DECK, DECK, RANKS, SUITS, Card
from tests.each_case import each_case


def test_a_deck_has_each_rank_of_each_suit_once() -> None:
    assert {(card.rank, card.suit) for card in DECK} == {(r, s) for r in RANKS for s in SUITS}
    assert len(DECK) == CARDS_PER_DECK == 52


def test_the_index_is_the_place_in_a_new_deck() -> None:
    assert [card.index for card in DECK] == list(range(52))


@each_case("card", DECK)
def test_a_card_is_written_rank_then_suit_and_read_back(card: Card) -> None:
    text = msgspec.json.encode(card)
    assert text.decode() == f'"{card.rank}{card.suit}"'
    assert msgspec.json.decode(text, type=Card) is card


@pytest.mark.parametrize("suit", SUITS)
def test_a_ten_may_be_written_with_a_t(suit: str) -> None:
    assert Card("T" + suit) is Card("10" + suit)
    assert msgspec.json.decode(f'"T{suit}"', type=Card) is Card("10" + suit)


@each_case(
    "text", ["", "A", "S", "SA", "1S", "0S", "11S", "TT", "10", "as", "AS ", "ASS", "T", "TX"]
)
def test_no_other_text_is_a_card(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid Card"):
        Card(text)
