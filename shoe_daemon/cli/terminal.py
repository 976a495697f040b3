"""Text on the terminal: wrapped lines, tables, progress, and typed input; also in Chinese."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final
from unicodedata import east_asian_width

import click

COLUMNS: Final = 80
"""The width of sheets and tables, on any terminal."""

_NEVER_FIRST: Final = "，。：；、！？）」』"  # noqa: RUF001 - these characters are intended
_MAX_COLUMNS: Final = 100
_MIN_COLUMNS: Final = 20
"""Columns; narrower terminals wrap lines themselves."""


def echo_wrapped(text: str) -> None:
    """Print a line, wrapped on a terminal, in full to a file."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    click.echo(wrap_lines(text, min(width, _MAX_COLUMNS)) if width else text)


def wrap_lines(text: str, width: int) -> str:
    """Wrap long lines; continuation lines are indented."""
    lines = []
    for line in text.split("\n"):
        head = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line,
            max(width - 1, _MIN_COLUMNS),
            subsequent_indent=f"{head}    ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def table_lines(rows: Iterable[tuple[str, str]], indent: str = "  ") -> Iterator[str]:
    """Yield rows of name and value with aligned values."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    yield from (f"{indent}{name:<{width}}  {value}" for name, value in rows)


@contextmanager
def progress_display(what: str) -> Iterator[Callable[[int, int], None]]:
    """Provide a function that shows progress if stderr is a terminal."""
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


def typed_lines() -> Iterator[str]:
    """Yield standard input line by line. Invalid bytes become the replacement character."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    yield from sys.stdin


def _width(text: str) -> int:
    """Return the width on a terminal; a Chinese character takes two columns."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def indented(text: str, by: int, lead: str = "") -> list[str]:
    """Wrap and indent a text; its first line may begin with `lead` in place of spaces."""
    return textwrap.wrap(text, COLUMNS, initial_indent=f"{lead:<{by}}", subsequent_indent=" " * by)


def indented_zh(text: str, by: int) -> Iterator[str]:
    """Wrap and indent a Chinese text; no line begins with a comma or full stop."""
    line = ""
    for sign in text:
        if by + _width(line + sign) > COLUMNS:
            kept = line[:-1] if sign in _NEVER_FIRST else line
            yield " " * by + kept
            line = line[len(kept) :]
        line += sign
    yield " " * by + line


def ends(left: str, right: str) -> str:
    """Align one text left and another right."""
    return left + " " * max(2, COLUMNS - _width(left) - _width(right)) + right
