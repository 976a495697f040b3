"""The burn of a new shoe, in every mode."""

from __future__ import annotations

import pytest

from tests.each_case import each_case
from tests.table.dealer import NATURAL, Burn, Dealer, house, of_type, one, types


def shoe(burn: Burn, **changes: object) -> Dealer:
    """Put a new shoe of a house that burns on the table."""
    dealer = Dealer(house(burn=burn, **changes))
    dealer.order("new_shoe")
    return dealer


FIRST = Burn(mode="first_card")
TEN = "AC 2C 3C 4C 5C 6C 7C 8C 9C JC"


@each_case(
    "burn, cards",
    [
        (FIRST, "3S 4C 5C 6C"),
        (FIRST, "AS 4C"),
        (FIRST, f"KS {TEN}"),
        (FIRST, f"10S {TEN}"),
        (Burn(mode="first_card", face_value=0), "KS"),
        (Burn(mode="first_card", indicator_counts=True), "3S 4C 5C"),
        (Burn(mode="first_card", indicator_counts=True), "AS"),
        (Burn(mode="per_deck"), TEN[:-6]),
        (Burn(mode="fixed", fixed=3), "4C 5C 6C"),
        (Burn(mode="fixed"), ""),
        (Burn(mode="none"), ""),
        (Burn(), ""),
        (Burn(), "4C 5C 6C 7C"),
    ],
)
@each_case("wrong", [0, 1, -1])
def test_as_many_as_are_due(burn: Burn, cards: str, wrong: int) -> None:
    faces = cards.split()
    if wrong > 0:
        faces.append("9D")
    elif wrong < 0 and len(faces) > 1:
        faces.pop()
    elif wrong < 0:
        return
    dealer = shoe(burn)
    dealer.burn(" ".join(faces), first=burn.mode == "first_card")
    dealer.deal(NATURAL)
    expected = ["burn_error"] if wrong and burn.mode != "unchecked" else []
    assert dealer.kinds() == expected
    assert len(dealer.finished()) == 1
    assert dealer.out() == len(faces) + 4
    if expected:
        found = one(dealer.events, "irregularity")
        assert (found.severity, found.card) == (2, None)


@pytest.mark.parametrize(
    "burn", [FIRST, Burn(mode="per_deck"), Burn(mode="fixed", fixed=1)], ids=str
)
def test_none_at_all_is_said_at_the_first_card(burn: Burn) -> None:
    dealer = shoe(burn)
    said = dealer.draw("9S", "P1")
    assert types(said)[-3:] == ["card_dealt", "irregularity", "draw_due"]
    assert dealer.kinds() == ["burn_error"]
    dealer.draw("2H", "P1")
    assert dealer.kinds() == ["burn_error"]


def test_too_many_is_said_once() -> None:
    dealer = shoe(Burn(mode="none"))
    dealer.burn("4C 5C 6C", first=False)
    dealer.deal(NATURAL)
    assert dealer.kinds() == ["burn_error"]


def test_a_first_card_that_cannot_be_read_lets_nothing_be_checked() -> None:
    dealer = shoe(FIRST)
    said = dealer.burn("-- 4C 5C")
    assert [data.remaining for data in of_type(said, "card_burned")] == [None] * 3
    dealer.deal(NATURAL)
    assert dealer.kinds() == []
    assert dealer.out() == 7


def test_face_down_only_the_first_is_public() -> None:
    dealer = shoe(Burn(mode="first_card", face_down=True))
    said = dealer.burn("2S 4C 5C")
    assert [data.card for data in of_type(said, "card_burned")] == ["2S", None, None]
    assert [data.card for data in of_type(said, "staff_card_dealt")] == ["4C", "5C"]


def test_a_shoe_that_nobody_announced_may_have_been_burned_before() -> None:
    dealer = Dealer(house(burn=FIRST))
    dealer.deal(NATURAL)
    assert dealer.kinds() == []
