"""
Checks a loaded driver against the interface of `drivers.driver_interface`.

A missing or invalid part is reported on one line, before a line is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import fields

from drivers.driver_interface import Driver, LineSettings, NamesFiles
from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.table.observations import Signal

__all__ = ["check_class", "make_driver"]

_SIGNALS: Final = f"a tuple of signals: {', '.join(sorted(Signal))}"
_OPENS_LINE_PARTS: Final = ("look", "check_url", "open_line")


def check_class(kind: object, place: str) -> type[Driver]:
    """
    Check that a loaded entry point is a driver class, and return it.

    Args:
        kind: The object of the entry point.
        place: The driver's name, for the message.

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
    if not isinstance(line, LineSettings):
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
    decoder = driver.decoder()
    for part in ("feed", "reset"):
        if not callable(getattr(decoder, part, None)):
            return f"decoder(): {type(decoder).__name__} without {part}; expected a method"
    return None


def _repr_of(kind: type, part: str) -> str:
    return repr(getattr(kind, part)) if hasattr(kind, part) else "missing"
