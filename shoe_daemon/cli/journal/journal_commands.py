"""
`shoe-daemon journal`: verify, export, count and report what a table's journal holds.

Every command only reads, and may be used while the daemon writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
import msgspec

from shoe_daemon.cli.terminal_io import table_lines

if TYPE_CHECKING:
    from shoe_daemon.journal.statistics import Summary

_FILE = click.argument("file", type=click.Path(path_type=Path, readable=False))
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")


@click.group()
def command() -> None:
    """Verify, export, count and report what a table's journal holds."""


@command.command()
@_FILE
@click.option(
    "--refold",
    is_flag=True,
    help="Decode the raw bytes and fold the observations again, and compare the results.",
)
@click.option("--head", metavar="HEX", help="A head hash noted elsewhere; it must be found.")
@_JSON
@click.pass_context
def verify(
    ctx: click.Context, file: Path, head: str | None, *, refold: bool, as_json: bool
) -> None:
    """
    Walk the hash chain and say the first place where it breaks.

    Ends with 1 where it is broken, and with 2 where FILE is no journal.
    """
    from shoe_daemon.cli.journal.verify_command import check

    ctx.exit(check(file, head, refold=refold, as_json=as_json))


@command.command()
@_FILE
@click.option("--observations", "what", flag_value="observations", help="What `replay` takes.")
@click.option(
    "--events", "what", flag_value="events", default=True, help="What was said (default)."
)
@click.option("--shoe", type=click.IntRange(min=1), metavar="N", help="Only this shoe.")
@click.option(
    "--out", type=click.File("wb", atomic=True), default="-", help="Where to, not stdout."
)
def export(file: Path, what: str, shoe: int | None, out: IO[bytes]) -> None:
    """
    Print events or observations as they are stored, one a line.

    With --shoe, the observations begin with the session that the shoe was dealt under.
    """
    from shoe_daemon.journal.export import event_lines, observation_lines
    from shoe_daemon.journal.journal_reader import open_read_only

    lines = observation_lines if what == "observations" else event_lines
    with open_read_only(file) as reader:
        out.writelines(line + b"\n" for line in lines(reader, shoe))
        out.flush()


@command.command()
@_FILE
@_JSON
def stats(file: Path, *, as_json: bool) -> None:
    """Count shoes, rounds, irregularities and what else is in FILE."""
    from shoe_daemon.journal.journal_reader import open_read_only
    from shoe_daemon.journal.statistics import summarise

    with open_read_only(file) as reader:
        summary = summarise(reader)
    if as_json:
        click.echo(msgspec.json.encode(summary, order="sorted"))
    else:
        click.echo("\n".join(_summary_lines(file, summary)))


@command.command()
@_FILE
@click.argument("shoe", default="last", metavar="[ID|last]")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT",
    help="One page to print, instead of text.",
)
@click.option("--no-verify", is_flag=True, help="Do not verify the chain: quicker, less proof.")
@_JSON
@click.pass_context
def shoe(  # noqa: PLR0913 - as many as there are options
    ctx: click.Context,
    file: Path,
    shoe: str,
    html: Path | None,
    *,
    no_verify: bool,
    as_json: bool,
) -> None:
    """
    Report on one shoe: its rounds, cards and irregularities.

    For staff only: a report names faces that the players may not have seen. Ends with 1
    where the journal's chain is broken.
    """
    from shoe_daemon.cli.journal.reports import report

    ctx.exit(report(file, shoe, as_json=as_json, html=html, verify=not no_verify))


@command.command()
@_FILE
@_JSON
@click.pass_context
def integrity(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    """
    Look over past shoes for repeats and for factory order.

    Ends with 1 where something was found that chance hardly gives. A shoe that
    is still under way is never looked at.
    """
    from shoe_daemon.cli.journal.reports import look

    ctx.exit(look(file, as_json=as_json))


def _summary_lines(file: Path, summary: Summary) -> Iterator[str]:
    yield f"{file}: {summary.site}/{summary.table}"
    yield ""
    yield from table_lines(_overview(summary))
    yield from _block("irregularities", _numbers(summary.irregularities))
    yield from _block("only counted", _counters(summary))
    yield from _block("consumers", _consumers(summary))


def _overview(summary: Summary) -> list[tuple[str, str]]:
    times = "nothing yet"
    if summary.first_at and summary.last_at:
        times = f"{_time(summary.first_at)} to {_time(summary.last_at)} UTC"
    return [
        ("made", f"{_time(summary.created)} UTC, in form {summary.version}"),
        ("holds", times),
        ("shoes", f"{summary.shoes:,}"),
        ("rounds", f"{summary.rounds:,} finished, {summary.aborted:,} aborted"),
        ("events", f"{summary.seq:,}"),
        ("observations", f"{summary.observations:,}, with {summary.captures:,} captures of bytes"),
        ("size", _size(summary.size)),
        ("head", summary.hash),
    ]


def _numbers(numbers: dict[str, int]) -> list[tuple[str, str]]:
    width = max((len(f"{number:,}") for number in numbers.values()), default=0)
    return [(name, f"{number:>{width},}") for name, number in numbers.items()]


def _counters(summary: Summary) -> list[tuple[str, str]]:
    return [
        (
            source or "the reader",
            f"{counter.repeats:,} repeats, {counter.noise:,} of noise, {counter.bytes:,} bytes",
        )
        for source, counter in summary.counters.items()
    ]


def _consumers(summary: Summary) -> list[tuple[str, str]]:
    return [
        (consumer, f"up to event {seq:,}, {summary.seq - seq:,} to come")
        for consumer, seq in summary.cursors.items()
    ]


def _block(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"  {title}"
        yield from table_lines(rows, indent="    ")


def _time(at: str) -> str:
    return at[:19].replace("T", " ")


def _size(size: int) -> str:
    for unit, amount in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= amount:
            return f"{size / amount:.1f} {unit}"
    return f"{size} bytes"
