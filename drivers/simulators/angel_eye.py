"""
A table with an Angel Eye II, simulated: shoes dealt by the rules, reported as a
real shoe reports them, with mistakes on demand.

The orders of reports are those that a real shoe was seen to send. Where none is
known, this is what is assumed:

- ``unreadable``: the shoe says error 1 in place of the card, and later nothing
  of its face; the card lies on the table all the same.
- ``misread``: one face differs from the card; draws and result follow the card,
  because people see it.
- ``missed-draw``: the result is what the cards on the table come to; where such
  draws are made good, the cards are drawn after it, and the result is reported again.
- A card drawn outside a game is never shown; a carried one is, in open mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain, count
from random import Random
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code, place_code, result_code
from drivers.driver import Driver
from drivers.simulators.shoe import (
    CUT_BEHIND,
    Dealing,
    DealtRound,
    Excess,
    Fault,
    Placed,
    Shoe,
    cards_burned,
    coup_of,
    lawful,
)
from shoe_daemon.game import DECK, FOUR_CARDS, Card, Slot

COPIES: Final = 3
"""Copies of each report sent without an acknowledgement."""

COPY_SPACING: Final = 0.03
"""Seconds from the end of one copy to the next: about two frames at 4800 bit/s."""


class Step(Struct, frozen=True):
    """
    One report, or one interruption of the line.

    Attributes:
        at: Seconds from the start, at speed 1.
        report: None for an interruption.
        noise: Bytes on the line before the report.
        damaged: The first copy arrives damaged.
        lost: No copy arrives.
        unplugged: Duration of the interruption in seconds; 0 for none.
    """

    at: float
    report: Report | None = None
    noise: bytes = b""
    damaged: bool = False
    lost: bool = False
    unplugged: float = 0.0

    @property
    def is_news(self) -> bool:
        """True for a card, a face or a result."""
        return self.report is not None and self.report.code in "DIG"

    def writes(self, copies: int = COPIES) -> list[tuple[float, bytes]]:
        """Return the bytes received, each piece with its time."""
        if self.report is None or self.lost:
            return []
        raw = self.report.to_bytes()
        pieces = [raw] * copies
        if self.damaged and copies > 1:
            # One bit of the payload or of the checksum: the frame stays a frame.
            pieces[0] = raw[:-1] + bytes([raw[-1] ^ 0x40])
        pieces[0] = self.noise + pieces[0]
        return [(self.at + number * COPY_SPACING, data) for number, data in enumerate(pieces)]


class Wire:
    """The shoe's side of the line."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._now = 0.0
        self._seq = 0
        self._unplugged_until = 0.0
        self._steps: list[Step] = []

    def wait(self, shortest: float, longest: float) -> None:
        """Advance the time by a random number of seconds."""
        self._now += self._rng.uniform(shortest, longest)

    def send_report(self, code: str, *data: int) -> None:
        """Send one report."""
        self._seq = 0 if code == "S" else self._seq % 9 + 1
        self._send(Step(self._now, Report(self._seq, code, bytes(data))))

    def _send(self, step: Step) -> None:
        self._steps.append(replace(step, lost=step.at < self._unplugged_until))

    def unplug(self, seconds: float) -> None:
        """Interrupt the line from now on for some seconds."""
        self._steps.append(Step(self._now, unplugged=seconds))
        self._unplugged_until = self._now + seconds

    def add_noise(self) -> None:
        """Add noise before one of the reports since the last `take`."""
        place = self._rng.randrange(len(self._steps))
        noise = self._rng.randbytes(self._rng.randint(3, 40))
        self._steps[place] = replace(self._steps[place], noise=noise, damaged=True)

    def drop_report(self) -> None:
        """Lose all copies of one of the reports since the last `take`."""
        place = self._rng.choice([n for n, step in enumerate(self._steps) if step.is_news])
        self._steps[place] = replace(self._steps[place], lost=True)

    def take(self) -> tuple[Step, ...]:
        """Return the steps since the last call."""
        steps, self._steps = tuple(self._steps), []
        return steps


