"""The start and the end of a shoe."""

from __future__ import annotations

import pytest

from shoe_daemon.table import decode_event, events
from shoe_daemon.table import observations as seen
from tests.table.dealer import (
    NATURAL,
    Burn,
    CutCard,
    Dealer,
    House,
    house,
    of_type,
    one,
    types,
)

CUT = seen.CutCardSeen()
BOOT = seen.Booted()


def started(dealer: Dealer) -> int:
    """Count the shoes."""
    return len(of_type(dealer.events, "shoe_started"))


def rules(hands_after: int, as_first_card: str = "last_hand", **changes: object) -> House:
    """Make a house that heeds its cut card."""
    cut = CutCard(mode="checked", hands_after=hands_after, as_first_card=as_first_card)  # type: ignore[arg-type]
    return house(cut_card=cut, **changes)


def play(dealer: Dealer, rounds: int = 1) -> list[str]:
    """Play whole rounds, and name all that was said."""
    said = []
    for _ in range(rounds):
        said += dealer.deal(NATURAL) + dealer.result("player")
    return types(said)


class TestStart:
    def test_by_an_order(self) -> None:
        dealer = Dealer("chickasaw")
        started_ = one(dealer.order("new_shoe"), "shoe_started")
        assert (started_.decks, started_.house, started_.policy) == (8, "chickasaw", "management")
        assert dealer.events[-1].shoe == 1
        dealer.order("new_shoe")
        assert dealer.events[-1].shoe == 2

    def test_by_a_first_card_outside_a_round(self) -> None:
        dealer = Dealer()
        play(dealer)
        said = dealer.burn("2S 4C 5C")
        assert types(said) == ["shoe_started"] + ["card_burned"] * 3

    @pytest.mark.parametrize("first", [True, False])
    def test_by_a_cut_card_and_a_boot(self, *, first: bool) -> None:
        dealer = Dealer()
        play(dealer)
        dealer.say(CUT)
        play(dealer)
        assert types(dealer.say(BOOT)) == ["shoe_started"]
        if first:
            dealer.burn("2S 4C 5C")
        play(dealer)
        assert started(dealer) == 2

    def test_by_the_first_card_after_the_last_round(self) -> None:
        dealer = Dealer(rules(0))
        play(dealer)
        dealer.say(CUT)
        play(dealer)
        assert one(dealer.events, "shoe_finished")
        dealer.draw("2S", "P1")
        assert started(dealer) == 2
        assert (dealer.events[-1].shoe, dealer.events[-1].round) == (2, 1)

    def test_it_ends_a_whole_round_and_aborts_another(self) -> None:
        dealer = Dealer()
        dealer.deal(NATURAL)
        dealer.order("new_shoe")
        dealer.deal("P1 2S, B1 3S")
        said = dealer.order("new_shoe")
        assert types(said) == ["round_aborted", "shoe_started"]
        assert one(said, "round_aborted").cause == "reset"

    def test_the_house_says_how_many_decks_unless_the_table_does(self) -> None:
        assert one(Dealer("single-deck").order("new_shoe"), "shoe_started").decks == 1
        assert one(Dealer("single-deck", decks=2).order("new_shoe"), "shoe_started").decks == 2


