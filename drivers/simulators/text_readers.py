"""
Tables with a reader that sends text, simulated: ``bee-tek``, ``line-scanner``, ``json-lines``.

Cards, dealing and faults are those of the simulated Angel Eye; only what is said of them on the
line differs. Readers that know slots or results replace `placed` or `result`. Without them no
reader could report what becomes of a card too many, so it is always burned,
and a misread or a card that the reader never saw is no fault that anything could notice: they
are dealt only where the protocol shows them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import ClassVar, Final

from msgspec.structs import replace

from drivers.driver import Driver
from drivers.json_lines import JsonLines
from drivers.line_scanner import LineScanner, built_in_codes, framing_of
from drivers.simulators.angel_eye import (
    COPIES,
    Mode,
    Scene,
    Settings,
    SimulatedTable,
    Step,
    Wire,
    scenes,
)
from drivers.simulators.shoe import Excess, Fault, Placed, coup_of
from shoe_daemon.game import DECK, Card, Outcome, Slot
from shoe_daemon.table.observations import Role

Messages = list[tuple[float, bytes]]
"""Messages about one thing: seconds after it, and bytes."""

_SCAN_S: Final = 2.0
_SCANNED_TWICE: Final = 0.2
_AGAIN_S: Final = 0.2
_ALARM_TOO: Final = 0.5
_FLICKERS: Final = 0.3
_FIRST_TAG: Final = 0x04A2B3C4D50000
"""The tag of the first ace of spades, where no table names the tags."""


class TextStep(Step, frozen=True):
    """
    Messages of a reader about one card.

    Attributes:
        messages: Its bytes, and when they follow.
        is_card: Whether it is news.
    """

    messages: tuple[tuple[float, bytes], ...] = ()
    is_card: bool = False

    @property
    def is_news(self) -> bool:
        """True for a card."""
        return self.is_card

    def writes(self, copies: int = COPIES) -> list[tuple[float, bytes]]:
        """Return the bytes received, each piece with its time; they have no copies."""
        del copies
        if self.lost or not self.messages:
            return []
        pieces = [(self.at + after, data) for after, data in self.messages]
        at, first = pieces[0]
        if self.damaged:
            middle = len(first) // 2
            first = first[:middle] + b"\xff" + first[middle + 1 :]
        return [(at, self.noise + first), *pieces[1:]]


class TextWire(Wire):
    """The reader's side of a line of text."""

    def say(self, messages: Messages, *, is_card: bool) -> None:
        """Send messages about one thing; nothing for no messages."""
        if messages:
            self._send(TextStep(self._now, messages=tuple(messages), is_card=is_card))


class SimulatedTextReader(ABC):
    """
    Messages of one reader; the base of a simulator.

    Attributes:
        driver: The driver, with the options of the reader.
        chance: For what the reader does by chance; the same for each seed.
        once: Whether nothing is sent twice.
    """

    about: ClassVar[str]
    faults: ClassVar[tuple[Fault, ...]] = (
        Fault.OVERDRAW,
        Fault.MISSED_DRAW,
        Fault.UNREADABLE,
        Fault.NOISE,
        Fault.UNPLUG,
    )
    modes: ClassVar[tuple[Mode, ...]] = (Mode.OPEN,)
    ends_in_silence: ClassVar[bool] = True
    repeat_options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.chance = Random(0)
        self.once = False

    def scenes(self, settings: Settings, *, once: bool) -> Iterator[Scene]:
        """
        Deal scene by scene.

        Args:
            settings: What is dealt; `mode` and `excess` have one value here.
            once: Whether nothing is sent twice.
        """
        self.once, self.chance = once, Random(f"reader {settings.seed}")
        dealt = replace(settings, mode=Mode.OPEN, excess=Excess.BURNED)
        return scenes(dealt, _TextTable(dealt, self))

    def scanned_decks(self, decks: int) -> Iterator[Scene]:
        """Scan decks card by card, as a technician does: spades, hearts, diamonds, clubs."""
        self.once, line = True, TextWire(Random(0))
        for number in range(decks):
            for card in DECK:
                line.wait(_SCAN_S, _SCAN_S)
                line.say(self._scanned(card, number), is_card=True)
                yield Scene(line.take())

    def _scanned(self, card: Card, deck: int) -> Messages:
        """Return what is sent about a card of a deck, counted from 0."""
        del deck
        return self.card(card, Role.PLAY)

    def boot(self) -> Messages:
        """Return what is sent at the start."""
        return []

    def cut_card(self) -> Messages:
        """Return what is sent when the cut card comes."""
        return []

    def result(self, outcome: Outcome) -> Messages:
        """Return what is sent when the dealer declares the result of the cards on the table."""
        del outcome
        return []

    def placed(self, card: Card, slot: Slot) -> Messages:
        """Return what is sent about a card on a place; most readers do not know the place."""
        del slot
        return self.card(card, Role.PLAY)

    @abstractmethod
    def card(self, card: Card, role: Role) -> Messages:
        """Return what is sent about a card."""

    @abstractmethod
    def unreadable(self) -> Messages:
        """Return what is sent about a card that could not be read."""


