"""`shoe-daemon samples` and `schema`: sample files of an installation, and JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

import shoe_daemon
from shoe_daemon.cli.options import FOLDER, PATH
from shoe_daemon.errors import UserError, os_errors_at

_NEXT: Final = """
Next, as root in {folder}; README.md explains every file:

  install -m 644 mosquitto-shoe.conf /etc/mosquitto/conf.d/shoe.conf
  install -m 644 mosquitto-shoe.acl /etc/mosquitto/shoe.acl
  sh make-accounts.sh table-7 board pit      # passwords: /etc/shoe-daemon/*.password
  systemctl restart mosquitto
  cp example.toml /etc/shoe-daemon/table-7.toml
  editor /etc/shoe-daemon/table-7.toml       # at least the reader's port
  shoe-daemon check-config /etc/shoe-daemon/table-7.toml
  cp shoe-daemon@.service shoe-failure@.service /etc/systemd/system/
  systemctl daemon-reload
  systemctl enable --now shoe-daemon@table-7"""


@click.command(short_help="Write the sample files of an installation into a folder.")
@click.argument("folder", type=FOLDER)
def samples(folder: Path) -> None:
    """
    Write the sample files of an installation into FOLDER: configurations, service
    units, the broker's configuration and rights.

    A file that is there already is kept as it is.
    """
    for source in sample_files():
        target = folder / source.name
        click.echo(f"{'written' if _write_sample(source, target) else 'kept   '}  {target}")
    click.echo(_NEXT.format(folder=folder))


def sample_files() -> list[Path]:
    """Return the files of the installed package or of the source tree."""
    package = Path(shoe_daemon.__file__).parent
    for place in (package / "samples", package.parent / "systemd"):
        if place.is_dir():
            return sorted(place.iterdir())
    raise UserError("samples: this installation has no sample files; install the wheel again")


def _write_sample(source: Path, target: Path) -> bool:
    """Copy a file and return True; False where the target exists."""
    content = source.read_bytes()
    with os_errors_at(f"samples: {target}: cannot be written"):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(content)
        except FileExistsError:
            return False
    return True


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
    type=PATH,
    help="Write every schema to a file of its own below this folder; with --asyncapi, the "
    "document to this file.",
)
def schema(name: str | None, out: Path | None, *, everything: bool, document: bool) -> None:
    """
    Print the JSON Schema (2020-12) of a message.

    NAME is a topic below the table's, such as event/card_dealt or state; a line
    of the observation log is "observation", the state of `notify` "notifier".
    Without a name: all names.
    """
    from shoe_daemon.mqtt import schemas

    if sum([name is not None, everything, document or out is not None]) > 1:
        raise UserError("schema: give a NAME, --all, --asyncapi or --out, not several")
    if document:
        _print_asyncapi(out)
    elif name is not None:
        try:
            click.echo(_text(schemas.schema_of(name)), nl=False)
        except KeyError:
            raise UserError(f"schema: {name!r} is none; `shoe-daemon schema` lists them") from None
    elif everything:
        every = {each: schemas.schema_of(each) for each in schemas.names()}
        click.echo(_text(every), nl=False)
    elif out is not None:
        for each in schemas.names():
            _write(out / f"{each}.json", _text(schemas.schema_of(each)))
        click.echo(f"{len(schemas.names())} schemas below {out}")
    else:
        click.echo("\n".join(schemas.names()))


def _print_asyncapi(out: Path | None) -> None:
    """Print the AsyncAPI document, or write it to a file."""
    from shoe_daemon.mqtt.asyncapi import asyncapi
    from shoe_daemon.mqtt.schemas import load_examples

    text = _text(asyncapi(load_examples()))
    if out is None:
        click.echo(text, nl=False)
    else:
        _write(out, text)
        click.echo(str(out))


def _write(path: Path, text: str) -> None:
    with os_errors_at(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
