"""`shoe-daemon replay`: turn a log of observations or a reader's raw bytes into events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from drivers import CAPTURE_SUFFIXES, Capture, create_driver, load_capture, observations_of
from shoe_daemon.cli.options import DECKS, DRIVER_OPTIONS, PATH, Number
from shoe_daemon.errors import UserError, errors_at, os_errors_at
from shoe_daemon.event_text import event_lines
from shoe_daemon.game import (
    DEFAULT_HOUSE,
    find_house,
    find_policy,
    house_to_mapping,
    policy_to_mapping,
)
from shoe_daemon.table import (
    Event,
    Observation,
    Options,
    RoundEnd,
    Session,
    Table,
    TableState,
    decode_log,
    encode_event,
    fold,
)
from shoe_daemon.table.observations import Gap, GapDetail, Link, Tick


@click.command("replay", short_help="Turn a log or a capture into events.")
@click.argument("file", type=PATH)
@click.option("--protocol", metavar="NAME", help="FILE is a capture of this reader.")
@DRIVER_OPTIONS
@click.option("--house", metavar="H", help="One of `rules list`, or a .toml file.")
@click.option(
    "--policy",
    metavar="P",
    default="management",
    show_default=False,
    help="Whose rulings, or a .toml file.",
)
@click.option("--decks", type=DECKS, help="Decks in the shoe.")
@click.option(
    "--round-end",
    type=click.Choice([mode.value for mode in RoundEnd]),
    default="auto",
    help="What ends a round.",
)
@click.option(
    "--quiet-gap",
    type=Number(0),
    default=10.0,
    metavar="SECONDS",
    help="Silence after which the next card belongs to another round.",
)
@click.option(
    "--hold-from",
    type=click.IntRange(1, 5),
    metavar="SEVERITY",
    help="Hold results back from this severity on.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if anything irregular was found.")
@click.option("--json", "as_json", is_flag=True, help="One event a line, as in the journal.")
def command(
    file: Path,
    protocol: str | None,
    *,
    driver_options: dict[str, Any],
    strict: bool,
    as_json: bool,
    **chosen: Any,  # noqa: ANN401 - click's options
) -> None:
    """
    Turn a log of observations (one JSON object a line), or a capture of a reader's
    bytes, into events. --protocol names the reader where the capture does not.

    A log may begin anywhere: what comes before the first clean boundary is
    partial. A session line of the log overrides the options given here.
    """
    capture = load_capture(file) if protocol or file.suffix in CAPTURE_SUFFIXES else None
    timeless = capture is not None and not capture.has_times
    table = Table(TableState(session=_session(chosen, timeless=timeless)))
    source = (
        read_log(file) if capture is None else _decoded(file, capture, protocol, driver_options)
    )
    print_events = _print_json if as_json else _print_text
    irregular = 0
    for _, events in fold(table, source):
        irregular += sum(event.type == "irregularity" for event in events)
        print_events(events)
    if table.mode is RoundEnd.RULES:
        click.echo(
            "note: rounds end by the rules alone here, so an excess card cannot be seen.", err=True
        )
    if strict and irregular:
        raise UserError(f"{file}: found irregularities: {irregular}", exit_status=1)


def _session(chosen: dict[str, Any], *, timeless: bool) -> Session:
    options = {key: chosen[key] for key in ("decks", "round_end", "quiet_gap", "hold_from")}
    house = find_house(chosen["house"]) if chosen["house"] else DEFAULT_HOUSE
    policy = find_policy(chosen["policy"])
    return Session(
        house=house.id,
        rules=house_to_mapping(house),
        policy=policy.id,
        rulings=policy_to_mapping(policy),
        options=msgspec.convert({**options, "timeless": timeless}, Options),
    )


def read_log(file: Path) -> Iterator[Observation]:
    """
    Yield the observations of a log.

    Raises:
        UserError: The file or one of its lines cannot be read.
    """
    with os_errors_at(f"{file}: cannot be read"):
        lines = file.read_bytes().splitlines()
    try:
        yield from decode_log(lines)
    except UserError as error:
        raise UserError(f"{file}, {error}") from error


def _decoded(
    file: Path, capture: Capture, protocol: str | None, options: dict[str, Any]
) -> Iterable[Observation]:
    name = protocol or capture.header.get("driver")
    if name is None:
        raise UserError(f"{file}: no line `# driver:`; expected --protocol NAME")
    if capture.note:
        click.echo(f"note: {file}: {capture.note}", err=True)
    with errors_at(str(file)):
        # The options in the header are those of the driver in the header.
        is_other = name != capture.header.get("driver", name)
        driver = create_driver(name, options or ({} if is_other else capture.options))
    observations = list(observations_of(driver, capture))
    size = len(capture.data)
    if size and all(map(_comes_from_line, observations)):
        raise UserError(f"{file}: {size} bytes, and no valid frame of {name} in them")
    return observations


def _comes_from_line(observation: Observation) -> bool:
    """Return whether an observation comes from the line itself, without a frame."""
    is_reconnect = isinstance(observation, Gap) and observation.detail is GapDetail.RECONNECT
    return is_reconnect or isinstance(observation, Link | Tick)


def _print_json(events: list[Event]) -> None:
    out = sys.stdout.buffer
    for event in events:
        out.write(encode_event(event) + b"\n")


def _print_text(events: list[Event]) -> None:
    for event in events:
        for line in event_lines(event):
            click.echo(line)
