"""`shoe-daemon calibrate evaluate`: measure the recogniser on labelled photos."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from shoe_daemon.cli.number_option import Number
from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from calibration.evaluate_recogniser import Report, Tally
    from calibration.photo_label_file import Label
    from drivers.camera.recognition.corner_index_reader import CardReading

__all__ = ["evaluate"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_COLUMNS = 24


@click.command(name="evaluate", short_help="Counts how well labelled photos are read.")
@click.option("--labels", type=_FILE, required=True, help="The labels, a CSV file.")
@click.option(
    "--photos",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="The folder that the labels' file names start from.",
)
@click.option("--weights", type=_FILE, help="Other weights than those of the package.")
@click.option("--threshold", type=Number(0, 1), help="Another least confidence.")
@click.option(
    "--errors", is_flag=True, help="Also names every card that was not read right, or is missing."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
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
    try:
        from calibration.evaluate_recogniser import evaluate as measured
        from drivers.camera.recognition.corner_index_reader import Recogniser
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is missing: install shoe-daemon[camera]") from error

    recogniser = Recogniser(weights, threshold=threshold)
    on_reading = _print_error if errors else lambda _label, _reading: None
    report = measured(labels, photos, recogniser, on_reading)
    click.echo(_json(report) if as_json else "\n".join(_lines(report)))
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


def _json(report: Report) -> str:
    return msgspec.json.encode(report, order="sorted").decode()


def _lines(report: Report) -> list[str]:
    head = f"{'':{_COLUMNS}}  cards   right  accepted  wrong  missing  ms"
    lines = [head, _line("all", report)]
    for tallies in (report.by_kind, report.by_source, report.by_tag):
        lines.extend(_line(name, tally) for name, tally in sorted(tallies.items()))
    return lines


def _line(name: str, tally: Tally) -> str:
    right, accepted = (
        f"{count / tally.cards:.1%}" if tally.cards else "-"
        for count in (tally.right, tally.accepted)
    )
    short = name if len(name) <= _COLUMNS else f"…{name[-_COLUMNS + 1 :]}"
    return (
        f"{short:{_COLUMNS}}  {tally.cards:5}  {right:>6}  {accepted:>8}  {tally.wrong_accepted:5}"
        f"  {tally.missing:7}  {tally.ms_per_card:.1f}"
    )