class TableWithReader(SimulatedTable):
    """A table whose shoe has no electronics, with a reader beside or above it."""

    def __init__(self, settings: Settings) -> None:
        self._line = TextWire(Random(f"line {settings.seed}"))
        super().__init__(settings, self._line)

    def new_shoe(self, number: int) -> Scene:
        """Start a shoe, after the time that it takes to change one."""
        if number > 1:
            self._wire.wait(60, 90)
        return super().new_shoe(number)


class _TextTable(TableWithReader):
    def __init__(self, settings: Settings, reader: SimulatedTextReader) -> None:
        super().__init__(settings)
        self._reader = reader

    def _report_boot(self) -> None:
        self._line.say(self._reader.boot(), is_card=False)

    def _report_burned(self, card: Card, left: int | None) -> None:
        role = Role.FIRST if left is None else Role.BURN
        self._line.say(self._reader.card(card, role), is_card=False)

    def _report_cut_card(self) -> None:
        self._line.say(self._reader.cut_card(), is_card=False)

    def _report_card(self, slot: Slot, card: Card) -> None:
        self._line.say(self._reader.placed(card, slot), is_card=True)

    def _report_unreadable(self, slot: Slot, card: Card) -> None:
        del slot, card
        self._line.say(self._reader.unreadable(), is_card=False)

    def _report_excess(self, excess: Card) -> None:
        self._line.say(self._reader.card(excess, Role.PLAY), is_card=True)

    def _call_result(self, cards: tuple[Placed, ...]) -> None:
        self._wire.wait(2, 3)
        self._line.say(self._reader.result(coup_of(cards).outcome), is_card=False)
        self._wire.wait(3, 5)
        self._faces.clear()


class SimulatedBeeTek(SimulatedTextReader):
    """The simulator of the driver ``bee-tek``: half of the failed reads raise an alarm too."""

    about: ClassVar[str] = "a Bee-Tek shoe"

    def card(self, card: Card, role: Role) -> Messages:
        """Return a token."""
        section = "Game" if role is Role.PLAY else "Manual Burn Cards"
        return [(0, f" [{section}]<Card:{card}> \r\n".encode())]

    def unreadable(self) -> Messages:
        """Return the token of a card that was not read."""
        alarm = [(0.1, b" [Game]<Alarm:E3 Card Not Read> \r\n")]
        return [(0, b" [Game]<Game> \r\n"), *(alarm if self.chance.random() < _ALARM_TOO else [])]


