"""
Parts that the drivers of text protocols share: bytes to pieces that end in a fixed text, and codes
to cards by a table.

A subclass decodes whole pieces; `LineDecoder` divides the bytes, bounds the memory, and returns
pieces that are too long as noise. The pieces do not depend on how the bytes were received.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from drivers.deck_profile import read_card_texts
from drivers.driver import Driver, Frame, FrameKind
from shoe_daemon.errors import UserError
from shoe_daemon.game import RANKS, SUITS, Card
from shoe_daemon.table.observations import MAX_TAG_CHARACTERS, Gap, GapDetail

LOST: Final = (Gap(detail=GapDetail.LOST_FRAMES),)

UNPRINTABLE: Final = re.compile(rb"[^\x20-\x7e]")
"""A byte that no text of a reader contains; line ends and tabs are framing."""

_CARDS: Final = {
    text: Card(rank + suit)
    for suit in SUITS
    for rank in RANKS
    for text in {
        rank + suit,
        suit + rank,
        rank.replace("10", "T") + suit,
        suit + rank[0].replace("1", "T"),
    }
}


def card_named(text: str) -> Card | None:
    """Return the card of a name, rank or suit first, ``10`` or ``T``; None for no card."""
    return _CARDS.get(text)


def tag_of(code: str) -> str | None:
    """Return a unique code as the tag of its card; None if it is too long for one."""
    return code if 0 < len(code) <= MAX_TAG_CHARACTERS else None


def other_name(text: str, permutation: Mapping[Card, Card]) -> str | None:
    """Return the name of the other card, in the same order of rank and suit; None for no card."""
    card = card_named(text)
    if card is None:
        return None
    other = permutation[card]
    return other.suit + other.rank if text[0] == card.suit else str(other)


def noise(raw: bytes, now: float, note: str) -> Frame:
    """Return bytes without a meaning."""
    return Frame(raw, FrameKind.NOISE, (), now, note)


def lost(now: float) -> Frame:
    """Return a gap whose evidence is only in bytes that are not stored: repeats and noise."""
    return Frame(b"", FrameKind.FRAME, LOST, now, "something was lost")


class CardTableOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Options of a driver with a table of your own, from a code or a tag to a card.

    Attributes:
        cards: The table: ``{"7310865004703" = "AS"}``.
        cards_file: The same in a TOML file, a line for each code, or a profile that
            `shoe-daemon calibrate deck` wrote; a relative path starts at the configuration's
            folder.
    """

    cards: dict[str, str] = {}
    cards_file: str = ""

    def __post_init__(self) -> None:
        """Reject what is no code, and what is no card."""
        try:
            card_table(self.cards)
        except ValueError as error:
            raise ValueError(f"cards.{error}") from None


def card_table(texts: Mapping[str, str]) -> dict[str, Card]:
    """Return a table of codes with its cards; a `ValueError` at the first that is none."""
    table = {}
    for code, name in texts.items():
        if not code or code != code.strip() or not (code.isascii() and code.isprintable()):
            raise ValueError(f"{code!a}: expected a code of ASCII characters")
        if len(code) > MAX_TAG_CHARACTERS:
            raise ValueError(f"{code}: expected at most {MAX_TAG_CHARACTERS} characters")
        card = card_named(name.upper())
        if card is None:
            raise ValueError(f"{code}: {name!r}; expected a card, such as 'AS' or '10H'")
        table[code] = card
    return table


