"""
The checks of `doctor`: a table's journal, disk, readers and broker, or a display.

At the broker they use a client id of their own and topics that no display shows, and retain
nothing: a running table with the same configuration is not disturbed.
"""

from __future__ import annotations

import datetime as dt
import errno
import os
import secrets
import shutil
import socket
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import asdict

from drivers import (
    Driver,
    ForwardTarget,
    LearnsCodes,
    LineError,
    Maturity,
    OpensLine,
    StoresEvidence,
    load_deck_profile,
    missing_cards,
    open_transport,
    profile_differences,
    redact_url,
    replacement_of,
)
from shoe_daemon.config import Reading, Setup
from shoe_daemon.display.display_config import DisplaySetup, parse_listen
from shoe_daemon.display.message_validation import topic_filters
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import IRREGULARITIES
from shoe_daemon.journal.writer_lock import is_written
from shoe_daemon.lamps.lamp_config import LampSettings
from shoe_daemon.lamps.lamp_outputs import RELAY_LINE, Broker, check_gpio, open_output
from shoe_daemon.mqtt.broker_probe import ANSWER_TIMEOUT_S, BrokerProbe, BrokerProbeError
from shoe_daemon.mqtt.certificate_alerts import certificate_alerts
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.topics import STAFF_ALERTS, STATE, TableIdentity, Topics
from shoe_daemon.notify.notify_config import NotifySetup, RecipientSettings
from shoe_daemon.notify.notify_service import load_state
from shoe_daemon.notify.notify_service import topic_filters as notify_filters
from shoe_daemon.table import RoundEnd, undetectable_kinds
from shoe_daemon.witness.witness_config import WitnessSettings

_SLOW_WRITE_S: Final = 0.05
"""A durable write that takes longer delays the table."""

_MIN_FREE_BYTES: Final = 500_000_000
_TEST_WRITES: Final = 15
_MAX_NAMED: Final = 10
"""Cards that a finding names."""
_UNSTABLE_NAMES: Final = ("/dev/ttyUSB", "/dev/ttyACM")

_IN_USE: Final = ("another program has it", "is in use by 'shoe-daemon'")
"""In the errors of ports, keyboards, cameras and GPIO lines that are open already."""

_UNSTABLE_ADVICE: Final = (
    "may be another device after the next start: name it by /dev/serial/by-id"
)

_LISTENING_ADVICE: Final = {
    "keyboard": "press a key, and see what `capture` records",
    "gpio": "press each button, and see what `capture` records",
}
_LIGHT_S: Final = 1.0
_LIGHT_ADVICE: Final = "--light-lamps shows whether it lights"

_KIOSK_ENABLED: Final = Path("/etc/systemd/system/multi-user.target.wants/shoe-kiosk.service")
_KIOSK_PROGRAMS: Final = {
    "usr/bin/cage": "cage",
    "usr/bin/Xwayland": "xwayland",
    "usr/bin/chromium": "chromium",
}
"""The programs that the kiosk's unit needs, and their packages."""

_RETAINED_WAIT_S: Final = 1.0
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
_STAFF_ALERTS_OFF: Final = (
    "the pit shows no alert that only staff may see: staff_alerts = true in [display.pit], with "
    f"an account that may read {STAFF_ALERTS}, such as pit-display of mosquitto-shoe.acl"
)


class Finding(Struct, frozen=True):
    """
    The result of one check.

    Attributes:
        about: What was checked.
        verdict: ``good``; ``note``: for information; ``bad``: it affects the table.
        text: One sentence.
    """

    about: str
    verdict: Literal["good", "note", "bad"]
    text: str


