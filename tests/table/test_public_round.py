"""The public table shows the round that lies on it, and none that came to nothing."""

from __future__ import annotations

from shoe_daemon.table import observations as seen
from tests.table.dealer import BANKER_STANDS, NATURAL, Dealer, Slot, types


def test_a_round_that_came_to_nothing_is_not_shown() -> None:
    dealer = Dealer()
    dealer.deal("P1 9S, B1 2H")
    assert dealer.table.public().round is not None
    assert types(dealer.say(seen.Booted())) == ["round_aborted"]
    assert dealer.table.public().round is None


def test_a_card_that_nobody_could_read_is_told_from_one_that_lies_face_down() -> None:
    dealer = Dealer()
    dealer.deal("P1 9S, B1 --")
    dealer.say(seen.Unreadable(slot=Slot.P2))
    shown = dealer.table.public().round
    assert shown is not None
    assert [(each.card, each.unreadable) for each in shown.cards] == [
        ("9S", False),
        (None, False),
        (None, True),
    ]


def test_house_and_policy_are_named() -> None:
    table = Dealer("seven-feathers").table.public()
    assert (table.house, table.house_name) == ("seven-feathers", "Seven Feathers")
    assert (table.policy, table.policy_name) == ("management", "Management decides")
    bare = Dealer().table.public()
    assert (bare.house, bare.house_name) == (None, None)


def test_a_finished_round_lies_there_until_the_next() -> None:
    dealer = Dealer()
    dealer.deal(NATURAL)
    dealer.say(seen.Result(outcome="player"))
    shown = dealer.table.public().round
    assert shown is not None
    assert (shown.finished, shown.number, len(shown.cards)) == (True, 1, 4)
    dealer.deal(BANKER_STANDS)
    shown = dealer.table.public().round
    assert shown is not None
    assert (shown.number, len(shown.cards)) == (2, 5)
