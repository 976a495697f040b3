"""
`shoe-daemon calibrate camera` and `print-markers`: calibrate a camera, and print the markers.
"""

from __future__ import annotations

import contextlib
import sys
import webbrowser
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoe_daemon import __version__
from shoe_daemon.cli.options import EXISTING_FILE, FILE, STATION, Number, camera_extra
from shoe_daemon.cli.terminal import echo_wrapped, typed_lines
from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from calibration.camera.check import CheckResult
    from calibration.camera.frame_source import LiveFrames, RecordedFrames
    from calibration.camera.output import CalibrationResult
    from calibration.camera.scripted_dialogue import Script
    from calibration.camera.wizard import CalibrationRequest, Dialogue

_PICTURES: Final = 8

_DECK: Final = {
    "surely": "",
    "unsure": "; so few cards cannot tell decks apart",
    "not": "; the deck was not compared",
}
"""Addition to the message about an unchanged table."""


@click.command(name="print-markers", short_help="Writes the markers to be printed.")
@click.option(
    "--out", type=FILE, default=Path("markers.html"), help="A name ending in .html or .svg."
)
@click.option(
    "--size", type=Number(15, 250), default=120.0, help="Of the black edge of each, in mm."
)
@click.option("--count", type=click.IntRange(1, 20), default=5, help="So many markers.")
@click.option(
    "--paper", type=click.Choice(["a4", "letter"]), default="a4", help="What they are printed on."
)
def print_markers(out: Path, size: float, count: int, paper: str) -> None:
    """
    Writes the markers that `calibrate camera` needs, to be printed.

    They are sheets to be printed at true size, 100 %, with a scale to check that.
    """
    with camera_extra():
        from calibration.camera.marker_sheets import write_sheets
    for file in write_sheets(out, count, size, paper):
        click.echo(f"{file}: print at 100 %, then measure the scale: 100 mm")


@click.command(name="camera")
@click.option("--source", help="/dev/…, rtsp://…, http://…, file:PATH, folder:PATH, raw:PATH.")
@STATION
@click.option("--out", type=FILE, help="The profile that is written.")
@click.option("--mode", help="The mode of a camera on this machine, such as 1280x720@30:MJPG.")
@click.option(
    "--layout", "preset", help="six, six-mirrored, seven or seven-mirrored.  [default: six]"
)
@click.option(
    "--size",
    type=Number(15, 250),
    default=120.0,
    show_default=False,
    help="The black edge of the printed markers, in mm.  [default: 120]",
)
@click.option("--risk", type=click.IntRange(2), help="At most one wrong card in so many.")
@click.option("--script", type=EXISTING_FILE, help="Answers instead of a person, a TOML file.")
@click.option("--report", type=FILE, help="The report; beside the profile where not given.")
@click.option(
    "--browser/--no-browser", default=True, show_default=False, help="Opens the live page."
)
@click.option("--check", is_flag=True, help="Compares with --profile: moved, blurred, darker …")
@click.option("--profile", type=FILE, help="The profile to compare with.")
@click.option("--at", type=Number(0), help="With --check of a recording: from this second on.")
@click.option("--json", "as_json", is_flag=True, help="The check as one JSON object.")
def camera(  # noqa: PLR0913 - one for each option
    *,
    check: bool,
    at: float | None,
    profile: Path | None,
    as_json: bool,
    out: Path | None,
    source: str | None,
    report: Path | None,
    **options: Any,  # noqa: ANN401 - options of the run, by name
) -> None:
    """
    Calibrates a camera, or checks that it still is as it was.

    A guided run at the terminal, with a live page in the browser, writes a
    profile and a report; it ends with status 1 where something is to be put
    right. With --check, at the start of each shoe, it says what has changed
    since, and ends with status 1 where that matters.
    """
    with camera_extra():
        import calibration.camera.image_measures  # noqa: F401 - fails early without OpenCV
    if check:
        _check(profile, source, at, as_json=as_json)
    elif source is None or out is None:
        raise UserError("--source and --out are needed; or --check with --profile")
    else:
        _check_names(out, report, options["script"], source)
        _calibrate(source, out, report or out.with_name(f"{out.stem}-report.html"), options)


def _check_names(out: Path, report: Path | None, script: Path | None, source: str) -> None:
    """Reject output files that would overwrite an input."""
    recording = Path(source.rpartition("file:")[2])
    for option, path in (("--out", out), ("--report", report)):
        if path is None:
            continue
        if not path.name:
            raise UserError(f"{option}: empty; expected the name of a file")
        for other, taken in (("--script", script), ("--source", recording)):
            if taken is not None and path.resolve() == taken.resolve():
                raise UserError(f"{option} {path}: that is {other}; expected another name")
    if report is not None and report.resolve() == out.resolve():
        raise UserError(f"--report {report}: that is --out; expected another name")
    if out.is_file() and not _may_be_profile(out):
        raise UserError(
            f"--out {out}: is there, and is no camera's profile; expected another name, such as "
            f"{out.stem}-camera.toml"
        )


def _may_be_profile(path: Path) -> bool:
    """Return False for another file, such as the configuration of the table."""
    from shoe_daemon.settings.toml import read_toml

    try:
        return not path.stat().st_size or "camera" in read_toml(path, "a camera's profile")
    except UserError:
        return False


