"""`shoe-daemon journal shoe` and `journal integrity`: print reports on past shoes."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
import msgspec

from shoe_daemon.cli.terminal_io import progress_display
from shoe_daemon.errors import UserError, one_line

__all__ = [
    "look",
    "report",
]

_LAST: Final = "last"
_RED_CARD: Final = re.compile(r"(?:10|[2-9AJQK])?[♥♦]")


def report(file: Path, shoe: str, *, as_json: bool, html: Path | None, verify: bool) -> int:
    """
    Print the report on a shoe or write it as HTML; return the exit status.

    Raises:
        UserError: The shoe does not exist, or the page cannot be written.
    """
    from shoe_daemon.report.shoe_report import read_shoe

    number = _number(shoe)
    with progress_display("verifying the chain") as progress:
        found = read_shoe(file, number, progress=progress if verify else None)
    if html is not None:
        from shoe_daemon.report.html_report import shoe_page

        _write(html, shoe_page(found))
        click.echo(f"{html}: the report on shoe {found.shoe}", err=as_json)
    if as_json:
        click.echo(msgspec.json.encode(found, order="sorted"))
    elif html is None:
        from shoe_daemon.report.text_report import shoe_text

        # click removes the colour if stdout is not a terminal.
        click.echo(_RED_CARD.sub(_red, shoe_text(found)))
    return 1 if found.proof is not None and found.proof.refuted else 0


def _number(text: str) -> int | None:
    if text == _LAST:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise UserError(f"{text}: expected the number of a shoe, or `{_LAST}`")
    return int(text)


def _red(found: re.Match[str]) -> str:
    return click.style(found[0], fg="red")


def _write(path: Path, page: str) -> None:
    # Atomically, and without access for other users, as the journal.
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise UserError(f"{path}: cannot be written: {one_line(error)}") from error


def look(file: Path, *, as_json: bool) -> int:
    """Print the integrity report; return 1 if it has findings."""
    from shoe_daemon.report.integrity_text import integrity_text
    from shoe_daemon.report.repeated_order_search import read_integrity

    found = read_integrity(file)
    if as_json:
        answer = msgspec.to_builtins(found) | {"clean": found.clean}
        click.echo(msgspec.json.encode(answer, order="sorted"))
    else:
        click.echo(integrity_text(found))
    return 0 if found.clean else 1
