"""
A physical table with known truth: the setup of its equipment, true coups, and the
observations that the equipment makes of them.

Written from the rules of the game and of the daemon, apart from the code that it
checks. Mistakes are added by `mistake_logs`; `table_judge` compares the table with the truth.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from msgspec.structs import replace

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import DealingStyle, house_to_mapping, load_house
from shoe_daemon.table import (
    Event,
    encode_event,
    is_staff,
)
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn, RoundEnd, Signal
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.public_json import encode_public_table
from tests.table import reference_rules
from tests.table.dealer import START, house, refusal_text

READERS = ("slots", "hidden", "results", "button", "quiet", "rules", "pair")
"""
Kinds of equipment: names each place; the same with faces told later; declares
results but no places; a dealer's button; cards alone; a log without ends; two readers.
"""

HOUSES = (None, None, None, "chickasaw", "curator", "seven-feathers", "single-deck")

EPOCH = "1970-01-01T00:00:00Z"

HAS_SLOTS = ("slots", "hidden")

Observed = seen.Observation | Callable[[Table], seen.Observation | None]


@dataclass(frozen=True)
class Setup:
    """
    The equipment and the configuration of a table.

    Attributes:
        reader: One of `READERS`.
        auto: `round_end` is left to the table.
        betting: Betting signals exist.
        cleared: A signal for cleared cards exists.
        reveals: The dealer signals that faces are turned.
        ahead: The checking reader reads before the main one.
        main_end: What ends a round at a table with two readers.
        rest: Seconds from the last card of a round to the first of the next, at least.
    """

    reader: str
    auto: bool
    house: str | None
    style: DealingStyle
    decks: int
    betting: bool
    cleared: bool
    reveals: bool
    confirmed: bool
    hold_from: int | None
    ahead: bool
    main_end: str
    rest: float

    @property
    def slots(self) -> bool:
        """Tell whether the reader names places."""
        return self.reader in HAS_SLOTS

    @property
    def end(self) -> str:
        """Name what declares the end: ``result``, ``button`` or ``none``."""
        if self.reader == "pair":
            return self.main_end
        ends = {"slots": "result", "hidden": "result", "results": "result", "button": "button"}
        return ends.get(self.reader, "none")

    @property
    def declares(self) -> bool:
        """Tell whether any end of a round is declared, by whatever signal."""
        return self.end != "none" or self.betting or self.cleared

    @property
    def round_end(self) -> RoundEnd:
        """Return the configured mode."""
        if self.auto:
            return RoundEnd.AUTO
        if self.reader == "rules":
            return RoundEnd.RULES
        if self.slots:
            return RoundEnd.DEVICE
        return RoundEnd.QUIET if self.end == "none" else RoundEnd.BUTTON

    def session(self) -> seen.Session:
        """Write the first line of the log."""
        plain = self.house is not None or self.style is DealingStyle.FACE_UP
        rules = None if plain else house_to_mapping(house(dealing_style=self.style))
        options = Options(
            decks=self.decks,
            round_end=self.round_end,
            result_on=ResultOn.CONFIRMED if self.confirmed else ResultOn.COMPLETE,
            hold_from=self.hold_from,
            checkers=("scanner",) if self.reader == "pair" else (),
            signals=self.signals() if self.auto else None,
        )
        session = seen.Session(at=EPOCH, house=self.house, rules=rules, options=options)
        told = seen.decode_observation(seen.encode_observation(session))
        assert isinstance(told, seen.Session)
        return told

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals that the equipment has."""
        has = {
            Signal.SLOTS: self.slots,
            Signal.RESULTS: self.end == "result",
            Signal.FAULTS: self.slots,
            Signal.BETTING: self.betting,
            Signal.CLEARED: self.cleared,
        }
        return tuple(signal for signal, there in has.items() if there)


def make_setup(random: Random, **fixed: Any) -> Setup:  # noqa: ANN401 - any field
    """Draw a setup; `fixed` names what is given."""
    pick = random.choice
    reader = fixed.get("reader") or pick(READERS)
    name = fixed.get("house", pick(HOUSES))
    style = pick(list(DealingStyle)) if name is None else load_house(name).dealing_style
    made: dict[str, Any] = {
        "reader": reader,
        "auto": pick([False, True]) and reader not in {"rules", "button", "pair"},
        "house": name,
        "style": DealingStyle.FACE_UP if reader == "pair" and name is None else style,
        "decks": 1 if name == "single-deck" else pick([6, 8, 8] if name else [1, 6, 8]),
        "betting": pick([False, False, True]),
        "cleared": pick([False, False, True]),
        "reveals": pick([True, True, False]),
        "confirmed": pick([False, False, True]),
        "hold_from": pick([None, None, 3]),
        "ahead": pick([False, True]),
        "main_end": pick(["result", "button", "none"]),
        "rest": pick([15.0, 25.0, 70.0]),
    }
    setup = Setup(**(made | fixed))
    if setup.end != "result" and setup.style is DealingStyle.SQUEEZE:
        return dataclasses.replace(setup, reveals=True)  # nothing else would turn the faces
    return setup


