"""A result that is held back follows a correction of its cards."""

from __future__ import annotations

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.table.dealer import Dealer, types


def held_natural() -> Dealer:
    """Hold back a round in which the Banker has a natural."""
    dealer = Dealer()
    dealer.order("hold")
    dealer.deal("P1 7H, B1 5H, P2 10C, B2 3H")
    assert "round_held" in types(dealer.events)
    return dealer


def corrected(dealer: Dealer, card: str) -> list[str]:
    """Correct the Banker's first card."""
    order = seen.Command(name="correct_card", slot=Slot.B1, card=Card(card), operator="ann")
    return types(dealer.say(order))


def test_another_result_takes_its_place() -> None:
    dealer = held_natural()
    corrected(dealer, "6H")
    dealer.order("resume")
    assert [each.banker.total for each in dealer.finished()] == [9]


def test_a_round_that_lacks_a_card_now_has_no_result_to_release() -> None:
    dealer = held_natural()
    corrected(dealer, "QS")
    assert dealer.kinds() == ["missing_draw"]
    dealer.draw("QH", "B3")
    dealer.order("resume")
    assert [each.banker.cards for each in dealer.finished()] == [("QS", "3H", "QH")]


def test_nor_if_it_is_over() -> None:
    dealer = held_natural()
    dealer.result("banker")
    corrected(dealer, "QS")
    dealer.order("resume")
    assert dealer.finished() == []
    assert dealer.kinds() == ["missing_draw"]