def examine(setup: Setup, *, light_lamps: bool = False) -> Iterator[Finding]:
    """
    Check everything that a table depends on. Nothing is changed, except for a file
    beside the journal that is written to time the disk, and removed.

    `light_lamps` switches each channel of each lamp on for a second, and leaves it off.
    """
    for note in setup.notes:
        yield Finding("file", "note", note)
    yield from _check_journal(setup.journal, setup.service)
    lines_in_use = partial(_excuse_daemon, setup) if is_written(setup.journal) else _as_it_is
    for reader in setup.readers:
        yield lines_in_use(_check_reader(reader))
        yield from _check_driver(reader)
        if reader.forward is not None:
            yield from map(lines_in_use, _check_forward(f"copy {reader.id}", reader.forward))
        yield from _check_codes(reader, setup.config.table.decks or setup.house.decks)
        if isinstance(reader.driver, StoresEvidence):
            yield _check_evidence(f"reader {reader.id}", reader.driver.evidence)
    if not setup.readers:
        yield Finding("reader", "bad", "none is configured: nothing will be seen")
    for lamp in setup.config.lamp:
        yield _light_lamp(setup, lamp) if light_lamps else lines_in_use(_check_lamp(lamp))
    for witness in setup.config.witness:
        yield lines_in_use(_check_witness(witness, setup.beside))
        folder = witness.clip_folder(setup.beside, setup.journal)
        yield _check_evidence(f"witness {witness.id}", folder)
    yield from table_broker(setup)
    if setup.operators is not None and setup.operators.is_open:
        yield Finding("orders", "bad", str(setup.operators.alert))
    yield from _undetected(setup)


def examine_display(setup: DisplaySetup) -> Iterator[Finding]:
    """Check everything that a display depends on. Nothing is changed."""
    for note in setup.notes:
        yield Finding("file", "note", note)
    display = setup.config.display
    yield _check_listen("listen", display.listen)
    if setup.config.metrics.listen is not None:
        yield _check_listen("metrics", setup.config.metrics.listen)
    if display.open_pit:
        text = f"open to everybody who reaches {display.listen}: set [display.pit]"
        yield Finding("pit", "bad", text)
    yield from _display_broker(setup)
    if _KIOSK_ENABLED.is_symlink():
        yield examine_kiosk()


def examine_notify(setup: NotifySetup) -> Iterator[Finding]:
    """Check everything that notifications depend on. Nothing is sent to a recipient."""
    for note in setup.notes:
        yield Finding("file", "note", note)
    config = setup.config
    wanted, client_id = notify_filters(config), f"shoe-notify-{secrets.token_hex(4)}"
    yield from _test(
        config.mqtt, setup.notes, client_id, lambda probe: _subscriptions(probe, wanted)
    )
    states = load_state(setup.state_file) if os.access(setup.state_file, os.R_OK) else {}
    for recipient in config.notify.to:
        yield _reachable(recipient)
        state = states.get(recipient.id)
        if state is not None and state.error is not None and state.failing_since is not None:
            since = dt.datetime.fromtimestamp(state.failing_since, dt.UTC)
            text = (
                f"fails since {since:%Y-%m-%d %H:%M} UTC, attempt {state.failures}: {state.error}"
            )
            yield Finding(f"to {recipient.id}", "bad", text)


def _reachable(recipient: RecipientSettings) -> Finding:
    about = f"to {recipient.id}"
    if recipient.webhook is None:
        return Finding(about, "note", "only `notify --test` shows whether a message arrives")
    url = urlsplit(recipient.webhook)
    address = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    if (unreachable := _unreachable(about, address)) is not None:
        return unreachable
    if recipient.is_plain:
        return Finding(about, "note", "the webhook answers; it is not encrypted: no https")
    text = f"{address[0]}:{address[1]} answers; `notify --test` sends a message"
    return Finding(about, "good", text)


def _unreachable(about: str, address: tuple[str, int]) -> Finding | None:
    try:
        socket.create_connection(address, ANSWER_TIMEOUT_S).close()
    except OSError as error:
        text = f"{address[0]}:{address[1]} cannot be reached: {one_line(error)}"
        return Finding(about, "bad", text)
    return None


def examine_kiosk(root: Path = Path("/")) -> Finding:
    """Check the programs of `shoe-kiosk.service`; `root` is the computer's root folder."""
    packages = [
        package for program, package in _KIOSK_PROGRAMS.items() if not (root / program).exists()
    ]
    if packages:
        text = f"the screen stays dark: apt install {' '.join(packages)}"
        return Finding("kiosk", "bad", text)
    return Finding("kiosk", "good", "the programs that show the board on this screen are there")


