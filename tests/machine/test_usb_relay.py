"""A relay board on USB: switched by the service, pulled out and plugged in again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.fakes.relay_board import RelayBoard
from tests.machine.serial_table import CONFIG, SITE, TABLE, UNIT
from tests.machine.virtual_machine import VirtualMachine
from tests.waiting import wait_for

SERIAL = "LAMP0001"
DEVICE = f"/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{SERIAL}-if00-port0"
# A reader that is not there: a fault of the table.
TABLE_TOML = f"""
site = "{SITE}"
[table]
id = "{TABLE}"
[[reader]]
driver = "angel-eye-ii"
port = "/dev/shoe/not-there"
[[lamp]]
id = "tower"
relay = "{DEVICE}"
at_stop = "off"
[[lamp.rule]]
channel = 1
fault = true
[[lamp.rule]]
channel = 2
severity = 1
"""
PATIENCE_S = 240
LIT, DARK = {1: True, 2: False}, {1: False, 2: False}


def test_a_relay_is_switched_and_comes_back_after_it_was_unplugged(
    installed: Path, machine_from: Callable[[Path], VirtualMachine], tmp_path: Path
) -> None:
    with RelayBoard(tmp_path / "board") as board:
        machine = machine_from(installed)
        machine.check(f"mkdir -p /etc/shoe-daemon; cat > {CONFIG}", typed=TABLE_TOML)
        machine.plug_serial("adapter", board.link, SERIAL)
        machine.wait(f"test -e {DEVICE}")
        machine.check(f"shoe-daemon doctor --light-lamps --config {CONFIG} >&2; true")
        wait_for(lambda: board.states == DARK, "that each channel was lit", timeout=PATIENCE_S)
        assert {each.channel for each in board.switched if each.on} == {1, 2}
        machine.check(f"systemctl start {UNIT}", timeout_s=400)
        wait_for(lambda: board.states == LIT, "the fault", timeout=PATIENCE_S)
        machine.unplug_serial("adapter")
        machine.wait(f"systemctl status {UNIT} | grep 'lamp tower: {DEVICE}'", "the status")
        board.states.clear()
        machine.plug_serial("adapter", board.link, SERIAL)
        wait_for(lambda: board.states == LIT, "the fault again", timeout=PATIENCE_S)
        machine.wait(f"! systemctl status {UNIT} | grep 'lamp tower'", "its end")
        machine.check(f"systemctl stop {UNIT}")
        wait_for(lambda: board.states == DARK, "that it is left as configured")
        assert not board.wrong
