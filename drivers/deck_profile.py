"""
Profile of a deck: which code is which card, and how that was learned.

`shoe-daemon calibrate deck` writes it, and the option `cards_file` of a reader reads it::

    version = 1
    date = "2026-11-23T13:45:00Z"
    driver = "line-scanner"
    port = "/dev/shoe/table-7"
    decks = 8
    codes = 52
    hash = "sha256:…"        # of the table below
    [options]                # of the driver: those that determine the codes
    preset = "icl"
    [line]
    baudrate = 9600
    [cards]
    "7310865004703" = "AS"

A table without this head, a line for each code, is read as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import DECK, MAX_DECKS, Card
from shoe_daemon.settings.toml import convert_toml, read_toml

VERSION: Final = 1

PART_SUFFIX: Final = ".part"
"""Ends the name of the file beside a profile that has the cards learned so far."""


class DeckProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A deck as one reader reads it.

    Attributes:
        version: Of this form.
        date: When the last card was learned, UTC.
        driver: Name of the driver.
        port: The line; empty if it was a capture.
        decks: Number of decks that were scanned.
        codes: Number of codes in the table.
        hash: Of the table, as `table_hash`.
        options: Options of the driver that determine the codes, where they are not the default.
        line: Settings of the line; empty where it has none.
        cards: The table, from a code to a card.
    """

    version: Literal[1]
    date: str
    driver: str
    port: str = ""
    decks: Annotated[int, Meta(ge=1, le=MAX_DECKS)]
    codes: Annotated[int, Meta(ge=1)]
    hash: str
    options: dict[str, Any] = {}
    line: dict[str, Any] = {}
    cards: dict[str, str]

    @property
    def is_unchanged(self) -> bool:
        """True if the table is the one that was learned."""
        return self.hash == table_hash(self.cards) and self.codes == len(self.cards)


def table_hash(cards: Mapping[str, str]) -> str:
    """Return the hash of a table; the order of its lines does not matter."""
    lines = "".join(f"{code} = {card}\n" for code, card in sorted(cards.items()))
    return f"sha256:{sha256(lines.encode()).hexdigest()}"


def load_deck_profile(path: Path) -> DeckProfile | None:
    """
    Read a profile; None for a table without a head.

    Raises:
        UserError: The file cannot be read, or is of another version, or a part of it is invalid.
    """
    content = _read(path)
    return _profile(content, path) if _has_head(content) else None


def read_card_texts(path: Path) -> dict[str, str]:
    """Return the table of a file, with or without a head; raises as `load_deck_profile`."""
    content = _read(path)
    if _has_head(content):
        return _profile(content, path).cards
    return convert_toml(dict[str, str], content, str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path, "a table of codes and cards")
    except UserError as error:
        if path.exists():
            raise
        hint = "`shoe-daemon calibrate deck` writes one"
        if path.with_name(path.name + PART_SUFFIX).exists():
            hint = f"{path.name}{PART_SUFFIX} is a part of one: {hint}, and goes on there"
        raise UserError(f"{error}; {hint}") from error


def _has_head(content: Mapping[str, Any]) -> bool:
    # In a table alone, they would be codes, with a card each.
    return any(not isinstance(content.get(key, ""), str) for key in ("version", "cards"))


def _profile(content: dict[str, Any], path: Path) -> DeckProfile:
    version = content.get("version")
    if isinstance(version, int) and version != VERSION:
        raise UserError(
            f"{path}: version: {version}; expected {VERSION}: scan the deck again with "
            "`shoe-daemon calibrate deck`, or take the daemon of that version"
        )
    return convert_toml(DeckProfile, content, str(path))


def missing_cards(cards: Mapping[str, Card], decks: int) -> list[Card]:
    """Return the cards of a deck with fewer than `decks` codes, in the order of a new deck."""
    counts = Counter(cards.values())
    return [card for card in DECK if counts[card] < decks]


def profile_differences(
    profile: DeckProfile, driver: str, options: Mapping[str, Any]
) -> list[str]:
    """
    Return the settings for which a reader may send other codes than the profile has.

    `options` are the `Driver.code_settings`.
    """
    learned, used = {"driver": profile.driver} | profile.options, {"driver": driver, **options}
    return [
        f"{key} was {_shown(learned.get(key))}, and is {_shown(used.get(key))}"
        for key in sorted({*learned, *used})
        if learned.get(key) != used.get(key)
    ]


def _shown(value: object) -> str:
    return "the default" if value is None else repr(value)
