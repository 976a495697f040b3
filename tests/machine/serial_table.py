"""A table whose simulated shoe is outside the machine, on an emulated USB adapter."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drivers.simulators.angel_eye import Mode, Scenario, Settings, scenario
from tests.machine.virtual_machine import VirtualMachine
from tests.service.daemon_process import simulated_shoe

SITE, TABLE = "casino", "table-1"
UNIT = f"shoe-daemon@{TABLE}.service"
JOURNAL = f"/var/lib/shoe-daemon/{TABLE}/journal.db"
JOURNAL_FILE = JOURNAL.replace("/var/lib/", "/var/lib/private/")
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

NEXT_EVENT = """
import json, os, sqlite3, sys, time
journal, after, kinds, data = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(","), sys.argv[4]
data = json.loads(data)
while True:
    rows = []
    if os.path.exists(journal):
        query = "SELECT seq, body FROM event WHERE seq > ? ORDER BY seq"
        rows = sqlite3.connect(journal).execute(query, (after,)).fetchall()
    for after, body in rows:
        event = json.loads(body)
        if event["type"] in kinds and event["data"].items() >= data.items():
            print(json.dumps([after, event["data"]]))
            sys.exit()
    time.sleep(0.3)
"""
"""Waits for an event of a journal after a number, and prints its number and data."""

EVENT_WAIT_S = 600


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
    command = f"python3 - {JOURNAL_FILE} {seq}"
    rows: Sequence[Any] = json.loads(machine.check(command, typed=EVENTS_AFTER))
    return {number: body.encode() for number, body in rows}


def wait_for_event(machine: VirtualMachine, after: int, kind: str, link: str | None = None) -> int:
    """Wait for an event of a type, and with a state of its link; return its number."""
    return next_event(machine, after, kind, **({} if link is None else {"link": link}))[0]


def next_event(
    machine: VirtualMachine, after: int, *kinds: str, **data: str
) -> tuple[int, dict[str, Any]]:
    """Wait for the first event after a number with one of these types and these data."""
    wanted = shlex.join([JOURNAL_FILE, str(after), ",".join(kinds), json.dumps(data)])
    # One process in the guest: it is slow, and a new one for each look would slow all else down.
    command = f"timeout {EVENT_WAIT_S} python3 - {wanted}"
    seq, found = json.loads(machine.check(command, typed=NEXT_EVENT, timeout_s=2 * EVENT_WAIT_S))
    return seq, found
