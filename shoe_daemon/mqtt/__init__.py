"""
MQTT: publishes a table's events and retained documents, and receives commands.

`Publisher` is the entry point: one thread, at least once, in order. `Topics` has
all topics, `document_contents` all retained documents; `embedded_broker` is for the demo.

    connection                  one connection: paho behind `poll` and `publish`
    broker_session              what is sent over one connection, from login to `offline`
    publisher                   reconnects for ever
    outgoing_queue              events from the journal, the cursor; which message is sent next
    document_and_reply_queues   retained documents, replies, replays
    commands                    commands as received and as parsed
"""

from __future__ import annotations

from shoe_daemon.mqtt.commands import IncomingCommand
from shoe_daemon.mqtt.mqtt_settings import MqttSettings, TlsSettings
from shoe_daemon.mqtt.publisher import Health, Publisher
from shoe_daemon.mqtt.publisher_context import ChainHead
from shoe_daemon.mqtt.topics import TableIdentity, Topics

__all__ = [
    "ChainHead",
    "Health",
    "IncomingCommand",
    "MqttSettings",
    "Publisher",
    "TableIdentity",
    "TlsSettings",
    "Topics",
]
