"""
`shoe-daemon check-config`, `doctor` and `diagnostics`: check a configuration and the equipment
that it names, and collect what the report of a fault needs.

A file with a section ``[display]`` configures a display, one with ``[notify]`` notifications; any
other file, a table.
"""

from __future__ import annotations

import os
import platform
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec.structs import astuple

from drivers import ForwardTarget, has_line_settings, redact_url
from shoe_daemon import __version__
from shoe_daemon.cli.journal import summary_lines
from shoe_daemon.cli.options import PATH, config_option
from shoe_daemon.config.sections import DatabaseSettings
from shoe_daemon.config.table import Reading, Setup, load_config, service_of
from shoe_daemon.display.config import (
    DisplaySettings,
    DisplaySetup,
    LogDatabase,
    LogFile,
    load_display,
)
from shoe_daemon.display.languages import languages
from shoe_daemon.doctor import (
    Finding,
    examine,
    examine_display,
    examine_notify,
    maturity_text,
)
from shoe_daemon.errors import UserError, os_errors_at
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.journal.summary import summarise
from shoe_daemon.lamps.config import LampSettings
from shoe_daemon.logs import warnings_on_stderr
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.notify.config import (
    MAX_SEVERITY,
    NotifySetup,
    RecipientSettings,
    load_notify,
)
from shoe_daemon.postgres import check_database
from shoe_daemon.settings.loader import has_section
from shoe_daemon.table import RoundEnd
from shoe_daemon.witness.config import WitnessSettings

_LOG_LINES: Final = 200
_SIGNS: Final = {"good": "ok", "note": "--", "bad": "!!"}


@click.command(
    "check-config", short_help="Check the configuration of a table, a display or notify."
)
@click.argument("file", type=PATH)
def check_config(file: Path) -> None:
    """
    Check a configuration and everything that it names, and say what it means.

    Exits with 2 and a line for each thing that is wrong; nothing is opened for
    writing.
    """
    for line in _config_lines(file):
        click.echo(line)


def _config_lines(file: Path) -> list[str]:
    if has_section(file, "display"):
        shown = load_display(file, inspecting=True)
        lines, notes = [*_display_lines(shown)], shown.notes
    elif has_section(file, "notify"):
        notifying = load_notify(file, inspecting=True)
        lines, notes = _notify_lines(notifying), notifying.notes
    else:
        setup = load_config(file, inspecting=True)
        lines, notes = _table_lines(setup), setup.notes
    return [*lines, *(f"note      {note}" for note in notes)]


def _display_lines(setup: DisplaySetup) -> Iterator[str]:
    mqtt, display = setup.config.mqtt, setup.config.display
    addresses = ", ".join((f"http://{display.listen}/", *display.hosts))
    glyphs = f", glyphs {display.glyphs}" if display.glyphs else ""
    stale = "three heartbeats of the table"
    if display.stale_after is not None:
        stale = f"{display.stale_after:g} s"
    staff = "; shows alerts that only staff may see" if display.pit.staff_alerts else ""
    yield f"display   {addresses}"
    yield f"hears     {_broker(mqtt)}, topics {mqtt.prefix}/{display.site or '+'}/+/…"
    yield f"tables    {', '.join(display.tables) or 'all that speak'}"
    yield f"pages     {languages()[display.language].name}{glyphs}"
    yield f"stale     after {stale}"
    if setup.history is not None:
        yield f"log       {_log(setup.history.log)}"
    yield f"pit       {_pit(display)}{staff}"
    if setup.config.metrics.listen is not None:
        yield f"metrics   http://{setup.config.metrics.listen}/metrics"


def _notify_lines(setup: NotifySetup) -> list[str]:
    mqtt, notify = setup.config.mqtt, setup.config.notify
    return [
        f"hears     {_broker(mqtt)}, topics {mqtt.prefix}/{notify.site or '+'}/+/alert/active",
        f"publishes {setup.config.topic}: whether notifications arrive",
        f"hours     of {notify.time_zone or 'this computer'}",
        f"keeps     {setup.state_file}",
        *(f"sends     {each.id}: {_recipient(each)}" for each in notify.to),
    ]


def _recipient(recipient: RecipientSettings) -> str:
    how = "by apprise" if recipient.webhook is None else f"to {recipient.shown_webhook}"
    tables = ", ".join(recipient.tables) or "all tables"
    again = f"every {recipient.repeat_every} s" if recipient.repeat_every else "once"
    parts = [
        f"{how}, severity {recipient.severity} and above of {tables}, {again} until acknowledged",
        f"at most {recipient.at_most} an hour",
    ]
    if recipient.quiet_hours:
        hours = ", ".join(recipient.quiet_hours)
        least = recipient.quiet_severity
        only = "nothing" if least > MAX_SEVERITY else f"only severity {least} and above"
        parts.append(f"{hours} {only}")
    return "; ".join(parts)


