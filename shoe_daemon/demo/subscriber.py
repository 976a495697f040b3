"""MQTT subscriber of the demo that counts messages."""

from __future__ import annotations

import contextlib
import threading
from typing import Final, Self

import msgspec
from msgspec import Struct
from paho.mqtt import client as paho

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_client import create_client

__all__ = ["Subscriber", "leave"]

_SUBSCRIBE_TIMEOUT_S: Final = 10.0


class _Numbered(Struct):
    seq: int


_decoder = msgspec.json.Decoder(_Numbered)


class Subscriber:
    """
    Subscribes to one table from `__enter__` to `__exit__`.

    Attributes:
        events: Number of different events received.
        last: `seq` of the last event.
        documents: Number of other messages.
    """

    def __init__(self, host: str, port: int, topics: str) -> None:
        self.events = self.last = self.documents = 0
        self._topics = topics
        self._subscribed = threading.Event()
        settings = MqttSettings(host=host, port=port, protocol="3.1.1")
        self._client = client = create_client(settings, "demo-subscriber", reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(host, port)

    def __enter__(self) -> Self:
        """Subscribe, and wait for the acknowledgement."""
        self._client.loop_start()
        if not self._subscribed.wait(_SUBSCRIBE_TIMEOUT_S):
            self.__exit__()
            raise UserError("the demo's broker does not acknowledge a subscription")
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        leave(self._client)

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe(self._topics, qos=1)

    def _on_subscribe(self, *_: object) -> None:
        self._subscribed.set()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/event/" not in message.topic:
            self.documents += 1
            return
        seq = _decoder.decode(message.payload).seq
        # At least once: a repeated event has a `seq` that was already counted.
        if seq > self.last:
            self.events += 1
            self.last = seq


def leave(client: paho.Client) -> None:
    """Disconnect from the broker, and wait for the end of the client's thread."""
    client.disconnect()
    # paho fails if the thread ends by itself at the same time.
    with contextlib.suppress(AttributeError):
        client.loop_stop()
