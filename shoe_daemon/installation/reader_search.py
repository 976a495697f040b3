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


class IdentifiedReader(Struct, frozen=True):
    """
    The reader on a line.

    Attributes:
        driver: Its driver.
        options: Options of the driver.
        line: Settings of the line that differ from the driver's.
    """

    driver: str
    options: dict[str, Any]
    line: dict[str, Any]


def check_driver(name: str) -> str:
    """
    Return the name of a driver that reads a line.

    Raises:
        UserError: There is no such driver.
    """
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
) -> IdentifiedReader | None:
    """
    Listen to a line until its reader is known; None if nothing came.

    Args:
        address: A device, ``socket://`` or ``rfc2217://``.
        driver: The reader's driver, if it is known: only settings and options are tried.
        seconds: How long at most.
        echo: Receives lines of text for a person.
        stopping: Ends it.

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
    return IdentifiedReader(first.driver.name, dict(first.options), found.line_changes)
