"""
Finds, checks and creates drivers: those of the project, and the entry points of the group
``shoe_daemon.drivers``.

Any installed package may add drivers; two of the same name are rejected, and those of the project
cannot be replaced. A missing or invalid part of the interface is reported on one line, before a
line is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from drivers.driver import Driver, LineSettings
from shoe_daemon import __version__
from shoe_daemon.errors import UserError, describe_exception, one_line
from shoe_daemon.settings.toml import did_you_mean
from shoe_daemon.table.observations import Signal

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUP: Final = "shoe_daemon.drivers"

OWN_DRIVERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "angel-eye-ii": "drivers.angel_eye_ii:AngelEyeII",
        "bee-tek": "drivers.bee_tek:BeeTek",
        "buttons": "drivers.buttons:Buttons",
        "camera": "drivers.camera.driver:CameraDriver",
        "json-lines": "drivers.json_lines:JsonLines",
        "keyboard": "drivers.keyboard:Keyboard",
        "line-scanner": "drivers.line_scanner:LineScanner",
        "mqtt-camera": "drivers.mqtt_camera:MqttCamera",
    }
)
"""The module and the class of each driver of the project, by its name."""


def driver_names() -> list[str]:
    """Return the names of all installed drivers, in alphabetical order."""
    return sorted({*OWN_DRIVERS, *_installed(tuple(sys.path)).names})


def replacement_of(name: str) -> str | None:
    """Return the driver of another package with the name of one of the project: it is not used."""
    own = OWN_DRIVERS.get(name)
    others = {entry.value for entry in _installed(tuple(sys.path)).select(name=name)} - {own}
    return min(others) if own is not None and others else None


@cache
def _installed(_path: tuple[str, ...]) -> EntryPoints:
    """Return the drivers of other packages, once for each `sys.path`: it takes milliseconds."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - a megabyte, and few tables need it

    return entry_points(group=GROUP)


def find_driver(name: str) -> type[Driver]:
    """
    Import the driver of this name.

    Raises:
        UserError: There is none, or two, or it cannot be imported, or its interface
            is incomplete.
    """
    address = OWN_DRIVERS.get(name) or _entry(name).value
    place = f"driver {name!r} ({address})"
    module, _, attribute = address.partition(":")
    try:
        kind = attrgetter(attribute)(import_module(module))
    except Exception as error:
        # A driver of another author may raise anything.
        is_old = isinstance(error, ImportError) and (error.name or "").startswith("drivers")
        advice = f"; {_BASE_CLASS}" if is_old else ""
        raise UserError(f"{place} cannot be loaded: {error}{advice}") from error
    return check_class(kind, place)


def driver_version(name: str) -> str | None:
    """Return the version of a driver's package, None if it has none; raises as `find_driver`."""
    if name in OWN_DRIVERS:
        return __version__
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
        names = driver_names()
        advice = did_you_mean(name, names)
        raise UserError(f"no driver {name!r}; there are: {', '.join(names) or 'none'}{advice}")
    if len(found) > 1:
        raise UserError(f"two drivers {name!r}: {' and '.join(sorted(found))}")
    return next(iter(found.values()))


_SIGNALS: Final = f"a tuple of signals: {', '.join(sorted(Signal))}"
_BASE_CLASS: Final = (
    "expected a subclass of drivers.Driver, which replaced the protocols of earlier versions: "
    "see docs/write-a-driver.md, A driver of an earlier version"
)
_OWN_LINE: Final = ("look", "check_url", "open_line")


def check_class(kind: object, place: str) -> type[Driver]:
    """
    Check that the object of an entry point is a driver class, and return it.

    Raises:
        UserError: The first missing or invalid part, and what is expected.
    """
    if not isinstance(kind, type):
        raise UserError(f"{place}: {kind!r}; expected a class")
    if not issubclass(kind, Driver):
        raise UserError(f"{place}: class {kind.__name__}; {_BASE_CLASS}")
    for problem in _class_problems(kind):
        raise UserError(f"{place}: {problem}")
    return kind


def _class_problems(kind: type[Driver]) -> Iterator[str]:
    name: Any = getattr(kind, "name", None)
    if not (isinstance(name, str) and name):
        yield f"name: {name!r}; expected a text, such as 'my-reader'"
    yield from _options_problems(kind)
    if kind.decoder is Driver.decoder:
        yield "decoder: missing; expected a method"
    own = [part for part in _OWN_LINE if vars(Driver)[part] is not getattr(kind, part)]
    for part in _OWN_LINE if own else ():
        if part not in own:
            yield f"{part}: missing; expected beside {own[0]}"


def _options_problems(kind: type[Driver]) -> Iterator[str]:
    options: Any = kind.options_type
    if not (isinstance(options, type) and issubclass(options, Struct)):
        yield f"options_type: {options!r}; expected a subclass of msgspec.Struct"
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
        if files is not None:
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
        return f"line: {line!r}; expected drivers.LineSettings(...)"
    decoder = driver.decoder()
    for part in ("feed", "reset"):
        if not callable(getattr(decoder, part, None)):
            return f"decoder(): {type(decoder).__name__} without {part}; expected a method"
    return None