class CardTableDriver(Driver):
    """The part of a driver that reads the table of `CardTableOptions`."""

    options: CardTableOptions
    code_options: ClassVar[tuple[str, ...]] = ()
    """Names of the options that determine the codes."""

    def __init__(self, options: CardTableOptions | None = None) -> None:
        super().__init__(options)
        self._folder = Path()
        self._table: dict[str, Card] | None = None

    def beside(self, folder: Path, journal: Path) -> Self:
        """Return the driver with its file relative to the configuration's folder."""
        del journal
        driver = type(self)(self.options)
        driver._folder = folder  # noqa: SLF001 - one of us
        return driver

    @property
    def recorded_options(self) -> dict[str, Any]:
        """The options with the table in place of its file: enough to decode the journal again."""
        cards = {code: str(card) for code, card in self.cards().items()}
        recorded: dict[str, Any] = to_builtins(replace(self.options, cards=cards, cards_file=""))
        return recorded

    @property
    def anonymised_options(self) -> dict[str, Any]:
        """The options without the table: with other cards, the bytes name them without it."""
        tables = CardTableOptions.__struct_fields__
        recorded: dict[str, Any] = to_builtins(self.options)
        return {key: value for key, value in recorded.items() if key not in tables}

    @property
    def code_settings(self) -> dict[str, Any]:
        """The options that determine the codes, where they are not the default."""
        now, usual = to_builtins(self.options), to_builtins(self.options_type())
        return {key: now[key] for key in self.code_options if now[key] != usual[key]}

    @property
    def table_file(self) -> Path | None:
        """The file of the table; None without one."""
        name = self.options.cards_file
        return self._folder / name if name else None

    def without_table(self) -> Self:
        """Return the driver without its table."""
        return type(self)(replace(self.options, cards={}, cards_file=""))

    def cards(self) -> dict[str, Card]:
        """
        Return the table, from the options and the file; empty if there is none.

        The file is read once.

        Raises:
            UserError: The file cannot be read, or a line of it is invalid; one line.
        """
        if self._table is None:
            self._table = self._read_table()
        return self._table

    def codes(self) -> dict[str, Card]:
        """Return the table, with codes as they are in frames; raises as `cards`."""
        return self.cards()

    def _read_table(self) -> dict[str, Card]:
        table, path = {}, self.table_file
        if path is not None:
            content = read_card_texts(path)
            try:
                table = card_table(content)
            except ValueError as error:
                raise UserError(f"{path}: {error}") from None
        return table | card_table(self.options.cards)


class LineDecoder(ABC):
    """
    Divides bytes into pieces; keeps at most one unfinished piece.

    Args:
        end: The bytes that end a piece, and belong to it.
        limit: Bytes of the longest piece, its end included; longer ones are noise.
        long_note: The note of longer ones, if none can have been a card.
    """

    def __init__(self, end: bytes, limit: int, long_note: str = "") -> None:
        self._end = end
        self._limit = limit
        self._long_note = long_note
        self._rest = b""
        self._too_long = False

    @abstractmethod
    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        """Append the frames of some whole pieces, each without its end."""

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """Take the next bytes, received at `now` (monotonic seconds)."""
        frames: list[Frame] = []
        *pieces, rest = (self._rest + data).split(self._end)
        longest = len(max(pieces, key=len)) if pieces else 0
        if self._too_long or longest + len(self._end) > self._limit:
            for piece in pieces:
                self._take_slowly(piece, now, frames)
        else:
            self._decode(pieces, now, frames)
        # Of the rest, only what cannot be the beginning of an end is known to be too long.
        self._rest = self._cut(rest, now, frames)
        return frames

    def reset(self) -> None:
        """Forget a half-received piece."""
        self._rest, self._too_long = b"", False

    def _take_slowly(self, piece: bytes, now: float, frames: list[Frame]) -> None:
        tail = self._cut(piece + self._end, now, frames)
        was_too_long, self._too_long = self._too_long, False
        if was_too_long:
            # The end of what was too long is noise too, whatever it looks like: it may have
            # been a card, so something is missing.
            if not self._long_note:
                frames.append(lost(now))
            note = self._long_note or "the end of a line that was too long"
            frames.append(noise(tail, now, note))
        else:
            self._decode((piece,), now, frames)

    def _cut(self, data: bytes, now: float, frames: list[Frame]) -> bytes:
        """Cut whole portions off data that are too long; return what remains."""
        while len(data) > self._limit:
            head, data = data[: self._limit], data[self._limit :]
            note = self._long_note or f"no end within {self._limit} bytes"
            frames.append(noise(head, now, note))
            self._too_long = True
        return data
