"""The serial ports of this machine, and their stable names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct
from serial.tools.list_ports import comports

__all__ = ["STABLE_FOLDERS", "Port", "list_ports", "stable_name", "stable_names"]

STABLE_FOLDERS: Final = ("/dev/shoe", "/dev/serial/by-id", "/dev/serial/by-path")
"""Folders of stable names, best first: chosen by hand, by device, by socket."""


class Port(Struct, frozen=True):
    """
    One serial port.

    Attributes:
        device: Its current path, such as ``/dev/ttyUSB0``.
        description: The adapter's description.
        stable: Its stable names, best first.
    """

    device: str
    description: str
    stable: tuple[str, ...]


def list_ports() -> list[Port]:
    """Return the existing ports, ordered by path."""
    return [
        Port(found.device, found.description or "", stable_names(found.device))
        for found in sorted(comports(), key=lambda found: found.device)
    ]


def stable_names(device: str, folders: Iterable[str] = STABLE_FOLDERS) -> tuple[str, ...]:
    """Return a port's stable names, best first."""
    target = os.path.realpath(device)
    names: list[str] = []
    for folder in folders:
        links = sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []
        names += [str(link) for link in links if os.path.realpath(link) == target]
    return tuple(names)


def stable_name(port: str) -> str:
    """Return a port's best stable name, or the given name."""
    if not port.startswith("/") or port.startswith(STABLE_FOLDERS):
        return port
    return next(iter(stable_names(port)), port)
