"""
The cards that nobody printed: the same for the same seed, legible both ways up, of every layout.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from drivers.simulators.card_artwork import (
    ASPECT,
    UNSEEN_LAYOUTS,
    UNSEEN_SEED,
    Layout,
    back,
    face,
    outline,
    style,
    styles,
)
from shoe_daemon.game.cards import DECK, Card
from tests.volume import sample


def test_a_seed_is_a_deck() -> None:
    first, again, other = style(7), style(7), style(8)
    assert first == again
    assert first != other
    assert np.array_equal(face(Card("8H"), first), face(Card("8H"), again))
    assert not np.array_equal(face(Card("8H"), first), face(Card("8H"), other))


@pytest.mark.parametrize("width", [60, 200, 333])
def test_a_card_is_as_large_as_asked_for(width: int) -> None:
    deck = style(1)
    shape = (round(width * ASPECT), width)
    assert face(Card("KD"), deck, width).shape == (*shape, 3)
    assert back(deck, width).shape == (*shape, 3)
    assert outline(deck, width).shape == shape


@pytest.mark.parametrize("layout", list(Layout))
def test_an_index_reads_the_same_upside_down(layout: Layout) -> None:
    deck = style(3, layout)
    for card in DECK[::5]:
        image = face(card, deck)
        corner = image[: image.shape[0] // 3, : image.shape[1] // 8]
        turned = image[::-1, ::-1][: image.shape[0] // 3, : image.shape[1] // 8]
        # A line of an even number of pixels has no middle.
        assert np.abs(corner.astype(int) - turned).mean() < 3


@pytest.mark.parametrize("layout", sample(Layout, 3))
def test_all_cards_of_a_deck_differ_in_their_index(layout: Layout) -> None:
    deck = style(11, layout)
    corners = {face(card, deck)[:200, :110].tobytes() for card in DECK}
    assert len(corners) == len(DECK)


def test_decks_for_tests_are_not_those_of_training() -> None:
    decks = list(islice(styles(), 12))
    assert all(deck.seed >= UNSEEN_SEED for deck in decks)
    assert {deck.layout for deck in decks} >= set(UNSEEN_LAYOUTS)
    assert len({deck.seed for deck in decks}) == len(decks)


def test_corners_are_round() -> None:
    mask = outline(style(5))
    assert mask[0, 0] == 0
    assert mask[-1, -1] == 0
    assert mask[mask.shape[0] // 2].min() == 255