def _check_listen(about: str, listen: str, owner: str = "display") -> Finding:
    host, port = parse_listen(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"{listen} is in use: by the running {owner}, or another program"
            return Finding(about, "note", text)
        return Finding(about, "bad", f"{listen}: {one_line(error)}")
    return Finding(about, "good", f"{listen} is free")


def _check_journal(path: Path, service: str | None) -> Iterator[Finding]:
    # systemd creates the service's folder when it starts; until then the disk is the same.
    folder = next(each for each in path.parents if service is None or os.path.isdir(each))  # noqa: PTH112
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):  # noqa: PTH112
        if service is None:
            yield Finding("journal", "bad", f"{folder} is no folder that can be written")
        else:
            text = f"{path} of shoe-daemon@{service}: not tested; only root can write there"
            yield Finding("journal", "note", text)
        return
    room = shutil.disk_usage(folder).free
    verdict: Literal["good", "bad"] = "good" if room > _MIN_FREE_BYTES else "bad"
    owner = "" if service is None else f" of shoe-daemon@{service}"
    yield Finding("journal", verdict, f"{path}{owner}, {room // 1_000_000:,} MB free")
    median, slowest = _time_writes(folder)
    text = f"a durable write takes {median * 1000:.1f} ms, at most {slowest * 1000:.1f} ms"
    yield Finding("disk", "good" if median < _SLOW_WRITE_S else "bad", text)


def _time_writes(folder: Path) -> tuple[float, float]:
    spans = []
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "trial.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE trial (body BLOB)")
        for _ in range(_TEST_WRITES):
            start = time.perf_counter()
            connection.execute("INSERT INTO trial VALUES (?)", (b"x" * 500,))
            spans.append(time.perf_counter() - start)
        connection.close()
    return statistics.median(spans), max(spans)


def _as_it_is(finding: Finding) -> Finding:
    return finding


def _excuse_daemon(setup: Setup, finding: Finding) -> Finding:
    """Return a note in place of a line that the running daemon has open."""
    if finding.verdict != "bad" or not any(part in finding.text for part in _IN_USE):
        return finding
    text = f"{finding.text}: the running daemon"
    if setup.service is not None:
        text += f"; see `systemctl status shoe-daemon@{setup.service}`"
    return Finding(finding.about, "note", text)


def _check_reader(reader: Reading) -> Finding:
    about = f"reader {reader.id}"
    driver, port = reader.driver, reader.port
    try:
        if isinstance(driver, OpensLine):
            driver.open_line(port).close()
            advice = driver.look
        else:
            open_transport(port, reader.line).close()
            usual = f"listen to it with `calibrate serial --driver {driver.name}`"
            advice = _LISTENING_ADVICE.get(port.partition(":")[0], usual)
    except (LineError, UserError) as error:
        return Finding(about, "bad", str(error))
    return _opens(about, port, redact_url(port), f"; {advice}")


def _opens(about: str, port: str, shown: str, advice: str = "") -> Finding:
    if port.startswith(_UNSTABLE_NAMES):
        return Finding(about, "note", f"{shown} opens, but {_UNSTABLE_ADVICE}")
    return Finding(about, "good", f"{shown} opens{advice}")


def _check_forward(about: str, target: ForwardTarget) -> Iterator[Finding]:
    to = target.to
    if target.is_tcp:
        yield _check_listen(about, to.removeprefix("tcp://"), "daemon")
        if target.is_open_to_network:
            text = (
                f"whoever reaches {to} sees each card before the players do: let a firewall "
                "admit the display alone"
            )
            yield Finding(about, "note", text)
        return
    try:
        target.open().close()
    except (LineError, UserError) as error:
        yield Finding(about, "bad", f"goes nowhere: {error}")
    else:
        yield _opens(about, to, to)


def _check_lamp(lamp: LampSettings) -> Finding:
    about = f"lamp {lamp.id}"
    try:
        if lamp.relay is not None:
            open_transport(lamp.relay, RELAY_LINE).close()
        elif lamp.gpio is not None:
            check_gpio(lamp.gpio, lamp.channels)
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"stays dark: {error}")
    if lamp.topic is not None:
        return Finding(about, "note", f"is published to {lamp.topic}; {_LIGHT_ADVICE}")
    return _opens(about, lamp.relay or "", redact_url(lamp.place), f"; {_LIGHT_ADVICE}")


