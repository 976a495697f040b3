"""
The driver ``keyboard``: a USB scanner that types the code of each card, and Enter after it.

It is a `line-scanner` whose line is the keyboard: the same tables of codes and the same options.
"""

from __future__ import annotations

from typing import ClassVar, Final

from drivers.driver_interface import LineSettings, Transport
from drivers.line_scanner import LineScanner
from drivers.transport import check_url, open_transport
from shoe_daemon.errors import UserError

_SCHEME: Final = "keyboard:"


class Keyboard(LineScanner):
    """The driver ``keyboard``."""

    name: ClassVar[str] = "keyboard"
    simulator: ClassVar[str] = ""

    @property
    def look(self) -> str:
        """Advice on how to check the reader by hand."""
        return "scan a card, and see what `capture` records"

    def check_url(self, url: str) -> None:
        """Check the path of the device, with or without ``keyboard:``."""
        check_url(_with_scheme(url))

    def open_line(self, url: str) -> Transport:
        """Open and grab the keyboard, as `OpensLine.open_line`."""
        return open_transport(_with_scheme(url), LineSettings())


def _with_scheme(url: str) -> str:
    if not url.startswith(("/", _SCHEME)):
        raise UserError(
            f"port {url!r}: expected a keyboard, such as /dev/input/by-id/usb-…-event-kbd"
        )
    return _SCHEME + url.removeprefix(_SCHEME)