def _check(path: Path | None, source: str | None, at: float | None, *, as_json: bool) -> None:
    from calibration.camera.check import check_profile
    from calibration.camera.control_locks import camera_finding
    from calibration.camera.frame_source import take_frames
    from drivers.camera.line import load_recogniser
    from drivers.camera.profile.file import load_profile
    from drivers.camera.sources.address import parse_source

    if path is None:
        raise UserError("--check: --profile is missing; expected the profile to compare with")
    profile = load_profile(path)
    source = source or profile.camera.source
    if source is None:
        raise UserError(f"{path}: names no camera; expected --source, the one to check")
    address = parse_source(source)
    taken = take_frames(address, profile.camera, _PICTURES, at)
    found = check_profile(profile, path, taken, lambda: load_recogniser(profile, None))
    other = camera_finding(address, profile.camera.fingerprint)
    _print_check(found, [other] if other else [], path, as_json=as_json)


def _print_check(found: CheckResult, others: list[Any], path: Path, *, as_json: bool) -> None:
    import msgspec

    findings = (*others, *found.findings)
    passed = found.passed and not others
    if as_json:
        result = msgspec.structs.replace(found, findings=findings, passed=passed)
        click.echo(msgspec.json.encode(result).decode())
    else:
        for each in findings:
            echo_wrapped(f"{'' if each.bad else 'note: '}{each.text}")
        same = f"as it was calibrated{_DECK[found.deck]}"
        click.echo(f"{path}: {same if passed else 'NOT as it was calibrated'}")
    if not passed:
        raise click.exceptions.Exit(1)


def _calibrate(source: str, out: Path, report: Path, options: dict[str, Any]) -> None:
    from calibration.camera.frame_source import open_frames
    from calibration.camera.layout import layout_named
    from calibration.camera.output import check_writable
    from calibration.camera.scripted_dialogue import load_script
    from calibration.camera.wizard import calibrate
    from drivers.camera.sources.address import parse_source

    for path in (out, report):
        check_writable(path)
    if options["preset"] is not None:
        layout_named(options["preset"])
    script = load_script(options["script"]) if options["script"] else None
    address = parse_source(source)
    if script is not None and address.is_live:
        raise UserError(
            f"--script with {source}: nobody lays its cards before a live camera; expected a "
            "recording, file:… or folder:…"
        )
    wanted = _wanted(address, script, options)
    pictures = open_frames(address, wanted.camera)
    try:
        with _asker(pictures, script, options) as dialogue:
            wrong = _write(calibrate(pictures, dialogue, wanted), out, report)
            dialogue.finish(wrong, str(out))
    finally:
        pictures.close()
    if wrong:
        raise click.exceptions.Exit(1)


def _wanted(address: Any, script: Script | None, options: dict[str, Any]) -> CalibrationRequest:  # noqa: ANN401 - an Address
    import msgspec

    from calibration.camera.control_locks import (
        camera_fingerprint,
        lock_device,
        parse_mode,
        port_text,
    )
    from calibration.camera.wizard import CalibrationRequest

    mode = parse_mode(options["mode"])
    locks = tuple(lock_device(address, mode))
    for lock in locks:
        echo_wrapped(f"{lock.name}: {lock.said}")
    mode = msgspec.structs.replace(
        mode,
        source=port_text(address),
        controls={name: value for lock in locks for name, value in lock.controls.items()},
        fingerprint=camera_fingerprint(address),
    )
    risk = 1 / options["risk"] if options["risk"] else None
    if script is not None and script.risk is not None:
        risk = script.risk
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return CalibrationRequest(options["station"], str(address), mode, risk, now, locks)


@contextlib.contextmanager
def _asker(
    pictures: LiveFrames | RecordedFrames, script: Script | None, options: dict[str, Any]
) -> Iterator[Dialogue]:
    from calibration.camera.scripted_dialogue import ScriptedDialogue

    if script is not None:
        yield ScriptedDialogue(script, options["preset"], echo_wrapped)
        return
    if not sys.stdin.isatty():
        raise UserError("nobody can answer: no terminal; expected one, or --script")
    from calibration.camera.person_dialogue import PromptDialogue
    from calibration.camera.shown_cards import min_index_pixels
    from calibration.camera.wizard_page import WizardState, serve_page
    from calibration.terminal import Terminal

    state = WizardState(pictures.newest, min_index_pixels())
    page = serve_page(state)
    click.echo(f"live page: {page.url}")
    if options["browser"]:
        webbrowser.open(page.url)
    throat = options["station"] == "throat"
    try:
        terminal = Terminal(echo_wrapped, typed_lines(), state.answers)
        yield PromptDialogue(state, terminal, options["size"], options["preset"], throat=throat)
    finally:
        page.close()


def _write(result: CalibrationResult, out: Path, report: Path) -> list[str]:
    from calibration.camera.output import (
        list_faults,
        reader_configuration,
        write_result,
    )
    from calibration.camera.report import write_report

    made = write_result(result, out, __version__)
    wrong = list_faults(result)
    for each in wrong:
        echo_wrapped(f"to put right: {each}")
    echo_wrapped(f"{out}: the profile")
    write_report(result, report)
    echo_wrapped(f"{report}: the report")
    if not wrong and (lines := reader_configuration(made, out)):
        click.echo(f"next, in the table's configuration:\n\n{lines}")
    return wrong
