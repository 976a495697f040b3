"""
Learns which code is which card: a deck is scanned card by card, in a known order.

`DeckLearning` and `DeckVerification` take codes and answer with lines for a person; they read no
line and no clock. `calibration.deck_scanning` feeds them. What was learned so far, and the profile
at the end, are files.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from calibration.serial import toml_table
from drivers import PART_SUFFIX, DeckProfile, Driver, LineSettings, table_hash
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import CARDS_PER_DECK, MAX_DECKS, RANKS, SUITS, Card
from shoe_daemon.settings.files import replace_file_durably

_RANK_WORDS: Final = (
    "ACE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN JACK QUEEN KING".split()  # noqa: SIM905
)
_SUIT_WORDS: Final = {"S": "SPADES", "H": "HEARTS", "D": "DIAMONDS", "C": "CLUBS"}


class DeckError(UserError):
    """A card cannot be learned or verified: one line."""

    def __init__(self, message: str, *, exit_status: int = 1) -> None:
        super().__init__(message, exit_status=exit_status)


def card_words(card: Card) -> str:
    """Return a card in large words: ``FOUR OF SPADES (4S)``."""
    return f"{_RANK_WORDS[RANKS.index(card.rank)]} OF {_SUIT_WORDS[card.suit]} ({card})"


def deck_order(text: str) -> tuple[Card, ...]:
    """
    Return the cards of a deck in the order of scanning, from the letters of the suits: a capital
    one is from ace to king, a small one from king to ace.

    Raises:
        UserError: It is not every suit once.
    """
    if sorted(text.upper()) != sorted(SUITS):
        raise UserError(
            f"--order {text}: expected each of S, H, D and C once; a small letter for a suit "
            "from king to ace, such as SDch"
        )
    return tuple(
        Card(rank + suit.upper())
        for suit in text
        for rank in (RANKS if suit.isupper() else reversed(RANKS))
    )


class ScannedDeck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The cards learned so far: the content of the file beside a profile.

    Attributes:
        version: Of this form.
        driver: Name of the driver.
        options: Its `Driver.code_settings`.
        decks: Number of decks.
        order: As for `deck_order`.
        scans: The code of each card, in that order.
    """

    version: Literal[1] = 1
    driver: str
    options: dict[str, Any] = {}
    decks: Annotated[int, Meta(ge=1, le=MAX_DECKS)] = 1
    order: str = "SHDC"
    scans: tuple[str, ...] = ()


class DeckLearning:
    """
    The state of learning.

    Attributes:
        deck: What was learned so far.
        cards: The table so far.
    """

    def __init__(self, deck: ScannedDeck, *, unique_codes: bool) -> None:
        """
        Args:
            deck: Where to go on.
            unique_codes: Whether every card has a code of its own.

        Raises:
            UserError: The deck has an invalid order, or scans that contradict each other.
        """
        self._order = deck_order(deck.order)
        self._unique = unique_codes
        self.deck = msgspec.structs.replace(deck, scans=())
        self.cards: dict[str, Card] = {}
        for code in deck.scans:
            if self.is_complete:
                raise UserError(f"{len(deck.scans)} cards; expected {self.total} at most")
            self.take(code)

    @property
    def total(self) -> int:
        """Number of cards to scan."""
        return CARDS_PER_DECK * self.deck.decks

    @property
    def is_complete(self) -> bool:
        """True once every card was scanned."""
        return len(self.deck.scans) == self.total

    @property
    def has_unique_codes(self) -> bool:
        """True if each card of several complete decks has a code of its own."""
        return self.deck.decks > 1 and self.is_complete and len(self.cards) == self.total

    @property
    def missing(self) -> list[Card]:
        """Cards of the current deck that were not scanned, in order."""
        done = len(self.deck.scans) % CARDS_PER_DECK
        return [] if self.is_complete else list(self._order[done:])

    def _card(self, number: int) -> Card:
        return self._order[number % CARDS_PER_DECK]

    def prompt(self) -> list[str]:
        """Return the next card, in large words, with the progress."""
        done = len(self.deck.scans)
        if self.is_complete:
            return []
        number, deck = done % CARDS_PER_DECK + 1, done // CARDS_PER_DECK + 1
        decks = "" if self.deck.decks == 1 else f", deck {deck} of {self.deck.decks}"
        place = f"card {number} of {CARDS_PER_DECK}{decks}"
        return ["", f"  {place}:  {card_words(self._card(done))}"]

    def take(self, code: str) -> list[str]:
        """
        Learn a code; raise a `DeckError` if it is the code of another card, or, if each card has
        its own, of this one.
        """
        scans = self.deck.scans
        card = self._card(len(scans))
        known = self.cards.get(code)
        if known is not None:
            first = scans.index(code)
            this_deck = scans[len(scans) - len(scans) % CARDS_PER_DECK :]
            is_same_in_other_deck = known == card and not self._unique and code not in this_deck
            if not is_same_in_other_deck:
                raise DeckError(self._duplicate(code, card, first))
        self.cards[code] = card
        self.deck = msgspec.structs.replace(self.deck, scans=(*scans, code))
        return [f"      {code} is the {card_words(card)}"]

    def _duplicate(self, code: str, card: Card, first: int) -> str:
        before = self._card(first)
        deck = "" if self.deck.decks == 1 else f" of deck {first // CARDS_PER_DECK + 1}"
        return (
            f"{code} was learned for the {card_words(before)}{deck} and came again for the "
            f"{card_words(card)}; expected a code that no other card has: is this the right "
            "card? `u` takes the last one back"
        )

    def undo(self) -> list[str]:
        """Take the last card back; raise a `DeckError` if there is none."""
        if not self.deck.scans:
            raise DeckError("no card was scanned yet; nothing to take back")
        code = self.deck.scans[-1]
        self.deck = msgspec.structs.replace(self.deck, scans=self.deck.scans[:-1])
        card = self.cards[code] if code in self.deck.scans else self.cards.pop(code)
        return [f"      taken back: {code}, the {card_words(card)}"]


