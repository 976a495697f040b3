"""
A subscriber like any other, which counts what the broker brings.
"""

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

_PATIENCE: Final = 10.0


class _Numbered(Struct):
    seq: int


_decoder = msgspec.json.Decoder(_Numbered)


class Subscriber:
    """
    Listens to one table from `__enter__` to `__exit__`.

    Attributes:
        events: How many different events came.
        last: The number of the last one.
        documents: How many other messages came.
    """

    def __init__(self, host: str, port: int, topics: str) -> None:
        self.events = self.last = self.documents = 0
        self._topics = topics
        self._listens = threading.Event()
        settings = MqttSettings(host=host, port=port, protocol="3.1.1")
        self._client = client = create_client(settings, "demo-subscriber", reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(host, port)

    def __enter__(self) -> Self:
        """
        Subscribe, and return when the broker has agreed.
        """
        self._client.loop_start()
        if not self._listens.wait(_PATIENCE):
            self.__exit__()
            raise UserError("the demo's broker lets nobody subscribe")
        return self

    def __exit__(self, *_: object) -> None:
        """
        Leave.
        """
        leave(self._client)

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe(self._topics, qos=1)

    def _on_subscribe(self, *_: object) -> None:
        self._listens.set()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/event/" not in message.topic:
            self.documents += 1
            return
        seq = _decoder.decode(message.payload).seq
        # At least once: what comes again has a number that was there before.
        if seq > self.last:
            self.events += 1
            self.last = seq


def leave(client: paho.Client) -> None:
    """
    Take leave of the broker; the client's thread has ended when this returns.
    """
    client.disconnect()
    # Where the thread ends by itself just then, paho looks for it in vain.
    with contextlib.suppress(AttributeError):
        client.loop_stop()