def _pit(display: DisplaySettings) -> str:
    if display.pit.user is not None:
        return f"for {display.pit.user}, with a password"
    if display.pit.behind_proxy:
        return "open here: a proxy asks who it is"
    if display.on_loopback:
        return "open to this machine, which is the only one that can come"
    return "OPEN TO EVERYBODY who reaches the address: set [display.pit]"


def _table_lines(setup: Setup) -> list[str]:
    config = setup.config
    table, mqtt = config.table, config.mqtt
    house = setup.house
    broker = "nowhere (no [mqtt] section)" if mqtt is None else _broker(mqtt)
    unit = "" if setup.service is None else f" (of shoe-daemon@{setup.service})"
    held = "no result is held back"
    if table.hold_from:
        held = f"a result waits for a person from irregularities of severity {table.hold_from} on"
    return [
        f"table     {config.site}/{table.id}{f' ({table.name})' if table.name else ''}",
        f"house     {house.name}, {table.decks or house.decks} decks, policy {table.policy}",
        f"faces     {_faces(setup)}",
        f"rounds    end by {_round_end(setup)}, result on {table.result_on}",
        f"held      {held}",
        f"journal   {setup.journal}{unit}",
        f"publishes {broker}",
        *(f"metrics   {file}" for file in astuple(config.metrics) if file is not None),
        *_database(config.forward),
        *(line for reader in setup.readers for line in _reader(reader)),
        *(() if setup.readers else ("reader    none: nothing will be seen",)),
        *(line for lamp in config.lamp for line in _lamp(lamp)),
        *(_witness(each, setup) for each in config.witness),
    ]


def _database(settings: DatabaseSettings | None) -> Iterator[str]:
    if settings is not None:
        check_database(settings.database, "forward")
        yield f"forward   every {settings.every} s to {settings.database}"


def _log(log: LogFile | LogDatabase) -> str:
    if isinstance(log, LogFile):
        account = log.mqtt.username or "no account"
        return f"{log.path}, {log.days} days; missing events through {account}"
    return f"in the database {log.database}"


def _broker(mqtt: MqttSettings) -> str:
    return f"{mqtt.name}, MQTT {mqtt.protocol}{', TLS' if mqtt.tls else ''}"


def _faces(setup: Setup) -> str:
    table = setup.config.table
    if setup.house.dealing_style == "face_up":
        return "seen as they are drawn"
    if setup.house.dealing_style == "squeeze" or table.reveal_on == "signal":
        return "hidden until they are revealed or the result is called"
    return f"the Banker's first two hidden until {table.reveal_after:g} s after the fourth card"


def _round_end(setup: Setup) -> str:
    mode = setup.options.round_end
    return f"{mode} (auto)" if setup.config.table.round_end is RoundEnd.AUTO else str(mode)


def _reader(reader: Reading) -> Iterator[str]:
    is_serial = not reader.driver.opens_line and has_line_settings(reader.port)
    settings = f", {reader.line}" if is_serial else ""
    known = maturity_text(reader.driver)
    more = f"; {known}" if known else ""
    port = redact_url(reader.port)
    yield f"reader    {reader.id}: {reader.driver.name} on {port}{settings}{more}"
    if reader.forward is not None:
        yield f"          copied to {_forward(reader.forward)}"


def _forward(target: ForwardTarget) -> str:
    if not target.is_tcp:
        return f"{target.to}, {target.line}"
    who = "programs on this computer"
    if target.is_open_to_network:
        who = "EVERYBODY who reaches the address: they see cards before the players do"
    return f"{target.to}, for {who}"


def _lamp(lamp: LampSettings) -> Iterator[str]:
    kind = "relay" if lamp.relay is not None else "GPIO" if lamp.gpio is not None else ""
    place = f"{kind} {redact_url(lamp.place)}".strip()
    wiring = ", lit while switched off" if lamp.inverted else ""
    yield f"lamp      {lamp.id}: {place}, {lamp.at_stop} when the daemon stops{wiring}"
    for rule in lamp.rule:
        channel = "" if rule.channel is None else f"channel {rule.channel}: "
        how = "on" if rule.blink is None else "blinks ({:g} s on, {:g} s off)".format(*rule.blink)
        when = "at a fault of the table"
        if rule.severity is not None:
            same = rule.severity == rule.up_to
            severities = f"{rule.severity}" if same else f"{rule.severity} to {rule.up_to}"
            when = f"while an irregularity of severity {severities} is open"
        yield f"          {channel}{how} {when}"


