"""A scanner that types, on USB: read by the service alone, pulled out and plugged in again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.machine.conftest import Packages
from tests.machine.serial_table import CONFIG, SITE, TABLE, UNIT, events_after, wait_for_event
from tests.machine.virtual_machine import VirtualMachine, later_disk

SERIAL = "SCAN0001"
DEVICE = f"/dev/input/by-id/usb-QEMU_QEMU_USB_Keyboard_{SERIAL}-event-kbd"
TABLE_TOML = f"""
site = "{SITE}"
[table]
id = "{TABLE}"
[[reader]]
driver = "keyboard"
port = "{DEVICE}"
"""
NAMES = {"\r": "ret"}
OTHER_PROGRAM = f"""
import os, time
device = os.open("{DEVICE}", os.O_RDONLY)
open("/run/other-program", "w").close()
os.read(device, 4096)
open("/run/other-program-has-read", "w").close()
"""


@pytest.fixture(scope="session")
def keyboard_table(installed: Path, packages: Packages) -> Path:
    """A snapshot of the machine with one table whose reader is a keyboard; not started."""

    def configure(machine: VirtualMachine) -> None:
        machine.check("shoe-daemon samples /root/samples", timeout_s=600)
        drop_in = f"/etc/systemd/system/{UNIT}.d"
        machine.check(f"mkdir -p {drop_in}; cp /root/samples/40-keyboard.conf {drop_in}")
        uncomment = f's/^#\\(SUBSYSTEM=="input".*"\\)Newland_HR22/\\1*{SERIAL}/'
        rules = "/etc/udev/rules.d/99-shoe-daemon.rules"
        machine.check(f"sed '{uncomment}' /root/samples/99-shoe-daemon.rules > {rules}")
        machine.check("udevadm control --reload; systemctl daemon-reload")
        machine.check(f"cat > {CONFIG}", typed=TABLE_TOML)

    return later_disk("keyboard-table", installed, packages.key + TABLE_TOML, configure)


def scan(machine: VirtualMachine, code: str) -> None:
    """Type a code and Enter."""
    for character in f"{code}\r":
        name = NAMES.get(character, character.lower())
        keys = ["shift", name] if character.isupper() else [name]
        press(machine, keys, down=True)
        press(machine, reversed(keys), down=False)


def press(machine: VirtualMachine, keys: Iterable[str], *, down: bool) -> None:
    for key in keys:
        data = {"down": down, "key": {"type": "qcode", "data": key}}
        machine.monitor("input-send-event", events=[{"type": "key", "data": data}])


def dealt(machine: VirtualMachine) -> list[str]:
    events = [json.loads(body) for body in events_after(machine, 0).values()]
    return [event["data"]["card"] for event in events if event["type"] == "card_dealt"]


def test_a_scanner_that_types_is_read_by_the_service_alone(
    keyboard_table: Path, machine_from: Callable[[Path], VirtualMachine]
) -> None:
    machine = machine_from(keyboard_table)
    machine.plug("usb-kbd", "scanner", serial=SERIAL, port="1")
    machine.wait(f"test -e {DEVICE}")
    machine.check(f"systemctl start {UNIT}", timeout_s=400)
    seq = wait_for_event(machine, 0, "reader_status", "up")
    machine.check("cat > /run/other.py", typed=OTHER_PROGRAM)
    machine.check("systemd-run --unit=other python3 /run/other.py")
    machine.wait("test -e /run/other-program")
    for number, code in enumerate(("9S", "KH", "10D"), start=1):
        scan(machine, code)
        seq = wait_for_event(machine, seq, "card_dealt")
        assert len(dealt(machine)) == number
    assert dealt(machine) == ["9S", "KH", "10D"]
    assert machine.run("test -e /run/other-program-has-read").status != 0
    machine.unplug("scanner")
    seq = wait_for_event(machine, seq, "reader_status", "down")
    machine.plug("usb-kbd", "scanner", serial=SERIAL, port="1")
    seq = wait_for_event(machine, seq, "reader_status", "up")
    scan(machine, "3C")
    wait_for_event(machine, seq, "card_dealt")
    assert dealt(machine)[-1] == "3C"
