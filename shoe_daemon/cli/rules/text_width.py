"""Sorted JSON, and text wrapped at 80 columns, including Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final
from unicodedata import east_asian_width

import click
import msgspec

COLUMNS: Final = 80

as_json = click.option("--json", "json", is_flag=True, help="As JSON, for programs.")

_NEVER_FIRST: Final = "，。：；、！？）」』"  # noqa: RUF001 - these characters are intended


def print_json(value: object) -> None:
    """Print a value as indented JSON with sorted keys."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2))


def width(text: str) -> int:
    """Return the width on a terminal; a Chinese character takes two columns."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def indented(text: str, by: int) -> list[str]:
    """Wrap and indent a text."""
    return wrap(text, COLUMNS, initial_indent=" " * by, subsequent_indent=" " * by)


def indented_zh(text: str, by: int) -> Iterator[str]:
    """Wrap and indent a Chinese text; no line begins with a comma or full stop."""
    line = ""
    for sign in text:
        if by + width(line + sign) > COLUMNS:
            kept = line[:-1] if sign in _NEVER_FIRST else line
            yield " " * by + kept
            line = line[len(kept) :]
        line += sign
    yield " " * by + line


def ends(left: str, right: str) -> str:
    """Align one text left and another right."""
    return left + " " * max(2, COLUMNS - width(left) - width(right)) + right
