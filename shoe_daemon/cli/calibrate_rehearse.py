"""`shoe-daemon calibrate rehearse`: practise a calibration on a simulated table."""

from __future__ import annotations

from pathlib import Path

import click

from shoe_daemon.cli.number_option import Number
from shoe_daemon.cli.terminal_io import echo_wrapped, typed_lines
from shoe_daemon.errors import UserError
from shoe_daemon.shutdown_signals import stop_on_signals

__all__ = ["rehearse"]


@click.command(name="rehearse", short_help="Simulates a night of calibrating.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Writes a video, .avi, and the answers beside it, .toml.",
)
@click.option("--live", metavar="ADDRESS", help="raw:PATH, or HOST:PORT for a stream over HTTP.")
@click.option(
    "--station",
    type=click.Choice(["overhead", "throat"]),
    default="overhead",
    help="Above the table, or at the shoe's mouth.  [default: overhead]",
)
@click.option("--seed", type=int, default=7, show_default=True, help="Of the table and camera.")
@click.option(
    "--fps", type=Number(1, 120), default=10.0, show_default=True, help="Pictures a second."
)
def rehearse(*, out: Path | None, live: str | None, station: str, seed: int, fps: float) -> None:
    """
    Simulates a night of calibrating, to learn it without a table.

    With --out all that `calibrate camera` asks for happens in a video, and its
    --script is written. With --live lines of the terminal say what is done:
    markers, empty, lay P1 AS, push 5 0, blur 2, light 0.5, flicker 50, deck 1 ...
    """
    if (out is None) == (live is None):
        raise UserError("expected either --out FILE or --live ADDRESS")
    try:
        from calibration.camera.rehearsal import play_live, record_video
        from calibration.camera.simulated_table import COMMAND_FORMS, SimulatedTable
        from drivers.simulators.camera.scene_settings import Settings, Station
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is missing: install shoe-daemon[camera]") from error

    table = SimulatedTable(Settings(seed=seed, fps=fps, station=Station(station)))
    head = f"shoe-daemon calibrate camera --station {station}"
    if out is not None:
        script = record_video(table, out)
        click.echo(f"{out}: the night; {script}: the answers")
        profile = out.with_name(f"{out.stem}-profile.toml")
        click.echo(f"next: {head} --source file:{out} --script {script} --out {profile}")
    elif live is not None:

        def opened(port: str) -> None:
            click.echo(f"port: {port}\nnext, in another terminal:")
            click.echo(f"{head} --source {port.removeprefix('camera:')} --out rehearsed.toml")
            echo_wrapped(f"type here what is done at the table: {COMMAND_FORMS}")

        with stop_on_signals() as stopping:
            play_live(table, live, typed_lines(), echo_wrapped, stopping, opened=opened)
