"""
After a missed draw the next round may begin with a card that nobody could read:
its other cards are never taken for the one that was missing.
"""

from __future__ import annotations

from shoe_daemon.table import observations as seen
from shoe_daemon.table.observations import Cause
from tests.table.dealer import Dealer, kinds, of_type, one

DRAW_MISSING = "P1 10C, B1 JH, P2 3D, B2 10S"
"""The Player is to draw on 3."""


def missed() -> Dealer:
    dealer = Dealer()
    dealer.deal(DRAW_MISSING)
    dealer.say(seen.Result(outcome="player"))
    assert kinds(dealer.events) == ["missing_draw"]
    return dealer


def test_a_card_on_a_place_that_is_taken_begins_another_round() -> None:
    dealer = missed()
    dealer.say(seen.DeviceError(cause=Cause.UNREADABLE))
    dealer.say(seen.DeviceErrorCleared(cause=Cause.UNREADABLE))
    said = dealer.deal("B1 JS, P2 2C, B2 QH, P3 AC, B3 5S")
    assert one(said, "round_aborted").cause == "new_round"
    assert "wrong_hand" not in kinds(dealer.events)
    (first, *_) = of_type(said, "card_dealt")
    assert (first.slot, first.card) == ("B1", "JS")
    assert of_type(said, "round_finished") == []
    end = one(dealer.say(seen.Result(outcome="banker")), "round_finished")
    assert end.partial


def test_the_missing_card_itself_still_makes_it_good() -> None:
    dealer = missed()
    said = dealer.deal("P3 4S")
    assert of_type(said, "round_aborted") == []
    assert one(said, "irregularity_closed").action == "draw_now"
