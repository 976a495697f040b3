"""
A keyboard as a line: keys become text, a lost device is one line of text, and nothing else sees
the keys.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import (
    LineError,
    LineSettings,
    check_url,
    create_driver,
    keyboard_line,
    open_transport,
)
from drivers.keyboard_line import KEYS, UNKNOWN_KEY, KeyText
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import CardDrawn, Gap, Unreadable
from tests.each_case import each_case

HEADER = Path("/usr/include/linux/input-event-codes.h")
EVENT = struct.Struct("@llHHi")
CHARACTERS = frozenset("".join(low + high for low, high in KEYS.values()))
SHIFT, CONTROL, ALT, CAPS, F1, ENTER, KEYPAD_5 = 42, 29, 56, 58, 59, 28, 76
NAMES = {each: f"KEY_{each.upper()}" for each in "abcdefghijklmnopqrstuvwxyz0123456789"}
NAMES |= {"-": "KEY_MINUS", "=": "KEY_EQUAL", "\t": "KEY_TAB", " ": "KEY_SPACE", "\r": "KEY_ENTER"}
NAMES |= {"[": "KEY_LEFTBRACE", "]": "KEY_RIGHTBRACE", ";": "KEY_SEMICOLON", "`": "KEY_GRAVE"}
NAMES |= {"'": "KEY_APOSTROPHE", "\\": "KEY_BACKSLASH", ",": "KEY_COMMA", ".": "KEY_DOT"}
NAMES |= {"/": "KEY_SLASH"}
KEYPAD = {each: f"KEY_KP{each}" for each in "0123456789"}
KEYPAD |= {"-": "KEY_KPMINUS", "+": "KEY_KPPLUS", ".": "KEY_KPDOT", "\r": "KEY_KPENTER"}
KEYPAD |= {"/": "KEY_KPSLASH", "*": "KEY_KPASTERISK", "=": "KEY_KPEQUAL", ",": "KEY_KPCOMMA"}


FRENCH = dict(zip("AZQWM", "QWAZ:", strict=True))
"""What the keys of letters on a French keyboard type, with Shift, on one of the United States."""


def typed_in_french(text: str, *, keypad: bool) -> str:
    """Return what a scanner with a French keyboard types; digits of a keypad, or of its row."""
    row = dict(zip("1234567890", "!@#$%^&*()", strict=True))
    digits = {} if keypad else row
    return "".join((FRENCH | digits).get(each, each) for each in text)


def keys_of(text: str) -> list[tuple[int, int]]:
    """Return the presses and releases that type a text."""
    events = []
    for character in text:
        code, shifted = next(
            (code, character == high and low != high)
            for code, (low, high) in KEYS.items()
            if character in {low, high}
        )
        presses = [(SHIFT, 1)] if shifted else []
        events += [*presses, (code, 1), (code, 0), *((key, 0) for key, _ in presses)]
    return events


def typed(events: list[tuple[int, int]]) -> str:
    keys = KeyText()
    return "".join(keys.feed(code, value) for code, value in events)


def test_the_codes_are_the_kernels() -> None:
    if not HEADER.exists():
        pytest.skip("the kernel's header is missing: apt-get install linux-libc-dev")
    codes = dict(re.findall(r"^#define\s+(KEY_\w+)\s+(\d+)", HEADER.read_text(), re.MULTILINE))
    for names in (NAMES, KEYPAD):
        for character, name in names.items():
            code = int(codes[name])
            assert typed([(code, 1), (code, 0)]) == character, name


@given(st.text(st.sampled_from(sorted(CHARACTERS))))
def test_what_is_typed_is_read(text: str) -> None:
    assert typed(keys_of(text)) == text


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([(30, 1), (30, 2), (30, 2), (30, 0)], "a"),
        ([(SHIFT, 1), (30, 1), (SHIFT, 0), (31, 1)], "As"),
        ([(SHIFT, 1), (54, 1), (SHIFT, 0), (30, 1)], "A"),
        ([(CAPS, 1), (CAPS, 0), (30, 1)], "a"),
        ([(KEYPAD_5, 1), (96, 1)], "5\r"),
        ([(SHIFT, 1), (KEYPAD_5, 1)], "5"),
        ([(CONTROL, 1), (50, 1), (CONTROL, 0)], "\r"),
        ([(CONTROL, 1), (2, 1)], UNKNOWN_KEY),
        ([(ALT, 1), (30, 1), (ALT, 0), (30, 1)], f"{UNKNOWN_KEY}a"),
        ([(F1, 1), (F1, 0)], UNKNOWN_KEY),
    ],
)
def test_modifiers_and_other_keys(events: list[tuple[int, int]], text: str) -> None:
    assert typed(events) == text


class TestLayout:
    """A scanner that is set to a French keyboard, on a computer that reads one of the USA."""

    def read(self, *, keypad: bool) -> dict[Card, Card | None]:
        """Return what is read of each card, after a card that is the same on both keyboards."""
        found = {}
        for card in Card:
            decoder = create_driver("keyboard").decoder()
            decoder.feed(b"KC\r", 0.0)
            keys = keys_of(typed_in_french(str(card), keypad=keypad) + "\r")
            (frame,) = decoder.feed(typed(keys).encode(), 9.0)
            found[card] = getattr(frame.observations[-1], "card", None)
        return found

    def test_with_keypad_digits_aces_and_queens_are_exchanged_and_are_cards(self) -> None:
        exchanged = {card: read for card, read in self.read(keypad=True).items() if read != card}
        other = {"A": "Q", "Q": "A"}
        assert exchanged == {
            card: Card(other[card.rank] + card.suit) for card in Card if card.rank in other
        }

    def test_with_the_digits_of_its_row_no_card_with_a_number_is_read(self) -> None:
        read = self.read(keypad=False)
        assert {card for card in read if card.rank.isdigit()} == {
            card for card, found in read.items() if found is None
        }

    @each_case(
        "options, warns",
        [
            ({}, True),
            ({"codes": "suit-rank"}, True),
            ({"codes": "a01"}, False),
            ({"layout": "us"}, False),
            ({"cards": {"731": "AS", "732": "QS"}}, False),
            ({"cards": {"1a": "AS", "1q": "QS"}}, True),
            ({"cards": {"1a": "AS", "1q": "AS"}}, False),
            ({"cards": {"x1W": "AS", "x1Z": "2S"}}, True),
        ],
    )
    def test_codes_that_another_layout_exchanges_are_known(
        self, options: dict[str, object], *, warns: bool
    ) -> None:
        driver = create_driver("keyboard", options)
        assert driver.may_exchange_cards is warns

    @each_case("learner, warns", [("keyboard", False), ("line-scanner", True)])
    def test_a_table_that_the_scanner_typed_needs_no_check(
        self, learner: str, *, warns: bool, tmp_path: Path
    ) -> None:
        profile = tmp_path / "deck.toml"
        profile.write_text(
            f'version = 1\ndate = "2026"\ndriver = "{learner}"\ndecks = 1\ncodes = 2\n'
            'hash = "x"\n[cards]\nQS = "AS"\nAS = "QS"\n'
        )
        driver = create_driver("keyboard", {"cards_file": str(profile)})
        assert driver.may_exchange_cards is warns


class Device:
    """A pipe in place of a device: key events go in as the kernel writes them."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def send(self, *events: tuple[int, int, int]) -> None:
        os.write(self._file, b"".join(EVENT.pack(0, 0, *event) for event in events))

    def type(self, text: str) -> None:
        for code, value in keys_of(text):
            self.send((4, 4, code), (1, code, value), (0, 0, 0))

    def write(self, data: bytes) -> None:
        os.write(self._file, data)

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    monkeypatch.setattr(keyboard_line, "grab", lambda _file: None)
    device = Device(tmp_path / "keys")
    yield device
    device.close()


