"""
The dealer's buttons on lines of a GPIO chip, as a line of text: `gpio:/dev/gpiochip0:17,27`.

A button is a contact between its line and ground; the chip's own resistor pulls the line up, where
it has one. Each press is the number or the name of the line, as the url has it, and a carriage
return: `17`. Nothing is sent when it is released.

The kernel's interface is read by libgpiod (the extra `gpio`), which is imported where it is used.
The lamps on GPIO lines share its errors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shoe_daemon.errors import UserError, one_line

if TYPE_CHECKING:
    import gpiod

DEBOUNCE_S: Final = 0.01
"""A contact that bounces rests for this time only once it is closed, or open."""

_CONSUMER: Final = "shoe-daemon"
_EVENT_BUFFER_SIZE: Final = 256
"""Edges that the kernel keeps: a button that bounces makes some dozens."""

_MAX_LINES: Final = 64
_MAX_LINE_CHARACTERS: Final = 63

_INSTALL_HINT: Final = "needs gpiod: pip install 'shoe-daemon[gpio]'"
_PERMISSION_HINT: Final = (
    "the service needs 40-gpio.conf of the samples, and the chip a group: 99-shoe-daemon.rules"
)
_TEXTS: Final = {
    errno.EBUSY: "another program holds the line",
    errno.ENODEV: "no such chip, or it was unplugged",
    errno.ENOTTY: "no GPIO chip: expected a device such as /dev/gpiochip0",
    errno.ENXIO: "the chip reports no edges of this line",
}
_RENAMED_ERRORS: Final = (ValueError, NotImplementedError, OverflowError)
"""The errors that libgpiod's bindings raise in place of an `OSError`, with the same arguments."""


def parse_gpio_url(url: str) -> tuple[str, list[str]]:
    """Return the path of the chip and the lines as they are written; a `UserError` if invalid."""
    chip, _, listed = url.removeprefix("gpio:").rpartition(":")
    lines = [each.strip() for each in listed.split(",")]
    if not chip.startswith("/") or not all(lines):
        raise UserError(
            f"port {url!r}: expected gpio:/dev/gpiochip0:17,27 with the numbers or the names of "
            "its lines"
        )
    for line in lines:
        if not (line.isascii() and line.isprintable() and len(line) <= _MAX_LINE_CHARACTERS):
            raise UserError(
                f"port {url!r}: line {line!a}; expected its number, or at most "
                f"{_MAX_LINE_CHARACTERS} ASCII characters"
            )
    if len({_line_of(each) for each in lines}) < len(lines) or len(lines) > _MAX_LINES:
        raise UserError(
            f"port {url!r}: {len(lines)} lines; expected each once, and at most {_MAX_LINES}"
        )
    return chip, lines


def check_gpiod() -> None:
    """Check that the extra is installed, without loading it; a `UserError` if it is not."""
    if find_spec("gpiod") is None:
        raise UserError(_INSTALL_HINT)


def load_gpiod() -> Any:  # noqa: ANN401 - a module
    """Return the module; a `UserError` if the extra is not installed."""
    try:
        import gpiod  # noqa: PLC0415 - an extra
        import gpiod.line  # noqa: PLC0415
    except ImportError as error:
        raise UserError(_INSTALL_HINT) from error
    return gpiod


@contextmanager
def gpio_errors() -> Iterator[None]:
    """Turn the errors of gpiod into an `OSError` whose text is for a person."""
    try:
        yield
    except PermissionError as error:
        raise PermissionError(error.errno, f"Permission denied: {_PERMISSION_HINT}") from error
    except (OSError, *_RENAMED_ERRORS) as error:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[1]) if number and len(error.args) > 1 else one_line(error)
        if text == os.strerror(number):
            text = _TEXTS.get(number, text)
        raise OSError(number or errno.EINVAL, text) from error


def find_free_lines(chip: gpiod.Chip, lines: Iterable[int | str]) -> dict[int, int | str]:
    """
    Find lines by number or name; return each by its number, without touching its level.

    Raises:
        OSError: One is unknown, is in use, or is given twice.
    """
    found: dict[int, int | str] = {}
    for line in lines:
        try:
            info = chip.get_line_info(line)
        except (OSError, ValueError) as error:
            count = chip.get_info().num_lines
            text = f"no line {line!r}; expected 0 to {count - 1}, or a name that `gpioinfo` lists"
            raise OSError(errno.EINVAL, text) from error
        if info.offset in found:
            text = f"{found[info.offset]!r} and {line!r} are the same line; expected it once"
            raise OSError(errno.EINVAL, text)
        if info.used:
            raise OSError(errno.EBUSY, f"line {line!r} is in use by {info.consumer!r}")
        found[info.offset] = line
    return found


