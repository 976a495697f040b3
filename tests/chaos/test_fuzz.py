"""
Random bytes for each installed driver, and over a line for the whole daemon.

No error is raised, memory stays bounded, and the journal is valid. `make fuzz` runs it at full
length with other bytes each time.
"""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from drivers.registry import create_driver, driver_names
from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.lines import PtyLine
from shoe_daemon.table.observations import Gap
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.chaos import journal_checks
from tests.service.daemon_process import DaemonProcess, configure
from tests.volume import volume
from tests.waiting import wait_for

BYTES = int(os.environ.get("FUZZ_BYTES", volume(50_000, 600_000)))
SEED = os.environ.get("FUZZ_SEED", "7")

pytestmark = pytest.mark.timeout(120 + BYTES // 10_000)


def pieces(chance: random.Random, whole: bytes, size: int) -> list[bytes]:
    """Return random pieces: noise, and parts of a real stream, some damaged."""
    made: list[bytes] = []
    while size > 0:
        piece = bytearray(chance.randbytes(chance.randint(1, 60)))
        if chance.random() < 0.7:
            start = chance.randrange(len(whole))
            piece = bytearray(whole[start : start + chance.randint(1, 200)])
            if chance.random() < 0.4:
                piece[chance.randrange(len(piece))] ^= 1 << chance.randrange(8)
        made.append(bytes(piece))
        size -= len(piece)
    return made


def stream(mode: Mode) -> bytes:
    return scenario(Settings(mode=mode, seed=1, rounds=200)).stream(3)


@pytest.mark.parametrize("name", driver_names())
@pytest.mark.parametrize("mode", list(Mode))
def test_bytes_into_a_decoder_and_what_comes_out_into_a_table(name: str, mode: Mode) -> None:
    chance = random.Random(f"{SEED} {name} {mode}")
    decoder, table, now = create_driver(name).decoder(), Table(), 0.0
    taken = 0
    for piece in pieces(chance, stream(mode), BYTES // 2):
        now += 0.01
        for frame in decoder.feed(piece, now):
            taken += len(frame.raw)
            for observation in frame.observations:
                table.apply(replace(observation, at=_moment(now), source="shoe"))
        if chance.random() < 0.001:
            decoder.reset()
            table.apply(Gap(at=_moment(now)))
    assert taken <= BYTES
    assert len(table.checkpoint()) < 200_000


def _moment(now: float) -> str:
    return from_microseconds(int(now * 1000) * 1000)


def test_bytes_over_a_line_into_the_daemon(tmp_path: Path) -> None:
    chance, stopping = random.Random(f"{SEED} line"), threading.Event()
    line = PtyLine(tmp_path / "shoe")
    config = configure(tmp_path / "table", line=tmp_path / "shoe")
    with DaemonProcess(config) as daemon:
        daemon.start().wait_ready()
        wait_for(line.is_open, "the daemon to open its line")
        for piece in pieces(chance, stream(Mode.OPEN), BYTES // 10):
            line.send(piece, stopping)
        line.drain(stopping)
        wait_for(lambda: daemon.manager.heard("WATCHDOG=1"), "the watchdog's food")
        assert daemon.stop() == 0
        assert "Traceback" not in daemon.log.read_text()
        assert "the driver failed" not in daemon.log.read_text()
    line.close()
    journal_checks.check_chain(daemon.journal)
    journal_checks.check_replay(daemon.journal, tmp_path)
