"""Hands are counted, compared and dealt by the rules."""

from __future__ import annotations

import pytest
from hypothesis import given

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import CountedHand, Coup, Hand, Outcome, hand_due
from tests.game import french_table
from tests.game.card_notation import cards, coup, shoes


@pytest.mark.parametrize(
    ("text", "total", "natural", "pair"),
    [
        ("9S 10H", 9, True, False),
        ("4S 4H", 8, True, True),
        ("3S 2H 3D", 8, False, False),
        ("KS 10H", 0, False, False),
        ("KS KH", 0, False, True),
        ("7S 7S 5C", 9, False, True),
        ("2S 7D 7H", 6, False, False),
        ("AS 6D", 7, False, False),
    ],
)
def test_a_hand_is_counted(text: str, total: int, *, natural: bool, pair: bool) -> None:
    hand = CountedHand.of(cards(text))
    assert (hand.total, hand.natural, hand.pair) == (total, natural, pair)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("9S KD / 8H KC", Outcome.PLAYER),
        ("9S KD / 9H KC", Outcome.TIE),
        ("AS 5D / 2H 5C", Outcome.BANKER),
        ("KS KD 8C / 4H 5C", Outcome.BANKER),
    ],
)
def test_the_higher_total_wins_however_many_cards_it_has(text: str, outcome: Outcome) -> None:
    assert coup(text).outcome is outcome


@given(shoes)
def test_a_shoe_is_dealt_in_order_and_by_the_rules(shoe: list[Card]) -> None:
    dealt = Coup.deal(shoe)
    points = [card.points for card in shoe]
    player, banker = french_table.hands(points)
    assert [card.points for card in dealt.player.cards] == player
    assert [card.points for card in dealt.banker.cards] == banker
    assert dealt.outcome == french_table.winner(points)
    # Nothing beyond the round is looked at.
    used = len(player) + len(banker)
    assert Coup.deal(shoe[:used]) == dealt
    with pytest.raises(IndexError):
        Coup.deal(shoe[: used - 1])


def test_the_first_four_cards_go_to_player_and_banker_in_turn() -> None:
    order = [hand_due([0] * dealt) for dealt in range(4)]
    assert order == [Hand.PLAYER, Hand.BANKER, Hand.PLAYER, Hand.BANKER]
