"""`shoe-daemon demo`: deal a simulated table and show it."""

from __future__ import annotations

from typing import Any, Final

import click

from drivers.simulators.shoe import Fault
from shoe_daemon.cli.options import (
    COUNT,
    FOLDER,
    PORT,
    Number,
    import_structlog_alone,
    require_modules,
)

_DEFAULT_FAULTS: Final = ("overdraw", "missed-draw", "unreadable", "noise")
_HALF_A_SHOE: Final = 40


@click.command("demo", short_help="Deal a simulated table and show it.")
@click.option("--rounds", type=COUNT, help="Ends after so many, besides those of --warm-up.")
@click.option(
    "--warm-up",
    type=click.IntRange(min=0),
    default=_HALF_A_SHOE,
    metavar="ROUNDS",
    help="So many rounds are dealt at once and without faults, before the pace.",
)
@click.option(
    "--speed",
    type=Number(min=0),
    default=2.0,
    help="Multiple of a real table's pace; 0 is as fast as it goes.",
)
@click.option(
    "--driver",
    metavar="NAME",
    default="angel-eye-ii",
    help="The reader that is simulated: each that `simulate` has. Others than the default deal "
    "one shoe, and those that know no slots have only the faults `overdraw` and `unplug`.",
)
@click.option(
    "--house",
    metavar="H",
    default="punto-banco",
    help="Whose rules hold; see `rules list`, or a file ending in .toml.",
)
@click.option(
    "--policy",
    metavar="P",
    default="fr_2007",
    help="Whose procedure is proposed; see `rules policy --list`, or a file ending in .toml.",
)
@click.option(
    "--seed", type=int, help="The same seed deals the same; else by chance, a misdeal early."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    type=click.Choice([fault.value for fault in Fault]),
    default=_DEFAULT_FAULTS,
    help="What may go wrong. Repeatable.",
)
@click.option(
    "--fault-rate",
    type=Number(0, 1),
    default=0.25,
    help="The chance of each round that something does; 0 for never.",
)
@click.option(
    "--decide-after",
    type=Number(min=0),
    default=30.0,
    metavar="SECONDS",
    help="How long you have for a decision on the pit's page, before a script decides by the "
    "policy.",
)
@click.option(
    "--port", type=PORT, default=1883, help="The broker's port; another one where it is busy."
)
@click.option(
    "--board-port",
    type=PORT,
    default=8080,
    help="The port for browsers; another one where it is busy.",
)
@click.option(
    "--camera",
    is_flag=True,
    help="A simulated camera reads the cards instead of the shoe; the table is dealt at its own "
    "pace.",
)
@click.option("--plain", is_flag=True, help="Lines instead of a picture.")
@click.option(
    "--debug",
    is_flag=True,
    help="Lines with what happens to each card: frames, observations, events, messages.",
)
@click.option(
    "--keep",
    metavar="DIR",
    type=FOLDER,
    help="Leaves configurations, journal, the cards dealt and logs in this folder.",
)
def command(**wishes: Any) -> None:  # noqa: ANN401 - click's options
    """
    Deal a simulated table and show it.

    A simulated reader speaks its real protocol over its line; `run`, `display` and a broker
    (mosquitto where it is installed) are processes on loopback, as at a table. The dealer waits
    for a decision when something goes wrong: yours on the pit's page, or a script's.
    """
    click.echo("A table, its broker and its pages start")
    import_structlog_alone()
    # `display` names what it needs itself; amqtt is for computers without mosquitto.
    modules = ("rich", "argon2")
    require_modules(modules, "the demo needs {}, an extra: pip install 'shoe-daemon[demo]'")
    faults = tuple(map(Fault, wishes.pop("faults")))
    if wishes["camera"]:
        faults = _camera_faults(faults)
    from shoe_daemon.demo.run import run_demo
    from shoe_daemon.demo.shoe import DemoSettings

    run_demo(DemoSettings(faults=faults, **wishes))


def _camera_faults(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Leave out the faults of serial lines."""
    require_modules(
        ("cv2", "numpy"), "the demo's camera needs {}, an extra: pip install 'shoe-daemon[camera]'"
    )
    from shoe_daemon.demo.dealer import CAMERA_FAULTS

    return tuple(fault for fault in CAMERA_FAULTS if fault in faults)
