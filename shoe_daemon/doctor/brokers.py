"""
The checks of a broker: the login, and the rights of a table, a display or notifications.

They use a client id of their own and topics that no display shows, and retain nothing.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Callable, Collection, Generator, Iterator
from pathlib import Path
from typing import Final

from shoe_daemon.config.table import Setup
from shoe_daemon.display.config import DisplaySetup
from shoe_daemon.doctor.finding import Finding, check_reachable
from shoe_daemon.errors import UserError
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.mqtt.certificates import certificate_alerts
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import ID, STAFF_ALERTS, STATE, TableIdentity, Topics
from shoe_daemon.notify.config import NotifySetup
from shoe_daemon.notify.service import topic_filters as notify_filters
from shoe_daemon.web import is_loopback

_RETAINED_WAIT_S: Final = 1.0
_LOCAL_RIGHTS: Final = Path("/etc/mosquitto/shoe.acl")
_NEW_RIGHTS: Final = (
    "so it can make a table that does not exist, or falsify one; give each account its own block: "
    "docs/install-by-hand.md, Rights of an earlier version"
)
_STAFF_ALERTS_OFF: Final = (
    "the pit shows no alert that only staff may see: staff_alerts = true in [display.pit], with "
    f"an account that may read {STAFF_ALERTS}, such as pit-display of mosquitto-shoe.acl"
)


def check_table_broker(setup: Setup) -> Iterator[Finding]:
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
        yield from _foreign_rights(probe, settings, {config.site})
        yield from _local_rights(settings)

    yield from _test(settings, setup.notes, client_id, check_rights)


def check_display_broker(setup: DisplaySetup) -> Iterator[Finding]:
    """Test the broker as the display uses it."""
    config = setup.config
    staff_alerts = config.display.pit.staff_alerts
    wanted = topic_filters(config.mqtt.prefix, config.display.site, staff_alerts=staff_alerts)
    client_id = f"shoe-display-{secrets.token_hex(4)}"

    def check_rights(probe: BrokerProbe) -> Iterator[Finding]:
        are_accepted = yield from _subscriptions(probe, wanted)
        if are_accepted and staff_alerts:
            yield from _staff_alerts_received({each.topic for each in probe.received})
        sites = _sites(probe, config.mqtt.prefix, config.display.site)
        yield from _foreign_rights(probe, config.mqtt, sites, config.mqtt.username)

    if not staff_alerts:
        yield Finding("staff alerts", "note", _STAFF_ALERTS_OFF)
    yield from _test(config.mqtt, setup.notes, client_id, check_rights)


def check_notify_broker(setup: NotifySetup) -> Iterator[Finding]:
    """Test the broker as notifications use it."""
    mqtt, site = setup.config.mqtt, setup.config.notify.site
    wanted, client_id = notify_filters(setup.config), f"shoe-notify-{secrets.token_hex(4)}"

    def check_rights(probe: BrokerProbe) -> Iterator[Finding]:
        yield from _subscriptions(probe, wanted)
        yield from _foreign_rights(probe, mqtt, _sites(probe, mqtt.prefix, site), mqtt.username)

    yield from _test(mqtt, setup.notes, client_id, check_rights)


def check_pins(settings: MqttSettings, *, refused: bool, section: str) -> Iterator[Finding]:
    """Check that PINs do not travel over a network without TLS; `section` may allow it."""
    if not settings.is_plain:
        return
    way = f"the connection to {settings.name} is not encrypted"
    if refused:
        text = (
            f"every order with a PIN is refused: {way}; set up [mqtt.tls], or in a laboratory "
            f"allow_plain_pins = true in [{section}]"
        )
    else:
        text = f"others on the network can read the PINs: {way} (allow_plain_pins)"
    yield Finding("orders", "bad", text)


def _test(
    settings: MqttSettings,
    notes: Collection[str],
    client_id: str,
    check_rights: Callable[[BrokerProbe], Iterator[Finding]],
) -> Iterator[Finding]:
    for broker in settings.each:
        if any(note.startswith("mqtt.") for note in notes):
            yield _without_login(broker)
        else:
            yield from _test_one(broker, client_id, check_rights)


def _test_one(
    settings: MqttSettings,
    client_id: str,
    check_rights: Callable[[BrokerProbe], Iterator[Finding]],
) -> Iterator[Finding]:
    who = f"user {settings.username!r}" if settings.username else "nobody (no mqtt.username)"
    try:
        with BrokerProbe(settings, client_id) as probe:
            text = f"{settings.name} accepts the login of {who}, MQTT {settings.protocol}"
            yield Finding("broker", "good", text)
            if not probe.retain_available:
                text = "keeps no retained messages: a display that starts later sees nothing"
                yield Finding("broker", "bad", text)
            yield from _certificates(settings, probe.broker_certificate)
            yield from check_rights(probe)
    except (BrokerProbeError, UserError) as error:
        text = f"{settings.name}, login of {who} as {client_id!r}: {error}"
        yield Finding("broker", "bad", text)
        yield from _certificates(settings, None)
        return
    if settings.is_plain:
        yield Finding("broker", "note", "the connection is not encrypted: no [mqtt.tls]")


def _without_login(settings: MqttSettings) -> Finding:
    # A password or certificate is a credential that only the service has.
    if (unreachable := check_reachable("broker", settings.address)) is not None:
        return unreachable
    text = (
        f"{settings.name} answers; the login needs a credential of the service and is not tested: "
        "while it runs, root can set CREDENTIALS_DIRECTORY=/run/credentials/UNIT.service"
    )
    return Finding("broker", "note", text)


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


def _sites(probe: BrokerProbe, prefix: str, site: str | None) -> set[str]:
    """Return the only site that is configured, or those of the received documents."""
    if site is not None:
        return {site}
    topics = [each.topic for each in probe.received if each.topic.startswith(f"{prefix}/")]
    return {topic.removeprefix(f"{prefix}/").partition("/")[0] for topic in topics}


def _foreign_rights(
    probe: BrokerProbe, settings: MqttSettings, sites: Collection[str], name: str | None = None
) -> Iterator[Finding]:
    """
    Try to publish for a table that does not exist, also under a name (that of an account which
    is not a table's). Displays subscribe to none of these topics.
    """
    number = secrets.token_hex(4)
    names = [f"doctor-{number}", *([name] if name and ID.fullmatch(name) else ())]
    roots = [f"{settings.prefix}/{site}/{each}" for site in sites for each in names]
    if settings.protocol == "5":
        accepted = [root for root in roots if probe.publish(f"{root}/doctor/{number}") is None]
    else:
        # MQTT 3.1.1 has no refusal; only a message that comes back shows the right.
        replies = {f"{root}/reply/doctor-{number}": root for root in roots}
        for topic in replies:
            if probe.subscribe(topic) is None:
                probe.publish(topic)
        probe.receive(_RETAINED_WAIT_S)
        received = {each.topic for each in probe.received}
        accepted = [root for topic, root in replies.items() if topic in received]
    for root in accepted:
        yield Finding("rights", "note", f"this user may publish below {root}, {_NEW_RIGHTS}")


def _local_rights(settings: MqttSettings) -> Iterator[Finding]:
    """Read the rights of a broker here: a table's account cannot test those of displays."""
    if not is_loopback(settings.address[0]):
        return
    try:
        rights = _LOCAL_RIGHTS.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    line = rf"^pattern +(?:(?:read)?write +)?{re.escape(settings.prefix)}/.*%u.*$"
    if found := re.search(line, rights, re.MULTILINE):
        text = f"{_LOCAL_RIGHTS} has `{found[0]}` for every user, a display's too, {_NEW_RIGHTS}"
        yield Finding("rights", "note", text)


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
