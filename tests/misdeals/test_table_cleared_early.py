"""
A camera alone sees a round without its third card, the table cleared, and the cards of
the next round: these are never laid into the holes of the one before.
"""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import of_type, one, types


def place(pit: SupervisedTable, layout: str) -> None:
    """Show cards to the camera: ``P1 2C, B1 KD``."""
    for each in layout.split(", "):
        slot, face = each.split(" ")
        pit.say(seen.Placed(slot=Slot(slot), card=Card(face), source="camera"))


def lacking(hold_from: int | None = None) -> SupervisedTable:
    pit = SupervisedTable(hold_from=hold_from)
    place(pit, "P1 2C, B1 KD, P2 3C, B2 7D")
    pit.say(seen.TableCleared(source="camera"))
    assert pit.open_kinds() == ["missing_draw"]
    return pit


@pytest.mark.parametrize("first", ["9S", "2C"])
@pytest.mark.parametrize("hold_from", [None, 3])
def test_the_next_round_is_a_round_of_its_own(first: str, hold_from: int | None) -> None:
    pit = lacking(hold_from)
    place(pit, f"P1 {first}, B1 3D, P2 KS, B2 4H")
    if first == "2C":
        place(pit, "P3 5D")
    pit.say(seen.TableCleared(source="camera"))
    assert one(pit.events, "round_aborted").cause == "new_round"
    (data,) = pit.finished()
    assert data.player.cards[:2] == (first, "KS")
    assert data.partial is False
    assert "source_conflict" not in [e.kind for e in of_type(pit.events, "irregularity")]
    assert pit.said() == pit.replayed()


def test_a_round_whose_first_card_was_not_seen_is_partial() -> None:
    pit = lacking()
    place(pit, "P3 9S")
    assert one(pit.events, "round_aborted").cause == "new_round"
    pit.say(seen.TableCleared(source="camera"))
    assert all(data.partial for data in pit.finished())


def without_places(*, ruled: bool = False) -> SupervisedTable:
    """A shoe that names no places: the third card is forgotten, and the bets go on."""
    pit = SupervisedTable(round_end=RoundEnd.RULES)
    pit.deal("P1 2C, B1 KD, P2 3C, B2 7D", slots=False)
    pit.say(seen.BettingOpen())
    assert pit.open_kinds() == ["missing_draw"]
    if ruled:
        pit.rule("draw_now")
    pit.say(seen.NoMoreBets())
    return pit


def test_a_card_after_the_next_bets_is_no_forgotten_one() -> None:
    pit = without_places()
    pit.deal("P1 9S, B1 3D, P2 KS, B2 4H", slots=False)
    assert one(pit.events, "round_aborted").cause == "new_round"
    (data,) = pit.finished()
    assert (data.player.cards, data.banker.cards) == (("9S", "KS"), ("3D", "4H"))
    assert data.partial is False


def test_a_forgotten_card_that_was_ordered_is_the_one() -> None:
    pit = without_places(ruled=True)
    pit.draw("9S")
    assert one(pit.events, "irregularity_closed").action == "draw_now"
    assert "round_aborted" not in types(pit.events)
