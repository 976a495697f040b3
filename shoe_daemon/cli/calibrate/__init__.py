"""`shoe-daemon calibrate`: find the settings of a serial line, deck, camera or recogniser."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from shoe_daemon.cli.calibrate.camera import camera, print_markers
from shoe_daemon.cli.calibrate.deck import deck
from shoe_daemon.cli.options import (
    DRIVER_OPTIONS,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    JSON_OBJECT,
    STATION,
    Number,
    camera_extra,
)
from shoe_daemon.cli.terminal import echo_wrapped, typed_lines
from shoe_daemon.errors import UserError
from shoe_daemon.process import stop_on_signals

if TYPE_CHECKING:
    from calibration.evaluation import Report, Tally
    from calibration.line_identification import Candidate, Identification
    from calibration.photo_labels import Label
    from calibration.serial import Finding, Port
    from drivers import Driver
    from drivers.camera.recognition.recogniser import CardReading

_NAME_COLUMNS: Final = 24
_DEL: Final = 0x7F
"""From here on, ASCII has no character to show."""

_TEXT: Final = b"\r\n\t\x02\x03" + bytes(range(0x20, _DEL))
_MIN_TEXT: Final = 0.9
"""Bytes of lines of text, and their share in the first bytes."""


@click.group(name="calibrate")
def command() -> None:
    """Measures the settings of a reader."""


command.add_command(camera)
command.add_command(deck)
command.add_command(print_markers)


@command.command(name="serial", short_help="Measures the settings of a serial line.")
@click.option("--port", help="The line: a path, socket://HOST:PORT, rfc2217://HOST:PORT.")
@click.option("--driver", "driver_name", help="Only this driver.  [default: all are tried]")
@DRIVER_OPTIONS
@click.option("--id", "reader_id", default="shoe", help="The reader's id.")
@click.option(
    "--seconds", type=Number(min=0, min_open=True), default=60.0, help="Gives up after so long."
)
def serial(
    port: str | None,
    driver_name: str | None,
    driver_options: dict[str, Any],
    reader_id: str,
    seconds: float,
) -> None:
    """
    Finds the reader on a serial line and prints the configuration for it.

    Without --port it lists the ports. With it, draw a few cards, or switch the
    shoe off and on: drivers, speeds and options are tried until frames are
    valid. With --driver only speeds are tried, and every frame is shown. It ends
    with status 1 where nothing fits.
    """
    from calibration.serial import (
        Finding,
        configuration,
        list_ports,
        listen,
    )
    from drivers import create_driver

    if driver_name is None and driver_options:
        raise UserError("--options: expected with --driver NAME")
    driver = None if driver_name is None else create_driver(driver_name, driver_options)
    if port is None:
        _print_ports(list_ports())
        return
    if driver is not None and driver.may_exchange_cards:
        _check_layout(port, driver, seconds)
        driver_options |= {"layout": "us"}
        click.echo(f"\n{configuration(Finding(port), driver, reader_id, driver_options)}")
        return
    click.echo(f"{port}: draw a few cards, or switch the reader off and on; Ctrl-C ends it")
    if driver is None:
        _identify(port, seconds, reader_id)
        return
    with stop_on_signals() as stopping:
        finding = listen(port, driver, seconds, click.echo, stopping)
    click.echo(_verdict(finding, driver))
    if not finding.bytes:
        _print_hints(port)
    if not finding.frames:
        raise UserError(f"{port}: no valid frame of {driver.name}", exit_status=1)
    click.echo(f"\n{configuration(finding, driver, reader_id, driver_options)}")


def _check_layout(port: str, driver: Driver, seconds: float) -> None:
    """Ask for an ace and a queen, which another layout of the keyboard exchanges."""
    from calibration.deck_learning import LayoutCheck
    from calibration.deck_scanning import Scan, scan_deck
    from calibration.terminal import Terminal

    with stop_on_signals() as stopping:
        scan = Scan(
            port=port,
            driver=driver,
            line=driver.line,
            stopping=stopping,
            terminal=Terminal(echo_wrapped, ()),
            seconds=seconds,
        )
        is_checked = scan_deck(scan, LayoutCheck(driver.typed_codes))
    if not is_checked:
        raise UserError(
            f"{port}: no ace and no queen came: the layout is not checked", exit_status=1
        )


def _identify(port: str, seconds: float, reader_id: str) -> None:
    """Identify the reader, and print its configuration, or what came instead."""
    from calibration.line_identification import identify
    from calibration.serial import Finding, configuration

    with stop_on_signals() as stopping:
        found = identify(port, seconds, click.echo, stopping)
    if not found.received:
        click.echo("not one byte came; check:")
        _print_hints(port)
        raise UserError(f"{port}: nothing came", exit_status=1)
    if not found.fitting:
        for text in _unknown_lines(found):
            echo_wrapped(text)
        raise UserError(f"{port}: unknown: {found.received} bytes fit no driver", exit_status=1)
    first = found.fitting[0]
    at = "" if found.line is None else f" at {found.line}"
    counts = f"{found.frames} valid frames, {found.repeats} repeats"
    click.echo(f"{first.driver.name}{at}: {counts}, {found.strange} bytes of noise")
    for text in _tie_lines(found):
        echo_wrapped(text)
    text = configuration(
        Finding(found.port), first.driver, reader_id, first.options, found.line_changes
    )
    click.echo(f"\n{text}")


def _print_hints(port: str) -> None:
    from calibration.serial import silence_hints

    for hint in silence_hints(port):
        click.echo(textwrap.fill(hint, 80, initial_indent="  - ", subsequent_indent="    "))


def _unknown_lines(found: Identification) -> list[str]:
    first, at = found.first, f" at {found.line}" if found.line else ""
    shown = "".join(
        chr(each) if chr(each).isprintable() and each < _DEL else "." for each in first
    )
    lines = [f"unknown; the first bytes{at}: {first.hex(' ').upper()}", f"    as text: {shown}"]
    if sum(each in _TEXT for each in first) > _MIN_TEXT * len(first):
        lines.append(
            "This is text. If a scanner sends it, with codes of your own: "
            "shoe-daemon calibrate deck --driver line-scanner"
        )
    return lines


def _tie_lines(found: Identification) -> list[str]:
    """Say what the bytes do not show."""
    first, *alike = found.alike
    lines = []
    if alike:
        lines.append(f"the same on the line: {', '.join(_unlike(first, each) for each in alike)}")
    if found.unlike:
        names = (f"{_unlike(first, each)} ({each.driver.line.framing})" for each in found.unlike)
        lines.append(
            f"the same bytes, but with parity: {', '.join(names)}. It cannot be seen beside eight "
            "data bits: take what the reader is set to"
        )
    return lines


def _unlike(first: Candidate, other: Candidate) -> str:
    """Return in what another candidate differs: its options, or its driver."""
    if first.driver.name != other.driver.name:
        return str(other)
    options = [
        f'{key} = "{value}"'
        for key, value in other.options.items()
        if first.options.get(key) != value
    ]
    return " and ".join(options)


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


@command.command(name="evaluate", short_help="Counts how well labelled photos are read.")
@click.option("--labels", type=EXISTING_FILE, required=True, help="The labels, a CSV file.")
@click.option(
    "--photos",
    type=EXISTING_FOLDER,
    required=True,
    help="The folder that the labels' file names start from.",
)
@click.option("--weights", type=EXISTING_FILE, help="Other weights than those of the package.")
@click.option("--threshold", type=Number(0, 1), help="Another least confidence.")
@click.option(
    "--errors", is_flag=True, help="Also names every card that was not read right, or is missing."
)
@JSON_OBJECT
def evaluate(  # noqa: PLR0913, PLR0917 - click passes every option
    labels: Path,
    photos: Path,
    weights: Path | None,
    threshold: float | None,
    errors: bool,  # noqa: FBT001 - click passes options by name
    as_json: bool,  # noqa: FBT001 - as above
) -> None:
    """
    Reads every card that a labels file names in its photo, and counts.

    Kinds of labels are `quad` (four corners), `bbox` (a box round the card) and
    `corner` (the rank's middle and the small pip's). It ends with status 1
    where a wrong card was accepted.
    """
    with camera_extra():
        from calibration.evaluation import evaluate as measured
        from drivers.camera.recognition.recogniser import Recogniser

    recogniser = Recogniser(weights, threshold=threshold)
    on_reading = _print_error if errors else lambda _label, _reading: None
    report = measured(labels, photos, recogniser, on_reading)
    if as_json:
        click.echo(msgspec.json.encode(report, order="sorted"))
    else:
        click.echo("\n".join(_report_lines(report)))
    if report.wrong_accepted:
        raise click.exceptions.Exit(1)


def _print_error(label: Label, reading: CardReading | None) -> None:
    if reading is None:
        message = "missing: no such photo, or none that can be read"
    elif reading.card == label.card:
        return
    else:
        verdict = "wrong" if reading.card else "not accepted"
        read = f"{reading.best} at {reading.confidence:.3f}, sharpness {reading.sharpness:.2f}"
        message = f"{verdict}: {read}"
    place = " ".join(f"{x:g},{y:g}" for x, y in label.points)
    click.echo(f"{label.file} {place}: {label.card} {message}", err=True)


def _report_lines(report: Report) -> list[str]:
    head = f"{'':{_NAME_COLUMNS}}  cards   right  accepted  wrong  missing  ms"
    lines = [head, _tally_line("all", report)]
    for tallies in (report.by_kind, report.by_source, report.by_tag):
        lines.extend(_tally_line(name, tally) for name, tally in sorted(tallies.items()))
    return lines


def _tally_line(name: str, tally: Tally) -> str:
    right, accepted = (
        f"{count / tally.cards:.1%}" if tally.cards else "-"
        for count in (tally.right, tally.accepted)
    )
    short = name if len(name) <= _NAME_COLUMNS else f"…{name[-_NAME_COLUMNS + 1 :]}"
    return (
        f"{short:{_NAME_COLUMNS}}  {tally.cards:5}  {right:>6}  {accepted:>8}"
        f"  {tally.wrong_accepted:5}  {tally.missing:7}  {tally.ms_per_card:.1f}"
    )


@command.command(name="rehearse", short_help="Simulates a night of calibrating.")
@click.option("--out", type=FILE, help="Writes a video, .avi, and the answers beside it, .toml.")
@click.option("--live", metavar="ADDRESS", help="raw:PATH, or HOST:PORT for a stream over HTTP.")
@STATION
@click.option("--seed", type=int, default=7, help="Of the table and camera.")
@click.option("--fps", type=Number(1, 120), default=10.0, help="Pictures a second.")
def rehearse(*, out: Path | None, live: str | None, station: str, seed: int, fps: float) -> None:
    """
    Simulates a night of calibrating, to learn it without a table.

    With --out all that `calibrate camera` asks for happens in a video, and its
    --script is written. With --live lines of the terminal say what is done:
    markers, empty, lay P1 AS, push 5 0, blur 2, light 0.5, flicker 50, deck 1 ...
    """
    if (out is None) == (live is None):
        raise UserError("expected either --out FILE or --live ADDRESS")
    with camera_extra():
        from calibration.camera.rehearsal import play_live, record_video
        from calibration.camera.simulated_table import COMMAND_FORMS, SimulatedTable
        from calibration.terminal import Terminal
        from drivers.simulators.camera.settings import Settings, Station

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
            play_live(table, live, Terminal(echo_wrapped, typed_lines()), stopping, opened=opened)
