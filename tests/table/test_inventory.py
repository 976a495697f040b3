"""Copies of a card: none leaves the shoe more often than the shoe holds it."""

from __future__ import annotations

import pytest

from shoe_daemon.table import observations as seen
from tests.table.dealer import (
    SQUEEZE,
    Burn,
    Dealer,
    card,
    house,
    one,
    types,
)


def natural(dealer: Dealer, face: str, times: int) -> list[str]:
    """Deal whole rounds, each of the same four cards, and name what is wrong."""
    for _ in range(times):
        dealer.deal(f"P1 {face}, B1 10H, P2 KD, B2 JC")
        dealer.result("player")
    return dealer.kinds()


@pytest.mark.parametrize("decks", [1, 6, 8, 12])
def test_one_copy_more_than_the_shoe_holds(decks: int) -> None:
    dealer = Dealer(decks=decks)
    for _ in range(decks):
        dealer.outside("9S")
    found = one(dealer.draw("9S", "P1"), "irregularity")
    assert (found.kind, found.severity) == ("duplicate_card", 5)
    assert (found.card, found.slot) == ("9S", "P1")
    decks_ = "1 deck" if decks == 1 else f"{decks} decks"
    assert found.detail == f"9S was read {decks + 1} times in a shoe of {decks_}."


@pytest.mark.parametrize("detail", ["restart", "reconnect"])
def test_a_shoe_changed_unseen_is_one_irregularity(detail: str) -> None:
    dealer = Dealer(decks=1)
    natural(dealer, "9S", 1)
    dealer.gap(detail)
    dealer.result()
    natural(dealer, "9S", 2)
    found = one(dealer.events, "irregularity")
    assert (found.kind, found.card) == ("duplicate_card", "9S")
    assert found.detail == (
        "A card was read more often than the shoe holds it: 9S, 2 times. The shoe was "
        "probably changed while the daemon or the reader was away: order new_shoe."
    )
    dealer.order("new_shoe")
    assert dealer.kinds() == ["duplicate_card"]
    assert len(natural(dealer, "9S", 2)) == 5


def test_lost_frames_do_not_change_a_shoe() -> None:
    dealer = Dealer(decks=1)
    natural(dealer, "9S", 1)
    dealer.gap()
    dealer.result()
    assert len(natural(dealer, "9S", 2)) == 8


@pytest.mark.parametrize(
    "reshuffle", [{"reshuffle": "per_hand"}, {"reshuffle": "continuous"}], ids=str
)
def test_cards_that_are_shuffled_back_may_come_again(reshuffle: dict[str, str]) -> None:
    dealer = Dealer(house(decks=1, **reshuffle))
    assert natural(dealer, "9S", 5) == []
    dealer.deal("P1 9S, B1 9S")
    assert dealer.kinds() == ["duplicate_card"]
    assert dealer.out() == 2


def test_a_hidden_face_is_counted_when_it_comes_and_named_after_it_is_shown() -> None:
    dealer = Dealer(decks=1)
    dealer.deal("P1 9S, B1 2H, P2 9S, B2 3C", hidden=True)
    dealer.disclose("P1 9S, B1 2H")
    said = dealer.disclose("P2 9S")
    assert types(said) == ["card_disclosed", "irregularity"]
    assert one(said, "irregularity").card == "9S"


def test_a_face_that_nobody_has_seen_is_for_staff_until_it_is_shown() -> None:
    dealer = Dealer(house(dealing_style=SQUEEZE, decks=1))
    dealer.deal("P1 9S, B1 2H")
    said = dealer.draw("9S", "P2")
    assert types(said) == ["card_dealt", "staff_card_dealt", "staff_irregularity", "draw_due"]
    found = one(said, "staff_irregularity")
    assert (found.kind, found.card, found.slot) == ("duplicate_card", "9S", "P2")
    assert dealer.disclose("P1 9S")[1:] == []
    assert one(dealer.disclose("P2 9S"), "irregularity").id == found.id


def test_face_down_burns_are_counted_for_staff() -> None:
    dealer = Dealer(house(decks=1, burn=Burn(mode="first_card", face_down=True)))
    dealer.burn("AS 9S")
    assert one(dealer.deal("P1 9S"), "staff_irregularity").kind == "duplicate_card"
    dealer = Dealer(house(decks=1, burn=Burn(mode="first_card", face_down=True)))
    said = dealer.burn("2S 9S 9S")
    assert one(said, "staff_irregularity").card == "9S"
    assert dealer.kinds() == []


def test_what_is_left_unread_is_told_to_staff_at_the_end_of_the_shoe() -> None:
    dealer = Dealer("seven-feathers")
    dealer.order("new_shoe")
    dealer.burn("2S 4C 5C")
    dealer.say(seen.CutCardSeen())
    dealer.deal("P1 9S, B1 2H")
    dealer.say(seen.Unreadable())
    dealer.draw("3C", "B2")
    dealer.outside()
    dealer.say(seen.Withdrawn(card=card("4H")))
    said = dealer.result("player")
    found = one(said, "staff_composition")
    assert found.unread == 1
    assert sum(found.read.values()) == 7
    assert {face for face, copies in found.read.items() if copies} == {
        "2S", "4C", "5C", "9S", "2H", "3C", "4H",
    }  # fmt: skip
    assert dealer.out() == 8
