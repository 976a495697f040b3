"""
A first card that is entered after the round: which third cards were due is worked out
from it, and what was drawn against the rules is said.
"""

from __future__ import annotations

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable


def dealt_unread(first: str, rest: str, outcome: str) -> SupervisedTable:
    """Play a round whose first card could not be read, which a person then enters."""
    pit = SupervisedTable()
    pit.say(seen.Unreadable(slot=Slot.P1))
    pit.deal(rest)
    pit.result(outcome)
    assert pit.last().data.partial
    pit.cmd("enter_card", card=first)
    return pit


def test_a_third_card_that_was_not_due_is_one_too_many() -> None:
    pit = dealt_unread("5S", "B1 2H, P2 3C, B2 4D, P3 9C", "player")
    data = pit.last().data
    assert (data.partial, data.player.cards, data.player.total) == (False, ("5S", "3C"), 8)
    assert (data.player.natural, data.outcome) == (True, "player")
    assert pit.open_kinds() == ["excess_card"]
    assert pit.said() == pit.replayed()


def test_a_third_card_on_the_wrong_hand_is_said() -> None:
    pit = dealt_unread("4S", "B1 2H, P2 3C, B2 3D, P3 9C", "player")
    # The Player stands on 7, so that the card was the Banker's.
    data = pit.last().data
    assert (data.player.cards, data.banker.cards) == (("4S", "3C"), ("2H", "3D", "9C"))
    assert pit.open_kinds() == ["player_third_unauthorised"]
