"""When a round ends, in every mode; and what `result_on` waits for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK
from shoe_daemon.table import observations as seen
from shoe_daemon.table.events import RoundFinished
from shoe_daemon.table.options import ResultOn, RoundEnd, Signal
from shoe_daemon.table.times import from_microseconds
from tests.each_case import each_case
from tests.table import reference_rules
from tests.table.dealer import (
    BANKER_DRAWS,
    BANKER_STANDS,
    BOTH_STAND,
    FACE_UP,
    NATURAL,
    SIX,
    SQUEEZE,
    TIE,
    TUCKED,
    Dealer,
    DealingStyle,
    house,
    of_type,
    one,
    types,
)
from tests.volume import volume

WHOLE = [NATURAL, BOTH_STAND, BANKER_STANDS, BANKER_DRAWS, SIX, TIE]
FACES = [str(card) for card in DECK]
CONFIRMED = ResultOn.CONFIRMED
BOUNDARIES = [
    seen.BettingOpen(),
    seen.NoMoreBets(),
    seen.TableCleared(),
    seen.Command(name="confirm_result"),
]


def in_round(dealer: Dealer) -> bool:
    """Tell whether the next lawful card would still belong to the round on the table."""
    said = dealer.draw("AC", "P1", after=0)
    return "round_started" not in types(said)


@each_case("text", WHOLE)
@each_case("mode", list(RoundEnd))
@each_case("slots", [True, False])
def test_a_whole_round_is_published_at_its_last_card(
    text: str, mode: RoundEnd, *, slots: bool
) -> None:
    dealer = Dealer(round_end=mode)
    *before, last = text.split(", ")
    assert "round_finished" not in types(dealer.deal(", ".join(before), slots=slots))
    assert "round_finished" in types(dealer.deal(last, slots=slots))


@each_case("text", WHOLE)
@each_case("mode", list(RoundEnd))
@each_case("boundary", BOUNDARIES)
def test_a_boundary_ends_a_whole_round_in_every_mode(
    text: str, mode: RoundEnd, boundary: seen.Observation
) -> None:
    dealer = Dealer(round_end=mode)
    dealer.deal(text)
    dealer.say(boundary)
    assert not in_round(dealer)
    assert len(dealer.finished()) == 1
    assert "excess_card" not in dealer.kinds()


@each_case("boundary", BOUNDARIES)
@each_case("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET])
def test_confirmed_waits_for_the_boundary(mode: RoundEnd, boundary: seen.Observation) -> None:
    dealer = Dealer(round_end=mode, result_on=CONFIRMED)
    assert "round_finished" not in types(dealer.deal(SIX))
    assert "round_finished" in types(dealer.say(boundary))


@pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.BUTTON])
def test_confirmed_waits_for_the_result(mode: RoundEnd) -> None:
    dealer = Dealer(round_end=mode, result_on=CONFIRMED)
    dealer.deal(SIX)
    dealer.wait(3600)
    assert not dealer.finished()
    assert "round_finished" in types(dealer.result("player"))


class TestDevice:
    def test_a_slot_in_the_first_card_makes_auto_the_device(self) -> None:
        dealer = Dealer()
        dealer.deal(SIX)
        dealer.wait(3600)
        assert in_round(dealer) is False  # a P1 begins the next
        dealer = Dealer()
        dealer.deal(SIX)
        dealer.wait(3600)
        dealer.draw("4C")  # any other card does not, however late
        assert dealer.kinds() == ["excess_card"]

    def test_the_next_p1_aborts_a_round_that_is_not_whole(self) -> None:
        dealer = Dealer()
        dealer.deal("P1 2S, B1 3H, P2 4D")
        said = dealer.draw("5C", "P1")
        assert one(said, "round_aborted").cause == "new_round"
        assert dealer.finished() == []
        assert said[-1].round == 2


class TestButton:
    @pytest.mark.parametrize("slots", [True, False])
    def test_a_card_before_the_button_is_an_excess_card(self, *, slots: bool) -> None:
        dealer = Dealer(round_end=RoundEnd.BUTTON)
        dealer.deal(SIX, slots=slots)
        dealer.wait(3600)
        dealer.deal("P1 AC", slots=slots)
        assert dealer.kinds() == ["excess_card"]

    def test_a_refused_order_ends_nothing(self) -> None:
        dealer = Dealer(round_end=RoundEnd.BUTTON, result_on=CONFIRMED)
        dealer.deal(SIX, slots=False)
        assert dealer.order("confirm_result", refused="expired") == []


class TestQuiet:
    def test_no_slot_in_the_first_card_makes_auto_quiet(self) -> None:
        dealer = Dealer()
        dealer.deal(SIX, slots=False)
        assert "round_started" in types(dealer.draw("AC", after=10))
        assert dealer.kinds() == []

    def test_a_card_sooner_than_the_gap_is_an_excess_card(self) -> None:
        dealer = Dealer()
        dealer.deal(SIX, slots=False)
        assert "round_started" not in types(dealer.draw("AC", after=9.999))
        assert dealer.kinds() == ["excess_card"]

    def test_confirmed_is_the_moment_when_the_gap_is_over(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET, result_on=CONFIRMED)
        dealer.deal(SIX, slots=False)
        over = from_microseconds(dealer.now + 10_000_000)
        (finished,) = dealer.wait(60)
        assert finished.type == "round_finished"
        assert finished.at == over  # its own moment, not the tick's

    @pytest.mark.parametrize(
        ("style", "limit"), [(FACE_UP, 60), (TUCKED, 60), (SQUEEZE, 300), (FACE_UP, None)]
    )
    def test_a_round_waits_for_a_draw_as_long_as_a_dealer_may_take(
        self, style: DealingStyle, limit: int | None
    ) -> None:
        within = None if limit else 20
        rules = house(dealing_style=style)
        dealer = Dealer(rules, round_end=RoundEnd.QUIET, draw_within=within)
        dealer.deal("P1 2S, B1 2H, P2 3D, B2 QC", slots=False)
        dealer.draw("4S", after=limit or 20)
        dealer.draw("5D")
        dealer.wait(11)
        assert dealer.kinds() == []
        assert [data.partial for data in dealer.finished()] == [False] * (style != SQUEEZE)

    @given(
        coups=st.lists(
            st.tuples(
                st.lists(st.sampled_from(FACES), min_size=6, max_size=6),
                st.sets(st.integers(0, 5)),
                st.lists(st.integers(1, 19_000), min_size=6, max_size=6),
                st.integers(20_001, 90_000),
            ),
            min_size=1,
            max_size=5,
        )
    )
    @settings(max_examples=volume(40, 500))
    def test_no_whole_round_has_cards_of_two_coups(
        self, coups: list[tuple[list[str], set[int], list[int], int]]
    ) -> None:
        """Coups are further apart than `draw_within`; any of their cards may be missed."""
        dealer = Dealer(round_end=RoundEnd.QUIET, draw_within=20)
        coup_of: dict[str, int] = {}
        for number, (faces, missed, pauses, pause) in enumerate(coups):
            for place, face in enumerate(reference_rules.deal(faces).cards):
                after = (pauses[place] if place else pause) / 1000
                if place in missed:
                    dealer.wait(after)
                else:
                    dealer.draw(face, after=after)
                    coup_of[from_microseconds(dealer.now)] = number
        dealer.wait(90)
        found: list[int] = []
        for event in dealer.events:
            if event.type == "round_started":
                found = []
            elif event.type == "card_dealt":
                found.append(coup_of[event.at])
            elif isinstance(event.data, RoundFinished) and not event.data.partial:
                assert len(set(found)) == 1, dealer.log


class TestAuto:
    """Slots make it `device`; results without slots make it `button`; else it is `quiet`."""

    def test_a_declared_result_ends_the_round_where_no_card_has_a_slot(self) -> None:
        dealer = Dealer()
        for text in WHOLE:
            dealer.deal(text, slots=False)
            dealer.result()
        assert dealer.kinds() == []
        assert len(dealer.finished()) == len(WHOLE)
        assert dealer.table.mode is RoundEnd.BUTTON

    def test_an_order_to_confirm_a_result_is_no_button_of_the_equipment(self) -> None:
        dealer = Dealer()
        dealer.deal(SIX, slots=False)
        dealer.order("confirm_result")
        assert dealer.table.mode is RoundEnd.QUIET

    @pytest.mark.parametrize(
        ("signals", "mode"),
        [
            ((), RoundEnd.QUIET),
            ((Signal.BETTING, Signal.CLEARED), RoundEnd.QUIET),
            ((Signal.RESULTS,), RoundEnd.BUTTON),
            ((Signal.SLOTS,), RoundEnd.DEVICE),
            ((Signal.RESULTS, Signal.SLOTS), RoundEnd.DEVICE),
        ],
    )
    def test_declared_signals_decide_at_the_first_card(
        self, signals: tuple[Signal, ...], mode: RoundEnd
    ) -> None:
        dealer = Dealer(signals=signals)
        dealer.draw("2S")
        assert dealer.table.mode is mode


class TestRules:
    def test_a_whole_round_ends_at_once(self) -> None:
        dealer = Dealer(round_end=RoundEnd.RULES)
        dealer.deal(SIX, slots=False)
        assert "round_started" in types(dealer.draw("AC", after=0))

    def test_no_excess_card_can_be_seen(self) -> None:
        dealer = Dealer(round_end=RoundEnd.RULES)
        for text in WHOLE * 3:
            dealer.deal(text, slots=False)
        assert "excess_card" not in dealer.kinds()
        assert len(dealer.finished()) == 18

    def test_without_times_quiet_is_rules(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET, timeless=True)
        for text in WHOLE:
            dealer.deal(text, slots=False)
        dealer.wait(3600)
        assert len(dealer.finished()) == 6
        assert dealer.table.deadline is None

    def test_confirmed_is_the_end_too(self) -> None:
        dealer = Dealer(round_end=RoundEnd.RULES, result_on=CONFIRMED)
        dealer.deal(SIX, slots=False)
        assert len(dealer.finished()) == 1

    def test_a_result_is_compared(self) -> None:
        dealer = Dealer(round_end=RoundEnd.RULES)
        dealer.deal(SIX, slots=False)
        dealer.result("banker")
        assert dealer.kinds() == ["result_mismatch"]


def test_a_round_is_published_once_whatever_is_said_afterwards() -> None:
    for mode in RoundEnd:
        dealer = Dealer(round_end=mode)
        dealer.deal(NATURAL)
        dealer.result("player")
        dealer.result("player")
        dealer.order("confirm_result")
        dealer.say(seen.TableCleared())
        dealer.say(seen.NoMoreBets())
        dealer.say(seen.BettingOpen())
        dealer.wait(60)
        dealer.order("reveal")
        assert len(dealer.finished()) == 1
        assert of_type(dealer.events, "round_aborted") == []
        assert dealer.kinds() == []
