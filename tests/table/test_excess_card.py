"""A card too many: in every context, with all its evidence one irregularity."""

from __future__ import annotations

import pytest

from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.each_case import each_case
from tests.table.dealer import (
    BANKER_STANDS,
    BOTH_STAND,
    NATURAL,
    SIX,
    SQUEEZE,
    TUCKED,
    Dealer,
    card,
    house,
    one,
    types,
)

CONTEXTS = {
    "natural": (NATURAL, "the Player has a natural 9: nobody draws."),
    "both_stand": (BOTH_STAND, "the Player stands on 6; the Banker stands on 7."),
    "player_drew_banker_stands": (
        BANKER_STANDS,
        "the Player drew a card worth 4; the Banker stands on 7.",
    ),
    "after_sixth": (SIX, "both hands are complete."),
}


def counted(dealer: Dealer, face: str) -> int:
    """Say how many copies of a card the table has seen leave the shoe."""
    shoe, known = dealer.table.state.shoe, card(face)
    assert shoe is not None
    assert known is not None
    return shoe.seen[known.index]


@each_case("context", CONTEXTS)
@each_case("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET])
@each_case("slot", ["P2", "P3", "B3", None])
def test_a_card_after_a_whole_round(context: str, mode: RoundEnd, slot: str | None) -> None:
    text, why = CONTEXTS[context]
    dealer = Dealer(round_end=mode)
    dealer.deal(text)
    said = dealer.draw("AC", slot)
    found = one(said, "irregularity")
    assert found.kind == "excess_card"
    assert found.severity == 3
    assert found.card == "AC"
    assert found.slot == slot
    assert why in found.detail
    assert found.id == said[0].seq
    assert types(said) == ["irregularity"]


class TestItsFace:
    @pytest.mark.parametrize("style", [TUCKED, SQUEEZE])
    def test_is_for_staff_where_nobody_has_seen_it(self, style: str) -> None:
        dealer = Dealer(house(dealing_style=style))
        dealer.deal(NATURAL)
        dealer.order("reveal")
        said = dealer.draw("AC")
        assert types(said) == ["staff_card_dealt", "irregularity"]
        assert one(said, "staff_card_dealt").card == "AC"
        assert one(said, "irregularity").card is None
        assert "AC" not in one(said, "irregularity").detail

    def test_a_withdrawn_card_is_for_staff_until_somebody_shows_it(self) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        dealer.outside()
        said = dealer.say(seen.Withdrawn(card=card("AC")))
        assert types(said) == ["staff_card_dealt", "irregularity_closed"]


class TestOneCause:
    """All that speaks of one card too many is one irregularity, in any order."""

    def overdrawn(self, *, hidden: bool) -> Dealer:
        dealer = Dealer()
        dealer.deal(SIX, hidden=hidden)
        return dealer

    @pytest.mark.parametrize("hidden", [True, False])
    def test_voided(self, *, hidden: bool) -> None:
        dealer = self.overdrawn(hidden=hidden)
        dealer.error("overdraw")
        dealer.error("timeout")
        dealer.outside()
        dealer.say(seen.Withdrawn(card=card("AC")))
        assert dealer.open_kinds() == []
        dealer.cleared("overdraw")
        if hidden:
            dealer.disclose(SIX)
        dealer.result("player")
        assert dealer.kinds() == ["excess_card"]
        assert one(dealer.events, "irregularity_closed").action == "burn_card"
        assert dealer.out() == 7
        assert counted(dealer, "AC") == 1

    @pytest.mark.parametrize("face", [None, "AC"])
    @pytest.mark.parametrize("said_face", [None, "AC"])
    @pytest.mark.parametrize("hidden", [True, False])
    def test_carried(self, face: str | None, said_face: str | None, *, hidden: bool) -> None:
        dealer = self.overdrawn(hidden=hidden)
        dealer.error("overdraw")
        dealer.outside(face)
        dealer.cleared("overdraw")
        if hidden:
            dealer.disclose(SIX)
        dealer.result("player")
        said = dealer.say(seen.Carried(card=card(said_face)))
        assert dealer.kinds() == ["excess_card"]
        assert one(said, "irregularity_closed").action == "carry_to_next_hand"
        dealt = one(said, "card_dealt")
        assert (dealt.slot, dealt.card) == ("P1", said_face or face)
        assert said[-1].round == 2
        assert dealer.out() == 7
        assert counted(dealer, "AC") == int(bool(face or said_face))
        if not (face or said_face):
            dealer.disclose("P1 AC")
            assert counted(dealer, "AC") == 1

    @pytest.mark.parametrize("first", ["card", "error"])
    def test_a_card_in_an_open_shoe_and_the_readers_error(self, first: str) -> None:
        dealer = self.overdrawn(hidden=False)
        if first == "card":
            dealer.draw("AC", "B3")
            dealer.error("overdraw")
        else:
            dealer.error("overdraw")
            dealer.draw("AC", "B3")
        assert dealer.kinds() == ["excess_card"]
        assert dealer.out() == 7

    def test_an_overdraw_of_a_later_round_is_another(self) -> None:
        dealer = self.overdrawn(hidden=False)
        dealer.result("player")
        dealer.outside("AC")
        dealer.deal(NATURAL)
        dealer.result("player")
        dealer.deal(BOTH_STAND)
        dealer.error("overdraw")
        assert dealer.kinds() == ["excess_card", "excess_card"]
        dealer.outside("AD")
        assert dealer.kinds() == ["excess_card", "excess_card"]


class TestHiddenShoe:
    def test_a_third_card_is_found_excess_when_the_faces_come(self) -> None:
        dealer = Dealer()
        dealer.deal(f"{NATURAL}, P3 4D", hidden=True)
        assert dealer.kinds() == []
        dealer.disclose(NATURAL)
        assert dealer.kinds() == ["excess_card"]
        assert len(dealer.finished()) == 1
        dealer.disclose("P3 4D")
        dealer.result("player")
        assert dealer.kinds() == ["excess_card"]
        assert dealer.out() == 5
        assert counted(dealer, "4D") == 1

    def test_the_overdraw_that_the_reader_named_is_the_card_found_later(self) -> None:
        dealer = Dealer()
        dealer.deal(f"{NATURAL}, P3 4D", hidden=True)
        dealer.error("overdraw")
        dealer.disclose(NATURAL)
        assert dealer.kinds() == ["excess_card"]


def test_outside_a_round_with_no_shoe() -> None:
    dealer = Dealer()
    said = dealer.outside()
    assert types(said) == ["shoe_started", "irregularity"]
    assert dealer.out() == 1
