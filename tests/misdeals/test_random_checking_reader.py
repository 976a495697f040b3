"""
Lawful shoes that a main reader and a checking reader read, each with a delay of its
own, and one fault: a fault is one `source_conflict` at most, and no round is published
as complete that is another than was dealt.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import START, RoundEnd
from tests.table.reference_rules import ExpectedRound, expected_rounds
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN, CHECKER = "shoe", "scanner"
MODES = [RoundEnd.BUTTON, RoundEnd.DEVICE, RoundEnd.QUIET]
ROUNDS = 8
SEEN_BY_ONE = ["misread", "missed", "read_twice"]
"""Faults of a reader that only the other reader can show."""
KNOWN = ["unread", "gap", "link", "boot", "unseen_burn", "nothing"]
"""Faults that are reported, or that are no difference."""
FAULTS = [
    *((CHECKER, kind) for kind in (*SEEN_BY_ONE, *KNOWN)),
    *((MAIN, kind) for kind in ("misread", "gap", "link", "nothing")),
]


class Passing(NamedTuple):
    """One card that leaves the shoe."""

    at: float
    face: Card
    slot: Slot | None
    role: seen.Role
    number: int


class Told(NamedTuple):
    """One observation, and when the table takes it."""

    at: float
    observation: seen.Observation


class TwoReaders:
    """
    One shoe, two readers, one fault; what follows from a seed.

    Attributes:
        fault: The reader that fails, and how.
        delay: The seconds after which each reader reports a card.
        deal: The rounds as they were dealt.
        struck: The round with the fault; `place` is the card in it.
        leaves: Some time after the fault the main reader goes away for good.
        pit: The table, once it has taken all observations.
    """

    def __init__(self, seed: int, fault: tuple[str, str]) -> None:
        self.random = random = Random(seed)
        self.fault, self.mode = fault, random.choice(MODES)
        self.delay = {MAIN: random.uniform(0, 0.9), CHECKER: random.uniform(0, 0.9)}
        self.leaves = random.random() < 0.5
        shoe = apart(random, [card.value for card in random.sample(DECK * 8, 60)])
        self.burned, self.deal = shoe[:3], expected_rounds(shoe[3:])[:ROUNDS]
        self.betting = random.random() < 0.3
        self.struck, self.place = random.randrange(1, 5), random.randrange(4)
        self.away = random.choice([0.1, random.uniform(0.1, 10), random.uniform(0.1, 60)])
        self.cards = list(self._cards())
        self.pit = SupervisedTable(round_end=self.mode, checkers=(CHECKER,), decks=8)
        self._say(sorted(self._told(), key=lambda each: each.at))

    def _say(self, told: list[Told]) -> None:
        restored = self.random.randrange(len(told))
        for n, each in enumerate(told):
            if n == restored:
                self.pit.table = Table.restore(self.pit.table.checkpoint())
            now = (self.pit.now - START) / 1_000_000
            self.pit.say(each.observation, max(each.at - now, 0))

    def _cards(self) -> Iterator[Passing]:
        now, random = 20.0, self.random
        for n, face in enumerate(self.burned):
            now += 1
            yield Passing(now, Card(face), None, seen.Role.BURN if n else seen.Role.FIRST, 0)
        for number, each in enumerate(self.deal, 1):
            now += 30
            for face, slot in zip(each.cards, each.slots, strict=True):
                now += random.uniform(0.5, 2)
                yield Passing(now, Card(face), Slot(slot), seen.Role.PLAY, number)

    def _told(self) -> Iterator[Told]:
        for source in (MAIN, CHECKER):
            yield Told(1, seen.Link(up=True, source=source))
        yield from self._reader(MAIN)
        yield from self._reader(CHECKER)
        for number, each in enumerate(self.deal, 1):
            over = max(card.at for card in self.cards if card.number == number)
            yield from self._end(over, each.outcome)

    def _end(self, over: float, outcome: str) -> Iterator[Told]:
        random = self.random
        if self.mode is not RoundEnd.QUIET:
            # The main reader declares the result as soon as it has read the last card.
            soon = over + self.delay[MAIN] + 0.2
            late = over + 3 + random.uniform(0, 2)
            away = self.fault == (MAIN, "link") or (self.leaves and soon > self.left)
            yield Told(late if away else random.choice([soon, late]), seen.Result(outcome=outcome))
        if random.random() < 0.3:
            yield Told(over + 6, seen.TableCleared())
        if self.betting:
            yield Told(over + 8, seen.BettingOpen())
            yield Told(over + 28, seen.NoMoreBets())

    @property
    def left(self) -> float:
        """When the main reader goes away for good."""
        struck = next(n for n, card in enumerate(self.cards) if card.number == self.struck)
        return self.cards[struck + self.place + 1].at + max(self.delay.values()) + self.away

    def _reader(self, source: str) -> Iterator[Told]:
        failing, kind = self.fault
        slots = source == MAIN and self.mode is RoundEnd.DEVICE
        cards = [card for card in self.cards if source == MAIN or card.number or not self._blind()]
        told = [(card, self._read(source, card, slots=slots)) for card in cards]
        place = next(n for n, (card, _) in enumerate(told) if card.number == self.struck)
        place += self.place
        if source == failing:
            yield from getattr(self, f"_{kind}")(source, told, place)
        else:
            yield from (each for _, each in told if not self._gone(source, each))
        if source == MAIN and self.leaves:
            yield Told(self.left, seen.Link(up=False, source=MAIN))

    def _blind(self) -> bool:
        return self.fault == (CHECKER, "unseen_burn")

    def _gone(self, source: str, told: Told) -> bool:
        return source == MAIN and self.leaves and told.at >= self.left

    def _read(self, source: str, card: Passing, *, slots: bool) -> Told:
        role = card.role if source == MAIN else seen.Role.PLAY
        slot = card.slot if slots else None
        read = seen.CardDrawn(card=card.face, slot=slot, role=role, source=source)
        return Told(card.at + self.delay[source], read)

    def _but(
        self, source: str, told: list[Any], place: int, instead: list[Told]
    ) -> Iterator[Told]:
        for n, (_, each) in enumerate(told):
            for one in instead if n == place else [each]:
                if not self._gone(source, one):
                    yield one

    def _misread(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        at, read = told[place][1]
        other = self.random.choice([card for card in DECK if card is not read.card])
        return self._but(source, told, place, [Told(at, replace(read, card=other))])

    def _missed(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        return self._but(source, told, place, [])

    def _read_twice(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        at, read = told[place][1]
        return self._but(source, told, place, [Told(at, read), Told(at + 0.1, read)])

    def _unread(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        at = told[place][1].at
        return self._but(source, told, place, [Told(at, seen.Unreadable(source=source))])

    def _nothing(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        return self._but(source, told, place, [told[place][1]])

    _unseen_burn = _nothing

    def _without(
        self, source: str, told: list[Any], place: int, *around: seen.Observation
    ) -> Iterator[Told]:
        # Some cards of a round are not read; the first observation comes before that, the
        # others after.
        left = sum(card.number == self.struck for card, _ in told[place:])
        lost = self.random.randrange(min(left, 2) + 1)
        rest = [each for _, each in (*told[:place], *told[place + lost :])]
        since = told[place][1].at - 0.05
        until = told[min(place + lost, len(told) - 1)][1].at - 0.02
        moments = [since, *[until + 0.001 * n for n in range(len(around) - 1)]]
        moments[:1] = [since if len(around) > 1 else self.random.choice([since, until])]
        for at, said in zip(moments, around, strict=True):
            rest.append(Told(at, replace(said, source=source)))
        yield from (each for each in rest if not self._gone(source, each))

    def _gap(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        return self._without(source, told, place, seen.Gap())

    def _boot(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        return self._without(source, told, place, seen.Booted())

    def _link(self, source: str, told: list[Any], place: int) -> Iterator[Told]:
        back = seen.Gap(detail=seen.GapDetail.RECONNECT)
        down, up = seen.Link(up=False), seen.Link(up=True)
        return self._without(source, told, place, down, up, back)

    def conflicts(self) -> int:
        """Count what the table said of its readers."""
        return self.pit.kinds().count("source_conflict")

    def wrong(self) -> list[Any]:
        """Return the rounds published as complete that were never dealt."""
        dealt = [hands(each) for each in self.deal]
        found = []
        for each in self.pit.finished():
            if each.partial:
                continue
            cards = (tuple(each.player.cards), tuple(each.banker.cards))
            while dealt and dealt[0] != cards:
                del dealt[0]
            if not dealt:
                found.append(cards)
                break
            del dealt[0]
        return found


def apart(random: Random, shoe: list[str]) -> list[str]:
    """Shuffle until no two equal cards follow each other: to miss either is the same."""
    while any(one == other for one, other in pairwise(shoe)):
        random.shuffle(shoe)
    return shoe


def hands(each: ExpectedRound) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Return both hands of a round."""
    return tuple(map(Card, each.player)), tuple(map(Card, each.banker))


def check(seed: int, fault: tuple[str, str]) -> None:
    """Compare what the table said with what was dealt."""
    told = TwoReaders(seed, fault)
    reader, kind = fault
    late = (MAIN, "gap")  # it is reported only after the other reader has shown it
    assert told.conflicts() <= (kind in SEEN_BY_ONE or fault == late), (seed, told.pit.kinds())
    assert kind != "misread" or told.conflicts() == 1, seed
    if fault == (MAIN, "misread"):
        return
    assert told.wrong() == [], seed
    others = {each for each in told.pit.kinds() if each != "source_conflict"}
    assert others <= {"unreadable_card"} or told.leaves or reader == MAIN, (seed, others)


@pytest.mark.parametrize("fault", FAULTS, ids="-".join)
def test_one_fault_of_two_readers(fault: tuple[str, str]) -> None:
    for seed in range(volume(8, 20)):
        check(seed, fault)
