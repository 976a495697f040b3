"""`shoe-daemon calibrate`: find the settings of a serial line, camera or recogniser."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from shoe_daemon.cli.calibrate_camera import camera, print_markers
from shoe_daemon.cli.calibrate_evaluate import evaluate
from shoe_daemon.cli.calibrate_rehearse import rehearse
from shoe_daemon.cli.number_option import Number
from shoe_daemon.errors import UserError
from shoe_daemon.shutdown_signals import stop_on_signals

if TYPE_CHECKING:
    from calibration.serial_line import Finding
    from calibration.serial_ports import Port
    from drivers import Driver

__all__ = ["command"]


@click.group(name="calibrate")
def command() -> None:
    """Finds out how a reader has to be set up."""


command.add_command(camera)
command.add_command(evaluate)
command.add_command(print_markers)
command.add_command(rehearse)


@command.command(name="serial", short_help="Finds out how a serial line is set.")
@click.option("--port", help="The line: a path, socket://HOST:PORT, rfc2217://HOST:PORT.")
@click.option("--driver", "driver_name", default="angel-eye-ii", show_default=True)
@click.option("--id", "reader_id", default="shoe", show_default=True, help="The reader's id.")
@click.option(
    "--seconds",
    type=Number(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Gives up after so long.",
)
def serial(port: str | None, driver_name: str, reader_id: str, seconds: float) -> None:
    """
    Listens to a serial line and prints the configuration for it.

    Without --port it lists the ports. With it, draw a few cards, or switch the
    shoe off and on: speeds are tried until frames are valid. It ends with
    status 1 where none was.
    """
    from calibration.serial_line import configuration, listen, silence_hints
    from calibration.serial_ports import list_ports
    from drivers import create_driver

    driver = create_driver(driver_name)
    if port is None:
        _print_ports(list_ports())
        return
    click.echo(f"{port}: draw a few cards, or switch the reader off and on; Ctrl-C ends it")
    with stop_on_signals() as stopping:
        finding = listen(port, driver, seconds, click.echo, stopping)
    click.echo(_verdict(finding, driver))
    for hint in silence_hints(port) if not finding.bytes else ():
        click.echo(textwrap.fill(hint, 80, initial_indent="  - ", subsequent_indent="    "))
    if not finding.frames:
        raise UserError(f"{port}: no valid frame of {driver.name}", exit_status=1)
    click.echo(f"\n{configuration(finding, driver, reader_id)}")


def _print_ports(ports: list[Port]) -> None:
    for port in ports:
        click.echo(f"{port.device}  {port.description}")
        for name in port.stable:
            click.echo(f"    {name}")
        if not port.stable:
            click.echo("    no lasting name: after a reboot this may be another port")
    found = ports[0].stable[:1] or (ports[0].device,) if ports else ("PORT",)
    head = "" if ports else "no serial port found; "
    click.echo(f"{head}next: shoe-daemon calibrate serial --port {found[0]}")


def _verdict(finding: Finding, driver: Driver) -> str:
    counts = f"{finding.repeats} repeats, {finding.strange} bytes of noise"
    if not finding.bytes:
        return "not one byte came; check:"
    if not finding.frames:
        return f"no frame of {driver.name}: {finding.strange} bytes, none of them understood"
    speed = f" at {finding.speed} bit/s" if finding.speed else ""
    return f"{driver.name}{speed}: {finding.frames} valid frames, {counts}"