class DeckVerification:
    """
    The state of a verification: a deck is scanned in any order.

    Attributes:
        strangers: Codes that the table lacks, in the order of scanning.
    """

    def __init__(self, cards: dict[str, Card]) -> None:
        self._cards = cards
        self._seen: list[str] = []
        self.strangers: list[str] = []

    @property
    def is_complete(self) -> bool:
        """True once every code of the table was scanned."""
        return len(self._seen) == len(self._cards)

    @property
    def missing(self) -> list[Card]:
        """The card of each code that was not scanned, as often as it has such codes."""
        return [card for code, card in self._cards.items() if code not in self._seen]

    def prompt(self) -> list[str]:
        """Return the progress."""
        return [f"  {len(self._seen)} of {len(self._cards)} codes verified; the next card, please"]

    def take(self, code: str) -> list[str]:
        """Verify a code; raise a `DeckError` if the table lacks it."""
        card = self._cards.get(code)
        if card is None:
            if code not in self.strangers:
                self.strangers.append(code)
            raise DeckError(f"{code}: a stranger: no card of the table has this code")
        again = " (again)" if code in self._seen else ""
        if not again:
            self._seen.append(code)
        return [f"      {code} is the {card_words(card)}{again}"]

    def undo(self) -> list[str]:
        """Take the last new code back; raise a `DeckError` if there is none."""
        if not self._seen:
            raise DeckError("no card was scanned yet; nothing to take back")
        return [f"      taken back: {self._seen.pop()}"]


class LayoutCheck:
    """The state of a check of a keyboard's layout: an ace is scanned, then a queen."""

    _RANKS: Final = ("A", "Q")

    def __init__(self, codes: Mapping[str, Card]) -> None:
        self._codes = codes
        self._read: list[Card] = []

    @property
    def is_complete(self) -> bool:
        """True once both were read as what they are."""
        return len(self._read) == len(self._RANKS)

    def prompt(self) -> list[str]:
        """Return which card is next."""
        return [f"  card {len(self._read) + 1} of 2:  {('ANY ACE', 'ANY QUEEN')[len(self._read)]}"]

    def take(self, code: str) -> list[str]:
        """
        Check a code; raise a `DeckError` if it is not the next card, and a `UserError` if the two
        cards are exchanged.
        """
        card = self._codes.get(code)
        if card is None or card.rank not in self._RANKS:
            read = "is in no table" if card is None else f"is the {card_words(card)}"
            raise DeckError(f"{code} {read}; expected an ace or a queen: scan it again")
        ranks = (*(each.rank for each in self._read), card.rank)
        if ranks == self._RANKS[::-1]:
            raise UserError(
                f"the ace was read as {self._read[0]} and the queen as {card}: the scanner types "
                "on a French keyboard; set it to the keyboard of the United States, or learn its "
                "codes with `shoe-daemon calibrate deck`",
                exit_status=1,
            )
        if len(set(ranks)) < len(ranks):
            self._read.clear()
            raise DeckError(f"both cards were read as {card.rank}: begin again with an ace")
        self._read.append(card)
        return [f"      {code} is the {card_words(card)}"]

    def undo(self) -> list[str]:
        """Begin again."""
        self._read.clear()
        return []


def part_of(path: Path) -> Path:
    """Return the file beside a profile that has the cards learned so far."""
    return path.with_name(path.name + PART_SUFFIX)


def load_part(path: Path) -> ScannedDeck | None:
    """
    Return what was learned for a profile so far; None before the first card.

    Raises:
        UserError: The file cannot be read, or is invalid.
    """
    part = part_of(path)
    hint = f"expected what `calibrate deck` wrote; remove {part} to begin again"
    try:
        return msgspec.json.decode(part.read_bytes(), type=ScannedDeck)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{part}: {one_line(error)}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UserError(f"{part}: {one_line(error)}; {hint}") from error


def write_part(path: Path, deck: ScannedDeck) -> None:
    """Store what was learned beside a profile; a crash or a UserError leaves the cards before."""
    _write(part_of(path), msgspec.json.encode(deck))


def remove_part(path: Path) -> None:
    """Remove what was learned so far."""
    with contextlib.suppress(OSError):
        part_of(path).unlink(missing_ok=True)


def profile_of(
    learning: DeckLearning, driver: Driver, port: str, line: LineSettings | None
) -> DeckProfile:
    """
    Return the profile of a complete deck that was learned now: from a line with its settings, if
    it has any, or from a capture, where the port is empty.
    """
    cards = {code: str(card) for code, card in learning.cards.items()}
    return DeckProfile(
        version=1,
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        driver=driver.name,
        port=port,
        decks=learning.deck.decks,
        codes=len(cards),
        hash=table_hash(cards),
        options=learning.deck.options,
        line={} if line is None else asdict(line),
        cards=cards,
    )


def write_profile(path: Path, profile: DeckProfile) -> None:
    """Write a profile; where that fails, a UserError leaves a previous one unchanged."""
    lines = ["# Written by `shoe-daemon calibrate deck`: which code is which card."]
    tables = []
    for key, value in asdict(profile).items():
        if isinstance(value, dict):
            tables += toml_table(key, value) if value else []
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    lines += tables
    _write(path, ("\n".join(lines) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    try:
        replace_file_durably(path, content, 0o644)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {one_line(error)}") from error