class Presses:
    """
    Turns the edges of buttons into text; without a device or a clock.

    A press of a line sends its text. A button that is held down from the beginning is no press.
    """

    def __init__(self, texts: Mapping[int, str], held: Iterable[int]) -> None:
        self._texts = texts
        self._held = set(held)
        self._last_number = dict.fromkeys(texts, 0)
        self._last_at: dict[int, float] = {}

    def feed(self, line: int, number: int, at: float, *, pressed: bool) -> str:
        """
        Return what an edge sends: the text of its line at a press, otherwise nothing.

        An edge sooner than `DEBOUNCE_S` after the one before it is no press: the contact bounces.
        The edges of a line are numbered from 1.

        Raises:
            OSError: Edges are missing.
        """
        is_complete = number == self._last_number[line] + 1
        self._last_number[line] = number
        if not is_complete:
            # Opened again, the line reports a gap.
            raise OSError(errno.EIO, "presses were lost: the computer was too busy")
        bounces = at - self._last_at.get(line, -DEBOUNCE_S) < DEBOUNCE_S
        self._last_at[line] = at
        if not pressed:
            self._held.discard(line)
            return ""
        if line in self._held:
            return ""
        self._held.add(line)
        return "" if bounces else f"{self._texts[line]}\r"


class GpioButtons:
    """
    Lines of a chip, held as inputs with buttons.

    Raises:
        UserError: The extra is not installed.
        OSError: The lines cannot be used.
    """

    def __init__(self, chip: str, texts: Sequence[str], read_timeout_s: float) -> None:
        self._chip = Path(chip)
        self._read_timeout_s = read_timeout_s
        gpiod = load_gpiod()
        with gpio_errors(), gpiod.Chip(chip) as opened:
            self._device = self._chip.stat().st_rdev
            wanted = {_line_of(text): text for text in texts}
            found = {
                number: wanted[line] for number, line in find_free_lines(opened, wanted).items()
            }
            self._request = _request(gpiod, opened, found)
            active = gpiod.line.Value.ACTIVE
            levels = zip(found, self._request.get_values(list(found)), strict=True)
            self._presses = Presses(found, [line for line, level in levels if level == active])
        self._pressed = gpiod.EdgeEvent.Type.RISING_EDGE

    def read(self) -> bytes:
        """Return the texts of the buttons that were pressed."""
        if not select.select([self._request.fd], [], [], self._read_timeout_s)[0]:
            return b""
        sent = ""
        with gpio_errors():
            for edge in self._request.read_edge_events():
                sent += self._presses.feed(
                    edge.line_offset,
                    edge.line_seqno,
                    edge.timestamp_ns / 1e9,
                    pressed=edge.event_type == self._pressed,
                )
        return sent.encode("ascii")

    def check(self) -> None:
        """Raise `OSError` if the chip is gone, or the path leads to another one now."""
        with gpio_errors():
            self._request.get_values()
        if self._chip.stat().st_rdev != self._device:
            raise OSError(errno.ENODEV, "the path leads to another chip now")

    def close(self) -> None:
        """Release the lines."""
        with contextlib.suppress(Exception):
            self._request.release()


def _line_of(text: str) -> int | str:
    """Return the number of a line, or its name."""
    return int(text) if text.isdecimal() else text


def _request(
    module: Any,  # noqa: ANN401 - gpiod
    chip: gpiod.Chip,
    lines: Iterable[int],
) -> gpiod.LineRequest:
    """Request lines as inputs; a chip that cannot debounce leaves it to `Presses`."""
    line = module.line

    def request(**more: timedelta) -> gpiod.LineRequest:
        settings = module.LineSettings(
            direction=line.Direction.INPUT,
            edge_detection=line.Edge.BOTH,
            bias=line.Bias.PULL_UP,
            active_low=True,
            **more,
        )
        return chip.request_lines(dict.fromkeys(lines, settings), _CONSUMER, _EVENT_BUFFER_SIZE)

    try:
        return request(debounce_period=timedelta(seconds=DEBOUNCE_S))
    except (OSError, *_RENAMED_ERRORS):
        # Linux cannot debounce the lines of a chip that is read over USB or I2C.
        return request()
