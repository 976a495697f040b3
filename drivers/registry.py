"""
Finds drivers by name: entry points of the group ``shoe_daemon.drivers``.

Any installed package may add drivers; two of the same name are rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import msgspec

from drivers.driver_interface import Driver
from drivers.interface_check import check_class, make_driver
from shoe_daemon.errors import UserError

__all__ = ["GROUP", "create_driver", "driver_names", "driver_version", "find_driver"]

GROUP: Final = "shoe_daemon.drivers"


def driver_names() -> list[str]:
    """Return the names of all installed drivers, in alphabetical order."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def find_driver(name: str) -> type[Driver]:
    """
    Import the driver of this name.

    Raises:
        UserError: There is none, or two, or it cannot be imported, or its interface
            is incomplete.
    """
    entry = _entry(name)
    place = f"driver {name!r} ({entry.value})"
    try:
        kind = entry.load()
    except Exception as error:
        # A driver of another author may raise anything.
        raise UserError(f"{place} cannot be loaded: {error}") from error
    return check_class(kind, place)


def driver_version(name: str) -> str | None:
    """
    Return the version of the package that provides a driver; None if it has none.

    Raises:
        UserError: There is no driver of this name, or there are two.
    """
    distribution = _entry(name).dist
    return None if distribution is None else distribution.version


def create_driver(name: str, options: Mapping[str, Any] | None = None) -> Driver:
    """
    Return a driver with options as in a configuration.

    Raises:
        UserError: There is no such driver, or an option is invalid.
    """
    kind = find_driver(name)
    try:
        checked = msgspec.convert(dict(options or {}), kind.options_type)
    except msgspec.ValidationError as error:
        raise UserError(f"options of driver {name!r}: {error}") from error
    return make_driver(kind, checked, f"driver {name!r}")


def _entry(name: str) -> EntryPoint:
    # A driver may be installed twice, as a wheel and as a source folder.
    found = {entry.value: entry for entry in entry_points(group=GROUP, name=name)}
    if not found:
        raise UserError(f"no driver {name!r}; there are: {', '.join(driver_names()) or 'none'}")
    if len(found) > 1:
        raise UserError(f"two drivers {name!r}: {' and '.join(sorted(found))}")
    return next(iter(found.values()))
