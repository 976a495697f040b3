"""
A test connection to the broker: login, subscriptions and publish rights.

It has a client id of its own, no last will and no session, and retains nothing: no
running table or display is disturbed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Self

from shoe_daemon.errors import one_line
from shoe_daemon.mqtt.connection import (
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    ConnectionEvent,
    ConnectionLost,
    Event,
    MessageReceived,
    Subscribed,
)
from shoe_daemon.mqtt.mqtt_settings import MqttSettings

ANSWER_TIMEOUT_S: Final = 3.0


class BrokerProbeError(Exception):
    """The broker cannot be reached, refuses the login, or does not answer."""


class BrokerProbe:
    """
    One connection, for the length of a `with` block.

    Attributes:
        retain_available: Whether the broker keeps retained messages (assumed on MQTT 3.1.1).
        received: The messages that were received.
    """

    def __init__(
        self, settings: MqttSettings, client_id: str, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> None:
        self.retain_available = True
        self.received: list[MessageReceived] = []
        self._timeout_s = timeout_s
        self._connection = Connection(settings, client_id, None, timeout_s)

    def __enter__(self) -> Self:
        """
        Log in.

        Raises:
            BrokerProbeError: The broker cannot be reached, or refuses the login.
        """
        try:
            self._connection.open()
            connected = self._wait_for(Connected, "the login")
            self.retain_available = connected.retain_available
        except OSError as error:
            self._connection.close()
            raise BrokerProbeError(f"cannot be reached: {one_line(error)}") from error
        except BrokerProbeError:
            self._connection.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.disconnect()
        self._connection.close()

    @property
    def broker_certificate(self) -> bytes | None:
        """The certificate that the broker has shown (DER); None without TLS."""
        return self._connection.broker_certificate

    def subscribe(self, topic_filter: str) -> str | None:
        """
        Subscribe; return the reason of a refusal, or None.

        Raises:
            BrokerProbeError: The broker does not answer.
        """
        self._connection.subscribe(topic_filter)
        return self._wait_for(Subscribed, f"a subscription to {topic_filter}").refusal

    def publish(self, topic: str, payload: bytes = b"{}") -> str | None:
        """
        Publish without retaining; return the reason of a refusal, or None. MQTT 3.1.1
        has no refusals.

        Raises:
            BrokerProbeError: The broker does not answer.
        """
        self._connection.publish(topic, payload, retain=False)
        answer = self._wait_for(Acknowledged, f"a message to {topic}")
        return answer.text if answer.reason >= REFUSED else None

    def receives(self, topic: str) -> bool:
        """Return whether a message of this topic is received within the timeout."""
        return any(each.topic == topic for each in self.received) or any(
            isinstance(event, MessageReceived) and event.topic == topic
            for event in self._events(self._timeout_s)
        )

    def receive(self, seconds: float) -> None:
        """Receive messages for some seconds."""
        for _ in self._events(seconds):
            pass

    def _wait_for(self, kind: type[Event], request: str) -> Event:
        for event in self._events(self._timeout_s):
            if isinstance(event, kind):
                return event
        raise BrokerProbeError(f"does not answer {request} within {self._timeout_s:g} s")

    def _events(self, seconds: float) -> Iterator[ConnectionEvent]:
        try:
            for event in self._connection.events(seconds):
                if isinstance(event, MessageReceived):
                    self.received.append(event)
                yield event
        except ConnectionLost as lost:
            raise BrokerProbeError(str(lost)) from lost
