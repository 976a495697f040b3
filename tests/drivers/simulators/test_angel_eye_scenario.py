"""
Scenarios follow the rules and the seed, contain the configured faults, and report what is dealt.
"""

from __future__ import annotations

import pytest

from drivers.angel_eye_ii import AngelEyeII
from drivers.capture import observations_of
from drivers.simulators.angel_eye import Mode, Scenario, Settings, scenario
from drivers.simulators.shoe import (
    DealtRound,
    Fault,
    Placed,
    cards_burned,
    coup_of,
    lawful,
)
from shoe_daemon.game import Burn
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import DEALING_ORDER, Slot
from shoe_daemon.table.observations import (
    Booted,
    CardDrawn,
    Carried,
    CutCardSeen,
    DeviceError,
    DeviceErrorCleared,
    Disclosed,
    Gap,
    Observation,
    Result,
    Role,
    Withdrawn,
)


def heard(played: Scenario, copies: int = 1) -> list[Observation]:
    return list(observations_of(AngelEyeII(), played.stream(copies)))


def rounds_of(observations: list[Observation]) -> list[dict[Slot, Card | None]]:
    """Collect the cards of each round with a result."""
    rounds: list[dict[Slot, Card | None]] = []
    cards: dict[Slot, Card | None] = {}
    for said in observations:
        match said:
            case CardDrawn(slot=Slot(), role=Role.PLAY) | Carried() | Disclosed():
                cards[said.slot] = said.card  # type: ignore[index]  # matched above
            case Result():
                rounds.append({slot: cards[slot] for slot in DEALING_ORDER if slot in cards})
                cards = {}
            case Booted():
                cards = {}
            case _:
                pass
    return rounds


@pytest.mark.parametrize("mode", Mode)
def test_what_is_reported_is_what_was_dealt(mode: Mode) -> None:
    played = scenario(Settings(shoes=2, mode=mode, seed=11))
    assert rounds_of(heard(played)) == [dict(dealt.cards) for dealt in played.rounds]
    results = [said for said in heard(played) if isinstance(said, Result)]
    for said, dealt in zip(results, played.rounds, strict=True):
        coup = coup_of(dealt.cards)
        assert said.outcome == coup.outcome
        assert (said.player_pair, said.banker_pair) == (coup.player.pair, coup.banker.pair)


def test_every_clean_round_is_lawful() -> None:
    for dealt in scenario(Settings(shoes=3, seed=5)).rounds:
        cards = [card for _, card in dealt.cards]
        assert lawful(iter(cards)) == dealt.cards
        slots = [slot for slot, _ in dealt.cards]
        assert slots == [slot for slot in DEALING_ORDER if slot in slots]


def test_the_same_seed_deals_the_same_and_another_does_not() -> None:
    wanted = Settings(rounds=50, seed=1, faults=tuple(Fault), fault_rate=0.5)
    assert scenario(wanted) == scenario(wanted)
    assert scenario(wanted).rounds != scenario(Settings(rounds=50, seed=2)).rounds


class TestShoe:
    def test_it_begins_with_a_boot_a_first_card_and_a_countdown(self) -> None:
        for seed in range(20):
            said = heard(scenario(Settings(rounds=1, seed=seed)))
            first = said[1]
            assert isinstance(said[0], Booted)
            assert isinstance(first, CardDrawn)
            assert first.role is Role.FIRST
            assert first.card
            burned = [s for s in said if isinstance(s, CardDrawn) and s.role is Role.BURN]
            assert 1 + len(burned) == cards_burned(Burn(mode="first_card"), first.card, decks=8)
            assert said[2 : 2 + len(burned)] == burned

    @pytest.mark.parametrize("last_rounds", [0, 1])
    def test_it_ends_after_the_cut_card(self, last_rounds: int) -> None:
        mid_round = 0
        for seed in range(30):
            played = scenario(Settings(shoes=1, decks=1, seed=seed, last_rounds=last_rounds))
            said = heard(played)
            (cut,) = (n for n, o in enumerate(said) if isinstance(o, CutCardSeen))
            ended = not isinstance(said[cut + 1], CardDrawn) or said[cut + 1] != CardDrawn(
                at=said[cut + 1].at, slot=Slot.P1
            )
            mid_round += ended
            results = sum(isinstance(o, Result) for o in said[cut:])
            assert results == (1 + last_rounds if ended else 1)
        assert 0 < mid_round < 30


