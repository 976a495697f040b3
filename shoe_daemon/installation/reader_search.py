"""Finds readers of this computer: serial adapters and cameras, by their lasting names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Final

from msgspec import Struct

from calibration.serial_line_speed import list_ports, listen
from drivers import create_driver
from shoe_daemon.errors import UserError

__all__ = ["FoundReader", "find_readers", "listen_to", "only_reader"]

_CAMERAS: Final = Path("/dev/v4l/by-id")
_DRIVER: Final = "angel-eye-ii"


class FoundReader(Struct, frozen=True):
    """
    A device of this computer.

    Attributes:
        address: The reader's address in a configuration.
        description: What the device calls itself.
    """

    address: str
    description: str


def find_readers() -> list[FoundReader]:
    """Return serial ports of adapters, then cameras."""
    found = [
        FoundReader(next(iter(port.stable), port.device), port.description)
        for port in list_ports()
        if port.stable or port.device.startswith(("/dev/ttyUSB", "/dev/ttyACM"))
    ]
    cameras = sorted(_CAMERAS.iterdir()) if _CAMERAS.is_dir() else []
    # A camera's other nodes carry metadata.
    found += [
        FoundReader(f"camera:{path}", "camera")
        for path in cameras
        if path.name.endswith("-index0")
    ]
    return found


def only_reader(found: Sequence[FoundReader]) -> str:
    """
    Return the address of the only device.

    Raises:
        UserError: There is none, or there are several.
    """
    if len(found) == 1:
        return found[0].address
    names = ", ".join(each.address for each in found) or "none"
    raise UserError(f"reader: search found {names}; expected one device: name it with --reader")


def listen_to(
    address: str, seconds: float, echo: Callable[[str], None], stopping: Event
) -> int | None:
    """
    Listen to a serial line until its speed is known.

    Args:
        address: A device, ``socket://`` or ``rfc2217://``.
        seconds: How long at most.
        echo: Receives a line of text for each frame.
        stopping: Ends it.

    Returns:
        The speed in bit/s if it differs from the driver's, otherwise None.

    Raises:
        UserError: The line cannot be opened, or bytes came without a valid frame.
    """
    driver = create_driver(_DRIVER)
    finding = listen(address, driver, seconds, echo, stopping)
    if finding.bytes and not finding.frames:
        raise UserError(
            f"{address}: {finding.bytes} bytes and no valid frame of {_DRIVER}; expected another "
            "reader or line settings: shoe-daemon calibrate serial"
        )
    return finding.speed if finding.speed != driver.line.baudrate else None
