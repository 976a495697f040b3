"""Two readers on one table: they check each other, and either may be down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SIX, SQUEEZE, Dealer, RoundEnd, card, house, one, types

if TYPE_CHECKING:
    from shoe_daemon.table import Event

FACES = [each.split()[1] for each in SIX.split(", ")]
"""Both draw: 9 against 7."""


def two(round_end: RoundEnd = RoundEnd.BUTTON) -> SupervisedTable:
    """A shoe that reads, and a scanner at its mouth."""
    pit = SupervisedTable(round_end=round_end, checkers=("scanner",))
    for source in ("shoe", "scanner"):
        pit.say(seen.Link(up=True, source=source))
    return pit


def read(pit: Dealer, source: str, face: str | None) -> list[Event]:
    """Let one reader read a card."""
    return pit.say(seen.CardDrawn(card=card(face), source=source), 0.1)


def both(pit: Dealer, faces: list[str], other: list[str | None] | None = None) -> None:
    """Let both read cards, the scanner those of `other`."""
    for face, twin in zip(faces, other or faces, strict=True):
        read(pit, "shoe", face)
        read(pit, "scanner", twin)


def link(pit: Dealer, source: str, *, up: bool) -> None:
    """Let a reader come or go."""
    pit.say(seen.Link(up=up, source=source))


def test_they_differ() -> None:
    pit = two()
    both(pit, FACES, ["2S", "2H", "4D", "QC", "4S", "5D"])
    found = one(pit.events, "irregularity")
    assert (found.kind, found.severity, found.card) == ("source_conflict", 3, None)
    assert "scanner read another card on P2" in found.detail
    pit.result("player")
    both(pit, FACES)
    pit.result("player")
    assert pit.kinds() == ["source_conflict"]
    assert [each.player.cards for each in pit.finished()] == [("2S", "3D", "4S")] * 2


def test_an_error_of_the_second_about_a_card_is_no_unread_card() -> None:
    pit = two()
    both(pit, FACES[:2])
    pit.error("unreadable", source="scanner")
    both(pit, FACES[2:], [None, *FACES[3:]])
    pit.result("player")
    assert pit.kinds() == []
    assert [each.partial for each in pit.finished()] == [False]


def test_a_card_that_only_the_second_saw() -> None:
    pit = two()
    both(pit, ["9S", "2H", "KD", "3C"])
    pit.result("player")
    read(pit, "scanner", "2S")
    both(pit, ["9S", "2H", "KD", "3C"])
    assert pit.kinds() == ["source_conflict"]
    pit = two()
    both(pit, ["9S", "2H", "KD", "3C"])
    read(pit, "scanner", "7D")
    pit.result("player")
    assert pit.kinds() == ["source_conflict"]
    assert pit.table.state.alerts[0].round == 1
    for _ in range(2):
        both(pit, FACES)
        pit.result("player")
    assert pit.kinds() == ["source_conflict"]


def test_a_card_too_many_is_read_by_both_and_carried() -> None:
    pit = two()
    both(pit, ["9S", "2H", "KD", "3C", "4C"])
    assert pit.kinds() == ["excess_card"]
    pit.rule("carry_to_next_hand")
    pit.result("player")
    both(pit, ["9H", "2D", "KS"])
    pit.result("banker")
    assert pit.kinds() == ["excess_card"]
    assert pit.finished()[1].player.cards == ("4C", "2D")


def test_the_first_goes_away_and_the_second_deals() -> None:
    pit = two()
    both(pit, FACES[:2])
    link(pit, "shoe", up=False)
    for face in FACES[2:]:
        read(pit, "scanner", face)
    pit.result("player")
    assert [each.player.cards for each in pit.finished()] == [("2S", "3D", "4S")]
    for face in FACES:
        read(pit, "scanner", face)
    pit.result("player")
    assert pit.kinds() == []
    assert pit.out() == 12
    status = {each.source: each.link for each in pit.table.public().readers}
    assert status == {"shoe": "down", "scanner": "up"}


def test_both_away() -> None:
    pit = two()
    link(pit, "shoe", up=False)
    link(pit, "scanner", up=False)
    pit.cmd("enter_result", outcome="banker")
    assert pit.counts() == {"rounds": 1, "banker": 1}


def test_a_burn_that_an_early_reader_does_not_see() -> None:
    pit = two()
    pit.say(seen.CardDrawn(card=Card("2S"), role=seen.Role.FIRST, source="shoe"))
    pit.say(seen.CardDrawn(card=Card("3S"), role=seen.Role.BURN, source="shoe"))
    for _ in range(3):
        early(pit, FACES)
        pit.result("player")
    assert pit.kinds() == []


def test_a_burn_that_only_the_checking_reader_sees() -> None:
    pit = two()
    pit.cmd("new_shoe")
    for face in ("KH", "3S"):
        read(pit, "scanner", face)
    for _ in range(3):
        early(pit, FACES)
        pit.result("player")
    assert pit.kinds() == []


def early(pit: Dealer, faces: list[str], other: list[str | None] | None = None) -> None:
    """Let both read cards, the scanner first; None for a card that it misses."""
    for face, twin in zip(faces, other or faces, strict=True):
        if twin is not None:
            read(pit, "scanner", twin)
        read(pit, "shoe", face)


ROUND = ["9S", "8H", "KD", "AC"]
"""9 against 9."""
FAULTS: dict[str, list[str | None]] = {
    "misread": ["9S", "8H", "QD", "AC"],
    "missed": ["9S", None, "KD", "AC"],
    "missed the first": [None, "8H", "KD", "AC"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_out_of_step_it_deals_only_partial_rounds(fault: str) -> None:
    pit = two()
    early(pit, ROUND[:3], FAULTS[fault][:3])
    link(pit, "shoe", up=False)
    read(pit, "scanner", ROUND[3])
    pit.result("tie")
    for face in FACES:
        read(pit, "scanner", face)
    pit.result("player")
    assert [each.partial for each in pit.finished()] == [True, False]
    assert pit.kinds() == ["source_conflict"]


def test_four_cards_that_match_put_them_in_step() -> None:
    pit = two(RoundEnd.RULES)
    early(pit, ROUND, FAULTS["missed"])
    early(pit, FACES)
    link(pit, "shoe", up=False)
    for face in FACES:
        read(pit, "scanner", face)
    assert pit.kinds() == ["source_conflict"]
    assert [each.partial for each in pit.finished()] == [False] * 3


def test_two_checking_readers_show_one_misread_card_once() -> None:
    pit = SupervisedTable(round_end=RoundEnd.BUTTON, checkers=("scanner", "camera"))
    for face, twin in zip(ROUND, ["9S", "8H", "QD", "AC"], strict=True):
        for source, each in (("shoe", twin), ("scanner", face), ("camera", face)):
            read(pit, source, each)
    pit.result("tie")
    assert pit.kinds() == ["source_conflict"]


def test_a_face_that_is_entered_is_compared() -> None:
    pit = two()
    both(pit, ["9S", "2H"])
    pit.say(seen.Unreadable(source="shoe"))
    read(pit, "scanner", "KD")
    both(pit, ["3C"])
    pit.cmd("enter_card", slot=Slot.P2, card="QD")
    assert pit.kinds() == ["unreadable_card", "source_conflict"]


def place(pit: Dealer, text: str) -> list[Event]:
    """Let the camera see cards on their places."""
    said = []
    for each in text.split(", "):
        slot, face = each.split()
        told = seen.Placed(slot=Slot(slot), card=Card(face), source="camera")
        said += pit.say(told, 0.3)
    return said


def with_camera(style: str = "face_up") -> SupervisedTable:
    """A shoe that reads, and a camera above the table."""
    rules = house(dealing_style=SQUEEZE) if style == "squeeze" else None
    pit = SupervisedTable(rules, round_end=RoundEnd.BUTTON)
    for source in ("shoe", "camera"):
        pit.say(seen.Link(up=True, source=source))
    return pit


def test_a_camera_shows_what_was_hidden() -> None:
    pit = with_camera("squeeze")
    for each in NATURAL.split(", "):
        read(pit, "shoe", each.split()[1])
    said = place(pit, NATURAL)
    assert types(said)[:1] == ["card_disclosed"]
    assert len(pit.finished()) == 1


def test_a_camera_sees_another_card() -> None:
    pit = with_camera()
    read(pit, "shoe", "9S")
    found = one(place(pit, "P1 8S"), "irregularity")
    assert (found.kind, found.slot) == ("source_conflict", "P1")


def test_a_camera_goes_on_alone() -> None:
    pit = with_camera()
    read(pit, "shoe", "9S")
    place(pit, "P1 9S")
    link(pit, "shoe", up=False)
    place(pit, "B1 2H, P2 KD, B2 3C")
    pit.result("player")
    pit.say(seen.TableCleared())
    place(pit, "P1 6S, B1 7H, P2 KD, B2 QC")
    pit.result("banker")
    assert [each.player.cards for each in pit.finished()] == [("9S", "KD"), ("6S", "KD")]
    assert pit.kinds() == []
    link(pit, "shoe", up=True)
    both_again = ["9S", "2H", "KD", "3C"]
    pit.say(seen.TableCleared())
    for face in both_again:
        read(pit, "shoe", face)
    assert pit.out() == 12
