"""
Buttons and a lamp on a USB chip with GPIO lines: pressed and lit through the kernel, pulled out
and plugged in again.
"""

from __future__ import annotations

import json
import os
import re
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine.conftest import Packages
from tests.machine.serial_table import CONFIG, SITE, TABLE, UNIT, events_after, next_event
from tests.machine.usb_gpio import UsbGpioChip
from tests.machine.virtual_machine import VirtualMachine, later_disk
from tests.waiting import wait_for

CHIP, SCANNER = "GPIO0001", "SCAN0002"
DEVICE = "/dev/shoe/gpio-7"
SCANNER_DEVICE = f"/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{SCANNER}-if00-port0"
OPEN, CLOSE, PLAYER = 0, 1, 3
"""The lines of the buttons: bets open, no more bets, the Player has won."""
FAULT, ALERT = 4, 6
"""The lines of the lamp."""
BOX = f"gpio:{DEVICE}:{OPEN},{CLOSE},{PLAYER}"
TABLE_TOML = f"""
site = "{SITE}"
[table]
id = "{TABLE}"
[mqtt]
host = "127.0.0.1"
[[reader]]
id = "cards"
driver = "line-scanner"
port = "{SCANNER_DEVICE}"
[[reader]]
id = "box"
driver = "buttons"
port = "{BOX}"
[reader.options]
keys = {{ "{OPEN}" = "betting_open", "{CLOSE}" = "no_more_bets", "{PLAYER}" = "player" }}
[[lamp]]
id = "tower"
gpio = "{DEVICE}"
[[lamp.rule]]
channel = {FAULT}
fault = true
[[lamp.rule]]
channel = {ALERT}
severity = 1
"""
PATIENCE_S = 240
POLLS = 12
"""Every 40 ms the kernel looks for edges; each check of the reader and the lamp reads 5 times."""


class Table:
    """The table in the machine, its scanner and its chip, which are plugged in."""

    def __init__(self, machine: VirtualMachine, folder: Path) -> None:
        self.machine = machine
        self.seq = 0
        self._scanner, terminal = os.openpty()
        tty.setraw(terminal)
        self._terminal = folder / "scanner"
        self._terminal.symlink_to(os.ttyname(terminal))
        self._socket = machine.open_usb_port("chip")
        self.plug_scanner()
        self.chip = self.plug_chip()

    def plug_chip(self) -> UsbGpioChip:
        self.chip = UsbGpioChip(self._socket, CHIP).__enter__()
        self.machine.wait(f"test -e {DEVICE}")
        return self.chip

    def unplug_chip(self) -> None:
        self.chip.__exit__()

    def plug_scanner(self) -> None:
        self.machine.plug_serial("adapter", self._terminal, SCANNER)
        self.machine.wait(f"test -e {SCANNER_DEVICE}")

    def unplug_scanner(self) -> None:
        self.machine.unplug_serial("adapter")

    def doctor(self) -> dict[str, str]:
        """Return the first word of the doctor on each thing."""
        told = self.machine.run(f"shoe-daemon doctor --json --config {CONFIG}").output
        found: dict[str, str] = {}
        for each in json.loads(told):
            found.setdefault(each["about"], f"{each['verdict']}: {each['text']}")
        return found

    def wait_for(self, kind: str, **wanted: str) -> dict[str, Any]:
        """Wait for the next event of a type with these data; return its data."""
        self.seq, data = next_event(self.machine, self.seq, kind, **wanted)
        return data

    def press(self, line: int) -> None:
        """Press a button until the kernel has seen it, and release it."""
        for grounded in (frozenset({line}), frozenset[int]()):
            self.chip.grounded = grounded
            self.wait_polled(POLLS)

    def wait_polled(self, times: int) -> None:
        """Wait until the kernel has read the levels so many times more."""
        polls = self.chip.polls + times
        wait_for(lambda: self.chip.polls >= polls, "the kernel", timeout=PATIENCE_S)

    def scan(self, *cards: str) -> None:
        """Scan cards, and wait until all are dealt."""
        for card in cards:
            os.write(self._scanner, f"{card}\r".encode())
            self.wait_for("card_dealt")

    def wait_lit(self, *lines: int) -> None:
        wait_for(lambda: self.chip.high == set(lines), f"lamps {lines}", timeout=PATIENCE_S)


