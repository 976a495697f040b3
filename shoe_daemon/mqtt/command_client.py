"""
One order and its answer, for a program that comes, asks and goes.
"""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.mqtt_settings import MqttSettings

__all__ = ["ask"]

_REFUSED: Final = 0x80
_NOBODY: Final = 16


def ask(
    settings: MqttSettings, topic: str, payload: bytes, *, reply: str, timeout: float
) -> bytes:
    """
    Publish an order and return the payload of its answer.

    Args:
        settings: The broker.
        topic: Where the order goes.
        payload: The order.
        reply: Where the answer comes.
        timeout: Seconds that all of it may take.

    Raises:
        UserError: The broker is out of reach or refuses, nobody listens, or
            nobody answers.
    """
    asker = _Asker(settings, topic, payload, reply)
    try:
        return asker.run(time.monotonic() + timeout, timeout)
    finally:
        asker.close()


class _Asker:
    """
    Connects, listens, then asks; each step follows from the answer to the last.
    """

    def __init__(self, settings: MqttSettings, topic: str, payload: bytes, reply: str) -> None:
        self._settings = settings
        self._topic, self._payload, self._reply = topic, payload, reply
        self._is_5 = settings.protocol == "5"
        self._answer: bytes | None = None
        self._wrong: str | None = None
        self._asked = False
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2,
            f"shoe-cmd-{secrets.token_hex(4)}",
            protocol=MQTTProtocolVersion.MQTTv5 if self._is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
        )
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password())
        if (context := settings.tls_context()) is not None:
            client.tls_set_context(context)

    def run(self, until: float, timeout: float) -> bytes:
        host, port = self._settings.address
        self._client.connect_timeout = timeout
        try:
            self._client.connect(host, port)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UserError(f"the broker at {host}:{port}: {reason}") from error
        while time.monotonic() < until:
            lost = self._client.loop(0.1) != paho.MQTT_ERR_SUCCESS
            if (answer := self._heard()) is not None:
                return answer
            if lost:
                raise UserError(f"the broker at {host}:{port} has closed the line")
        if self._asked:
            raise UserError("no answer to the order: whether it is carried out is not known")
        raise UserError(f"the broker at {host}:{port} does not answer")

    def _heard(self) -> bytes | None:
        if self._answer is None and self._wrong is not None:
            raise UserError(self._wrong)
        return self._answer

    def close(self) -> None:
        self._client.disconnect()
        client = self._client
        client.on_connect = client.on_subscribe = client.on_publish = client.on_message = None

    def _on_connect(
        self, client: paho.Client, _u: object, _f: object, reason: ReasonCode, _p: object
    ) -> None:
        if reason.is_failure:
            self._wrong = f"the broker refuses us: {reason}"
        else:
            client.subscribe(self._reply, qos=1)

    def _on_subscribe(
        self, client: paho.Client, _u: object, _m: int, reasons: list[ReasonCode], _p: object
    ) -> None:
        if any(reason.is_failure for reason in reasons):
            self._wrong = "the broker does not let us read the answer"
            return
        more: dict[str, Any] = {}
        if self._is_5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.ResponseTopic = self._reply
            more["properties"] = properties
        self._asked = True
        client.publish(self._topic, self._payload, 1, **more)

    def _on_publish(
        self, _c: paho.Client, _u: object, _m: int, reason: ReasonCode, _p: object
    ) -> None:
        if reason.value >= _REFUSED:
            self._wrong = f"the broker refuses the order: {reason}"
        elif reason.value == _NOBODY:
            self._wrong = "no daemon listens for orders there"

    def _on_message(self, _c: paho.Client, _u: object, message: paho.MQTTMessage) -> None:
        if message.topic == self._reply:
            self._answer = bytes(message.payload)