def test_a_line_of_text_is_read(device: Device) -> None:
    line = open_transport(f"keyboard:{device.path}", LineSettings())
    device.type("10H\rAs\r")
    assert line.read() == b"10H\rAs\r"
    device.send((1, SHIFT, 1))
    assert line.read() == b""
    line.check()
    with pytest.raises(LineError, match="keyboards are read-only: 1 bytes refused"):
        line.write(b"x")
    line.close()


def test_an_event_in_two_portions_is_one(device: Device) -> None:
    line = open_transport(f"keyboard:{device.path}", LineSettings())
    whole = EVENT.pack(0, 0, 1, 30, 1)
    device.write(whole[:10])
    assert line.read() == b""
    device.write(whole[10:])
    assert line.read() == b"a"
    line.close()


def test_lost_keys_are_a_lost_line(device: Device) -> None:
    line = open_transport(f"keyboard:{device.path}", LineSettings())
    device.send((0, 3, 0))
    with pytest.raises(LineError, match="keys were lost: the computer was too busy"):
        line.read()
    line.close()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/dev/input/not-there", "No such file or directory"),
        ("/dev/null", "no keyboard: expected /dev/input/…-event-kbd"),
    ],
)
def test_what_is_no_keyboard_is_one_line(path: str, text: str) -> None:
    with pytest.raises(LineError) as raised:
        open_transport(f"keyboard:{path}", LineSettings())
    assert str(raised.value) == f"keyboard:{path}: {text}"