def _check_witness(witness: WitnessSettings, beside: Path) -> Finding:
    about = f"witness {witness.id}"
    if witness.source is None:
        return Finding(about, "good", f"keeps the pictures of reader {witness.reader!r}")
    try:
        from drivers import open_video  # noqa: PLC0415 - brings OpenCV with it

        capture = open_video(
            witness.source, witness.frame_size, witness.username, witness.password_file, beside
        )
        height, width = capture.start().image.shape[:2]
        capture.stop()
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"sees nothing: {error}")
    return Finding(about, "good", f"{redact_url(witness.source)} gives {width}x{height}")


def _light_lamp(setup: Setup, lamp: LampSettings) -> Finding:
    about, config = f"lamp {lamp.id}", setup.config
    client_id = f"{TableIdentity(config.site, config.table.id, '').probe_id()}-lamp"
    try:
        broker = None if config.mqtt is None else Broker(config.mqtt, client_id)
        output = open_output(lamp, broker)
        try:
            dark = dict.fromkeys(lamp.channels, lamp.inverted)
            for channel in lamp.channels:
                output.write(dark | {channel: not lamp.inverted})
                time.sleep(_LIGHT_S)
            output.write(dark)
        finally:
            output.close(stopped=True)
    except (LineError, UserError) as error:
        return Finding(about, "bad", f"stays dark: {error}")
    text = f"{redact_url(lamp.place)}: each channel was switched on for a second; did it light?"
    return Finding(about, "note", text)


_MATURITIES: Final = {
    Maturity.DOCUMENTED: "written from documents, never tried on a real reader",
    Maturity.ASSUMED: "no document describes this protocol fully; never tried on a real reader",
}


def maturity_text(driver: Driver) -> str | None:
    """Return how well a driver's protocol is known; None if it is proven, or not declared."""
    return _MATURITIES.get(getattr(driver, "maturity", Maturity.PROVEN))


def _check_driver(reader: Reading) -> Iterator[Finding]:
    about, name = f"reader {reader.id}", reader.driver.name
    other = replacement_of(name)
    if other is not None:
        text = f"driver {name}: {other} is not used: the name is a driver's of the project"
        yield Finding(about, "bad", f"{text}; the other package must rename its own")
    known = maturity_text(reader.driver)
    if known is not None:
        yield Finding(about, "note", f"driver {name}: {known}: compare its cards with the table's")


def _check_codes(reader: Reading, decks: int) -> Iterator[Finding]:
    """Compare a table of codes with the deck, and with the reader that learned it."""
    about, driver = f"reader {reader.id}", reader.driver
    if not isinstance(driver, LearnsCodes) or not (codes := driver.codes()):
        return
    path, expected = driver.table_file, decks if driver.unique_codes else 1
    name = "the table of codes" if path is None else str(path)
    missing = missing_cards(codes, expected)
    if missing:
        named = ", ".join(missing[:_MAX_NAMED]) + (" …" if len(missing) > _MAX_NAMED else "")
        each = "a code" if expected == 1 else f"{expected} codes, one for each deck,"
        text = f"{name}: {len(codes)} codes; {len(missing)} of 52 cards lack {each}: {named}"
        yield Finding(about, "bad", f"{text}: scan them with `calibrate deck`")
    profile = None if path is None else load_deck_profile(path)
    if profile is None:
        if not missing:
            yield Finding(about, "good", f"{name}: {len(codes)} codes, every card has one")
        return
    for text in profile_differences(profile, driver.name, driver.code_settings):
        yield Finding(about, "bad", f"{path} was learned with other settings: {text}")
    line = asdict(reader.line) | {"port": redact_url(reader.port)}
    learned = profile.line | ({"port": profile.port} if profile.port else {})
    for key, value in learned.items():
        if key in line and line[key] != value:
            text = f"{path} was learned with {key} = {value}, not {line[key]}"
            yield Finding(about, "note", f"{text}: verify it with `calibrate deck --verify`")
    if not profile.is_unchanged:
        text = f"{path}: the table was changed after {profile.date}, when it was learned"
        yield Finding(about, "note", f"{text}: verify it with `calibrate deck --verify`")
    if not missing:
        text = f"{path}: {profile.codes} codes of {profile.decks} decks, learned {profile.date}"
        yield Finding(about, "good", text)


