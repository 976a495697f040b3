"""
Home Assistant's discovery document of a table: a device with its sensors. Pure.

Home Assistant reads the public documents itself; the document names their topics, and templates
that find the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from shoe_daemon import __version__
from shoe_daemon.mqtt.mqtt_settings import STATE_EXPIRY_HEARTBEATS
from shoe_daemon.mqtt.topics import ALERTS, RESULT, STATE, STATUS, TableIdentity, Topics, device

MAX_STATE: Final = 250
"""Home Assistant refuses longer texts as a state (255)."""

_ALERTS_TEXT: Final = (
    "{{ (value_json.alerts | sort(attribute='data.severity') | last).data.detail"
    f"[:{MAX_STATE}] if value_json.alerts else 'none' }}}}"
)
_DRAW_TEXT: Final = (
    "{{ value_json.round.draw_due.text"
    f"[:{MAX_STATE}] if value_json.round and value_json.round.draw_due else 'none' }}}}"
)
_ON: Final = "{{{{ 'ON' if {} else 'OFF' }}}}"


def discovery_document(
    topics: Topics, identity: TableIdentity, readers: Sequence[str], heartbeat: int
) -> bytes:
    """
    Return the document; public topics only.

    Args:
        topics: The topics of the table.
        identity: The table.
        readers: The ids of its readers.
        heartbeat: Seconds between two publications of `state`.
    """
    name = f"shoe_{identity.site}_{identity.table}"
    components = _components(heartbeat) | {
        f"reader_{reader}": _reader(reader, device(reader)) for reader in readers
    }
    availability = {
        "topic": topics.retained(STATUS),
        "value_template": "{{ 'online' if value_json.state == 'online' else 'offline' }}",
    }
    for key, component in components.items():
        component["unique_id"] = f"{name}_{key}"
        component["state_topic"] = topics.retained(component["state_topic"])
        if key != "online":
            component["availability"] = [availability]
    document = {
        "components": components,
        "device": {
            "identifiers": [name],
            "manufacturer": "shoe-daemon",
            "model": "Baccarat table",
            "name": identity.name or identity.table,
            "sw_version": __version__,
        },
        "origin": {"name": "shoe-daemon", "sw_version": __version__},
        "qos": 1,
    }
    return msgspec.json.encode(document, order="sorted")


def _components(heartbeat: int) -> dict[str, dict[str, Any]]:
    """Return the components of every table; topics are suffixes."""
    expiry = {"expire_after": STATE_EXPIRY_HEARTBEATS * heartbeat}
    return {
        "online": {
            **_sensor("binary_sensor", "Online", STATUS, "value_json.state == 'online'"),
            "device_class": "connectivity",
            "entity_category": "diagnostic",
        },
        "alert": {
            **_sensor("binary_sensor", "Alert", ALERTS, "value_json.alerts"),
            "device_class": "problem",
        },
        "alert_text": {**_text("Most severe alert", ALERTS, _ALERTS_TEXT), "icon": "mdi:alert"},
        "alarm": {
            **_sensor("binary_sensor", "Alarm", STATE, "value_json.alarm"),
            "device_class": "problem",
            "entity_category": "diagnostic",
            **expiry,
        },
        "held": {
            **_sensor("binary_sensor", "Result held", STATE, "value_json.held"),
            "icon": "mdi:hand-back-right",
            **expiry,
        },
        "due": {**_text("Due", STATE, _DRAW_TEXT), "icon": "mdi:cards", **expiry},
        "betting": {
            **_text("Betting", STATE, "{{ value_json.betting }}"),
            "device_class": "enum",
            "options": ["open", "closed", "unknown"],
            **expiry,
        },
        "rounds": {
            **_text("Rounds of this shoe", STATE, "{{ value_json.counts.rounds }}"),
            "state_class": "measurement",
            "icon": "mdi:counter",
            **expiry,
        },
        "result": {
            **_text(
                "Last result",
                RESULT,
                "{{ value_json.result.data.outcome if value_json.result else None }}",
            ),
            "device_class": "enum",
            "options": ["player", "banker", "tie"],
        },
    }


def _reader(reader: str, suffix: str) -> dict[str, Any]:
    sensor = _sensor(
        "binary_sensor", f"Reader {reader}", suffix, "value_json.state == 'connected'"
    )
    return {**sensor, "device_class": "connectivity", "entity_category": "diagnostic"}


def _sensor(platform: str, name: str, suffix: str, condition: str) -> dict[str, Any]:
    return {
        "platform": platform,
        "name": name,
        "state_topic": suffix,
        "value_template": _ON.format(condition),
    }


def _text(name: str, suffix: str, template: str) -> dict[str, Any]:
    return {
        "platform": "sensor",
        "name": name,
        "state_topic": suffix,
        "value_template": template,
    }
