"""
The cards that nobody printed: the same for the same seed, legible both ways up, of every layout.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from drivers.simulators.card_artwork import (
    UNSEEN_LAYOUTS,
    UNSEEN_SEED,
    Layout,
    face,
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


@pytest.mark.parametrize("layout", list(Layout))
def test_an_index_reads_the_same_upside_down(layout: Layout) -> None:
    deck = style(3, layout)
    for card in DECK[::13]:
        image = face(card, deck)
        corner = image[: image.shape[0] // 3, : image.shape[1] // 8]
        turned = image[::-1, ::-1][: image.shape[0] // 3, : image.shape[1] // 8]
        # A line of an even number of pixels has no middle.
        assert np.abs(corner.astype(int) - turned).mean() < 3


@pytest.mark.parametrize("layout", sample(Layout, 9))
def test_all_cards_of_a_deck_differ_in_their_index(layout: Layout) -> None:
    deck = style(11, layout)
    corners = {face(card, deck)[:200, :110].tobytes() for card in DECK}
    assert len(corners) == len(DECK)


def test_decks_for_tests_are_not_those_of_training() -> None:
    decks = list(islice(styles(), 12))
    assert all(deck.seed >= UNSEEN_SEED for deck in decks)
    assert {deck.layout for deck in decks} >= set(UNSEEN_LAYOUTS)
    assert len({deck.seed for deck in decks}) == len(decks)