def _check_evidence(about: str, folder: Path | None) -> Finding:
    if folder is None:
        text = "keeps no pictures: no dispute can be looked at"
        return Finding(about, "note", text)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        text = f"cannot keep pictures: {there} is no folder that can be written"
        return Finding(about, "bad", text)
    count = sum(each.suffix in {".jpg", ".webm"} for each in folder.glob("*.*"))
    return Finding(about, "good", f"keeps pictures and clips in {folder}: {count:,} there")


def _undetected(setup: Setup) -> Iterator[Finding]:
    for kind, why in undetectable_kinds(setup.house, setup.options).items():
        what = IRREGULARITIES[kind].text.rstrip(".")
        yield Finding("blind", "note", f"{kind} ({what[0].lower()}{what[1:]}): {why}")
    if setup.options.round_end is RoundEnd.QUIET:
        gap = f"{setup.options.quiet_gap:g}"
        yield Finding(
            "blind",
            "note",
            f"a card too many {gap} s or more after the last begins the next round",
        )


def table_broker(setup: Setup) -> Iterator[Finding]:
    """Test the broker as the table uses it."""
    config = setup.config
    if config.mqtt is None:
        text = "none is configured: nothing is published, and no order can be given"
        yield Finding("broker", "note", text)
        return
    settings = config.mqtt
    topics = Topics(config.site, config.table.id, settings.prefix)
    client_id = TableIdentity(config.site, config.table.id, "").probe_id()

    def check_rights(probe: BrokerProbe) -> Iterator[Finding]:
        yield _subscription(probe, topics.commands)
        test = _publish_mqtt_5 if settings.protocol == "5" else _publish_mqtt_3
        yield from test(probe, topics)

    yield from _test(settings, setup.notes, client_id, check_rights)


def _display_broker(setup: DisplaySetup) -> Iterator[Finding]:
    """Test the broker as the display uses it."""
    config = setup.config
    staff_alerts = config.display.pit.staff_alerts
    wanted = topic_filters(config.mqtt.prefix, config.display.site, staff_alerts=staff_alerts)
    client_id = f"shoe-display-{secrets.token_hex(4)}"

    def check_rights(probe: BrokerProbe) -> Iterator[Finding]:
        are_accepted = yield from _subscriptions(probe, wanted)
        if are_accepted and staff_alerts:
            yield from _staff_alerts_received({each.topic for each in probe.received})

    if not staff_alerts:
        yield Finding("staff alerts", "note", _STAFF_ALERTS_OFF)
    yield from _test(config.mqtt, setup.notes, client_id, check_rights)


def _without_login(settings: MqttSettings) -> Finding:
    # A password or certificate is a credential that only the service has.
    host, port = settings.address
    if (unreachable := _unreachable("broker", settings.address)) is not None:
        return unreachable
    text = (
        f"{host}:{port} answers; the login needs a credential of the service and is not tested: "
        "while it runs, root can set CREDENTIALS_DIRECTORY=/run/credentials/UNIT.service"
    )
    return Finding("broker", "note", text)


def _test(
    settings: MqttSettings,
    notes: Collection[str],
    client_id: str,
    check_rights: Callable[[BrokerProbe], Iterator[Finding]],
) -> Iterator[Finding]:
    if any(note.startswith("mqtt.") for note in notes):
        yield _without_login(settings)
        return
    host, port = settings.address
    who = f"user {settings.username!r}" if settings.username else "nobody (no mqtt.username)"
    try:
        with BrokerProbe(settings, client_id) as probe:
            text = f"{host}:{port} accepts the login of {who}, MQTT {settings.protocol}"
            yield Finding("broker", "good", text)
            if not probe.retain_available:
                text = "keeps no retained messages: a display that starts later sees nothing"
                yield Finding("broker", "bad", text)
            yield from _certificates(settings, probe.broker_certificate)
            yield from check_rights(probe)
    except (BrokerProbeError, UserError) as error:
        text = f"{host}:{port}, login of {who} as {client_id!r}: {error}"
        yield Finding("broker", "bad", text)
        yield from _certificates(settings, None)
        return
    if settings.tls is None and host not in _LOOPBACK_HOSTS:
        yield Finding("broker", "note", "the connection is not encrypted: no [mqtt.tls]")


