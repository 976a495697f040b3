"""Buttons: each press is one observation, whatever its text and however the contact bounces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import FrameKind, create_driver
from drivers.buttons import ButtonsDecoder, ButtonsOptions
from shoe_daemon.errors import UserError
from shoe_daemon.settings.toml import convert_toml
from shoe_daemon.table.observations import (
    BettingOpen,
    Command,
    CutCardSeen,
    NoMoreBets,
    Observation,
    Result,
    Signal,
    TableCleared,
)

KEYPAD = ButtonsOptions(keys={"1": "player", "enter": "result", "+": "cut_card"}, lines=False)


def observations(decoder: ButtonsDecoder, data: bytes, now: float = 0.0) -> list[Observation]:
    return [each for frame in decoder.feed(data, now) for each in frame.observations]


def test_the_texts_of_a_box_that_needs_no_options() -> None:
    pressed = b"O\r\nN\r\nP\nB\rT\r\nE\nC\nR\nS\n"
    assert observations(ButtonsDecoder(ButtonsOptions()), pressed) == [
        BettingOpen(),
        NoMoreBets(),
        Result(outcome="player"),
        Result(outcome="banker"),
        Result(outcome="tie"),
        Result(),
        TableCleared(),
        Command(name="reveal"),
        Command(name="hold", reason="the supervisor was called"),
    ]


def test_a_keypad_sends_single_characters() -> None:
    decoder = ButtonsDecoder(KEYPAD)
    assert observations(decoder, b"1", 1.0) == []
    assert observations(decoder, b"", 1.2) == [Result(outcome="player")]
    assert observations(decoder, b"\r+", 2.0) == [Result(), CutCardSeen()]


class TestTextOfADeviceServer:
    """Where every byte is a button, its letters are no presses."""

    DEFAULT = ButtonsOptions(lines=False)

    @given(
        st.sampled_from([b"Port already in use\r\n", b"Connected to TTYS0\r\n", b"\r\nBUSY\r\n"]),
        st.lists(st.integers(0, 20), max_size=4),
        st.integers(1, 4),
    )
    def test_it_presses_no_button_before_the_first_press(
        self, text: bytes, cuts: list[int], times: int
    ) -> None:
        decoder, now = ButtonsDecoder(self.DEFAULT), 0.0
        for _ in range(times):
            for one, other in pairwise([0, *sorted(cuts), len(text)]):
                now += 0.02
                assert observations(decoder, text[one:other], now) == []
            now += 5
            assert observations(decoder, b"", now) == []
        assert observations(decoder, b"N", now + 1) == []
        assert observations(decoder, b"", now + 1.2) == [NoMoreBets()]
        assert observations(decoder, b"O", now + 2) == [BettingOpen()]

    def test_a_line_that_is_opened_again_begins_again(self) -> None:
        decoder = ButtonsDecoder(self.DEFAULT)
        decoder.feed(b"N", 1.0)
        decoder.feed(b"", 2.0)
        decoder.reset()
        assert observations(decoder, b"Port already in use\r\n", 3.0) == []
        assert observations(decoder, b"", 4.0) == []

    def test_a_bouncing_first_press_is_one(self) -> None:
        decoder = ButtonsDecoder(self.DEFAULT)
        frames = [*decoder.feed(b"NN", 1.0), *decoder.feed(b"N", 1.05), *decoder.feed(b"", 1.3)]
        assert [frame.kind for frame in frames] == ["frame", "repeat", "repeat"]
        assert [frame.received for frame in frames] == [1.05] * 3


def test_a_bouncing_contact_is_one_press() -> None:
    decoder = ButtonsDecoder(ButtonsOptions())
    frames = [frame for at in (10.0, 10.05, 10.2, 10.6) for frame in decoder.feed(b"N\n", at)]
    assert [each.kind for each in frames] == ["frame", "repeat", "repeat", "frame"]
    # Another button in between is no repeat.
    assert len(observations(decoder, b"O\nN\n", 10.6)) == 2


def test_a_button_without_a_meaning_is_noise_with_a_note() -> None:
    (frame,) = ButtonsDecoder(ButtonsOptions()).feed(b"X\n", 0.0)
    assert (frame.kind, frame.note) == (FrameKind.NOISE, "no meaning: b'X'")


def test_signals_are_those_of_the_buttons() -> None:
    assert create_driver("buttons").signals == (Signal.BETTING, Signal.CLEARED, Signal.RESULTS)
    only = create_driver("buttons", {"keys": {"1": "no_more_bets"}})
    assert only.signals == (Signal.BETTING,)
    # An order announces nothing.
    assert create_driver("buttons", {"keys": {"1": "reveal"}}).signals == ()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"keys": {"1": "void"}}, "keys.1: 'void'; expected one of "),
        ({"keys": {"é": "result"}}, "expected ASCII characters"),
        ({"keys": {" ": "result"}}, "expected ASCII characters"),
        ({"keys": {" a": "result"}}, "expected at most 63 characters"),
        (
            {"keys": {"10": "result"}, "lines": False},
            "expected one character or enter, space, tab",
        ),
        ({"repeat_window": 9}, "repeat_window: 9; "),
        ({"button": 1}, "button: unknown key; expected one of keys, lines, repeat_window"),
    ],
)
def test_a_wrong_option_is_one_line(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError) as raised:
        convert_toml(ButtonsOptions, options, "options")
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)