def faulty(fault: Fault, mode: Mode = Mode.HIDDEN, rounds: int = 60) -> Scenario:
    played = scenario(Settings(rounds=rounds, mode=mode, seed=8, faults=(fault,), fault_rate=0.5))
    made = [dealt for dealt in played.rounds if dealt.fault]
    assert {dealt.fault for dealt in made} == {fault}
    assert rounds / 4 < len(made) < rounds * 3 / 4
    return played


def wrong_and_right(played: Scenario) -> tuple[list[DealtRound], list[DealtRound]]:
    return (
        [dealt for dealt in played.rounds if dealt.fault],
        [dealt for dealt in played.rounds if not dealt.fault],
    )


def law_of(cards: tuple[Placed, ...]) -> bool:
    return lawful(iter([*(card for _, card in cards), Card("AS"), Card("AS")])) == cards


class TestFaults:
    def test_an_overdraw_is_voided_or_carried_as_a_real_shoe_says_it(self) -> None:
        played = faulty(Fault.OVERDRAW)
        said = heard(played)
        orders = set()
        for place in (n for n, o in enumerate(said) if isinstance(o, DeviceError) and o.code == 2):
            end = next(
                n for n, o in enumerate(said) if n > place and isinstance(o, DeviceErrorCleared)
            )
            orders.add(tuple(type(o) for o in said[place : end + 1]))
        assert orders == {
            (DeviceError, CardDrawn, Withdrawn, DeviceErrorCleared),
            (DeviceError, DeviceError, CardDrawn, Withdrawn, DeviceErrorCleared),
            (DeviceError, CardDrawn, DeviceErrorCleared),
        }
        assert any(isinstance(o, Carried) for o in said)
        assert rounds_of(said) == [dict(dealt.cards) for dealt in played.rounds]

    @pytest.mark.parametrize("mode", Mode)
    def test_a_missed_draw_lacks_a_card_that_is_due(self, mode: Mode) -> None:
        played = faulty(Fault.MISSED_DRAW, mode)
        wrong, right = wrong_and_right(played)
        assert not any(law_of(dealt.cards) for dealt in wrong)
        assert all(law_of(dealt.cards) for dealt in right)
        assert rounds_of(heard(played)) == [dict(dealt.cards) for dealt in played.rounds]

    @pytest.mark.parametrize("mode", Mode)
    def test_a_misread_card_is_one_card_of_the_round(self, mode: Mode) -> None:
        played = faulty(Fault.MISREAD, mode)
        for seen, dealt in zip(rounds_of(heard(played)), played.rounds, strict=True):
            assert list(seen) == [slot for slot, _ in dealt.cards]
            wrong = [card for slot, card in dealt.cards if seen[slot] != card]
            assert len(wrong) == (dealt.fault is Fault.MISREAD)

    @pytest.mark.parametrize("mode", Mode)
    def test_an_unreadable_card_is_one_card_less(self, mode: Mode) -> None:
        played = faulty(Fault.UNREADABLE, mode)
        for seen, dealt in zip(rounds_of(heard(played)), played.rounds, strict=True):
            missing = [slot for slot, _ in dealt.cards if slot not in seen]
            assert len(missing) == (dealt.fault is Fault.UNREADABLE)
        errors = [o for o in heard(played) if isinstance(o, DeviceError)]
        assert [error.code for error in errors] == [1] * len(wrong_and_right(played)[0])

    def test_a_reset_ends_a_round_and_its_cards_are_gone(self) -> None:
        played = faulty(Fault.RESET)
        whole = [dict(dealt.cards) for dealt in played.rounds if not dealt.aborted]
        assert rounds_of(heard(played)) == whole
        assert all(1 <= len(dealt.cards) <= 5 for dealt in played.rounds if dealt.aborted)
        boots = sum(isinstance(o, Booted) for o in heard(played))
        assert boots == 1 + len(wrong_and_right(played)[0])

    def test_a_lost_frame_leaves_a_gap(self) -> None:
        played = faulty(Fault.LOST_FRAME)
        gaps = sum(isinstance(o, Gap) for o in heard(played))
        assert gaps == len(wrong_and_right(played)[0]) == sum(step.lost for step in played.steps)
