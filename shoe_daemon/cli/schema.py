"""
`shoe-daemon schema`: the form of every message, for those who read them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoe_daemon.errors import UserError

__all__ = ["command"]


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="All schemas in one object, by name.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every schema to a file of its own below this folder.",
)
def command(name: str | None, out: Path | None, *, everything: bool) -> None:
    """
    Print the JSON Schema (2020-12) of a message.

    NAME is a topic below the table's, such as event/card_dealt or state; a line
    of the observation log is "observation". Without a name: all names.
    """
    from shoe_daemon.mqtt import schemas

    if sum([name is not None, everything, out is not None]) > 1:
        raise UserError("schema: give a NAME, or --all, or --out, not several")
    if name is not None:
        click.echo(_text(_schema(name)), nl=False)
    elif everything:
        click.echo(_text({each: schemas.schema_of(each) for each in schemas.names()}), nl=False)
    elif out is not None:
        _write(out)
    else:
        click.echo("\n".join(schemas.names()))


def _schema(name: str) -> dict[str, Any]:
    from shoe_daemon.mqtt import schemas

    try:
        return schemas.schema_of(name)
    except KeyError:
        raise UserError(f"schema: {name!r} is none; `shoe-daemon schema` lists them") from None


def _write(folder: Path) -> None:
    """
    Write `<folder>/<name>.json` for every name.
    """
    from shoe_daemon.mqtt import schemas

    for name in schemas.names():
        path = folder / f"{name}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(schemas.schema_of(name)), encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from error
    click.echo(f"{len(schemas.names())} schemas below {folder}")


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
