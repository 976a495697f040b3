"""
A USB chip with eight GPIO lines made of software: the guest's own driver (hid-cp2112) takes it
for a CP2112 of Silicon Labs.

The kernel sets and polls the lines by HID feature reports. Document: AN495, "CP2112 interface
specification".
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.machine.usb_device import FULL_SPEED, UsbDevice, descriptor, number, text

_VENDOR, _PRODUCT = 0x10C4, 0xEA90
_GET_REPORT, _SET_REPORT = 1, 9
_CONFIGURATION, _GET_LEVELS, _SET_LEVELS, _VERSION, _SMBUS = 2, 3, 4, 5, 6
_LOCK, _SERIAL_TEXT = 0x20, 0x24
_REPORTS: Final = {
    _CONFIGURATION: 4,
    _GET_LEVELS: 1,
    _SET_LEVELS: 2,
    _VERSION: 2,
    _SMBUS: 13,
    _LOCK: 1,
    _SERIAL_TEXT: 62,
}
"""Feature reports, and their bytes after the number."""


def _report_descriptor() -> bytes:
    reports = b"".join(
        bytes([0x85, report, 0x95, size, 0x75, 8, 0x26, 255, 0, 0x15, 0, 0x09, 1, 0xB1, 2])
        for report, size in _REPORTS.items()
    )
    return bytes([0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01]) + reports + b"\xc0"


def _descriptors(serial: str) -> dict[int, bytes]:
    """Return all descriptors of the chip, by type and index."""
    reports = _report_descriptor()
    body = (
        descriptor(4, 0, 0, 2, 3, 0, 0, 0)
        + descriptor(0x21, 0x11, 0x01, 0, 1, 0x22, *number(2, len(reports)))
        + descriptor(5, 0x81, 3, *number(2, 64), 1)
        + descriptor(5, 0x01, 3, *number(2, 64), 1)
    )
    identity = (*number(2, _VENDOR), *number(2, _PRODUCT), 0x00, 0x01, 1, 2, 3, 1)
    return {
        0x100: descriptor(1, 0x00, 0x02, 0, 0, 0, 64, *identity),
        0x200: descriptor(2, *number(2, 9 + len(body)), 1, 1, 0, 0x80, 50) + body,
        0x300: b"\x04\x03\x09\x04",
        0x301: text("Silicon Laboratories"),
        0x302: text("CP2112 HID USB-to-SMBus Bridge"),
        0x303: text(serial),
        0x2200: reports,
    }


class UsbGpioChip(UsbDevice):
    """
    A chip that is plugged in, for a `with` block. Its inputs are pulled up.

    Args:
        address: The socket of qemu's device.
        serial: Its serial number.

    Attributes:
        grounded: Inputs whose button is pressed, a contact to ground.
        polls: How often the host has read the levels.
        lit_once: Outputs that were switched on since it was plugged in.
    """

    def __init__(self, address: Path, serial: str) -> None:
        super().__init__(address, _descriptors(serial), FULL_SPEED)
        self.grounded: frozenset[int] = frozenset()
        self.polls = 0
        self.lit_once: set[int] = set()
        self._serial = text(serial)
        self._configuration = bytes(4)
        self._outputs = 0
        self._smbus = bytes(13)

    @property
    def high(self) -> set[int]:
        """The outputs that are switched on."""
        on = self._configuration[0] & self._outputs
        return {line for line in range(8) if on & 1 << line}

    @property
    def outputs(self) -> set[int]:
        """The lines that are outputs."""
        return {line for line in range(8) if self._configuration[0] & 1 << line}

    def control(
        self, request: int, kind: int, value: int, index: int, data: bytes
    ) -> bytes | None:
        """Answer a feature report."""
        del kind, index
        report = value & 0xFF
        if request == _SET_REPORT:
            self._set(report, data[1:])
        return self._report(report) if request == _GET_REPORT else None

    def _set(self, report: int, data: bytes) -> None:
        if report == _CONFIGURATION:
            self._configuration = data[:4]
        elif report == _SET_LEVELS:
            levels, mask = data
            self._outputs = self._outputs & ~mask | levels & mask
            self.lit_once |= self.high
        elif report == _SMBUS:
            self._smbus = data

    def _report(self, report: int) -> bytes | None:
        content = {
            _CONFIGURATION: self._configuration,
            _GET_LEVELS: bytes([self._levels()]),
            _VERSION: bytes([0x0C, 0x03]),
            _SMBUS: self._smbus,
            _LOCK: b"\0",
            _SERIAL_TEXT: self._serial,
        }.get(report)
        self.polls += report == _GET_LEVELS
        return None if content is None else bytes([report]) + content

    def _levels(self) -> int:
        outputs = self._configuration[0]
        inputs = 0xFF & ~sum(1 << line for line in self.grounded)
        return self._outputs & outputs | inputs & ~outputs