_FIRST_CARD: Final = 0xC0
_COUNTDOWN: Final = 0xD0
_MAX_COUNTDOWN: Final = 15
_HIDDEN: Final = 0x80
_OUTSIDE_VOIDED: Final = 0xA0  # as sent by a real shoe, though it was in error mode
_OUTSIDE_CARRIED: Final = 0x92
_UNREADABLE: Final = 0x81
_OVERDRAW: Final = 0x82
_TIMEOUT_IN_ERROR: Final = 0xC7


class Mode(StrEnum):
    """The moment at which the shoe reports faces: with the result, or at each draw."""

    HIDDEN = "hidden"
    OPEN = "open"


class Settings(Dealing, frozen=True, kw_only=True):
    """
    Cards, dealing and faults. The same settings give the same scenario, always.

    Attributes:
        mode: When faces are reported.
        faults: What may go wrong.
        stand_by: Whether the shoe reports that it waits after a result.
    """

    mode: Mode = Mode.HIDDEN
    faults: tuple[Fault, ...] = ()
    stand_by: bool = True


class Scene(Struct, frozen=True):
    """Part of a scenario: one round, or the start of a shoe."""

    steps: tuple[Step, ...]
    round: DealtRound | None = None


class Scenario(Struct, frozen=True):
    """A whole scenario: the reports sent, and the rounds dealt."""

    steps: tuple[Step, ...]
    rounds: tuple[DealtRound, ...]

    def stream(self, copies: int = 1) -> bytes:
        """Return the received bytes, ignoring unplugged times."""
        return b"".join(data for step in self.steps for _, data in step.writes(copies))


def scenario(settings: Settings, table: SimulatedTable | None = None) -> Scenario:
    """Deal a finite scenario: `rounds` or `shoes` must be set; as `scenes`."""
    if settings.rounds is None and settings.shoes is None:
        raise ValueError("neither rounds nor shoes are bounded")
    played = list(scenes(settings, table))
    steps = chain.from_iterable(scene.steps for scene in played)
    rounds = (scene.round for scene in played)
    return Scenario(tuple(steps), tuple(dealt for dealt in rounds if dealt))


def scenes(settings: Settings, table: SimulatedTable | None = None) -> Iterator[Scene]:
    """
    Deal scene by scene, endlessly if neither `rounds` nor `shoes` is set; `table` has another
    reader than an Angel Eye.
    """
    table = table or SimulatedTable(settings)
    rounds = count(1)
    for shoe in count(1) if settings.shoes is None else range(1, settings.shoes + 1):
        yield table.new_shoe(shoe)
        while not table.shoe_over:
            yield table.round()
            if next(rounds) == settings.rounds:
                return


class SimulatedAngelEye:
    """The simulator of the driver ``angel-eye-ii``, whose reports are numbered."""

    about: ClassVar[str] = "an Angel Eye II shoe"
    faults: ClassVar[tuple[Fault, ...]] = tuple(Fault)
    modes: ClassVar[tuple[Mode, ...]] = tuple(Mode)
    ends_in_silence: ClassVar[bool] = False
    repeat_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, driver: Driver) -> None:
        del driver  # it has no options that the shoe would have

    def scenes(self, settings: Settings, *, once: bool) -> Iterator[Scene]:
        """Deal scene by scene; the copies of a report are the player's."""
        del once
        return scenes(settings)


