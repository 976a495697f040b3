"""
The power is cut while cards are dealt, on a disk with a volatile cache.

Journal and broker are on that disk, which is cut right after one of its writes: no cut meets an
empty cache. "Acknowledged" means: received by a subscriber outside the machine. Controls run the
same cuts where the disk or the journal does not wait, and must lose something.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.brokers import Listener
from tests.chaos import journal_checks
from tests.machine.conftest import OUTSIDE_PORT
from tests.machine.serial_table import (
    JOURNAL,
    ROOT,
    SERIAL,
    UNIT,
    Shoe,
    events_after,
)
from tests.machine.virtual_machine import VirtualMachine, resumed
from tests.machine.volatile_disk import VolatileDisk
from tests.waiting import wait_for

TABLES = 4
CUTS = int(os.environ.get("POWER_CUTS", "13"))
"""Of each table, one after another, on the same disk."""
CONTROL_CUTS = 10
WRITES = (10, 80)
"""Least and most writes of the disk from the first event of a cycle to the cut."""

START = """
set -e
{wait_for_disk}
mount -o {options} /dev/disk/by-id/scsi-*_data /srv
test -d /srv/mosquitto || cp -a /var/lib/mosquitto /srv/mosquitto
mkdir -p -m 755 /srv/daemon /var/lib/private/shoe-daemon
mount --bind /srv/daemon /var/lib/private/shoe-daemon
mount --bind /srv/mosquitto /var/lib/mosquitto
{prepare}
systemctl start mosquitto {unit}
"""
BOARD_LOGIN = "systemd-creds decrypt --name=board.password /etc/shoe-daemon/board.password.cred"
DO_NOT_WAIT = """
cd /opt/shoe-daemon/lib/python3*/site-packages/shoe_daemon/journal
sed -i "s/'FULL' if durable else 'OFF'/'NORMAL'/" writer.py
grep -q "{'NORMAL'}" writer.py
rm __pycache__/writer.*.pyc
"""
"""The control: commits that do not wait for the disk."""
CONTROL_EVENTS = 60
"""Events of a cycle with that control until the cut. The disk is then seldom written, mostly right
after SQLite has made everything durable: a cut at one of its writes would meet just that."""


class Cuts:
    """
    Cuts of the power of one table.

    Args:
        folder: For the data disk and logs.
        snapshot: Of the machine with the table.
        options: The options with which the data disk is mounted.
        prepare: A command that is run in the machine before the daemon starts.

    Attributes:
        received: Body of every event that was received outside, by number.
        lost: Numbers of events that were received and are not in the journal.
        changed: Numbers of events with two bodies.
    """

    def __init__(
        self,
        folder: Path,
        snapshot: Path,
        seed: int,
        *,
        options: str = "defaults",
        prepare: str = ":",
    ) -> None:
        self.shoe = Shoe(folder, seed)
        self.received: dict[int, bytes] = {}
        self.lost: set[int] = set()
        self.changed: set[int] = set()
        self.lost_blocks = 0
        self._folder = folder
        self._snapshot = snapshot
        self._chance = random.Random(seed)
        self.name = options if prepare == ":" else "synchronous=NORMAL"
        self._options = options
        self._waits = prepare == ":"
        self._prepare = prepare
        self._data = folder / "data.img"
        self._count = 0
        subprocess.run(["mke2fs", "-q", "-t", "ext4", self._data, "128M"], check=True)

    def __str__(self) -> str:
        return (
            f"{len(self.received)} events received, {len(self.lost)} of them lost, "
            f"{len(self.changed)} with two meanings; {self.lost_blocks} blocks lost by the disk"
        )

    @contextmanager
    def started(self, line: Path) -> Iterator[tuple[VirtualMachine, VolatileDisk]]:
        """Switch the machine on, with a daemon in operation, and check its journal."""
        self._count += 1
        folder = self._folder / f"cut-{self._count}"
        folder.mkdir()
        with ExitStack() as stack:
            disk = VolatileDisk(self._data, folder / "nbd", seed=self._chance.getrandbits(32))
            stack.enter_context(disk)
            machine = stack.enter_context(resumed(folder, self._snapshot))
            server = {"type": "unix", "path": str(folder / "nbd")}
            wait = machine.add_disk("data", driver="nbd", server=server)
            machine.check(
                START.format(
                    wait_for_disk=wait, options=self._options, prepare=self._prepare, unit=UNIT
                )
            )
            self._compare(machine)
            machine.plug_serial("adapter", line, SERIAL)
            yield machine, disk
        (folder / "root.qcow2").unlink()

    def cut(self, line: Path) -> None:
        """Let the table be dealt, cut the power, and note what was received."""
        with self.started(line) as (machine, disk):
            password = machine.check(BOARD_LOGIN).strip()
            port = machine.forward(OUTSIDE_PORT)
            with Listener(
                port, f"{ROOT}event/#", name="outside", username="board", password=password
            ) as outside:
                outside.wait("/card_dealt")
                if self._waits:
                    disk.cut_after(self._chance.randint(*WRITES))
                    assert disk.gone.wait(240), "the disk was not written"
                else:
                    wait_for(lambda: len(outside.messages) >= CONTROL_EVENTS, "events")
                    disk.cut()
                machine.cut_power()
                for message in outside.messages:
                    self._note(message.json["seq"], message.payload)
            self.lost_blocks += disk.lost

    def _note(self, seq: int, body: bytes) -> None:
        if self.received.setdefault(seq, body) != body:
            self.changed.add(seq)

    def _compare(self, machine: VirtualMachine) -> None:
        """The journal has everything that was received, as it was received."""
        after = max(0, max(self.received, default=0) - 500)
        stored = events_after(machine, after)
        for seq, body in self.received.items():
            if seq > after and stored.get(seq) is None:
                self.lost.add(seq)
            elif seq > after and stored[seq] != body:
                self.changed.add(seq)


@pytest.mark.parametrize("seed", range(1, TABLES + 1))
def test_nothing_acknowledged_is_lost(
    serial_table: Path, tmp_path: Path, figure: Callable[[str, str], None], seed: int
) -> None:
    cuts = Cuts(tmp_path, serial_table, seed)
    with cuts.shoe.dealing() as line:
        for number in range(1, CUTS + 1):
            cuts.cut(line)
            figure("Power cuts", f"table {seed}, cut {number:2}: {cuts}")
        with cuts.started(line) as (machine, _):
            machine.check(f"systemctl stop {UNIT}")
            assert "unchanged up to event" in machine.check(
                f"shoe-daemon journal verify --refold {JOURNAL}"
            )
            events = [json.loads(body) for body in events_after(machine, 0).values()]
    figures = journal_checks.check_rounds(events, cuts.shoe.dealt())
    figure(
        "Power cuts",
        f"table {seed}, in the end: {figures.events} events; {figures.rounds} rounds finished, "
        f"each as it was dealt; {figures.partial} partial, {figures.aborted} aborted",
    )
    assert (cuts.lost, cuts.changed) == (set(), set())
    assert figures.rounds
    assert cuts.lost_blocks


@pytest.mark.parametrize(
    "how",
    [{"options": "barrier=0"}, {"prepare": DO_NOT_WAIT}],
    ids=["barrier=0", "synchronous=NORMAL"],
)
def test_the_control_loses_something(
    serial_table: Path, tmp_path: Path, figure: Callable[[str, str], None], how: dict[str, str]
) -> None:
    cuts = Cuts(tmp_path, serial_table, seed=2, **how)
    with cuts.shoe.dealing() as line:
        cuts.cut(line)
        assert any(_loses(cuts, line, figure) for _ in range(CONTROL_CUTS))


def _loses(cuts: Cuts, line: Path, figure: Callable[[str, str], None]) -> bool:
    """Cut the power again; return whether an earlier cut did damage."""
    try:
        cuts.cut(line)
    except AssertionError as error:  # the disk cannot be mounted, or the journal is damaged
        why = str(error).rpartition("errors=")[2] or str(error)
        figure("Controls", f"{cuts.name}: the disk or the journal is damaged: {why[:300]}")
        return True
    figure("Controls", f"{cuts.name}: {cuts}")
    return bool(cuts.lost or cuts.changed)
