"""Every example frame of the protocol is written and read as documented."""

from __future__ import annotations

import pytest

from drivers.angel_eye_ii import AngelEyeII
from drivers.angel_eye_ii.codec import Report, parse_report
from drivers.driver import FrameKind
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table.observations import (
    Booted,
    CardDrawn,
    Carried,
    Cause,
    CutCardSeen,
    DeviceError,
    Disclosed,
    Observation,
    Result,
    Role,
    Standby,
)

VECTORS: dict[str, tuple[str, Report, Observation]] = {
    "boot": ("05 30 53 03 36 30", Report(0, "S"), Booted()),
    "P1 hidden": (
        "05 31 44 81 80 03 37 37",
        Report(1, "D", b"\x81\x80"),
        CardDrawn(slot=Slot.P1),
    ),
    "P1 open": (
        "05 31 44 81 B8 03 34 46",
        Report(1, "D", b"\x81\xb8"),
        CardDrawn(slot=Slot.P1, card=Card("8S")),
    ),
    "B1 hidden": (
        "05 32 44 91 80 03 36 34",
        Report(2, "D", b"\x91\x80"),
        CardDrawn(slot=Slot.B1),
    ),
    "P1 disclosed": (
        "05 36 49 81 B2 03 34 46",
        Report(6, "I", b"\x81\xb2"),
        Disclosed(slot=Slot.P1, card=Card("2S")),
    ),
    "Banker and Banker pair": (
        "05 32 47 C2 03 42 34",
        Report(2, "G", b"\xc2"),
        Result(outcome="banker", player_pair=False, banker_pair=True),
    ),
    "overdraw": (
        "05 39 45 82 03 46 44",
        Report(9, "E", b"\x82"),
        DeviceError(cause=Cause.OVERDRAW, code=2, text="overdraw"),
    ),
    "timeout in error": (
        "05 31 45 C7 03 42 30",
        Report(1, "E", b"\xc7"),
        DeviceError(cause=Cause.TIMEOUT, code=7, text="draw timed out, already in error mode"),
    ),
    "carried": ("05 38 52 81 80 03 36 38", Report(8, "R", b"\x81\x80"), Carried(slot=Slot.P1)),
    "first card": (
        "05 31 44 C0 A2 03 31 34",
        Report(1, "D", b"\xc0\xa2"),
        CardDrawn(card=Card("2C"), role=Role.FIRST),
    ),
    "cut card": ("05 33 43 03 37 33", Report(3, "C"), CutCardSeen()),
    "stand-by": ("05 33 50 03 36 30", Report(3, "P"), Standby()),
}


@pytest.mark.parametrize(("text", "report", "observation"), VECTORS.values(), ids=VECTORS)
def test_vector(text: str, report: Report, observation: Observation) -> None:
    raw = bytes.fromhex(text)
    assert report.to_bytes() == raw
    assert parse_report(raw) == report
    (frame,) = AngelEyeII().decoder().feed(raw, 1.5)
    assert (frame.raw, frame.kind, frame.received) == (raw, FrameKind.FRAME, 1.5)
    assert frame.observations == (observation,)
    assert frame.note == ""
