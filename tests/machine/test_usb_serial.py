"""Serial adapters on USB: found by name, pulled, replaced and swapped while cards are dealt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import journal_checks
from tests.machine.serial_table import (
    CONFIG,
    JOURNAL,
    SERIAL,
    UNIT,
    Shoe,
    events_after,
    wait_for_event,
)
from tests.machine.virtual_machine import VirtualMachine

REPLUGGED = 20


@pytest.fixture
def machine(serial_table: Path, machine_from: Callable[[Path], VirtualMachine]) -> VirtualMachine:
    """A machine with one table, to which no adapter was plugged in since it was switched on."""
    machine = machine_from(serial_table)
    machine.check("modprobe -r ftdi_sio usbserial")
    machine.check(f"systemctl start mosquitto {UNIT}")
    return machine


def prove(machine: VirtualMachine, shoe: Shoe) -> None:
    """The journal is valid, and every finished round that is not partial was dealt."""
    machine.check(f"systemctl stop {UNIT}")
    assert "unchanged up to event" in machine.check(
        f"shoe-daemon journal verify --refold {JOURNAL}"
    )
    events = [json.loads(body) for body in events_after(machine, 0).values()]
    assert journal_checks.check_rounds(events, shoe.dealt()).rounds


def test_an_adapter_is_pulled_out_and_plugged_in_again(
    machine: VirtualMachine, tmp_path: Path
) -> None:
    """It is found by its name."""
    assert f"/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_{SERIAL}" in machine.check(f"cat {CONFIG}")
    shoe, seq = Shoe(tmp_path, 2), 0
    with shoe.dealing() as line:
        for _ in range(REPLUGGED):
            machine.plug_serial("adapter", line, SERIAL)
            seq = wait_for_event(machine, seq, "card_dealt")
            machine.unplug_serial("adapter")
            seq = wait_for_event(machine, seq, "reader_status", "down")
        machine.plug_serial("adapter", line, SERIAL)
        wait_for_event(machine, seq, "round_finished")
    prove(machine, shoe)


def test_another_adapter_is_not_taken(machine: VirtualMachine, tmp_path: Path) -> None:
    with Shoe(tmp_path, 3).dealing() as line, Shoe(tmp_path, 4).dealing() as stranger:
        machine.plug_serial("adapter", line, SERIAL)
        seq = wait_for_event(machine, 0, "card_dealt")
        machine.unplug_serial("adapter")
        seq = wait_for_event(machine, seq, "reader_status", "down")
        machine.plug_serial("stranger", stranger, "OTHER999")
        machine.wait("test -e /dev/serial/by-id/*OTHER999*")
        machine.check("sleep 10")  # the daemon looks for its adapter every few seconds
        assert not any(
            json.loads(body)["type"] == "card_dealt"
            for body in events_after(machine, seq).values()
        )
        machine.unplug_serial("stranger")
        machine.plug_serial("adapter", line, SERIAL)
        wait_for_event(machine, seq, "card_dealt")


def test_two_adapters_may_change_their_ports(machine: VirtualMachine, tmp_path: Path) -> None:
    shoe, seq = Shoe(tmp_path, 5), 0
    with shoe.dealing() as line, Shoe(tmp_path, 6).dealing() as stranger:
        for own, other in (("1", "2"), ("2", "1")):
            seq = max(events_after(machine, 0), default=0)
            machine.plug_serial("stranger", stranger, "OTHER999", port=other)
            machine.plug_serial("adapter", line, SERIAL, port=own)
            wait_for_event(machine, seq, "card_dealt")
            machine.unplug_serial("adapter")
            machine.unplug_serial("stranger")
        machine.plug_serial("adapter", line, SERIAL)
        wait_for_event(machine, seq, "round_finished")
    prove(machine, shoe)
