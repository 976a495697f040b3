"""The kinds reported as undetectable never occur, and all others do."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import DEALING_ORDER
from shoe_daemon.game.house_rules import house_from_mapping, house_to_mapping
from shoe_daemon.game.irregularities import IRREGULARITIES, Requirement
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, RoundEnd, Signal
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from shoe_daemon.table.undetectable import undetectable_kinds
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import LOGS, IrregularityLog
from tests.table.dealer import START, Burn, CutCard, House, house, kinds
from tests.table.reference_rules import deal as deal_round
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

PERSON = {kind for kind, facts in IRREGULARITIES.items() if Requirement.PERSON in facts.requires}
"""Irregularities that only a person can report."""

SETTINGS: list[tuple[House, dict[str, Any]]] = [
    (house(), {}),
    (house(burn=Burn(mode="per_deck"), cut_card=CutCard(mode="checked", position=14)), {}),
    (house(burn=Burn(mode="none"), cut_card=CutCard(mode="checked")), {"round_end": "button"}),
    (house(decks=1), {"round_end": "rules"}),
    (house(decks=1), {"round_end": "quiet", "suspect_run": 4, "least_gap": 0.1}),
]
EQUIPMENT: list[tuple[Signal, ...]] = [
    (),
    tuple(Signal),
    *((each,) for each in Signal),
    (Signal.BETTING, Signal.CUT_CARD),
    (Signal.SLOTS, Signal.RESULTS),
]


def machines(log: IrregularityLog) -> bool:
    """Tell whether a log is one of what equipment sees, and not a person."""
    return not any(line.get("name") == "hold" and line.get("kind") for line in log.lines)


@each_case("log", LOGS)
def test_what_a_log_shows_is_not_called_undetectable(log: IrregularityLog) -> None:
    signals = tuple(map(Signal, log.signals))
    rules = log.rules or house()
    blind = undetectable_kinds(rules, Options(**log.options, signals=signals))
    if machines(log):
        assert IrregularityKind(log.kind) not in blind
    for missing in signals:
        fewer = tuple(each for each in signals if each is not missing)
        blind = undetectable_kinds(rules, Options(**log.options, signals=fewer))
        assert (
            missing is Signal.RESULTS or not machines(log) or IrregularityKind(log.kind) in blind
        )


def test_what_only_a_person_sees_is_always_called_so() -> None:
    for rules, options in SETTINGS:
        for signals in (None, *EQUIPMENT):
            blind = undetectable_kinds(rules, Options(**options, signals=signals))
            assert set(blind) >= PERSON
            assert list(blind) == [kind for kind in IrregularityKind if kind in blind]
            assert all(not why.endswith(".") for why in blind.values())


class Weather:
    """Anything that this equipment may say, where people make every mistake."""

    def __init__(self, seed: int, signals: tuple[Signal, ...], mode: str) -> None:
        self.random = Random(seed)
        self.signals = signals
        self.mode = mode
        self.deck: list[str] = []

    def round(self) -> Iterator[seen.Observation]:
        """Deal a round, rightly or wrongly."""
        if len(self.deck) < 8:
            self.deck = [str(card.value) for card in self.random.sample(DECK * 8, 416)]
        expected = deal_round(self.deck)
        cards, slots = expected.cards, list(expected.slots)
        dice = self.random.random()
        if dice < 0.1:
            cards = cards[:-1]
        elif dice < 0.2:
            cards, slots = [*cards, self.deck[7]], [*slots, "B3"]
        elif dice < 0.3:
            slots = [str(slot) for slot in self.random.sample(DEALING_ORDER, 6)][: len(slots)]
        self.deck = self.deck[len(cards) :]
        yield from self._before()
        for face, slot in zip(cards, slots, strict=False):
            yield from self._card(face, slot)
        yield from self._after(expected.outcome)

    def _card(self, face: str, slot: str) -> Iterator[seen.Observation]:
        place = seen.decode_observation(
            f'{{"type":"card","at":"1970-01-01T00:00:00Z","card":"{face}","slot":"{slot}"}}'
        )
        assert isinstance(place, seen.CardDrawn)
        drawn = place if Signal.SLOTS in self.signals else replace(place, slot=None)
        if Signal.FAULTS in self.signals and self.random.random() < 0.05:
            yield seen.Unreadable(slot=drawn.slot)
        else:
            yield drawn
        if Signal.PLACEMENT in self.signals and place.slot and place.card:
            other = self.random.choice(DECK)
            lies = place.card if self.random.random() < 0.9 else other
            yield seen.Placed(slot=place.slot, card=lies)
        if Signal.FAULTS in self.signals and self.random.random() < 0.05:
            yield seen.DeviceError(cause=self.random.choice(list(seen.Cause)))
            yield seen.DeviceErrorCleared()

    def _before(self) -> Iterator[seen.Observation]:
        if Signal.BETTING in self.signals:
            yield seen.BettingOpen()
            if self.random.random() < 0.8:
                yield seen.NoMoreBets()
        if Signal.CUT_CARD in self.signals and self.random.random() < 0.1:
            yield seen.CutCardSeen()
        if self.random.random() < 0.05:
            yield seen.Command(name="new_shoe", operator="ann")
        if self.random.random() < 0.05:
            yield seen.Gap()

    def _after(self, outcome: str) -> Iterator[seen.Observation]:
        if Signal.RESULTS in self.signals:
            wrong = self.random.random() < 0.1
            yield seen.Result(outcome="tie" if wrong else outcome)
        if self.mode == RoundEnd.BUTTON:
            yield seen.Command(name="confirm_result", operator="ann")
        if Signal.CLEARED in self.signals:
            yield seen.TableCleared()
        if self.random.random() < 0.8:
            yield seen.Tick()


def blown(rules: House, options: Options, seed: int, rounds: int = 60) -> set[str]:
    """Let a table stand in the weather, and name all that it says is wrong."""
    table, found, now = Table(), set(), START
    weather = Weather(seed, options.signals or (), options.round_end)
    session = seen.Session(rules=house_to_mapping(rules), options=options)
    told: list[seen.Observation] = [session]
    told += [each for _ in range(rounds) for each in weather.round()]
    for each in told:
        now += 15_000_000 if isinstance(each, seen.Tick) else 500_000
        found |= set(kinds(table.apply(replace(each, at=from_microseconds(now)))))
    return found


@pytest.mark.parametrize("setting", range(len(SETTINGS)))
@pytest.mark.parametrize("signals", EQUIPMENT, ids=lambda each: "+".join(each) or "cards alone")
def test_what_cannot_be_seen_is_never_said(setting: int, signals: tuple[Signal, ...]) -> None:
    rules, options = SETTINGS[setting]
    table = Options(**{**options, "round_end": RoundEnd(options.get("round_end", "auto"))})
    told = replace(table, signals=signals)
    blind = {str(kind) for kind in undetectable_kinds(rules, told)}
    if table.round_end is RoundEnd.RULES and Signal.FAULTS in signals:
        blind.discard("excess_card")  # the reader itself may say that it saw one
    for seed in range(volume(1, 3)):
        assert not blown(rules, told, seed) & blind


def test_the_weather_brings_most_of_it() -> None:
    rules, _ = SETTINGS[1]
    found: set[str] = set()
    for seed in range(6):
        told = Options(signals=tuple(Signal), hold_from=3, least_gap=1, suspect_run=4)
        found |= blown(rules, told, seed)
    assert len(found) >= 12, sorted(found)


def test_the_board_says_the_same() -> None:
    rules, _ = SETTINGS[2]
    table = Table()
    options = Options(signals=(Signal.RESULTS,))
    session = seen.Session(
        at="2026-01-01T00:00:00Z", rules=house_to_mapping(rules), options=options
    )
    table.apply(session)
    blind = undetectable_kinds(house_from_mapping(house_to_mapping(rules), "rules"), options)
    assert table.public().blind == tuple(map(str, blind))
