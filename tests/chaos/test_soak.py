"""
Long runs of a table: memory, files and threads do not grow, and the journal is valid.

`make soak` runs eight hours at a hundred times real speed: a month of a table. `make soak
SECONDS=600` is shorter.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from tests.brokers import Listener, Mosquitto
from tests.chaos import journal_checks
from tests.service.daemon_process import (
    PATIENT_BROKER,
    ROOT,
    DaemonProcess,
    cli,
    configure,
    simulated_shoe,
)
from tests.volume import volume
from tests.waiting import PATIENCE, wait_for

SECONDS = float(os.environ.get("SOAK_SECONDS", volume(1, 20)))
SPEED = os.environ.get("SOAK_SPEED", "0")
LOOKS = 40
"""Number of samples; the first quarter is warm-up."""

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(300 + 2 * SECONDS)]


class Look(NamedTuple):
    """The resources of a process, in kilobytes and counts."""

    memory: int
    files: int
    threads: int


def look(process: int) -> Look:
    place = Path(f"/proc/{process}")
    status = dict(
        line.split(":", 1) for line in (place / "status").read_text("ascii").splitlines()
    )
    files = sum(1 for _ in (place / "fd").iterdir())
    return Look(int(status["VmRSS"].split()[0]), files, int(status["Threads"]))


def test_nothing_grows(tmp_path: Path) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    shoe = simulated_shoe(tmp_path / "shoe", "--mode", "open", "--seed", 1, "--speed", SPEED)
    with Mosquitto(folder, PATIENT_BROKER) as broker, shoe as process:
        config = configure(tmp_path / "table", port=broker.port, line=tmp_path / "shoe")
        with DaemonProcess(config) as daemon:
            with Listener(broker.port, f"{ROOT}event/round_finished", name="warming") as listener:
                daemon.start().wait_ready()
                # By then all lines and files are open.
                listener.wait("/round_finished", 20)
            looks = []
            for _ in range(LOOKS):
                time.sleep(SECONDS / LOOKS)
                looks.append(look(daemon.process.pid))
            process.terminate()
            process.wait(PATIENCE)
            with Listener(broker.port, f"{ROOT}device/shoe") as listener:
                wait_for(
                    lambda: any(m.json["state"] == "no-signal" for m in listener.messages),
                    "the end of the shoe",
                )
            assert daemon.stop() == 0
    journal_checks.check_chain(daemon.journal)
    stats = json.loads(cli("journal", "stats", "--json", daemon.journal).stdout)
    judge(looks, f"{stats['rounds']} rounds, {stats['seq']} events")


def judge(looks: list[Look], what: str) -> None:
    """Compare the second quarter with the last."""
    quarter = len(looks) // 4
    early, late = looks[quarter : 2 * quarter], looks[-quarter:]
    before, after = (mean(each.memory for each in part) for part in (early, late))
    print(  # noqa: T201 - `make soak` shows it
        f"\n{SECONDS:.0f} s, {what}: memory {before / 1024:.1f} MB, then "
        f"{after / 1024:.1f} MB; files {early[0].files}, then {late[-1].files}; threads "
        f"{early[0].threads}, then {late[-1].threads}"
    )
    # SQLite's page cache may still grow: two megabytes per connection.
    assert after - before < 6 * 1024
    assert late[-1].files <= early[0].files + 2
    assert late[-1].threads <= early[0].threads
