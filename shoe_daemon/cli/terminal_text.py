"""Rows of names and values, and progress, on the command line."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import click

__all__ = [
    "folded",
    "progress_of",
    "say",
    "table_lines",
    "typed",
]


_WIDEST: Final = 100
_NARROWEST: Final = 20
"""Columns of a terminal into which lines are folded; a narrower one folds them itself."""


def say(text: str) -> None:
    """Say a line, as lines of a terminal's width where there is one; a log gets it whole."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    click.echo(folded(text, min(width, _WIDEST)) if width else text)


def folded(text: str, width: int) -> str:
    """Fold lines that are wider; what goes on is set in."""
    lines = []
    for line in text.split("\n"):
        head = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line,
            max(width - 1, _NARROWEST),
            subsequent_indent=f"{head}    ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def table_lines(rows: Iterable[tuple[str, str]], indent: str = "  ") -> Iterator[str]:
    """Yield names and values, the values below one another."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    yield from (f"{indent}{name:<{width}}  {value}" for name, value in rows)


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how much is done, where stderr is a terminal."""
    shown = sys.stderr.isatty()

    def show(done: int, total: int) -> None:
        if shown:
            share = 100 * done // max(total, 1)
            click.echo(f"\r{what}: {share:>3} %, {done:,} of {total:,}\x1b[K", nl=False, err=True)

    try:
        yield show
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def typed() -> Iterator[str]:
    """
    Give standard input line by line; what is no text becomes ``\ufffd``, lest whoever hears
    the lines hears nothing any more.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    yield from sys.stdin
