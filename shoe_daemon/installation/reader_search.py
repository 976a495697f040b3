"""Finds readers of this computer: serial adapters and cameras, by their lasting names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final

from msgspec import Struct

from calibration.line_identification import identify, likely_candidates
from calibration.serial_ports_and_speed_search import list_ports
from shoe_daemon.errors import UserError

_CAMERAS: Final = Path("/dev/v4l/by-id")


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


def check_driver(name: str) -> str:
    """Return the name of a driver that reads a line; a UserError if there is no such driver."""
    names = sorted({each.driver.name for each in likely_candidates()})
    if name not in names:
        raise UserError(f"driver: {name!r}; expected one of {', '.join(names)}")
    return name


def identify_reader(
    address: str,
    driver: str | None,
    seconds: float,
    echo: Callable[[str], None],
    stopping: Event,
) -> dict[str, Any] | None:
    """
    Listen to a line until its reader is known; return the answers that follow: driver,
    driver_options, and line with the settings that are not the driver's. None if nothing came for
    so many seconds. Of a known driver, only settings and options are tried.

    Raises:
        UserError: The line cannot be opened, or bytes came that fit no driver.
    """
    candidates = [
        each for each in likely_candidates() if driver is None or each.driver.name == driver
    ]
    found = identify(address, seconds, echo, stopping, candidates=candidates)
    if not found.received:
        return None
    if not found.fitting:
        raise UserError(
            f"{address}: {found.received} bytes, no frames of {driver or 'any driver'}; expected "
            "a known reader: shoe-daemon calibrate serial shows what came"
        )
    first = found.fitting[0]
    echo(f"{address}: {first}")
    return {
        "driver": first.driver.name,
        "driver_options": dict(first.options),
        "line": found.line_changes,
    }
