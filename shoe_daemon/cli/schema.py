"""`shoe-daemon schema`: print JSON Schemas and the AsyncAPI document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shoe_daemon.errors import UserError, one_line

__all__ = ["command"]


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="All schemas in one object, by name.")
@click.option(
    "--asyncapi",
    "document",
    is_flag=True,
    help="The AsyncAPI 3.0 document: all topics, payloads, QoS and retention.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write every schema to a file of its own below this folder; with --asyncapi, the "
    "document to this file.",
)
def command(name: str | None, out: Path | None, *, everything: bool, document: bool) -> None:
    """
    Print the JSON Schema (2020-12) of a message.

    NAME is a topic below the table's, such as event/card_dealt or state; a line
    of the observation log is "observation". Without a name: all names.
    """
    from shoe_daemon.mqtt import json_schemas

    if sum([name is not None, everything, document or out is not None]) > 1:
        raise UserError("schema: give a NAME, --all, --asyncapi or --out, not several")
    if document:
        _print_asyncapi(out)
    elif name is not None:
        click.echo(_text(_schema(name)), nl=False)
    elif everything:
        click.echo(
            _text({each: json_schemas.schema_of(each) for each in json_schemas.names()}), nl=False
        )
    elif out is not None:
        _write_all(out)
    else:
        click.echo("\n".join(json_schemas.names()))


def _print_asyncapi(out: Path | None) -> None:
    """Print the AsyncAPI document, or write it to a file."""
    from shoe_daemon.mqtt.asyncapi import asyncapi
    from shoe_daemon.mqtt.json_schemas import load_examples

    text = _text(asyncapi(load_examples()))
    if out is None:
        click.echo(text, nl=False)
    else:
        _write(out, text)
        click.echo(str(out))


def _schema(name: str) -> dict[str, Any]:
    from shoe_daemon.mqtt import json_schemas

    try:
        return json_schemas.schema_of(name)
    except KeyError:
        raise UserError(f"schema: {name!r} is none; `shoe-daemon schema` lists them") from None


def _write_all(folder: Path) -> None:
    """Write `<folder>/<name>.json` for every name."""
    from shoe_daemon.mqtt import json_schemas

    for name in json_schemas.names():
        _write(folder / f"{name}.json", _text(json_schemas.schema_of(name)))
    click.echo(f"{len(json_schemas.names())} schemas below {folder}")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
