"""
Finds readers of this computer, by their lasting names: serial adapters, cameras, and what types as
a keyboard; and the ports that its tables have.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, Final

from msgspec import Struct

from calibration.line_identification import identify, likely_candidates
from calibration.serial import list_ports
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.install.answers import READER_KINDS

_CAMERAS: Final = Path("/dev/v4l/by-id")
_KEYBOARDS: Final = Path("/dev/input/by-id")
_KEYBOARD: Final = "keyboard:"
_SECTIONS: Final = ("reader", "lamp", "witness")


class FoundReader(Struct, frozen=True):
    """
    A device of this computer.

    Attributes:
        address: The reader's address in a configuration.
        description: What the device calls itself.
    """

    address: str
    description: str

    @property
    def is_keyboard(self) -> bool:
        """True for a scanner that types, and for a keyboard that a person types on."""
        return self.address.startswith(_KEYBOARD)


def find_readers() -> list[FoundReader]:
    """Return serial ports of adapters, then cameras, then keyboards."""
    found = [
        FoundReader(next(iter(port.stable), port.device), port.description)
        for port in list_ports()
        if port.stable or port.device.startswith(("/dev/ttyUSB", "/dev/ttyACM"))
    ]
    # A camera's other nodes carry metadata.
    found += [FoundReader(f"camera:{path}", "camera") for path in _named(_CAMERAS, "-index0")]
    typing = "types: a scanner, or the keyboard of this computer"
    names = _named(_KEYBOARDS, "-event-kbd")
    return found + [FoundReader(f"{_KEYBOARD}{path}", typing) for path in names]


def _named(folder: Path, ending: str) -> list[Path]:
    return sorted(folder.glob(f"*{ending}"))


def only_reader(found: Sequence[FoundReader], used: Mapping[str, str], own: str) -> str:
    """
    Return the address of the only device that no other table has, or that of the table's `own`
    reader if it is one of several. A keyboard is never chosen: it may be a person's.

    Raises:
        UserError: There is none, or there are several.
    """
    free = [each for each in found if is_free(each.address, used)]
    chosen = [each.address for each in free if not each.is_keyboard]
    if own in chosen:
        return own
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        names = ", ".join(chosen)
        raise UserError(
            f"reader: search found {names}; expected one device: name it with --reader"
        )
    taken = [
        f"; {each.address} is that of table {used[device_of(each.address)]!r}"
        for each in found
        if each not in free
    ]
    keyboards = [f"; {each.address} types: name it if it is the scanner" for each in free]
    raise UserError(
        "reader: search found no free serial adapter or camera: plug it in, or name the reader "
        f"with --reader: /dev/…, socket://HOST:PORT or simulated{''.join(taken + keyboards)}"
    )


def used_ports(configs: Path, table: str) -> dict[str, str]:
    """
    Return the devices and addresses that the configurations of other tables name, of readers,
    copies, lamps and local cameras, and the table of each.

    Raises:
        UserError: A file is not valid TOML, or cannot be read.
    """
    used = {}
    for file in sorted(configs.glob("*.toml")):
        if file.stem == table:
            continue
        try:
            config = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(
                f"{file}: {one_line(error)}; its ports are unknown: correct it, or move it away"
            ) from error
        # Profiles of cameras and cards lie in the same folder, and name ports too.
        sections = [config.get(name) for name in _SECTIONS]
        ports = [text for text in _texts(sections) if text.startswith(READER_KINDS)]
        used.update({device_of(port): file.stem for port in ports})
    return used


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def device_of(port: str) -> str:
    """Return the device or address behind a port: equal for two names of one."""
    path = port.removeprefix("camera:").removeprefix(_KEYBOARD)
    if path.startswith("/"):
        return os.path.realpath(path)
    host, slash, more = path.partition("://")[2].partition("/")
    return f"{host.rpartition('@')[2].lower()}{slash}{more}".rstrip("/") or path


def is_free(port: str, used: Mapping[str, str]) -> bool:
    """Return whether no other table has a port."""
    return device_of(port) not in used


def check_free(what: str, port: str, used: Mapping[str, str]) -> str:
    """Return a port; a UserError if another table has it."""
    if not is_free(port, used):
        raise UserError(
            f"{what}: {port!r} is that of table {used[device_of(port)]!r}; expected one that no "
            "other table has"
        )
    return port


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
