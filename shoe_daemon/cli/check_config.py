"""
`shoe-daemon check-config`: check the configuration of a table or a display.

A file with a section ``[display]`` configures a display; any other file, a table.
"""

from __future__ import annotations

from pathlib import Path

import click

from drivers import OpensLine, redact_url
from shoe_daemon.config import Reading, Setup, load_config
from shoe_daemon.display.display_config import (
    DisplaySettings,
    DisplaySetup,
    is_display,
    load_display,
)
from shoe_daemon.display.languages import languages
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.table import RoundEnd


@click.command("check-config", short_help="Check a table's configuration, or a display's.")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """
    Check a configuration and everything that it names, and say what it means.

    Exits with 2 and one line at the first thing wrong; nothing is opened for
    writing.
    """
    if is_display(file):
        shown = load_display(file, inspecting=True)
        lines, notes = _display_lines(shown), shown.notes
    else:
        setup = load_config(file, inspecting=True)
        lines, notes = _table_lines(setup), setup.notes
    for line in (*lines, *(f"note      {note}" for note in notes)):
        click.echo(line)


def _display_lines(setup: DisplaySetup) -> list[str]:
    mqtt, display = setup.config.mqtt, setup.config.display
    glyphs = f", glyphs {display.glyphs}" if display.glyphs else ""
    return [
        f"display   {_names((f'http://{display.listen}/', *display.hosts))}",
        f"hears     {_broker(mqtt)}, topics {mqtt.prefix}/{display.site or '+'}/+/…",
        f"tables    {_names(display.tables) or 'all that speak'}",
        f"pages     {languages()[display.language].name}{glyphs}",
        f"stale     {_stale(display.stale_after)}",
        f"pit       {_pit(display, locked=display.pit.user is not None)}{_staff(display)}",
    ]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _stale(seconds: float | None) -> str:
    return "after three heartbeats of the table" if seconds is None else f"after {seconds:g} s"


def _pit(display: DisplaySettings, *, locked: bool) -> str:
    if locked:
        return f"for {display.pit.user}, with a password"
    if display.pit.behind_proxy:
        return "open here: a proxy asks who it is"
    if display.on_loopback:
        return "open to this machine, which is the only one that can come"
    return "OPEN TO EVERYBODY who reaches the address: set [display.pit]"


def _staff(display: DisplaySettings) -> str:
    return "; shows alerts that only staff may see" if display.pit.staff_alerts else ""


def _table_lines(setup: Setup) -> list[str]:
    config = setup.config
    table, mqtt = config.table, config.mqtt
    house = setup.house
    broker = "nowhere (no [mqtt] section)"
    if mqtt is not None:
        broker = _broker(mqtt)
    return [
        f"table     {config.site}/{table.id}{f' ({table.name})' if table.name else ''}",
        f"house     {house.name}, {table.decks or house.decks} decks, policy {table.policy}",
        f"faces     {_faces(setup)}",
        f"rounds    end by {_round_end(setup)}, result on {table.result_on}",
        f"held      {_held(table.hold_from)}",
        f"journal   {setup.journal}{_unit(setup.service)}",
        f"publishes {broker}",
        *map(_reader, setup.readers),
        *(() if setup.readers else ("reader    none: nothing will be seen",)),
    ]


def _broker(mqtt: MqttSettings) -> str:
    host, port = mqtt.address
    return f"{host}:{port}, MQTT {mqtt.protocol}{', TLS' if mqtt.tls else ''}"


def _faces(setup: Setup) -> str:
    table = setup.config.table
    if setup.house.dealing_style == "face_up":
        return "seen as they are drawn"
    if setup.house.dealing_style == "squeeze" or table.reveal_on == "signal":
        return "hidden until they are revealed or the result is called"
    return f"the Banker's first two hidden until {table.reveal_after:g} s after the fourth card"


def _unit(service: str | None) -> str:
    return "" if service is None else f" (of shoe-daemon@{service})"


def _round_end(setup: Setup) -> str:
    mode = setup.options.round_end
    return f"{mode} (auto)" if setup.config.table.round_end is RoundEnd.AUTO else str(mode)


def _held(severity: int) -> str:
    if not severity:
        return "no result is held back"
    return f"a result waits for a person from irregularities of severity {severity} on"


def _reader(reader: Reading) -> str:
    line = reader.line
    settings = f", {line.baudrate} {line.bytesize}{line.parity}{line.stopbits:g}"
    if isinstance(reader.driver, OpensLine):
        settings = ""
    return f"reader    {reader.id}: {reader.driver.name} on {redact_url(reader.port)}{settings}"
