"""
``shoe-daemon demo``: a simulated table, dealt before one's eyes.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import click

from shoe_daemon.errors import UserError

__all__ = ["command"]

_EXTRAS: Final = ("amqtt", "rich")
_FAULTS: Final = (
    "overdraw",
    "missed-draw",
    "misread",
    "unreadable",
    "reset",
    "lost-frame",
    "noise",
    "unplug",
)


@click.command("demo", short_help="Deal a simulated table and show it.")
@click.option("--rounds", type=click.IntRange(min=1), help="Ends after so many.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="Multiple of a real table's pace; 0 is as fast as it goes.",
)
@click.option(
    "--mode",
    type=click.Choice(["open", "hidden"]),
    default="open",
    show_default=True,
    help="The shoe tells a face at each draw; or all with the result.",
)
@click.option(
    "--house",
    metavar="H",
    default="seven-feathers",
    show_default=True,
    help="Whose rules hold; see `rules list`, or a file ending in .toml.",
)
@click.option(
    "--seed", type=int, help="The same seed deals the same; else by chance, a misdeal early."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    type=click.Choice(_FAULTS),
    default=("overdraw", "missed-draw", "noise"),
    show_default=True,
    help="What may go wrong. Repeatable.",
)
@click.option(
    "--fault-rate",
    type=click.FloatRange(0, 1),
    default=0.2,
    show_default=True,
    help="The chance of each round that something does; 0 for never.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=1883,
    show_default=True,
    help="The broker's port; another one where it is busy.",
)
@click.option("--plain", is_flag=True, help="Lines instead of a picture.")
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Leaves journal and log in this folder.",
)
def command(**wishes: Any) -> None:  # noqa: ANN401 - click's
    """
    Deal a simulated table and show it.

    A simulated Angel Eye II speaks its real protocol over a serial line; the
    daemon reads it, checks every draw, keeps its journal, and publishes to an
    MQTT broker inside this process, on loopback.
    """
    for extra in _EXTRAS:
        try:
            importlib.import_module(extra)
        except ImportError as error:
            raise UserError(
                f"the demo needs {extra}, an extra: pip install 'shoe-daemon[demo]'"
            ) from error
    from drivers.simulators.angel_eye_ii import Mode
    from drivers.simulators.shoe import Fault
    from shoe_daemon.demo.program import perform
    from shoe_daemon.demo.settings import DemoSettings

    faults = tuple(Fault(each) for each in wishes.pop("faults"))
    settings = DemoSettings(faults=faults, mode=Mode(wishes.pop("mode")), **wishes)
    click.get_current_context().exit(perform(settings))
