"""
Home Assistant's discovery document of a table: a device with its sensors.

Home Assistant reads the public documents itself; the document names their topics, and templates
that find the values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from shoe_daemon import __version__
from shoe_daemon.mqtt.settings import STATE_EXPIRY_HEARTBEATS
from shoe_daemon.mqtt.topics import STATE, STATUS, TableIdentity, Topics, device

MAX_STATE: Final = 250
"""Home Assistant refuses longer texts as a state (255)."""


def discovery_document(
    topics: Topics, identity: TableIdentity, readers: Sequence[str], heartbeat: int
) -> bytes:
    """
    Return the document of a table with these readers; public topics only.

    `heartbeat` is the seconds between two publications of `state`.
    """
    name = f"shoe_{identity.site}_{identity.table}"
    components = _components()
    reader = components.pop("reader")
    for each in readers:
        own = {"name": f"Reader {each}", "state_topic": device(each)}
        components[f"reader_{each}"] = reader | own
    availability = {
        "topic": topics.retained(STATUS),
        "value_template": "{{ 'online' if value_json.state == 'online' else 'offline' }}",
    }
    for key, component in components.items():
        if component["state_topic"] == STATE:
            component["expire_after"] = STATE_EXPIRY_HEARTBEATS * heartbeat
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


def _components() -> dict[str, dict[str, Any]]:
    """Return the components of every table, and of a reader; topics are suffixes."""
    text = Path(__file__).with_name("home_assistant.toml").read_text(encoding="utf-8")
    return tomllib.loads(text.replace("MAX_STATE", str(MAX_STATE)))
