"""
The driver ``keyboard``: a USB scanner that types the code of each card, and Enter after it.

It is a `line-scanner` whose line is the keyboard: the same tables of codes and the same options.

A scanner sends keys, not characters. One that is set to a French keyboard presses Q for an A.
Where its digits are those of a keypad, which are the same on every keyboard, only aces and queens
are exchanged, and both are cards. The keys alone do not show it: `calibrate serial` asks for an
ace and a queen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from msgspec import Struct

from drivers.deck_profile import load_deck_profile
from drivers.driver import LineSettings, Transport
from drivers.line_scanner import LineScanner, LineScannerOptions, built_in_codes
from drivers.transport import check_url, open_transport
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card

_SCHEME: Final = "keyboard:"
_EXCHANGED: Final = str.maketrans("AQaqZWzw", "QAqaWZwz")
"""The letters that a French keyboard and one of the United States have in each other's place."""


class KeyboardOptions(LineScannerOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``keyboard``: those of ``line-scanner``, and one.

    Attributes:
        layout: The keyboard that the scanner is set to, once an ace and a queen have shown it;
            None if that was not checked.
    """

    layout: Literal["us"] | None = None


class Keyboard(LineScanner):
    """The driver ``keyboard``."""

    name: ClassVar[str] = "keyboard"
    simulator: ClassVar[str] = ""
    options_type: ClassVar[type[Struct]] = KeyboardOptions
    options: KeyboardOptions
    look: ClassVar[str] = "scan a card, and see what `capture` records"

    @property
    def typed_codes(self) -> Mapping[str, Card]:
        """The codes and their cards, as `Driver.typed_codes`."""
        return self.cards() or built_in_codes(self.options.codes)

    @property
    def may_exchange_cards(self) -> bool:
        """Whether another layout would show other cards, as `Driver.may_exchange_cards`."""
        codes, path = self.typed_codes, self.table_file
        if self.options.layout is not None:
            return False
        if path is not None and not self.options.cards:
            profile = load_deck_profile(path)
            if profile is not None and profile.driver == self.name:
                return False  # it was learned from what the scanner types
        return any(
            codes.get(code.translate(_EXCHANGED), card) is not card for code, card in codes.items()
        )

    def check_url(self, url: str) -> None:
        """Check the path of the device, with or without ``keyboard:``."""
        check_url(_with_scheme(url))

    def open_line(self, url: str) -> Transport:
        """Open and grab the keyboard, as `Driver.open_line`."""
        return open_transport(_with_scheme(url), LineSettings())


def _with_scheme(url: str) -> str:
    if not url.startswith(("/", _SCHEME)):
        raise UserError(
            f"port {url!r}: expected a keyboard, such as /dev/input/by-id/usb-…-event-kbd"
        )
    return _SCHEME + url.removeprefix(_SCHEME)
