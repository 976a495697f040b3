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
_FAULT_RATE: Final = 0.25
_FAULT_RATE_ALL: Final = 0.4


@click.command("demo", short_help="Deal a simulated table and show it.")
@click.option("--rounds", type=COUNT, help="Ends after so many.")
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
    "--mode",
    type=click.Choice(["open", "hidden"]),
    default="open",
    help="The shoe tells a face at each draw; or all with the result.",
)
@click.option(
    "--house",
    metavar="H",
    default="seven-feathers",
    help="Whose rules hold; see `rules list`, or a file ending in .toml.",
)
@click.option(
    "--policy",
    metavar="P",
    default="us_nj_pa",
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
    "--faults",
    "every_fault",
    is_flag=True,
    help=f"All of that may go wrong, and more often: --fault-rate {_FAULT_RATE_ALL}.",
)
@click.option(
    "--fault-rate",
    type=Number(0, 1),
    help=f"The chance of each round that something does; 0 for never.  [default: {_FAULT_RATE}]",
)
@click.option(
    "--port", type=PORT, default=1883, help="The broker's port; another one where it is busy."
)
@click.option(
    "--board/--no-board",
    default=True,
    help="The board and the pit for browsers, where the extra `display` is installed.",
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
@click.option(
    "--decide",
    is_flag=True,
    help="You are the supervisor: misdeals wait for you on the pit's page.",
)
@click.option("--plain", is_flag=True, help="Lines instead of a picture.")
@click.option(
    "--debug",
    is_flag=True,
    help="Lines with what happens to each card: frames, observations, events, messages.",
)
@click.option("--keep", metavar="DIR", type=FOLDER, help="Leaves journal and log in this folder.")
def command(**wishes: Any) -> None:  # noqa: ANN401 - click's options
    """
    Deal a simulated table and show it.

    A simulated reader speaks its real protocol over its line; the
    daemon reads it, checks every draw, keeps its journal, and publishes to an
    MQTT broker inside this process, on loopback. When something goes wrong, a
    scripted supervisor decides by the policy, with orders over MQTT.
    """
    import_structlog_alone()
    require_modules(
        ("amqtt", "rich"), "the demo needs {}, an extra: pip install 'shoe-daemon[demo]'"
    )
    from drivers.simulators.angel_eye import Mode
    from shoe_daemon.demo.run import run_demo
    from shoe_daemon.demo.shoe import DemoSettings

    named, every = wishes.pop("faults"), wishes.pop("every_fault")
    faults = tuple(Fault) if every else tuple(map(Fault, named))
    if wishes["camera"]:
        faults = _camera_faults(faults)
    if wishes["decide"]:
        require_modules(
            ("argon2", "starlette", "uvicorn"),
            "--decide needs {}, an extra: pip install 'shoe-daemon[display,pins]'",
        )
        wishes["board"] = True
    if wishes["fault_rate"] is None:
        wishes["fault_rate"] = _FAULT_RATE_ALL if every else _FAULT_RATE
    settings = DemoSettings(faults=faults, mode=Mode(wishes.pop("mode")), **wishes)
    click.get_current_context().exit(run_demo(settings))


def _camera_faults(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Leave out the faults of serial lines."""
    require_modules(
        ("cv2", "numpy"), "the demo's camera needs {}, an extra: pip install 'shoe-daemon[camera]'"
    )
    from shoe_daemon.demo.dealer import CAMERA_FAULTS

    return tuple(fault for fault in CAMERA_FAULTS if fault in faults)
