"""
A USB scanner or keypad that types as a keyboard, as a line: `keyboard:/dev/input/by-id/…`.

The device is grabbed: no console and no window sees its keys while the line is open. The bytes of
the line are the text that was typed, on a keyboard of the United States: Enter is a carriage
return, and the keys of a keypad are its digits.

The kernel's interface is read without a library: it is one `ioctl` and one structure.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
from pathlib import Path
from typing import Final

UNKNOWN_KEY: Final = "\x1a"
"""A key that types no character of a code: the code with it is not read as a card."""

_EVENT: Final = struct.Struct("@llHHi")
"""`struct input_event`: seconds, microseconds, type, code, value."""

_MAX_EVENTS: Final = 64
_EV_SYN: Final = 0
_EV_KEY: Final = 1
_SYN_DROPPED: Final = 3
_PRESSED: Final = 1
_RELEASED: Final = 0

_EVIOCGRAB: Final = 0x40044590
_EVIOCGBIT_KEY: Final = 0x80004521
_KEY_BYTES: Final = 96

_SHIFT: Final = frozenset({42, 54})
_CONTROL: Final = frozenset({29, 97})
_OTHER_MODIFIERS: Final = frozenset({56, 100, 125, 126})
_MODIFIERS: Final = _SHIFT | _CONTROL | _OTHER_MODIFIERS
_LOCKS: Final = frozenset({58, 69, 70})
"""Caps, Num and Scroll Lock: a scanner sends what it means, whatever they are."""


def _row(first: int, plain: str, shifted: str) -> dict[int, tuple[str, str]]:
    pairs = zip(plain, shifted, strict=True)
    return {first + number: (low, high) for number, (low, high) in enumerate(pairs)}


KEYS: Final = {
    **_row(2, "1234567890-=", "!@#$%^&*()_+"),
    **_row(15, "\tqwertyuiop[]\r", "\tQWERTYUIOP{}\r"),
    **_row(30, "asdfghjkl;'`", 'ASDFGHJKL:"~'),
    **_row(43, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
    **_row(55, "*", "*"),
    **_row(57, " ", " "),
    **_row(71, "789-456+1230.", "789-456+1230."),
    **_row(96, "\r", "\r"),
    **_row(98, "/", "/"),
    **_row(117, "=", "="),
    **_row(121, ",", ","),
}
"""Characters by the kernel's key code, without and with Shift."""


class KeyText:
    """Turns presses and releases of keys into text; knows which modifiers are held."""

    def __init__(self) -> None:
        self._held: set[int] = set()

    def feed(self, code: int, value: int) -> str:
        """
        Return what an event of a key types: a character, or nothing.

        A value is 0 for released, 1 for pressed, 2 for repeated because it is held.
        """
        if code in _MODIFIERS:
            (self._held.discard if value == _RELEASED else self._held.add)(code)
            return ""
        if value != _PRESSED or code in _LOCKS:
            return ""
        found = KEYS.get(code)
        if found is None or self._held & _OTHER_MODIFIERS:
            return UNKNOWN_KEY
        low, high = found
        if self._held & _CONTROL:
            # Scanners send control characters so: Control and M is a carriage return.
            return chr(ord(low) & 0x1F) if low.isalpha() or low in "[]\\\r" else UNKNOWN_KEY
        return high if self._held & _SHIFT else low


class KeyboardLine:
    """
    An open and grabbed keyboard.

    Raises:
        OSError: It cannot be opened, is no keyboard, or another program has grabbed it.
    """

    def __init__(self, path: str, read_timeout_s: float) -> None:
        self._path = path
        self._read_timeout_s = read_timeout_s
        self._text = KeyText()
        self._rest = b""
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            grab(self._file)
        except OSError:
            os.close(self._file)
            raise

    def read(self) -> bytes:
        """Return what was typed."""
        if not select.select([self._file], [], [], self._read_timeout_s)[0]:
            return b""
        data = self._rest + os.read(self._file, _MAX_EVENTS * _EVENT.size)
        if not data:
            raise OSError(errno.ENODEV, "unplugged")
        whole = len(data) - len(data) % _EVENT.size
        self._rest = data[whole:]
        typed = ""
        for _, _, kind, code, value in _EVENT.iter_unpack(data[:whole]):
            if kind == _EV_KEY:
                typed += self._text.feed(code, value)
            elif kind == _EV_SYN and code == _SYN_DROPPED:
                # Opened again, the line reports a gap.
                raise OSError(errno.EIO, "keys were lost: the computer was too busy")
        return typed.encode("ascii")

    def check(self) -> None:
        """Raise `OSError` if the path leads to another device now."""
        if Path(self._path).stat().st_rdev != os.fstat(self._file).st_rdev:
            raise OSError(errno.ENODEV, "the path leads to another device now")

    def close(self) -> None:
        """Close it, which ends the grab."""
        with contextlib.suppress(OSError):
            os.close(self._file)


def grab(file: int) -> None:
    """Take all keys of a device for this program; an `OSError` if it is no keyboard, or taken."""
    keys = bytearray(_KEY_BYTES)
    try:
        fcntl.ioctl(file, _EVIOCGBIT_KEY | _KEY_BYTES << 16, keys)
    except OSError as error:
        raise OSError(errno.ENOTTY, "no keyboard: expected /dev/input/…-event-kbd") from error
    if not any(keys[key // 8] & 1 << key % 8 for key in KEYS):
        raise OSError(errno.ENOTTY, "no keyboard: it has no key that types a character")
    try:
        fcntl.ioctl(file, _EVIOCGRAB, 1)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(errno.EWOULDBLOCK, "grabbed") from error
        raise
