"""`shoe-daemon roads`: draw the roads of a sequence of results."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from shoe_daemon.cli.options import LETTERS, require_modules
from shoe_daemon.errors import UserError
from shoe_daemon.game import LeadingTies, Roads, Tail, build_roads, parse_sequence

if TYPE_CHECKING:
    from shoe_daemon.display.terminal.appearance import Symbols

_MAX_ROUNDS: Final = 5_000
"""Far more than the rounds of a shoe."""

_MAX_INPUT_BYTES: Final = 100_000


@click.command("roads", short_help="Draw the roads of a sequence of results.")
@click.argument("sequence")
@click.option(
    "--leading-ties",
    type=click.Choice([each.value for each in LeadingTies]),
    default=LeadingTies.MERGE.value,
    help="Where ties before the first win go: onto it, or into a column of their own.",
)
@click.option(
    "--tail",
    type=click.Choice([each.value for each in Tail]),
    default=Tail.FLAT.value,
    help="A streak that was turned goes on along its row, or down again.",
)
@click.option("--json", "as_json", is_flag=True, help="The roads as JSON, and nothing else.")
@LETTERS
@click.option("--ascii", "only_ascii", is_flag=True, help="No character beyond ASCII.")
def command(sequence: str, *, as_json: bool, letters: bool, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """
    Draw the roads of SEQUENCE: one letter a round, P, B or T, each with p (Player
    pair), b (Banker pair) or n (natural) behind it, such as BpPTBbn; - reads it from
    standard input.

    Where there are more columns than have room, the latest are shown.
    """
    if chosen["only_ascii"] and not letters:
        raise UserError("roads: --ascii and --chinese exclude one another; expected one of them")
    results = parse_sequence(_text(sequence))
    if len(results) > _MAX_ROUNDS:
        raise UserError(f"roads: {len(results)} rounds; expected at most {_MAX_ROUNDS}")
    ties = LeadingTies(chosen["leading_ties"])
    drawn = build_roads(results, leading_ties=ties, tail=Tail(chosen["tail"]))
    if as_json:
        click.echo(msgspec.json.encode(drawn, order="sorted").decode())
    else:
        require_modules(
            ("rich",),
            "roads needs {}, an extra: pip install 'shoe-daemon[display]'; --json does without",
        )
        _draw(drawn, ties, _symbols(letters=letters, only_ascii=chosen["only_ascii"]))


def _text(sequence: str) -> str:
    if sequence != "-":
        return sequence
    read = sys.stdin.buffer.read(_MAX_INPUT_BYTES + 1)
    if len(read) > _MAX_INPUT_BYTES:
        raise UserError(
            f"roads: standard input is longer than {_MAX_INPUT_BYTES} bytes: that is no shoe"
        )
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        raise UserError("roads: standard input is no text; expected a sequence") from error


def _symbols(*, letters: bool, only_ascii: bool) -> Symbols:
    from shoe_daemon.display.terminal.appearance import ASCII, LETTERS, chinese

    if only_ascii or not _can_encode(sys.stdout.encoding):
        return ASCII
    return LETTERS if letters else chinese()


def _can_encode(encoding: str | None) -> bool:
    try:
        "○◦莊▐".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _draw(drawn: Roads, ties: LeadingTies, symbols: Symbols) -> None:
    from shoe_daemon.display.terminal.appearance import plain
    from shoe_daemon.display.terminal.road_layout import scoreboard
    from shoe_daemon.display.terminal.screen import has_colours, print_rows, render_rows, text_of

    colours = has_colours()
    columns = shutil.get_terminal_size().columns
    picture, width = scoreboard(drawn, ties, symbols if colours else plain(symbols), columns)
    rows = render_rows(picture, width)
    if colours:
        print_rows(rows)
    else:
        for row in rows:
            click.echo(text_of(row).rstrip())
