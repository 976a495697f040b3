"""Observations of a camera's lines, and a decoder that accepts any bytes."""

from __future__ import annotations

import pytest

from drivers.camera.messages import CameraDecoder, Say, Statement, encode_statement
from drivers.driver import FrameKind
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen

MEANINGS = [
    (Statement(say=Say.PLACED, slot=Slot.P1, card=Card("AS"), confidence=0.99), "placed"),
    (Statement(say=Say.CARD, card=Card("10H")), "card"),
    (Statement(say=Say.UNREADABLE, slot=Slot.B3, best=Card("10H")), "unreadable"),
    (Statement(say=Say.CLEARED), "table_cleared"),
    (Statement(say=Say.DOUBLE_FEED), "device_error"),
    (Statement(say=Say.RETURNED), "device_error"),
    (Statement(say=Say.OVER), "device_error_cleared"),
    (Statement(say=Say.MISSED), "gap"),
]
WHOLE = b"".join(encode_statement(statement) for statement, _ in MEANINGS)
PLACED = encode_statement(MEANINGS[0][0])
TOO_LONG = b" " * 4096 + PLACED
"""A line that is too long only by bytes that are not a statement."""


@pytest.mark.parametrize(("statement", "meant"), MEANINGS, ids=lambda each: str(each)[:24])
def test_each_line_means_one_thing(statement: Statement, meant: str) -> None:
    line = encode_statement(statement)
    (frame,) = CameraDecoder().feed(line, 7.0)
    assert (frame.raw, frame.kind, frame.received) == (line, FrameKind.FRAME, 7.0)
    (observation,) = frame.observations
    assert observation.__struct_config__.tag == meant


def test_a_card_that_was_not_accepted_is_never_named() -> None:
    line = encode_statement(Statement(say=Say.UNREADABLE, slot=Slot.P1, best=Card("AS")))
    (frame,) = CameraDecoder().feed(line, 0.0)
    assert frame.observations == (seen.Unreadable(slot=Slot.P1),)
    for said in (Statement(say=Say.PLACED, slot=Slot.P1), Statement(say=Say.CARD)):
        (frame,) = CameraDecoder().feed(encode_statement(said), 0.0)
        assert all(not getattr(each, "card", None) for each in frame.observations)
    nowhere = encode_statement(Statement(say=Say.PLACED, card=Card("AS")))
    (frame,) = CameraDecoder().feed(nowhere, 0.0)
    assert frame.observations == ()


def test_double_feed_and_returned_card_are_device_errors() -> None:
    frames = CameraDecoder().feed(WHOLE, 0.0)
    errors = [
        (each.cause, each.code)
        for frame in frames
        for each in frame.observations
        if isinstance(each, seen.DeviceError)
    ]
    assert errors == [("other", "double_feed"), ("card_returned", "returned")]


def test_watching_is_a_repeated_frame() -> None:
    (frame,) = CameraDecoder().feed(encode_statement(Statement(say=Say.WATCHING, fps=29.9)), 0.0)
    assert frame.kind is FrameKind.REPEAT
    assert frame.observations == ()


@pytest.mark.parametrize("first", [1, 4095, 4096, 4097, len(TOO_LONG) - 1, len(TOO_LONG)])
def test_no_part_of_an_overlong_line_is_a_card(first: int) -> None:
    data = TOO_LONG + PLACED
    whole = CameraDecoder().feed(data, 0.0)
    decoder = CameraDecoder()
    cut = [*decoder.feed(data[:first], 0.0), *decoder.feed(data[first:], 0.0)]
    assert cut == whole
    *noise, good = whole
    assert {frame.kind for frame in noise} == {FrameKind.NOISE}
    assert good.raw == PLACED
