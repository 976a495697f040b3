"""Cards burned by a ruling are expected, and belong to no round."""

from __future__ import annotations

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SQUEEZE, Burn, RoundEnd, house, of_type, one, types

ROLES = pytest.mark.parametrize("role", [seen.Role.BURN, seen.Role.PLAY])


def ruled(
    card: str = "3C", *, ended: bool = True, mode: RoundEnd = RoundEnd.BUTTON
) -> SupervisedTable:
    """Deal a natural and a card too many, and choose to burn it and its value."""
    pit = SupervisedTable(round_end=mode)
    pit.deal(NATURAL, slots=False)
    pit.draw(card)
    pit.rule("burn_card_plus_value")
    if ended:
        pit.result("player")
    return pit


def burn(pit: SupervisedTable, role: seen.Role, count: int) -> list[int | None]:
    """Burn so many cards, and say how many the table still expected each time."""
    said = []
    for face in ("7H", "8H", "9H", "10H", "JH")[:count]:
        drawn = pit.say(seen.CardDrawn(card=Card(face), role=role))
        said += [each.remaining for each in of_type(drawn, "card_burned")]
    return said


@ROLES
@pytest.mark.parametrize("ended", [True, False])
def test_as_many_as_its_value(role: seen.Role, *, ended: bool) -> None:
    pit = ruled(ended=ended)
    assert burn(pit, role, 3) == [2, 1, 0]
    pit.result("player")
    pit.deal(NATURAL, slots=False)
    pit.result("player")
    assert pit.kinds() == ["excess_card"]
    assert [each.player.cards for each in pit.finished()] == [("9S", "KD")] * 2
    assert pit.out() == 4 + 1 + 3 + 4
    assert pit.closed() == [("burn_card_plus_value", "ann")]


def test_a_round_that_begins_too_soon() -> None:
    pit = ruled()
    burn(pit, seen.Role.BURN, 1)
    said = pit.draw("9S", "P1")
    found = one(said, "irregularity")
    assert found.kind == "burn_error"
    assert found.detail == "A round began with 2 cards still to be burned by the ruling."
    pit.deal("B1 2H, P2 KD, B2 3C")
    pit.result("player")
    pit.deal(NATURAL)
    assert pit.kinds() == ["excess_card", "burn_error"]


@ROLES
def test_a_new_shoe_owes_nothing_of_the_old_one(role: seen.Role) -> None:
    pit = ruled()
    pit.cmd("new_shoe")
    pit.deal(NATURAL, slots=False)
    assert pit.out() == 4
    pit = ruled()
    pit.cmd("hold", kind="foreign_card")
    pit.rule("stop_shoe")
    assert "shoe_finished" in types(pit.events)
    assert types(pit.draw("9S"))[-2:] == ["card_dealt", "draw_due"]
    assert pit.out() == 1


def test_a_face_that_nobody_knows_has_no_value() -> None:
    pit = SupervisedTable()
    pit.deal(NATURAL)
    pit.outside()
    assert "value" in pit.refused("rule", action="burn_card_plus_value")


def test_burned_cards_are_as_hidden_as_the_house_burns_them() -> None:
    rules = house(dealing_style=SQUEEZE, burn=Burn(mode="unchecked", face_down=True))
    pit = SupervisedTable(rules, round_end=RoundEnd.BUTTON)
    pit.deal(f"{NATURAL}, P3 2C", slots=False)
    pit.result("player")
    pit.rule("burn_card_plus_value")
    said = pit.draw("7H")
    assert one(said, "card_burned").card is None
    assert one(said, "staff_card_dealt").card == "7H"


@pytest.mark.parametrize("role", [seen.Role.BURN, seen.Role.PLAY, seen.Role.OUTSIDE])
def test_a_card_that_may_be_one_of_the_next_hand_is_not_shown(role: seen.Role) -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), round_end=RoundEnd.BUTTON)
    pit.deal(f"{NATURAL}, P3 2C", slots=False)
    pit.result("player")
    pit.rule("burn_card_plus_value")
    said = pit.say(seen.CardDrawn(card=Card("7H"), role=role))
    assert one(said, "card_burned").card == ("7H" if role is seen.Role.BURN else None)
