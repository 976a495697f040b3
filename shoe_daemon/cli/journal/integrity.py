"""`shoe-daemon journal integrity`: a look over past shoes."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

__all__ = ["look"]


def look(file: Path, *, as_json: bool) -> int:
    """Print what past shoes tell of their shuffles; 1 where something was found."""
    from shoe_daemon.report.integrity import read_integrity
    from shoe_daemon.report.integrity_text import integrity_text

    found = read_integrity(file)
    if as_json:
        answer = msgspec.to_builtins(found) | {"clean": found.clean}
        click.echo(msgspec.json.encode(answer, order="sorted"))
    else:
        click.echo(integrity_text(found))
    return 0 if found.clean else 1
