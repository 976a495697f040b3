"""Options that several commands have, and the extras that commands need."""

from __future__ import annotations

import importlib
import math
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from shoe_daemon.errors import UserError

PATH: Final = click.Path(path_type=Path)
FILE: Final = click.Path(dir_okay=False, path_type=Path)
FOLDER: Final = click.Path(file_okay=False, path_type=Path)
EXISTING_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)
COUNT: Final = click.IntRange(min=1)
DECKS: Final = click.IntRange(1, 12)
_MAX_PORT: Final = 65_535
PORT: Final = click.IntRange(1, _MAX_PORT)

JSON_OBJECT: Final = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object, for programs."
)

BROKER: Final = click.option(
    "--broker", metavar="HOST:PORT", help="The MQTT broker, in place of the file's."
)

PROTOCOL: Final = click.option(
    "--protocol",
    type=click.Choice(["5", "3.1.1"]),
    help="The version of MQTT, in place of the file's.",
)

LETTERS: Final = click.option("--letters/--chinese", default=True, help="P B T, or 閒 莊 和.")
"""The signs on the roads of a terminal."""

STATION: Final = click.option(
    "--station",
    type=click.Choice(["overhead", "throat"]),
    default="overhead",
    help="Above the table, or at the shoe's throat.",
)
"""The place of a camera."""


def _toml_table(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, Any]:
    """Parse ``preset = "icl"``, or ``{preset = "icl", codes = "a01"}`` for several."""
    del ctx, param
    text = (value or "").strip()
    try:
        table: dict[str, Any] = tomllib.loads(f"options = {text}" if text[:1] == "{" else text)
    except ValueError as error:
        raise UserError(
            f"--options {text}: {error}; expected TOML, such as '{{preset = \"icl\"}}'"
        ) from error
    return table["options"] if text[:1] == "{" else table


DRIVER_OPTIONS: Final = click.option(
    "--options",
    "driver_options",
    metavar="TOML",
    callback=_toml_table,
    help="The reader's options, as in [reader.options] of a configuration.",
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def config_option(text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Return the option ``--config`` with its help."""
    return click.option("--config", "file", type=PATH, required=required, help=text)


class Number(click.FloatRange):
    """A number within a range. Rejects ``nan``, which click accepts in any range."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


def broker_address(text: str) -> tuple[str, int]:
    """Parse the value of ``--broker``; brackets of an IPv6 address are removed."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= _MAX_PORT:
        raise UserError(f"--broker: {text!r}; expected HOST:PORT, such as 127.0.0.1:1883")
    return host.strip("[]"), int(port)


def require_modules(names: tuple[str, ...], message: str) -> None:
    """
    Import the modules of an extra.

    Raises:
        UserError: A module is missing: `message`, with its name in place of ``{}``.
    """
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UserError(message.format(name)) from error


def import_structlog_alone() -> None:
    """Import structlog without rich, which it would load for tracebacks (6 MB, 40 ms)."""
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]  # None makes the import fail
    try:
        import structlog  # noqa: F401 - loads the module
    finally:
        del sys.modules["rich"]


@contextmanager
def camera_extra() -> Iterator[None]:
    """Report a module that is missing within the block as the extra that has it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(
            f"{error.name} is missing: install shoe-daemon-camera, or shoe-daemon[camera] with pip"
        ) from error
