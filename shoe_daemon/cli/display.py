"""`shoe-daemon display`: serve scoreboards and the pit view to browsers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from shoe_daemon.display.display_config import DisplaySetup

__all__ = ["command"]

_EXTRAS: Final = ("starlette", "uvicorn")


@click.command("display", short_help="Show tables to browsers: boards and the pit.")
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    help="The display's configuration; see `check-config`.",
)
@click.option("--broker", metavar="HOST:PORT", help="The MQTT broker, in place of the file's.")
@click.option("--listen", metavar="ADDRESS:PORT", help="Where browsers come, 127.0.0.1:8080.")
def command(file: Path | None, broker: str | None, listen: str | None) -> None:
    """
    Show any number of tables to browsers, until SIGTERM or Ctrl-C.

    /table/ID is a table's board, /table/ID/history its rounds, /pit all tables.
    It reads from the MQTT broker and never speaks there.
    """
    for extra in _EXTRAS:
        try:
            importlib.import_module(extra)
        except ImportError as error:
            raise UserError(
                f"the display needs {extra}, an extra: pip install 'shoe-daemon[display]'"
            ) from error
    from shoe_daemon.display.display_server import Display
    from shoe_daemon.logging_setup import configure_logging

    configure_logging()
    Display(_set_up(file, broker, listen)).run()


def _set_up(file: Path | None, broker: str | None, listen: str | None) -> DisplaySetup:
    from msgspec.structs import replace

    from shoe_daemon.display.display_config import DisplayConfig, load_display, set_up_display

    config = DisplayConfig() if file is None else load_display(file).config
    if broker is not None:
        host, port = _address("--broker", broker)
        config = replace(config, mqtt=replace(config.mqtt, host=host, port=port))
    if listen is not None:
        config = replace(config, display=replace(config.display, listen=listen))
    return set_up_display(config, Path() if file is None else file.parent)


def _address(option: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"{option}: {text!r}; expected HOST:PORT, such as 127.0.0.1:1883")
    return host.strip("[]"), int(port)