class SimulatedTable:
    """
    Shoe, dealer and faults, with a shoe that reports as an Angel Eye does.

    Tables with other readers replace the methods that report.
    """

    def __init__(self, settings: Settings, wire: Wire | None = None) -> None:
        self._settings = settings
        # A generator of its own, so that mode and faults do not change the cards.
        self._fault_rng = Random(f"mischief {settings.seed}")
        self._wire = wire or Wire(Random(f"line {settings.seed}"))
        self._shoe = Shoe(Random(0), 1, CUT_BEHIND)
        self._shoe_number = 0
        self._round_number = 0
        self._rounds_left: int | None = None
        self._carried: Card | None = None
        self._faces: dict[Slot, Card] = {}
        self._waiting: list[Fault] = []

    @property
    def shoe_over(self) -> bool:
        """True after the last round of the shoe."""
        return self._rounds_left == 0

    def new_shoe(self, number: int) -> Scene:
        """Start a freshly shuffled shoe and burn."""
        settings, wire = self._settings, self._wire
        cards = Random(f"cards {settings.seed} {number}")
        self._shoe = Shoe(cards, settings.decks, settings.cut_behind)
        self._shoe_number, self._round_number, self._rounds_left = number, 0, None
        self._report_boot()
        wire.wait(4, 6)
        burned = cards_burned(settings.burn, next(self._shoe.ahead()), settings.decks)
        for left in reversed(range(burned)):
            is_first = left == burned - 1
            if not is_first:
                wire.wait(0.8, 1.2)
            self._report_burned(self._shoe.take(), None if is_first else left)
        wire.wait(2, 4)
        return Scene(wire.take())

    def round(self) -> Scene:
        """Deal one round, with a fault if one is due."""
        self._round_number += 1
        cards = lawful(chain([self._carried] if self._carried else [], self._shoe.ahead()))
        fault = self._next_fault(cards)
        self._take_bets()
        if fault is Fault.RESET:
            return self._scene(self._reset(cards), None, fault)
        owed = cards
        cards = self._without_due_card(cards) if fault is Fault.MISSED_DRAW else cards
        self._deal(cards, fault, self._faulty_card(cards))
        excess = self._overdraw() if fault is Fault.OVERDRAW else None
        self._call_result(cards)
        if fault is Fault.MISSED_DRAW and self._settings.make_good:
            self._make_good(owed[len(cards) :])
            self._call_result(cards := owed)
        if fault is Fault.LOST_FRAME:
            self._wire.drop_report()
        if fault is Fault.NOISE:
            self._wire.add_noise()
        if self._rounds_left is not None:
            self._rounds_left -= 1
        return self._scene(cards, excess, fault)

    def _take_bets(self) -> None:
        self._wire.wait(13, 15)

    def _scene(self, cards: tuple[Placed, ...], excess: Card | None, fault: Fault | None) -> Scene:
        dealt = DealtRound(
            self._shoe_number,
            self._round_number,
            cards,
            excess,
            fault,
            aborted=fault is Fault.RESET,
            carried=excess is not None and self._carried is not None,
            made_good=fault is Fault.MISSED_DRAW and self._settings.make_good,
        )
        return Scene(self._wire.take(), dealt)

    def _next_fault(self, cards: tuple[Placed, ...]) -> Fault | None:
        chance = self._fault_rng
        if self._shoe_number == 1 and self._round_number <= self._settings.warm_up:
            return None
        if self._settings.faults and chance.random() < self._settings.fault_rate:
            self._waiting.append(chance.choice(self._settings.faults))
        for fault in self._waiting:
            if self._possible(fault, cards):
                self._waiting.remove(fault)
                return fault
        return None

    def _possible(self, fault: Fault, cards: tuple[Placed, ...]) -> bool:
        if fault is Fault.MISSED_DRAW:
            return len(cards) > FOUR_CARDS
        if fault is Fault.RESET:
            # A boot after the cut card means a new shoe.
            return self._shoe.far_from_cut_card()
        return True

    def _without_due_card(self, cards: tuple[Placed, ...]) -> tuple[Placed, ...]:
        return cards[: self._fault_rng.randrange(FOUR_CARDS, len(cards))]

    def _faulty_card(self, cards: tuple[Placed, ...]) -> int:
        # A carried card was read in the round before.
        return self._fault_rng.randrange(1 if self._carried else 0, len(cards))

    def _reset(self, cards: tuple[Placed, ...]) -> tuple[Placed, ...]:
        dealt = cards[: self._fault_rng.randrange(1, len(cards))]
        self._deal(dealt, None, 0)
        self._wire.wait(0.5, 1.5)
        self._faces.clear()
        self._report_boot()
        self._wire.wait(5, 8)
        return dealt

    def _deal(self, cards: tuple[Placed, ...], fault: Fault | None, faulty: int) -> None:
        carried, self._carried = self._carried, None
        for number, (slot, card) in enumerate(cards):
            if number == 0 and carried:
                self._faces[slot] = card
                self._report_carried(slot, card)
                continue
            self._draw(first=number == 0)
            if fault is Fault.UNPLUG and number == faulty:
                self._wire.unplug(self._fault_rng.uniform(2, 15))
            if fault is Fault.UNREADABLE and number == faulty:
                self._report_unreadable(slot, card)
                continue
            seen = self._misread(card) if fault is Fault.MISREAD and number == faulty else card
            self._faces[slot] = seen
            self._report_card(slot, seen)

    def _draw(self, *, first: bool) -> None:
        """Draw a card, after the cut card if it is next."""
        if self._shoe.cut_card_comes():
            self._report_cut_card()
            self._rounds_left = 1 if first else 1 + self._settings.last_rounds
        self._shoe.take()
        self._wire.wait(0.8, 1.4)

    def _drawn_face(self, card: Card) -> int:
        return _HIDDEN if self._settings.mode is Mode.HIDDEN else face_code(card)

    def _report_boot(self) -> None:
        self._wire.send_report("S")

    def _report_burned(self, card: Card, left: int | None) -> None:
        """Report a burned card; `left` is None for the first card of the shoe."""
        place = _FIRST_CARD if left is None else _COUNTDOWN | min(left, _MAX_COUNTDOWN)
        self._wire.send_report("D", place, face_code(card))

    def _report_cut_card(self) -> None:
        self._wire.send_report("C")

    def _report_card(self, slot: Slot, card: Card) -> None:
        self._wire.send_report("D", place_code(slot), self._drawn_face(card))

    def _report_carried(self, slot: Slot, card: Card) -> None:
        self._wire.send_report("R", place_code(slot), self._drawn_face(card))

    def _report_unreadable(self, slot: Slot, card: Card) -> None:
        del slot, card  # its report names none
        self._wire.send_report("E", _UNREADABLE)
        self._wire.wait(1, 3)
        self._wire.send_report("e", _UNREADABLE)

    def _misread(self, card: Card) -> Card:
        return self._fault_rng.choice([other for other in DECK if other.points != card.points])

    def _overdraw(self) -> Card:
        excess = next(self._shoe.ahead())
        self._draw(first=False)
        self._report_excess(excess)
        return excess

    def _report_excess(self, excess: Card) -> None:
        """Report a card too many, and what becomes of it."""
        self._wire.send_report("E", _OVERDRAW)
        self._wire.wait(1, 2)
        if self._rounds_left != 1 and self._is_carried():
            self._carried = excess
            self._wire.send_report("d", _OUTSIDE_CARRIED, _HIDDEN)
        else:
            self._void(excess)
        self._wire.wait(2, 4)
        self._wire.send_report("e", _OVERDRAW)

    def _is_carried(self) -> bool:
        wanted = self._settings.excess
        coin = self._fault_rng.random() < 0.5  # noqa: PLR2004 - a coin
        return coin if wanted is Excess.EITHER else wanted is Excess.CARRIED

    def _make_good(self, owed: tuple[Placed, ...]) -> None:
        self._wire.wait(2, 3)
        for slot, card in owed:
            self._draw(first=False)
            self._faces[slot] = card
            self._report_card(slot, card)

    def _void(self, excess: Card) -> None:
        if self._fault_rng.random() < 0.5:  # noqa: PLR2004 - a coin
            self._wire.wait(3, 4)
            self._wire.send_report("E", _TIMEOUT_IN_ERROR)
        self._wire.send_report("d", _OUTSIDE_VOIDED, _HIDDEN)
        self._wire.wait(1, 2)
        self._wire.send_report("i", place_code(Slot.P1), face_code(excess))

    def _call_result(self, cards: tuple[Placed, ...]) -> None:
        """Report the result; in hidden mode the faces first."""
        self._wire.wait(2, 3)
        if self._settings.mode is Mode.HIDDEN:
            for slot, _ in cards:
                if slot in self._faces:
                    self._wire.send_report("I", place_code(slot), face_code(self._faces[slot]))
                    self._wire.wait(0.1, 0.2)
        self._faces.clear()
        coup = coup_of(cards)
        pairs = {"player_pair": coup.player.pair, "banker_pair": coup.banker.pair}
        self._wire.send_report("G", result_code(coup.outcome, **pairs))
        if self._settings.stand_by:
            self._wire.wait(0.8, 1.2)
            self._wire.send_report("P")
        self._wire.wait(3, 5)  # bets are paid
