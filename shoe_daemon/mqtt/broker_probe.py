"""
A test connection to the broker: login, subscriptions and publish rights.

It has a client id of its own, no last will and no session, and retains nothing: no
running table or display is disturbed.
"""

from __future__ import annotations

import time
from typing import Final, Self, TypeVar

from shoe_daemon.errors import one_line
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_connection import (
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    ConnectionEvent,
    Disconnected,
    MessageReceived,
    Subscribed,
    SubscriptionRefused,
)

ANSWER_TIMEOUT_S: Final = 3.0

_POLL_S: Final = 0.1

Event = TypeVar("Event", bound=ConnectionEvent)


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
        self._refusal: str | None = None
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
        self._refusal = None
        self._connection.subscribe(topic_filter)
        self._wait_for(Subscribed, f"a subscription to {topic_filter}")
        return self._refusal

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
        until = time.monotonic() + self._timeout_s
        while not any(each.topic == topic for each in self.received):
            if time.monotonic() > until:
                return False
            self._poll()
        return True

    def receive(self, seconds: float) -> None:
        """Receive messages for some seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._poll()

    def _wait_for(self, kind: type[Event], request: str) -> Event:
        until = time.monotonic() + self._timeout_s
        while time.monotonic() < until:
            for event in self._poll():
                if isinstance(event, kind):
                    return event
        raise BrokerProbeError(f"does not answer {request} within {self._timeout_s:g} s")

    def _poll(self) -> list[ConnectionEvent]:
        events = self._connection.poll(_POLL_S)
        for event in events:
            if isinstance(event, MessageReceived):
                self.received.append(event)
            elif isinstance(event, SubscriptionRefused):
                self._refusal = event.reason
            elif isinstance(event, Disconnected):
                raise BrokerProbeError(event.reason)
        if not self._connection.is_open:
            raise BrokerProbeError("closes the connection")
        return events