class SimulatedLineScanner(SimulatedTextReader):
    """The simulator of the driver ``line-scanner``; it scans some cards twice, and none burned."""

    about: ClassVar[str] = "a barcode scanner that sends codes"
    repeat_options: ClassVar[tuple[str, ...]] = ("repeat_window",)

    def __init__(self, driver: LineScanner) -> None:
        super().__init__(driver)
        self._framing = framing_of(driver.options)
        codes = driver.cards() or built_in_codes(driver.options.codes)
        self._codes: dict[Card, list[str]] = {}
        for code, card in codes.items():
            self._codes.setdefault(card, []).append(code)
        self._no_read = (*driver.options.no_read, "?")[0]

    def card(self, card: Card, role: Role) -> Messages:
        """Return one or two frames."""
        if role is not Role.PLAY:
            return []
        # A card that the table lacks has no code.
        code = self.chance.choice(self._codes.get(card, [self._no_read]))
        frame = self._framing.wrap(code)
        is_scanned_twice = not self.once and self.chance.random() < _SCANNED_TWICE
        return [(0, frame), *([(_AGAIN_S, frame)] if is_scanned_twice else [])]

    def unreadable(self) -> Messages:
        """Return what a scanner sends where it cannot read."""
        return [(0, self._framing.wrap(self._no_read))]


class SimulatedJsonLines(SimulatedTextReader):
    """The simulator of the driver ``json-lines``: it numbers, sends again, and flickers."""

    about: ClassVar[str] = "a reader that sends JSON lines"
    repeat_options: ClassVar[tuple[str, ...]] = ("resend_cooldown", "removal_debounce")
    faults: ClassVar[tuple[Fault, ...]] = (
        *SimulatedTextReader.faults,
        Fault.RESET,
        Fault.LOST_FRAME,
    )

    driver: JsonLines

    def __init__(self, driver: JsonLines) -> None:
        super().__init__(driver)
        self._options = driver.options
        self._seq = 0
        uids: dict[Card, list[str]] = {}
        for uid, card in driver.cards().items():
            uids.setdefault(card, []).append(uid)
        # No tag comes again before the others of its face.
        self._uids = {card: cycle(each) for card, each in uids.items()}

    def _scanned(self, card: Card, deck: int) -> Messages:
        if not self.driver.cards():
            self._uids[card] = cycle([f"{_FIRST_TAG + deck * len(DECK) + card.index:014X}"])
        return self.card(card, Role.PLAY)

    def boot(self) -> Messages:
        """Return what a microcontroller prints when it starts."""
        self._seq = 0
        printed = (
            b"ets Jul 29 2019 12:21:46\r\n\r\nrst:0x1 (POWERON_RESET)\r\n# shoe reader 1.0\r\n"
        )
        return [(0, printed + self._object("boot"))]

    def card(self, card: Card, role: Role) -> Messages:
        """Return a card, again while it lies at the antenna."""
        kind = "card" if role is Role.PLAY else role.value
        uids = self._uids.get(card)
        field = self._options.uid_field if uids else self._options.card_field
        face = {field: next(uids) if uids else str(card)}
        said = [(0.0, self._object(kind, **face))]
        if self.once or role is not Role.PLAY:
            return said
        said.append((_AGAIN_S, self._object(kind, **face)))
        if uids is None:
            return said
        said.append((2 * _AGAIN_S, self._object(kind, **face)))
        if self.chance.random() < _FLICKERS:
            said += [(0.45, self._object("removed", **face)), (0.5, self._object(kind, **face))]
        return said

    def unreadable(self) -> Messages:
        """Return a card without a face."""
        return [(0, self._object("unreadable"))]

    def cut_card(self) -> Messages:
        """Return the cut card, if the options say that it is sent."""
        return [(0, self._object("cut_card"))] if self._options.cut_card else []

    def _object(self, kind: str, **fields: str) -> bytes:
        self._seq += 1
        content = {self._options.type_field: kind, self._options.seq_field: self._seq, **fields}
        return json.dumps(content).encode() + b"\r\n"