@dataclass
class Step:
    """
    One observation, some seconds after the one before.

    Attributes:
        face: The card that physically left the shoe.
        slot: Where it lies in truth.
        shows: Faces that people see with this step.
        later: Faces that count as seen three seconds after it.
    """

    says: Observed
    after: float = 1.0
    face: str | None = None
    slot: str | None = None
    shows: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


@dataclass
class Coup:
    """
    A physical round and its observations: before its cards, its cards with what
    turns them, and its end.
    """

    truth: reference_rules.ExpectedRound
    before: list[Step] = field(default_factory=list)
    play: list[Step] = field(default_factory=list)
    end: list[Step] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """Return all of them."""
        return self.before + self.play + self.end

    def drawn(self) -> list[int]:
        """Return where in `play` the main reader reads cards."""
        return [
            at
            for at, step in enumerate(self.play)
            if isinstance(step.says, seen.CardDrawn) and step.face is not None
        ]


class Dealing:
    """
    A shoe dealt at a table, mistakes apart.

    Attributes:
        spare: Cards that are in no coup: for excess cards and misreadings.
    """

    def __init__(self, setup: Setup, random: Random, rounds: int) -> None:
        self.setup, self.random = setup, random
        deck = random.sample([card.value for card in DECK], 52)
        self.start: list[Step] = []
        self.burned = self._burn(deck)
        self.coups: list[Coup] = []
        while len(self.coups) < rounds and len(deck) >= 14:
            truth = reference_rules.deal(deck)
            deck = deck[truth.used :]
            self.coups.append(self.coup(truth))
        self.spare = deck

    def _burn(self, deck: list[str]) -> bool:
        name = self.setup.house
        if name is None:
            return False
        self.start.append(Step(command("new_shoe")))
        if load_house(name).burn.mode != "first_card":
            return False
        low = next(c for c in deck if 0 < reference_rules.card_points(c) < 6)
        deck.remove(low)
        first = seen.CardDrawn(card=Card(low), role=seen.Role.FIRST)
        self.start += self.twice(Step(first, 3.0, face=low, shows=(low,)))
        for _ in range(reference_rules.card_points(low)):
            face = deck.pop()
            card = seen.CardDrawn(card=Card(face), role=seen.Role.BURN)
            self.start += self.twice(Step(card, 1.5, face=face))
        self.start.append(Step(seen.Tick(), 12.0))
        return True

    def coup(self, truth: reference_rules.ExpectedRound) -> Coup:
        """Observe one lawful coup."""
        coup = Coup(truth)
        if self.setup.betting:
            coup.before.append(Step(seen.BettingOpen(), self.near(6)))
        coup.before.append(Step(seen.Tick(), self.setup.rest + self.random.uniform(0, 10)))
        if self.setup.betting:
            coup.before.append(Step(seen.NoMoreBets(), 1.0))
        self._play(coup)
        coup.end = self.ending(truth)
        return coup

    def near(self, seconds: float) -> float:
        """Return about so many seconds."""
        return round(seconds * self.random.uniform(0.7, 1.3), 2)

    def _play(self, coup: Coup) -> None:
        truth, setup = coup.truth, self.setup
        cards = list(zip(truth.slots, truth.cards, strict=True))
        for place, (slot, face) in enumerate(cards, 1):
            coup.play += self.card(slot, face, fourth=truth.cards[:4] if place == 4 else None)
            down = [f for s, f in cards[:place] if self.hides(s)]
            if place >= 4 and down and setup.reader != "hidden" and setup.reveals:
                new = down if place == 4 else [face] if self.hides(slot) else []
                if new:
                    reveal = Step(command("reveal"), self.near(2), shows=tuple(new))
                    coup.play.append(reveal)
        if setup.reader == "hidden":
            for slot, face in cards:
                told = seen.Disclosed(slot=Slot(slot), card=Card(face))
                coup.play.append(Step(told, self.near(1), shows=(face,)))

    def card(self, slot: str, face: str, fourth: list[str] | None = None) -> list[Step]:
        """Draw a card; with the fourth come those that are seen a little later."""
        setup, hidden = self.setup, self.setup.reader == "hidden"
        told = seen.CardDrawn(
            card=None if hidden else Card(face), slot=Slot(slot) if setup.slots else None
        )
        tucked = setup.style is DealingStyle.BANKER_TUCKED and fourth is not None and not hidden
        return self.twice(
            Step(
                told,
                self.near(2),
                face=face,
                slot=slot,
                shows=() if hidden or self.hides(slot) else (face,),
                later=(fourth[1], fourth[3]) if tucked and fourth else (),
            )
        )

    def twice(self, step: Step) -> list[Step]:
        """Let the second reader read the card too, where there is one."""
        if self.setup.reader != "pair" or not isinstance(step.says, seen.CardDrawn):
            return [step]
        step.says = replace(step.says, source="shoe")
        other = Step(replace(step.says, source="scanner"), self.near(0.4))
        if self.setup.ahead:
            other.after, step.after = step.after, other.after
            other.shows, other.later = step.shows, step.later
            return [other, step]
        return [step, other]

    def hides(self, slot: str) -> bool:
        """Tell whether the card of a place lies face down at first."""
        style = self.setup.style
        return style is DealingStyle.SQUEEZE or (
            style is DealingStyle.BANKER_TUCKED and slot in {"B1", "B2"}
        )

    def ending(
        self, truth: reference_rules.ExpectedRound, outcome: str | None = None
    ) -> list[Step]:
        """Declare the end by all signals that there are."""
        setup, steps = self.setup, []
        cards = tuple(truth.cards) if setup.style is DealingStyle.SQUEEZE else ()
        if setup.end == "result":
            said = seen.Result(
                outcome=outcome or truth.outcome,
                player_pair=truth.player_pair,
                banker_pair=truth.banker_pair,
            )
            steps.append(Step(said, self.near(5), shows=cards))
        elif setup.end == "button":
            steps.append(Step(command("confirm_result"), self.near(5), shows=cards))
        if setup.cleared:
            steps.append(Step(seen.TableCleared(), self.near(5)))
        return steps

    def steps(self) -> list[Step]:
        """Return the whole log."""
        links = [Step(seen.Link(up=True, source=s)) for s in ("shoe", "scanner")]
        opening = links if self.setup.reader == "pair" else []
        last = [Step(seen.BettingOpen(), 5.0)] if self.setup.betting else []
        return [
            Step(self.setup.session(), 0),
            *opening,
            *self.start,
            *(step for coup in self.coups for step in coup.steps),
            *last,
            Step(seen.Tick(), 400.0),
        ]


