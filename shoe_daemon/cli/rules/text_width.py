"""
What the commands of `shoe-daemon rules` share: JSON for programs, and text that
keeps within eighty columns, Chinese too.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final
from unicodedata import east_asian_width

import click
import msgspec

COLUMNS: Final = 80

as_json = click.option("--json", "json", is_flag=True, help="As JSON, for programs.")

_NEVER_FIRST: Final = "，。：；、！？）」』"  # noqa: RUF001 - these very signs are meant


def print_json(value: object) -> None:
    """Print a value as JSON, its keys sorted, as a person can read it too."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2))


def width(text: str) -> int:
    """Count the columns that a text takes on a terminal: a Chinese sign takes two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def indented(text: str, by: int) -> list[str]:
    """Wrap a text in words, indented by so many columns."""
    return wrap(text, COLUMNS, initial_indent=" " * by, subsequent_indent=" " * by)


def indented_zh(text: str, by: int) -> Iterator[str]:
    """Wrap a text in Chinese, where a line may end after any sign but before no comma or stop."""
    line = ""
    for sign in text:
        if by + width(line + sign) > COLUMNS:
            kept = line[:-1] if sign in _NEVER_FIRST else line
            yield " " * by + kept
            line = line[len(kept) :]
        line += sign
    yield " " * by + line


def ends(left: str, right: str) -> str:
    """Put one text at the left end of a line and another at the right."""
    return left + " " * max(2, COLUMNS - width(left) - width(right)) + right