def test_a_device_without_typing_keys_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mouse"
    path.touch()
    monkeypatch.setattr(fcntl, "ioctl", lambda *_: 0)
    with pytest.raises(LineError, match="no keyboard: it has no key that types a character"):
        open_transport(f"keyboard:{path}", LineSettings())


def test_a_grabbed_keyboard_and_a_forbidden_one_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: int, request: int, argument: object) -> int:
        if isinstance(argument, bytearray):
            argument[ENTER // 8] |= 1 << ENTER % 8
            return 0
        raise OSError(errno.EBUSY, "Device or resource busy")

    path = tmp_path / "keys"
    path.touch()
    monkeypatch.setattr(fcntl, "ioctl", refuse)
    with pytest.raises(LineError, match="another program has it open"):
        open_transport(f"keyboard:{path}", LineSettings())

    def forbid(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", forbid)
    with pytest.raises(LineError, match=r"Permission denied: the service needs 40-keyboard\.conf"):
        open_transport(f"keyboard:{path}", LineSettings())


def test_a_path_is_expected() -> None:
    check_url("keyboard:/dev/input/by-id/usb-scanner-event-kbd")
    with pytest.raises(UserError, match=r"^port 'keyboard:scanner': expected keyboard:/dev/input"):
        check_url("keyboard:scanner")


class VirtualKeyboard:
    """A keyboard of the kernel's own, through /dev/uinput."""

    _SET_EVENTS, _SET_KEYS, _SETUP, _CREATE = 0x40045564, 0x40045565, 0x405C5503, 0x5501
    _SYSTEM_NAME = 0x8040552C

    def __init__(self) -> None:
        self._file = os.open("/dev/uinput", os.O_WRONLY | os.O_NONBLOCK)
        fcntl.ioctl(self._file, self._SET_EVENTS, 1)
        for code in range(1, 128):
            fcntl.ioctl(self._file, self._SET_KEYS, code)
        setup = struct.pack("@HHHH80sI", 3, 1, 1, 1, b"shoe-daemon test", 0)
        fcntl.ioctl(self._file, self._SETUP, setup)
        fcntl.ioctl(self._file, self._CREATE)
        name = bytearray(64)
        fcntl.ioctl(self._file, self._SYSTEM_NAME, name)
        folder = Path("/sys/devices/virtual/input") / name.split(b"\0")[0].decode()
        event = next(folder.glob("event*")).name
        self.path = Path("/dev/input") / event

    def type(self, text: str) -> None:
        for code, value in keys_of(text):
            os.write(self._file, EVENT.pack(0, 0, 1, code, value) + EVENT.pack(0, 0, 0, 0, 0))

    def close(self) -> None:
        os.close(self._file)


@pytest.fixture
def virtual_keyboard() -> Iterator[VirtualKeyboard]:
    try:
        keyboard = VirtualKeyboard()
    except OSError as error:
        pytest.skip(f"/dev/uinput cannot be used: {error.strerror}")
    with contextlib.closing(keyboard):
        yield keyboard


def test_a_keyboard_of_the_kernel_is_grabbed_and_read(virtual_keyboard: VirtualKeyboard) -> None:
    path = virtual_keyboard.path
    until = time.monotonic() + 30
    while not path.exists() and time.monotonic() < until:
        select.select([], [], [], 0.01)
    other = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    line = open_transport(f"keyboard:{path}", LineSettings())
    with pytest.raises(LineError, match="another program has it open"):
        open_transport(f"keyboard:{path}", LineSettings())
    virtual_keyboard.type("10H\r")
    received = b""
    while not received.endswith(b"\r"):
        received += line.read()
    assert received == b"10H\r"
    with pytest.raises(BlockingIOError):
        os.read(other, 4096)
    os.close(other)
    line.close()


def test_the_driver_reads_a_scanner_that_types(device: Device) -> None:
    driver = create_driver("keyboard")
    driver.check_url(str(device.path))
    decoder, seen = driver.decoder(), []
    for url in (str(device.path), f"keyboard:{device.path}"):
        line = driver.open_line(url)
        device.type("10H\rAS\rK")
        device.send((1, F1, 1))  # a key that types nothing
        device.type("D\r")
        while data := line.read():
            seen += [each for frame in decoder.feed(data, 1.0) for each in frame.observations]
        line.close()
        decoder.reset()
    once = [CardDrawn(card=Card("10H")), CardDrawn(card=Card("AS")), Gap(), Unreadable()]
    assert seen == once + once
    with pytest.raises(UserError, match=r"^port 'scanner': expected a keyboard, such as /dev/inp"):
        driver.check_url("scanner")
