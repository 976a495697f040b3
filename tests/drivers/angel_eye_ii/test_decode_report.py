"""
Every code of every report says what the protocol says, and nothing raises or
loses a card.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import decode_report
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table.observations import (
    CardDrawn,
    Carried,
    Cause,
    DeviceError,
    DeviceErrorCleared,
    Disclosed,
    Lock,
    Observation,
    Result,
    Role,
    Unreadable,
    Withdrawn,
)
from tests.each_case import each_case

SUITS = {1: "D", 2: "C", 3: "S", 4: "H"}
RANKS = dict(enumerate(["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"], 1))
PLACES = {
    0x81: Slot.P1, 0x82: Slot.P2, 0x83: Slot.P3,
    0x91: Slot.B1, 0x92: Slot.B2, 0x93: Slot.B3,
}  # fmt: skip


def said(code: str, *data: int) -> Observation | None:
    observations = decode_report(Report(1, code, bytes(data))).observations
    assert len(observations) <= 1
    return observations[0] if observations else None


def note(code: str, *data: int) -> str:
    return decode_report(Report(1, code, bytes(data))).note


def test_all_256_faces() -> None:
    for code in range(256):
        suit, rank = SUITS.get(code >> 4 & 7), RANKS.get(code & 15)
        drawn = said("D", 0x81, code)
        if code & 0x7F == 0:
            assert drawn == CardDrawn(slot=Slot.P1)
        elif suit and rank:
            assert drawn == CardDrawn(slot=Slot.P1, card=Card(rank + suit))
        else:
            assert drawn == Unreadable(slot=Slot.P1)


def test_all_256_places() -> None:
    for code in range(256):
        target = code >> 4 & 7
        drawn = said("D", code, 0xB8)
        card = Card("8S")
        if target in {2, 5}:
            assert drawn == CardDrawn(card=card, role=Role.BURN)
        elif target == 4:
            assert drawn == CardDrawn(card=card, role=Role.FIRST)
        else:
            # A card for no place is a card all the same.
            assert drawn == CardDrawn(card=card, slot=PLACES.get(code | 0x80))


def test_an_impossible_burned_face_is_a_card_without_a_face() -> None:
    assert said("D", 0xD3, 0xFF) == CardDrawn(role=Role.BURN)
    assert note("D", 0xD3, 0xFF) == "no card has the code FF"


def test_a_draw_that_is_too_short_is_still_a_card() -> None:
    assert said("D") == Unreadable()
    assert said("D", 0x91) == Unreadable(slot=Slot.B1)
    assert said("D", 0x91, 0xB2, 0x80) == CardDrawn(slot=Slot.B1, card=Card("2S"))
    assert note("D", 0x91, 0xB2, 0x80) == "D with 3 bytes of data, not 2"


@pytest.mark.parametrize("code", [0x80, 0x82, 0x90, 0x92, 0xA0])
def test_a_card_drawn_outside_is_one_whatever_mode_it_names(code: int) -> None:
    assert said("d", code, 0x80) == CardDrawn(role=Role.OUTSIDE)
    assert said("d", code, 0xC9) == CardDrawn(role=Role.OUTSIDE, card=Card("9H"))
    assert said("d", code, 0xFF) == CardDrawn(role=Role.OUTSIDE)


def test_disclosures() -> None:
    assert said("I", 0x93, 0xCD) == Disclosed(slot=Slot.B3, card=Card("KH"))
    # Without a place or a face nothing is disclosed; the card was counted when drawn.
    for place, face in ((0x84, 0xCD), (0xA1, 0xCD), (0x93, 0x80), (0x93, 0xFF)):
        assert said("I", place, face) is None
        assert note("I", place, face)
    assert said("I") is None


def test_withdrawn_and_carried() -> None:
    assert said("i", 0x81, 0x91) == Withdrawn(card=Card("AD"))
    assert said("i", 0x81, 0x80) == said("i") == Withdrawn()
    assert said("R", 0x81, 0x80) == Carried(slot=Slot.P1)
    assert said("R", 0x81, 0xAA) == Carried(slot=Slot.P1, card=Card("10C"))
    assert said("R", 0xFF, 0x80) == said("R") == Carried(slot=Slot.P1)


@each_case("winner, outcome", [(1, "player"), (2, "tie"), (4, "banker"), (5, "banker")])
@each_case("pairs", range(4))
def test_results(winner: int, outcome: str, pairs: int) -> None:
    assert said("G", 0x80 | winner << 4 | pairs) == Result(
        outcome=outcome, player_pair=bool(pairs & 1), banker_pair=bool(pairs & 2)
    )


def test_results_of_nobody_still_end_the_round() -> None:
    assert said("G", 0xF0) == Result(forced=True)
    for code in (0x80, 0xB0, 0xE0):
        assert said("G", code) == Result()
    assert said("G") == Result()
    assert note("G") == "G with 0 bytes of data, not 1; a result of nobody: nothing"


CAUSES = {
    1: Cause.UNREADABLE,
    2: Cause.OVERDRAW,
    3: Cause.BUTTON,
    4: Cause.CARD_RETURNED,
    5: Cause.CARD_RETURNED,
    6: Cause.CARD_CODE,
    7: Cause.TIMEOUT,
}


@each_case("code", range(64))
@each_case("mode", [0x80, 0xC0])
def test_errors(code: int, mode: int) -> None:
    error, cleared = said("E", mode | code), said("e", mode | code)
    assert isinstance(error, DeviceError)
    assert isinstance(cleared, DeviceErrorCleared)
    for told in (error, cleared):
        assert (told.cause, told.code) == (CAUSES.get(code, Cause.OTHER), code)
        assert (mode == 0xC0) == str(told.text).endswith(", already in error mode")


def test_errors_without_a_code() -> None:
    assert said("E") == DeviceError()
    assert said("e") == DeviceErrorCleared(cause=Cause.OTHER)


def test_lock_and_preset() -> None:
    assert said("L", 0x81) == Lock(locked=True)
    assert said("L", 0x80) == Lock(locked=False)
    assert said("L") is None
    assert said("M", *b"0712") is None
    assert note("M", *b"0712") == "preset '07' set to '12' at the shoe"


@given(st.characters(max_codepoint=255), st.binary(max_size=122))
def test_nothing_raises_and_no_drawn_card_is_lost(code: str, data: bytes) -> None:
    meaning = decode_report(Report(1, code, data))
    if code in "Dd":
        assert len(meaning.observations) == 1
    if not (code.isascii() and code in "SPCDdIiRGEeLM"):
        assert meaning == ((), f"unknown report {code!a}")
