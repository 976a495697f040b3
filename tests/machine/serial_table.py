"""A table whose simulated shoe is outside the machine, on an emulated USB adapter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drivers.simulators.angel_eye_with_mistakes import Mode, Scenario, Settings, scenario
from tests.brokers import wait_for
from tests.machine.virtual_machine import VirtualMachine
from tests.service.daemon_process import simulated_shoe

SITE, TABLE = "casino", "table-1"
UNIT = f"shoe-daemon@{TABLE}.service"
JOURNAL = f"/var/lib/shoe-daemon/{TABLE}/journal.db"
CONFIG = f"/etc/shoe-daemon/{TABLE}.toml"
ROOT = f"shoe/v1/{SITE}/{TABLE}/"
SERIAL = "SHOE0001"
"""Serial number of the adapter."""

SPEED = 40
"""Multiple of a real table's speed: about four cards a second."""

EVENTS_AFTER = """
import json, sqlite3, sys
journal, after = sys.argv[1], int(sys.argv[2])
rows = sqlite3.connect(journal).execute("SELECT seq, body FROM event WHERE seq > ?", (after,))
print(json.dumps(rows.fetchall()))
"""
"""Prints the events of a journal after a number."""


class Shoe:
    """
    A simulated shoe in a process of this computer.

    Args:
        folder: For its terminal and its log.
        seed: Decides its cards.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.line = folder / f"shoe-{seed}"
        self._seed = seed

    @contextmanager
    def dealing(self) -> Iterator[Path]:
        """Deal within the block, to who reads the terminal."""
        options = ("--mode", Mode.OPEN, "--seed", self._seed, "--speed", SPEED)
        with simulated_shoe(self.line, *options):
            yield self.line

    def dealt(self) -> Scenario:
        """Return what was dealt, and one round more."""
        rounds = self.line.with_suffix(".sim").read_text().count(" round ")
        return scenario(Settings(mode=Mode.OPEN, seed=self._seed, rounds=rounds + 1))


def events_after(machine: VirtualMachine, seq: int) -> dict[int, bytes]:
    """Return the events of the journal in the machine, by number."""
    path = JOURNAL.replace("/var/lib/", "/var/lib/private/")
    rows: Sequence[Any] = json.loads(machine.check(f"python3 - {path} {seq}", typed=EVENTS_AFTER))
    return {number: body.encode() for number, body in rows}


def wait_for_event(
    machine: VirtualMachine, after: int, kind: str, link: str | None = None, timeout: float = 240
) -> int:
    """
    Wait for an event after a number; return its own number.

    Args:
        machine: With the table.
        after: The number.
        kind: Its type.
        link: For a ``reader_status``: the state of its link.
        timeout: Seconds.
    """
    found: list[int] = []

    def is_there() -> bool:
        for seq, body in events_after(machine, after).items():
            event = json.loads(body)
            if event["type"] == kind and (link is None or event["data"]["link"] == link):
                found.append(seq)
        return bool(found)

    wait_for(is_there, f"{kind} after {after}", timeout=timeout)
    return found[0]
