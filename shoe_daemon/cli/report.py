"""`shoe-daemon report`: reports on more than one shoe, from the journals of one or more tables."""

from __future__ import annotations

from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import click
import msgspec

from shoe_daemon.cli.options import EXISTING_FILE, FILE, JSON_OBJECT, PATH
from shoe_daemon.cli.terminal import progress_display
from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIME: Final = "TIME"


@click.group()
def command() -> None:
    """Report on more than one shoe, from the journals of one or more tables."""


@command.command()
@click.argument("journals", nargs=-1, type=PATH, metavar="[JOURNAL]...")
@click.option("--from", "start", required=True, metavar=_TIME, help="Such as 2026-11-22T18:00.")
@click.option("--to", "end", metavar=_TIME, help="The first moment after it.  [default: now]")
@click.option(
    "--time-zone",
    "zone_name",
    metavar="ZONE",
    help="Such as Europe/Paris, for both times and for the report.  [default: this computer's]",
)
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=EXISTING_FILE,
    metavar="FILE",
    help="The configuration of a table, in place of its journal; may be repeated.",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="TABLE",
    help="Only this table, as TABLE or SITE/TABLE; may be repeated.",
)
@click.option("--html", type=FILE, metavar="OUT", help="A page to print, instead of text.")
@click.option("--csv", "as_csv", is_flag=True, help="A row for each table and dealer.")
@click.option("--no-verify", is_flag=True, help="Do not verify the chains: quicker, less proof.")
@JSON_OBJECT
@click.pass_context
def shift(  # noqa: PLR0913 - as many as there are options
    ctx: click.Context,
    *,
    journals: tuple[Path, ...],
    start: str,
    end: str | None,
    zone_name: str | None,
    configs: tuple[Path, ...],
    tables: tuple[str, ...],
    html: Path | None,
    as_csv: bool,
    no_verify: bool,
    as_json: bool,
) -> None:
    """
    Report on a shift: rounds, pace, outcomes against the odds, irregularities, readers.

    Without JOURNAL and --config, all tables of this computer are in it. A time without
    an offset is in the time zone.

    For staff only. Ends with 1 where the chain of a journal is broken, or a journal
    cannot be read; the report then has the other tables.
    """
    from shoe_daemon.report.journal import read_shift
    from shoe_daemon.report.period import parse_period

    if as_csv and as_json:
        raise UserError("--csv and --json: give one of them")
    period = parse_period(start, end, _zone(zone_name), ("--from", "--to"))
    paths = _journals(journals, configs)
    with progress_display("verifying the chains") as progress:
        report = read_shift(paths, period, wanted=tables, progress=None if no_verify else progress)
    for fault in report.not_included:
        click.echo(f"shoe-daemon: not included: {fault}", err=True)
    if html is not None:
        from shoe_daemon.cli.journal import write_page
        from shoe_daemon.report.shift_page import shift_page

        write_page(html, shift_page(report, period.zone))
        click.echo(f"{html}: the report on the shift", err=as_json or as_csv)
    if as_json:
        click.echo(msgspec.json.encode(report, order="sorted"))
    elif as_csv or html is None:
        from shoe_daemon.report.shift_text import shift_csv, shift_text

        text = shift_csv(report) if as_csv else shift_text(report, period.zone)
        click.echo(text, nl=not as_csv)
    ctx.exit(1 if report.refuted or report.not_included else 0)


def _journals(journals: Sequence[Path], configs: Sequence[Path]) -> list[Path]:
    """Return the journals that were given, or else those of the tables of this computer."""
    from shoe_daemon.config.table import SERVICE_STATE, load_config

    found = [*journals, *(load_config(each, inspecting=True).journal for each in configs)]
    if not found:
        found = sorted(SERVICE_STATE.glob("*/journal.db"))
    if not found:
        raise UserError(
            f"{SERVICE_STATE}: no journals of tables are here; give JOURNAL or --config"
        )
    return found


def _zone(name: str | None) -> tzinfo:
    """Return a time zone by its name; that of this computer for None."""
    from shoe_daemon.report.period import computers_time_zone

    if name is None:
        return computers_time_zone()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # a folder, or a zone that is unknown
        raise UserError(
            f"--time-zone {name}: this computer knows no such zone; expected one such as"
            " Europe/Paris or UTC"
        ) from error