@pytest.fixture(scope="session")
def gpio_table(installed: Path, packages: Packages) -> Path:
    """A snapshot of the machine with one table, whose buttons and lamp are on a chip."""

    def configure(machine: VirtualMachine) -> None:
        machine.check("shoe-daemon samples /root/samples", timeout_s=600)
        drop_in = f"/etc/systemd/system/{UNIT}.d"
        machine.check(f"mkdir -p {drop_in}; cp /root/samples/40-gpio.conf {drop_in}")
        uncomment = f's/^#\\(SUBSYSTEM=="gpio".*\\)0022A1B3/\\1{CHIP}/'
        rules = "/etc/udev/rules.d/99-shoe-daemon.rules"
        machine.check(f"sed '{uncomment}' /root/samples/99-shoe-daemon.rules > {rules}")
        machine.check("udevadm control --reload; systemctl daemon-reload")
        machine.check(f"cat > {CONFIG}", typed=TABLE_TOML)

    return later_disk("gpio-table", installed, packages.key + TABLE_TOML, configure)


@pytest.fixture
def table(
    gpio_table: Path, machine_from: Callable[[Path], VirtualMachine], tmp_path: Path
) -> Iterator[Table]:
    """The table, not in operation."""
    table = Table(machine_from(gpio_table), tmp_path)
    yield table
    table.unplug_chip()


def test_buttons_and_a_lamp_share_a_chip_that_is_pulled_out(table: Table) -> None:
    machine = table.machine
    examine_lines(table)
    machine.check(f"systemctl start mosquitto {UNIT}", timeout_s=400)
    for _ in ("cards", "box"):
        table.wait_for("reader_status", link="up")
    table.wait_lit()
    assert table.chip.outputs == {FAULT, ALERT}
    play_rounds(table)
    # The fault of a reader.
    table.unplug_scanner()
    table.wait_lit(FAULT)
    table.plug_scanner()
    table.wait_lit()
    # The chip itself.
    table.seq = max(events_after(machine, 0))
    table.unplug_chip()
    table.wait_for("reader_status", link="down", source="box")
    machine.wait(f"systemctl status {UNIT} | grep 'lamp tower: {DEVICE}: '", "the status")
    table.plug_chip()
    table.wait_for("reader_status", link="up", source="box")
    machine.wait(f"! systemctl status {UNIT} | grep 'lamp tower'", "the lamp")
    table.wait_lit()
    play_rounds(table)
    machine.check(f"systemctl stop {UNIT}")
    table.wait_lit(FAULT, ALERT)  # as configured


def examine_lines(table: Table) -> None:
    """`doctor` names what is wrong with lines, and lights each; `capture` records presses."""
    told = table.doctor()
    assert told["reader box"] == (
        f"good: {BOX} opens; press each button, and see what `capture` records"
    )
    assert told["lamp tower"].startswith(f"good: {DEVICE} opens")
    machine = table.machine
    capture = f"shoe-daemon capture /root/box.cap --port {BOX}"
    machine.check(f"systemd-run --unit=capture {capture}")
    table.wait_polled(POLLS)
    told = table.doctor()
    assert told["reader box"] == f"bad: {BOX}: line {OPEN} is in use by 'shoe-daemon'"
    table.press(PLAYER)
    table.press(CLOSE)
    machine.wait(f"grep -q ' 3{CLOSE} 0D' /root/box.cap", "the presses")
    machine.check("systemctl stop capture")
    recorded = machine.check("cat /root/box.cap")
    assert re.findall(r" 3(\d) 0D", recorded) == [str(PLAYER), str(CLOSE)], recorded
    machine.run(f"shoe-daemon doctor --light-lamps --config {CONFIG}")
    assert table.chip.lit_once == {FAULT, ALERT}
    table.wait_lit()


def play_rounds(table: Table) -> None:
    """A round as it should be, and one whose declared winner is wrong."""
    table.press(OPEN)
    table.press(CLOSE)
    assert table.wait_for("betting_closed")["cause"] == "no_more_bets"
    table.scan("9S", "2H", "KD", "10C")
    table.press(PLAYER)
    assert table.wait_for("round_finished")["outcome"] == "player"
    table.press(OPEN)
    table.press(CLOSE)
    table.wait_for("betting_closed")
    table.scan("2S", "5H", "4D", "4C")
    table.press(PLAYER)
    raised = table.wait_for("irregularity")
    assert raised["kind"] == "result_mismatch"
    table.wait_lit(ALERT)
    order = f"shoe-daemon cmd acknowledge --config {CONFIG} --irregularity {raised['id']}"
    table.machine.check(f"{order} --operator pit --reason seen")
    table.wait_lit()