def _certificates(settings: MqttSettings, broker: bytes | None) -> Iterator[Finding]:
    alerts = certificate_alerts(settings, broker, dt.datetime.now(dt.UTC))
    yield from (Finding("certificate", "bad", alert) for alert in alerts)


def _subscription(probe: BrokerProbe, topic_filter: str) -> Finding:
    refusal = probe.subscribe(topic_filter)
    if refusal is not None:
        text = f"{topic_filter} is refused: {refusal}: no order can arrive"
        return Finding("subscribe", "bad", text)
    # mosquitto's acl_file accepts every subscription and filters the messages.
    text = f"{topic_filter} is accepted; whether orders arrive, only an order shows"
    return Finding("subscribe", "good", text)


def _publish_mqtt_5(probe: BrokerProbe, topics: Topics) -> Iterator[Finding]:
    name = f"doctor/{secrets.token_hex(4)}"
    topics_tried = (topics.retained(name), topics.retained(f"staff/{name}"))
    refusals = {topic: probe.publish(topic) for topic in topics_tried}
    refused = [f"{topic} is refused: {why}" for topic, why in refusals.items() if why is not None]
    if not refused:
        text = f"any topic below {topics.root}, staff/ included, is accepted"
        yield Finding("publish", "good", text)
        return
    # The rights may name topics one by one; an answer is a topic that no display shows.
    reply = topics.reply(f"doctor-{secrets.token_hex(4)}")
    if len(refused) == len(refusals) and probe.publish(reply) is None:
        text = (
            f"{reply} is accepted, but not any topic below {topics.root}: compare the broker's "
            "rights with docs/mqtt.md; single topics cannot be tested without displays noticing"
        )
        yield Finding("publish", "note", text)
        return
    for text in refused:
        yield Finding("publish", "bad", text)


def _publish_mqtt_3(probe: BrokerProbe, topics: Topics) -> Iterator[Finding]:
    # MQTT 3.1.1 has no refusal; only a message that comes back shows the right.
    reply = topics.reply(f"doctor-{secrets.token_hex(4)}")
    refusal = probe.subscribe(reply)
    if refusal is None:
        probe.publish(reply)
        if probe.receives(reply):
            text = f"{reply} came back: this user may publish there; other topics are not tested"
            yield Finding("publish", "good", text)
            return
    text = (
        f"{reply} did not come back: this user may not publish it, or may not read it; "
        "MQTT 3.1.1 does not tell which, and reports no refused message to the table either"
    )
    yield Finding("publish", "note", text)


def _subscriptions(probe: BrokerProbe, wanted: Collection[str]) -> Generator[Finding, None, bool]:
    """Subscribe to all filters, and wait for documents; return whether all were accepted."""
    refused = {each: reason for each in wanted if (reason := probe.subscribe(each))}
    for topic_filter, reason in refused.items():
        yield Finding("subscribe", "bad", f"{topic_filter} is refused: {reason}")
    if refused:
        return False
    probe.receive(_RETAINED_WAIT_S)
    accepted = f"{len(wanted)} filters are accepted"
    if probe.received:
        text = f"{accepted}, {len(probe.received)} retained documents arrived"
        yield Finding("subscribe", "good", text)
    else:
        text = (
            f"{accepted}, but no retained document arrived: no table has published yet, or this "
            "user may not read; the broker does not tell which"
        )
        yield Finding("subscribe", "note", text)
    return True


def _staff_alerts_received(topics: Collection[str]) -> Iterator[Finding]:
    # mosquitto's acl_file accepts the subscription and filters the messages; every table
    # retains this document, also when nothing is open.
    tables = [each.removesuffix(STATE) for each in topics if each.endswith(f"/{STATE}")]
    without = [table for table in tables if f"{table}{STAFF_ALERTS}" not in topics]
    if without:
        text = (
            f"no {STAFF_ALERTS} arrived of {len(without)} of {len(tables)} tables: let this user "
            "read it at the broker (pit-display in mosquitto-shoe.acl), and update their daemons"
        )
        yield Finding("staff alerts", "bad", text)
    elif tables:
        text = f"{STAFF_ALERTS} arrived of all {len(tables)} tables"
        yield Finding("staff alerts", "good", text)