def command(name: str, **fields: Any) -> seen.Command:  # noqa: ANN401 - of any order
    """Write an operator's command."""
    return seen.Command(name=name, operator="ann", **({"reason": "as seen"} | fields))


@dataclass
class Run:
    """
    A log, and the events that it caused.

    Attributes:
        log: The observations, stamped.
        said: The events of each.
        leaks: Faces that were public before people saw them.
        open_before: Irregularities open before the person closed them all.
    """

    table: Table
    log: list[seen.Observation] = field(default_factory=list)
    said: list[list[Event]] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    open_before: list[str] = field(default_factory=list)

    @property
    def events(self) -> list[Event]:
        """Return all events in their order."""
        return [event for events in self.said for event in events]

    def lines(self) -> str:
        """Write the log as JSON lines."""
        return "\n".join(seen.encode_observation(o).decode() for o in self.log)


FACE = re.compile(r"(?<![0-9A-Z])(?:10|[2-9AJQK])[SHDC](?![0-9A-Za-z])")

THIRDS = 4


def play(steps: list[Step], *, hides: bool = True, closes: bool = True) -> Run:
    """Tell a new table all of this; in the end a person closes what is open."""
    run, now = Run(Table()), START
    due: list[tuple[int, tuple[str, ...]]] = []
    seen_faces: set[str] = set()
    for step in steps:
        now += round(step.after * 1_000_000)
        seen_faces.update(step.shows)
        if step.later:
            due.append((now + 3_000_000, step.later))
        for moment, faces in due:
            if moment <= now:
                seen_faces.update(faces)
        _observe(run, step.says, now)
        if hides and run.said:
            _find_leaks(run, seen_faces)
    run.open_before = [str(alert.data.kind) for alert in run.table.public().alerts]
    while closes and (alerts := run.table.public().alerts):
        now += 1_000_000
        _observe(run, command("acknowledge", irregularity=alerts[0].data.id), now)
    return run


def _observe(run: Run, says: Observed, now: int) -> None:
    told = says if isinstance(says, seen.Observation) else says(run.table)
    if told is None:
        return
    told = replace(told, at=from_microseconds(now))
    if isinstance(told, seen.Command) and told.refused is None:
        told = replace(told, refused=refusal_text(run.table, told))
    run.log.append(told)
    run.said.append(run.table.apply(told))


def _find_leaks(run: Run, faces: set[str]) -> None:
    texts = [encode_event(e).decode() for e in run.said[-1] if not is_staff(e.type)]
    if run.said[-1]:
        texts.append(encode_public_table(run.table.public()).decode())
    for text in texts:
        run.leaks += [f"{face}: {text[:300]}" for face in FACE.findall(text) if face not in faces]
