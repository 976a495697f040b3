"""
MQTT: publishes a table's events and retained documents, and receives commands.

`Publisher` is the entry point: one thread, at least once, in order. `Topics` has
all topics, `documents_and_replies` all retained documents; `embedded_broker` is for the demo.

    connection        one connection: paho behind `poll` and `publish`
    session           what is sent over one connection, from login to `offline`
    publisher         reconnects for ever
    event_queue       events from the journal, the cursor, replays
    document_queues   retained documents and replies
    outgoing_queue    which message is sent next
    commands          commands as received and as parsed
"""

from __future__ import annotations

from shoe_daemon.mqtt.commands import IncomingCommand
from shoe_daemon.mqtt.mqtt_settings import MqttSettings, TlsSettings
from shoe_daemon.mqtt.publisher import Health, Publisher
from shoe_daemon.mqtt.publisher_context import ChainHead
from shoe_daemon.mqtt.table_identity import TableIdentity
from shoe_daemon.mqtt.topics import Topics

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