class TestBoot:
    def test_in_the_midst_of_a_round_it_aborts_the_round(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 3S")
        said = dealer.say(BOOT)
        assert types(said) == ["round_aborted"]
        assert one(said, "round_aborted").cause == "reset"
        assert dealer.out() == 2
        assert dealer.draw("4S", "P1")[0].round == 2


class TestCutCard:
    @pytest.mark.parametrize("hands_after", [0, 1, 2])
    def test_in_the_midst_of_a_round(self, hands_after: int) -> None:
        dealer = Dealer(rules(hands_after))
        play(dealer)
        dealer.deal("P1 9S, B1 2H")
        said = types(dealer.say(CUT))
        assert said == ["cut_card", "last_round"] if hands_after == 0 else said == ["cut_card"]
        rest = types(dealer.deal("P2 KD, B2 3C") + dealer.result("player"))
        for _ in range(hands_after):
            assert "shoe_finished" not in rest
            rest += play(dealer)
        assert rest[-2:] == ["shoe_finished", "staff_composition"]
        assert types(dealer.events).count("last_round") == 1

    @pytest.mark.parametrize("hands_after", [0, 1, 2])
    @pytest.mark.parametrize("as_first_card", ["last_hand", "counts_as_mid_hand"])
    @pytest.mark.parametrize("ended", [True, False])
    def test_instead_of_a_first_card(
        self, hands_after: int, as_first_card: str, *, ended: bool
    ) -> None:
        dealer = Dealer(rules(hands_after, as_first_card))
        dealer.deal(NATURAL)
        if ended:
            dealer.result("player")
        rounds = 1 if as_first_card == "last_hand" else 1 + hands_after
        said = types(dealer.say(CUT))
        assert said == ["cut_card", "last_round"] if rounds == 1 else said == ["cut_card"]
        if not ended:
            said += types(dealer.result("player"))
        assert "shoe_finished" not in play(dealer, rounds - 1)
        assert "shoe_finished" in play(dealer)
        assert types(dealer.events).count("last_round") == 1

    @pytest.mark.parametrize("mode", ["none", "unchecked"])
    def test_a_house_that_heeds_none_only_says_it(self, mode: str) -> None:
        dealer = Dealer(house(cut_card=CutCard(mode=mode)))  # type: ignore[arg-type]
        play(dealer)
        assert types(dealer.say(CUT)) == ["cut_card"]
        play(dealer, 5)
        assert not of_type(dealer.events, "last_round")
        assert not of_type(dealer.events, "shoe_finished")

    def test_seen_before_a_new_shoe_it_does_not_count_for_that(self) -> None:
        dealer = Dealer(rules(0))
        play(dealer)
        dealer.say(CUT)
        dealer.order("new_shoe")
        play(dealer, 3)
        assert not of_type(dealer.events, "shoe_finished")


class TestOverrun:
    house_ = rules(0, burn=Burn(mode="fixed", fixed=1))

    def finished(self) -> Dealer:
        dealer = Dealer(self.house_)
        dealer.order("new_shoe")
        dealer.burn("4C", first=False)
        play(dealer)
        dealer.say(CUT)
        play(dealer)
        return dealer

    def test_a_round_after_the_last_with_nothing_burned(self) -> None:
        dealer = self.finished()
        said = dealer.draw("2S", "P1")
        assert dealer.kinds() == ["cut_card_overrun"]
        assert types(said)[-3:] == ["card_dealt", "irregularity", "draw_due"]
        assert of_type(said, "irregularity")[0].severity == 3
        dealer.deal("B1 3S, P2 7S, B2 4H")
        dealer.result("player")
        play(dealer)
        assert dealer.kinds() == ["cut_card_overrun"]

    @pytest.mark.parametrize("how", ["order", "boot"])
    def test_an_announced_shoe_is_none_but_must_be_burned(self, how: str) -> None:
        dealer = self.finished()
        dealer.order("new_shoe") if how == "order" else dealer.say(BOOT)
        play(dealer)
        assert dealer.kinds() == ["burn_error"]


class TestChainHead:
    """The table knows no journal: the head comes with the observation that ends the shoe."""

    def ended(self, head: str | None) -> object:
        dealer = Dealer(rules(0))
        play(dealer)
        dealer.deal("P1 9S, B1 2H")
        dealer.say(CUT)
        dealer.deal("P2 KD, B2 3C")
        last = seen.Result(outcome="player", chain_head=head)
        assert dealer.table.may_finish_shoe(last)
        return one(dealer.say(last), "shoe_finished").head

    def test_it_is_copied_into_the_end_of_the_shoe(self) -> None:
        assert self.ended("ab" * 32) == "ab" * 32

    def test_a_bare_log_has_none(self) -> None:
        assert self.ended(None) is None

    def test_it_is_asked_for_by_few_observations(self) -> None:
        dealer = Dealer(rules(0))
        card_drawn, order = seen.CardDrawn(), seen.Command(name="rule")
        assert not dealer.table.may_finish_shoe(order)
        play(dealer)
        assert not dealer.table.may_finish_shoe(card_drawn)
        assert dealer.table.may_finish_shoe(order)
        dealer.say(CUT)
        assert dealer.table.may_finish_shoe(card_drawn)
        play(dealer)
        assert of_type(dealer.events, "shoe_finished")
        assert not dealer.table.may_finish_shoe(card_drawn)

    def test_an_end_of_an_older_version_can_be_read(self) -> None:
        line = (
            b'{"at":"2026-11-21T09:37:03.000Z","data":{"banker":6,"player":4,"rounds":11,"tie":1},'
            b'"round":null,"schema":"1.0","seq":164,"shoe":1,"site":"house","table":"table-7",'
            b'"type":"shoe_finished"}'
        )
        assert decode_event(line).data == events.ShoeFinished(banker=6, player=4, rounds=11, tie=1)
