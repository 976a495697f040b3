"""
Whole shoes through each reader that sends text, its simulator, its decoder and a table: the
rounds that are published are those that were dealt, and no fault is silent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain

import pytest
from msgspec.structs import replace

from drivers.driver import Decoder, Frame
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Mode, Scene, Settings
from drivers.simulators.shoe import DealtRound, Fault
from drivers.simulators.simulator import find_simulator
from shoe_daemon.game import DECK, Card
from shoe_daemon.table import Event, Options, ResultOn, RoundEnd, RoundFinished, Session
from shoe_daemon.table.observations import (
    Command,
    Gap,
    GapDetail,
    Link,
    Observation,
    Role,
    Tick,
)
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.volume import volume

TAGS = {f"{number:014X}": str(card) for number, card in enumerate(DECK * 8, 0x04A2B3C4000000)}
EAN = {f"73108650047{number:02}": str(card) for number, card in enumerate(DECK)}

HANDS = ("P1", "P2", "P3", "B1", "B2", "B3")
NAMES = {card.suit.lower() + card.rank.lower(): str(card) for card in DECK}
OTHER_PROGRAM: dict[str, object] = {
    "path": "boxes.0.cards",
    "only": {"type": "table"},
    "cards": NAMES,
}

READERS: dict[str, tuple[str, dict[str, object]]] = {
    "bee-tek": ("bee-tek", {}),
    "line-scanner": ("line-scanner", {}),
    "line-scanner olivetti": ("line-scanner", {"preset": "olivetti", "codes": "a01"}),
    "line-scanner handheld": (
        "line-scanner",
        {"preset": "handheld", "length_digits": 2, "preamble": "#", "prefix": "]A0", "cards": EAN},
    ),
    "line-scanner no-terminator": (
        "line-scanner",
        {"preset": "no-terminator", "codes": "suit-rank"},
    ),
    "json-lines": ("json-lines", {}),
    "json-lines tags": ("json-lines", {"cards": TAGS}),
    "mqtt-camera": ("mqtt-camera", {"slots": HANDS}),
    "mqtt-camera changes": ("mqtt-camera", OTHER_PROGRAM),
}
ONLY_CHANGES = frozenset({"mqtt-camera changes"})
"""
Recognisers that publish nothing twice. The line to the broker stays, and only their own is lost.
"""

SHOES = volume(1, 50)
SHOES_A_FAULT = volume(1, 10)
QUIET = Options(round_end=RoundEnd.QUIET, draw_within=8.0)
SEEN = Options(round_end=RoundEnd.DEVICE)
HARMLESS = {
    "mqtt-camera": {Fault.NOISE, Fault.LOST_FRAME, Fault.RESET, Fault.UNPLUG},
}
"""
Faults after which a round may be published without a word, if all its cards were seen: each
snapshot of a recogniser has all that lie there. Of all other readers: noise.
"""

POLL_S = 0.2


Hands = tuple[tuple[Card | None, ...], tuple[Card | None, ...]]
"""The Player's cards and the Banker's."""


class Watched:
    """A table that is fed by one reader, on a clock of its own."""

    def __init__(
        self, decoder: Decoder, options: Options = QUIET, *, line_stays: bool = False
    ) -> None:
        self.decoder = decoder
        self._line_stays = line_stays
        self.table = Table()
        self.events: list[list[Event]] = [[]]
        self._at = self._fed_at = 0.0
        self._apply(Session(options=options), 0.0)

    def play(self, scene: Scene) -> None:
        """Play a scene; its events are one list."""
        self.events.append([])
        if scene.round is None:
            self._stay_silent(self._fed_at + 20)
            self._apply(Command(name="new_shoe"), self._fed_at + 20)
        for step in scene.steps:
            if step.unplugged and not self._line_stays:
                self._apply(Link(up=False), step.at)
                self.decoder.reset()
                self._apply(Link(up=True), step.at + step.unplugged)
                self._apply(Gap(detail=GapDetail.RECONNECT), step.at + step.unplugged)
            for at, data in step.writes():
                self._stay_silent(at)
                self._take(self.decoder.feed(data, at))
                self._fed_at = at

    def finish(self) -> None:
        """Let the last round end."""
        self._stay_silent(self._fed_at + 30)
        self._apply(Link(up=True), self._fed_at + 30)

    def _stay_silent(self, until: float) -> None:
        """Feed silence, as a reader does that polls its line."""
        if self._fed_at + POLL_S < until:
            self._take(self.decoder.feed(b"", self._fed_at + POLL_S))

    def _take(self, frames: list[Frame]) -> None:
        for frame in frames:
            for each in frame.observations:
                self._apply(each, frame.received)

    def _apply(self, observation: Observation, at: float) -> None:
        self._at = max(at, self._at)
        now = int(self._at * 1_000_000) + 1_000_000
        while (deadline := self.table.deadline) is not None and deadline[0] <= now:
            tick = Tick(at=from_microseconds(deadline[0]), deadline=deadline[1])
            self.events[-1] += self.table.apply(tick)
        self.events[-1] += self.table.apply(replace(observation, at=from_microseconds(now)))


def watched(
    reader: str, settings: Settings, options_of_table: Options | None = None
) -> tuple[list[DealtRound | None], list[list[Event]]]:
    """Play a scenario; return what each scene dealt, and the events while it was played."""
    name, options = READERS[reader]
    driver = create_driver(name, options)
    once = reader in ONLY_CHANGES
    usual = SEEN if name == "mqtt-camera" else QUIET
    table = Watched(driver.decoder(), options_of_table or usual, line_stays=once)
    dealt: list[DealtRound | None] = [None]
    for scene in find_simulator(name)(driver).scenes(settings, once=once):
        dealt.append(scene.round)
        table.play(scene)
    table.finish()
    return dealt, table.events


def hands_of(dealt: DealtRound) -> Hands:
    player, banker = (
        tuple(card for slot, card in dealt.cards if slot.startswith(side)) for side in "PB"
    )
    return player, banker


def published(
    events: list[list[Event]], but: Collection[tuple[int | None, int | None]] = ()
) -> Iterator[Hands]:
    """Yield the hands of each round that is published as complete, but for some rounds."""
    for event in chain.from_iterable(events):
        is_doubtful = (event.shoe, event.round) in but
        if isinstance(event.data, RoundFinished) and not (event.data.partial or is_doubtful):
            yield event.data.player.cards, event.data.banker.cards


def is_evidence(event: Event) -> bool:
    data = event.data
    partial = isinstance(data, RoundFinished) and data.partial
    return partial or event.type in {"irregularity", "round_aborted"}


def rounds_with_irregularity(events: list[list[Event]]) -> set[tuple[int | None, int | None]]:
    found = chain.from_iterable(events)
    return {(each.shoe, each.round) for each in found if each.type == "irregularity"}


def is_status(event: Event) -> bool:
    return event.type == "reader_status"


@pytest.mark.parametrize("reader", READERS)
def test_what_was_dealt_is_what_is_published(reader: str) -> None:
    dealt, events = watched(reader, Settings(shoes=SHOES, seed=31))
    truth = [hands_of(each) for each in dealt if each]
    assert list(published(events)) == truth
    assert not any(is_evidence(event) for event in chain.from_iterable(events))


@cache
def faults_of(reader: str) -> tuple[Fault, ...]:
    return find_simulator(READERS[reader][0]).faults


@pytest.mark.parametrize("reader", READERS)
def test_no_fault_is_silent_and_no_round_is_wrong(reader: str) -> None:
    for fault in faults_of(reader):
        settings = Settings(shoes=SHOES_A_FAULT, seed=7, faults=(fault,), fault_rate=0.2)
        dealt, events = watched(reader, settings)
        truth = iter(hands_of(each) for each in dealt if each and not each.aborted)
        # Of two faces on one place, the first one counts until a person decides. The second one
        # may be the next round's, if only first cards were seen while a recogniser was away.
        was_away = fault is Fault.UNPLUG and reader in ONLY_CHANGES
        has_two_faces = fault is Fault.MISREAD or was_away
        doubtful = rounds_with_irregularity(events) if has_two_faces else ()
        for hands in published(events, doubtful):
            assert hands in truth, f"{fault}: {hands} were not dealt, or not in this order"
        shown = set(published(events))
        for number, each in enumerate(dealt):
            if each is None or each.fault is None:
                continue
            near = chain.from_iterable(events[number : number + 2])
            if hands_of(each) in shown:
                is_harmless = fault in HARMLESS.get(READERS[reader][0], {Fault.NOISE})
                assert is_harmless or any(map(is_evidence, near)), f"{each} is silent"
            else:
                # A round of which no card arrived is absent.
                seen = [event for event in near if is_evidence(event) or is_status(event)]
                assert seen or was_away, f"{each} is silent"
        assert len(shown) > 0.4 * len(dealt)


def test_of_two_faces_none_is_published_before_a_person_decides() -> None:
    confirmed = Options(round_end=RoundEnd.DEVICE, hold_from=3, result_on=ResultOn.CONFIRMED)
    for seed in range(volume(2, 10)):
        settings = Settings(rounds=20, seed=seed, faults=(Fault.MISREAD,), fault_rate=0.2)
        dealt, events = watched("mqtt-camera", settings, confirmed)
        assert any(each and each.fault for each in dealt)
        right = [hands_of(each) for each in dealt if each and not each.fault]
        assert list(published(events)) == right


@pytest.mark.parametrize("reader", READERS)
def test_five_identical_cards_in_a_row_are_five_cards(reader: str) -> None:
    name, options = READERS[reader]
    driver = create_driver(name, options)
    simulator = find_simulator(name)(driver)
    list(simulator.scenes(Settings(rounds=1, mode=Mode.OPEN), once=False))
    table = Watched(driver.decoder())
    drawn = []
    for number in range(5):
        for after, data in simulator.card(Card("8H"), Role.PLAY):  # type: ignore[attr-defined]
            drawn += table.decoder.feed(data, number + after)
    drawn += table.decoder.feed(b"", 9.0)
    said = [each for frame in drawn for each in frame.observations]
    assert [getattr(each, "card", None) for each in said] == [Card("8H")] * 5
