"""
What the table's journal says, brought to the broker and kept true there.

`Publisher` is the door: one thread, at least once, in order. `Topics` names
every topic, `messages` every retained document, `broker` is for the demo.
"""

from __future__ import annotations

from shoe_daemon.mqtt.mqtt_settings import MqttSettings, TlsSettings
from shoe_daemon.mqtt.publisher import Health, Publisher
from shoe_daemon.mqtt.publisher_context import ChainHead, Order
from shoe_daemon.mqtt.table_identity import Identity
from shoe_daemon.mqtt.topics import Topics

__all__ = [
    "ChainHead",
    "Health",
    "Identity",
    "MqttSettings",
    "Order",
    "Publisher",
    "TlsSettings",
    "Topics",
]
