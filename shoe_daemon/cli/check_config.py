"""
``shoe-daemon check-config``: whether a configuration would be accepted.
"""

from __future__ import annotations

from pathlib import Path

import click

from shoe_daemon.config import Reading, Setup, load_config


@click.command("check-config", short_help="Check a table's configuration.")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """
    Check a configuration and everything that it names, and say what it means.

    Exits with 2 and one line at the first thing wrong; nothing is opened for
    writing.
    """
    for line in _told(load_config(file)):
        click.echo(line)


def _told(setup: Setup) -> list[str]:
    config = setup.config
    table, mqtt = config.table, config.mqtt
    house = setup.house
    broker = "nowhere (no [mqtt] section)"
    if mqtt is not None:
        host, port = mqtt.address
        broker = f"{host}:{port}, MQTT {mqtt.protocol}{', TLS' if mqtt.tls else ''}"
    return [
        f"table     {config.site}/{table.id}{f' ({table.name})' if table.name else ''}",
        f"house     {house.name}, {table.decks or house.decks} decks, policy {table.policy}",
        f"faces     {_faces(setup)}",
        f"rounds    end by {table.round_end}, result on {table.result_on}",
        f"held      {_held(table.hold_from)}",
        f"journal   {setup.journal}",
        f"publishes {broker}",
        *map(_reader, setup.readers),
        *(() if setup.readers else ("reader    none: nothing will be seen",)),
    ]


def _faces(setup: Setup) -> str:
    table = setup.config.table
    if setup.house.dealing_style == "face_up":
        return "seen as they are drawn"
    if setup.house.dealing_style == "squeeze" or table.reveal_on == "signal":
        return "hidden until they are revealed or the result is called"
    return f"the Banker's first two hidden until {table.reveal_after:g} s after the fourth card"


def _held(severity: int) -> str:
    if not severity:
        return "no result is held back"
    return f"a result waits for a person from irregularities of severity {severity} on"


def _reader(reader: Reading) -> str:
    line = reader.line
    settings = f"{line.baudrate} {line.bytesize}{line.parity}{line.stopbits:g}"
    return f"reader    {reader.id}: {reader.driver.name} on {reader.port}, {settings}"
