"""
Finds, checks and creates drivers: entry points of the group ``shoe_daemon.drivers``.

Any installed package may add drivers; two of the same name are rejected. A missing or invalid
part of the interface is reported on one line, before a line is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from drivers.driver_interface import Driver, LineSettings, NamesFiles
from shoe_daemon.errors import UserError, describe_exception, one_line
from shoe_daemon.table.observations import Signal

GROUP: Final = "shoe_daemon.drivers"


def driver_names() -> list[str]:
    """Return the names of all installed drivers, in alphabetical order."""
    return sorted(_installed(tuple(sys.path)).names)


@cache
def _installed(_path: tuple[str, ...]) -> EntryPoints:
    """Return the drivers of all packages, which takes milliseconds, once for each `sys.path`."""
    return entry_points(group=GROUP)


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
    """Return the version of a driver's package, None if it has none; raises as `find_driver`."""
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
        raise UserError(f"options of driver {name!r}: {one_line(error)}") from error
    return make_driver(kind, checked, f"driver {name!r}")


def _entry(name: str) -> EntryPoint:
    # A driver may be installed twice, as a wheel and as a source folder.
    found = {entry.value: entry for entry in _installed(tuple(sys.path)).select(name=name)}
    if not found:
        raise UserError(f"no driver {name!r}; there are: {', '.join(driver_names()) or 'none'}")
    if len(found) > 1:
        raise UserError(f"two drivers {name!r}: {' and '.join(sorted(found))}")
    return next(iter(found.values()))


_SIGNALS: Final = f"a tuple of signals: {', '.join(sorted(Signal))}"
_OPENS_LINE_PARTS: Final = ("look", "check_url", "open_line")


def check_class(kind: object, place: str) -> type[Driver]:
    """
    Check that the object of an entry point is a driver class, and return it.

    Raises:
        UserError: The first missing or invalid part, and what is expected.
    """
    if not isinstance(kind, type):
        raise UserError(f"{place}: {kind!r}; expected a class")
    for problem in _class_problems(kind):
        raise UserError(f"{place}: {problem}")
    return cast("type[Driver]", kind)


def _class_problems(kind: type) -> Iterator[str]:
    name, line = getattr(kind, "name", None), getattr(kind, "line", None)
    if not (isinstance(name, str) and name):
        yield f"name: {_repr_of(kind, 'name')}; expected a text, such as 'my-reader'"
    if not isinstance(line, LineSettings | property):
        shown = _repr_of(kind, "line")
        yield f"line: {shown}; expected drivers.driver_interface.LineSettings(...)"
    yield from _options_problems(kind)
    if not hasattr(kind, "signals"):
        yield f"signals: missing; expected {_SIGNALS}"
    if not callable(getattr(kind, "decoder", None)):
        yield f"decoder: {_repr_of(kind, 'decoder')}; expected a method"
    has = [part for part in _OPENS_LINE_PARTS if hasattr(kind, part)]
    for part in _OPENS_LINE_PARTS if has else ():
        if part not in has:
            yield f"{part}: missing; expected beside {has[0]} (drivers.driver_interface.OpensLine)"


def _options_problems(kind: type) -> Iterator[str]:
    options: Any = getattr(kind, "options_type", None)
    if not (isinstance(options, type) and issubclass(options, Struct)):
        shown = _repr_of(kind, "options_type")
        yield f"options_type: {shown}; expected a subclass of msgspec.Struct"
        return
    if not options.__struct_config__.forbid_unknown_fields:
        yield f"options_type: {options.__name__}; expected forbid_unknown_fields=True"
    needed = [each.name for each in fields(options) if each.required]
    if needed:
        yield f"options_type: {options.__name__}.{needed[0]}; expected a default for every field"


def make_driver(
    kind: type[Driver], options: Struct, place: str, files: tuple[Path, Path] | None = None
) -> Driver:
    """
    Create a driver and check it.

    Args:
        kind: The driver's class.
        options: Of its `options_type`.
        place: The driver's name, for the message.
        files: Folder of the configuration and path of the journal, for a driver
            whose options name files.

    Raises:
        UserError: It cannot be created, or a part of it is invalid.
    """
    try:
        driver = kind(options)
        if files is not None and isinstance(driver, NamesFiles):
            driver = driver.beside(*files)
        problem = _problem(driver)
    except UserError:
        raise
    except Exception as error:
        # A driver of another author may raise anything.
        text = describe_exception(error)
        raise UserError(f"{place}: cannot be made: {text}") from error
    if problem is not None:
        raise UserError(f"{place}: {problem}")
    return driver


def _problem(driver: Driver) -> str | None:
    signals: Any = driver.signals
    if not isinstance(signals, tuple) or not set(signals) <= set(Signal):
        return f"signals: {signals!r}; expected {_SIGNALS}"
    line: Any = driver.line
    if not isinstance(line, LineSettings):
        return f"line: {line!r}; expected drivers.driver_interface.LineSettings(...)"
    decoder = driver.decoder()
    for part in ("feed", "reset"):
        if not callable(getattr(decoder, part, None)):
            return f"decoder(): {type(decoder).__name__} without {part}; expected a method"
    return None


def _repr_of(kind: type, part: str) -> str:
    return repr(getattr(kind, part)) if hasattr(kind, part) else "missing"