def _witness(witness: WitnessSettings, setup: Setup) -> str:
    camera = f"reader {witness.reader!r}"
    if witness.source is not None:
        camera = redact_url(witness.source)
    folder = witness.clip_folder(setup.beside, setup.journal)
    return (
        f"witness   {witness.id}: clips of {camera} in {folder}, from {witness.before:g} s before "
        f"a dispute to {witness.after:g} s after its decision"
    )


@click.command("doctor", short_help="Test all that a table, a display or notify depends on.")
@config_option("The configuration of a table, a display or notify.", required=True)
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
@click.option(
    "--light-lamps",
    is_flag=True,
    help="Light each channel of each lamp of a table for a second; not while it runs.",
)
def doctor(file: Path, *, as_json: bool, light_lamps: bool) -> None:
    """
    Look at a table's disk, readers and broker, and say which irregularities its
    equipment cannot detect; or at a display's address and broker; or at the broker
    and the recipients of notifications, to whom nothing is sent.

    Logs in to the broker as the table or the display would, under another client id,
    and retains nothing there. Devices are opened and closed again, by root also as
    the user and groups of the service; a line that the running daemon has open is
    only noted. The last line sums up. Exits with 1 if anything is bad.
    """
    findings = []
    with warnings_on_stderr():
        for finding in _examined(file, light_lamps=light_lamps):
            findings.append(finding)
            if not as_json:
                click.echo(finding_line(finding))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings), indent=2))
    if any(finding.verdict == "bad" for finding in findings):
        raise UserError(f"{file}: {_summary(findings)}", exit_status=1)
    if not as_json:
        click.echo(_summary(findings))


def _summary(findings: Sequence[Finding]) -> str:
    """Return how many checks there were, what is bad or blind, and what to do."""
    bad = dict.fromkeys(each.about for each in findings if each.verdict == "bad")
    checks = sum(each.about != "blind" for each in findings)
    text = f"{checks} checks, "
    text += (
        f"bad: {', '.join(bad)}; mend what is marked !! and run doctor again"
        if bad
        else "none bad"
    )
    if any(each.about == "blind" for each in findings):
        text += "; what is blind, staff report on the pit's page or the dealer's screen"
    return text


def _examined(file: Path, *, light_lamps: bool = False) -> Iterator[Finding]:
    if has_section(file, "display"):
        return examine_display(load_display(file, inspecting=True))
    if has_section(file, "notify"):
        return examine_notify(load_notify(file, inspecting=True))
    return examine(load_config(file, inspecting=True), light_lamps=light_lamps)


def finding_line(finding: Finding) -> str:
    """Return a finding as `doctor` prints it, at most 80 characters a line."""
    lead = f"{_SIGNS[finding.verdict]}  {finding.about:<12} "
    return textwrap.fill(finding.text, 80, initial_indent=lead, subsequent_indent=" " * len(lead))


@click.command("diagnostics", short_help="Collect what the report of a fault needs.")
@config_option("The configuration of a table, a display or notify.", required=True)
def diagnostics(file: Path) -> None:
    """
    Print versions, what the configuration means, the findings of `doctor`, and of a table the
    numbers of its journal and the last lines of its log, without passwords.

    Read it before you send it: it names the site, its tables, addresses and operators.
    """
    for title, lines in (
        ("versions", _versions),
        ("configuration", partial(_config_lines, file)),
        ("doctor", lambda: map(finding_line, _examined(file))),
        ("journal", partial(_journal_lines, file)),
        ("log", partial(_log_lines, file)),
    ):
        click.echo(f"== {title}")
        try:
            with warnings_on_stderr():
                for line in lines():
                    click.echo(line)
        except UserError as error:
            click.echo(error)


def _versions() -> Iterator[str]:
    yield f"shoe-daemon {__version__}, Python {platform.python_version()}"
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000
    yield f"{system}, Linux {platform.release()}, {platform.machine()}"
    yield f"{os.cpu_count()} processors, {memory_mb:,} MB of memory"
    found = sorted({f"{each.name} {each.version}" for each in metadata.distributions()})
    yield from textwrap.wrap(", ".join(found), 80)


def _journal_lines(file: Path) -> Iterator[str]:
    """Yield the numbers of a table's journal: no card is among them."""
    if has_section(file, "display") or has_section(file, "notify"):
        return
    path = load_config(file, inspecting=True).journal
    with open_read_only(path) as reader:
        yield from summary_lines(path, summarise(reader))


def _log_lines(file: Path) -> Iterator[str]:
    service = service_of(file)
    if service is None:
        yield f"{file}: not of a service; add the log of what runs it"
        return
    unit = f"shoe-daemon@{service}"
    for section in ("display", "notify"):
        if has_section(file, section):
            unit = f"shoe-{section}"
    with os_errors_at("journalctl"):
        command = ["journalctl", "-u", unit, "-n", str(_LOG_LINES), "--no-pager", "-o", "cat"]
        log = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    yield from (log.stdout or log.stderr).splitlines()
