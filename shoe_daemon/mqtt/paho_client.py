"""The one factory of paho clients: protocol, login and TLS from the settings."""

from __future__ import annotations

import socket
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties

from shoe_daemon.mqtt.mqtt_settings import MqttSettings

__all__ = ["create_client", "make_properties"]


def create_client(
    settings: MqttSettings, client_id: str, *, reconnect: bool = False
) -> paho.Client:
    """
    Return a client that is not connected yet.

    Args:
        settings: The broker.
        client_id: Unique at the broker.
        reconnect: Let paho reconnect by itself; it may then fall back to MQTT 3.1.

    Raises:
        UserError: The password or a certificate cannot be read.
    """
    is_5 = settings.protocol == "5"
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id,
        clean_session=None if is_5 else True,
        protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
        reconnect_on_failure=reconnect,
    )
    client.on_socket_open = _disable_nagle
    if settings.username is not None:
        client.username_pw_set(settings.username, settings.password())
    context = settings.tls_context()
    if context is not None:
        client.tls_set_context(context)
    return client


def make_properties(packet_type: int, **values: object) -> Properties:
    """Return MQTT 5 properties of a packet."""
    properties = Properties(packet_type)  # type: ignore[no-untyped-call]  # paho has no type here
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _disable_nagle(_client: paho.Client, _userdata: object, connection: Any) -> None:  # noqa: ANN401
    """Send small packets at once, before the previous one is acknowledged."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
