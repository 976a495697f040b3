"""
Clients for a moment: one sends a command and waits for its reply, the other tests what the broker
permits.

They have client ids of their own, no last will and no session: no running table or display is
disturbed.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from typing import Final, Self

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.mqtt.connection import (
    NO_SUBSCRIBERS,
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
from shoe_daemon.mqtt.settings import MqttSettings

ANSWER_TIMEOUT_S: Final = 3.0


class NoReplyError(UserError):
    """The command was sent, and whether it was carried out is not known."""


def send_command(
    settings: MqttSettings, topic: str, payload: bytes, *, reply: str, timeout_s: float
) -> bytes:
    """
    Publish a command and return the payload of its reply, which has the topic `reply`.

    Of several brokers the first that takes it; `timeout_s` is for all of it.

    Raises:
        NoReplyError: It was sent, and there is no reply in time.
        UserError: It was not sent: the broker cannot be reached or refuses, or no daemon is
            subscribed.
    """
    until = time.monotonic() + timeout_s
    brokers, failure = settings.each, UserError("no broker")
    for number, broker in enumerate(brokers):
        now = time.monotonic()
        # A broker that hangs leaves time for the next ones.
        accept_by = now + (until - now) / (len(brokers) - number)
        client = _CommandClient(broker, topic, payload, reply)
        connection = Connection(broker, f"shoe-cmd-{secrets.token_hex(4)}", None, accept_by - now)
        try:
            return client.run(connection, accept_by, until)
        except NoReplyError:
            raise
        except UserError as error:
            failure = error
        finally:
            connection.disconnect()
            connection.close()
    raise failure


_PIN: Final = re.compile(rb'"pin"\s*:')
"""A field of an order; within a text its quotation marks would be escaped."""


class _CommandClient:
    """Connects, subscribes to the reply, then publishes: each step follows the last answer."""

    def __init__(self, settings: MqttSettings, topic: str, payload: bytes, reply: str) -> None:
        self._broker = f"the broker at {settings.name}"
        self._topic, self._payload, self._reply = topic, payload, reply
        self._sent = False
        self._has_pin = _PIN.search(payload) is not None

    def run(self, connection: Connection, accept_by: float, until: float) -> bytes:
        try:
            connection.open()
            while (limit := until if self._sent else accept_by) > time.monotonic():
                for event in connection.poll(limit - time.monotonic()):
                    answer = self._handle(event, connection)
                    if answer is not None:
                        return answer
        except OSError as error:
            raise UserError(f"{self._broker}: {one_line(error).lower()}") from error
        except ConnectionLost as lost:
            reason = str(lost) if lost.refused else f"{self._broker} has closed the line"
            raise (NoReplyError if self._sent else UserError)(reason) from lost
        if self._sent:
            raise NoReplyError("no answer to the order: whether it is carried out is not known")
        raise UserError(f"{self._broker} does not answer")

    def _handle(self, event: ConnectionEvent, connection: Connection) -> bytes | None:
        match event:
            case Connected():
                connection.subscribe(self._reply)
            case Subscribed(_, str()):
                raise UserError("the broker does not let us read the answer")
            case Subscribed():
                self._sent = True
                # A broker may write messages of QoS 1 to its disk: mosquitto those for a table
                # that is away, NATS (3.1.1) all. A PIN must not be there.
                connection.publish(
                    self._topic,
                    self._payload,
                    retain=False,
                    response_topic=self._reply,
                    qos=0 if self._has_pin or connection.settings.protocol != "5" else 1,
                )
            case Acknowledged(_, reason, text) if reason >= REFUSED:
                raise UserError(f"the broker refuses the order: {text}")
            case Acknowledged(_, reason) if reason == NO_SUBSCRIBERS:
                raise UserError("no daemon listens for orders there")
            case MessageReceived(topic, answer) if topic == self._reply:
                return answer
            case _:
                pass
        return None


class BrokerProbeError(Exception):
    """The broker cannot be reached, refuses the login, or does not answer."""


class BrokerProbe:
    """
    Tests the login, subscriptions and publish rights, for the length of a `with` block.

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

    def publish(self, topic: str, payload: bytes = b"{}", *, retain: bool = False) -> str | None:
        """
        Publish; return the reason of a refusal, or None, as always with MQTT 3.1.1. An empty
        retained message clears its topic.

        Raises:
            BrokerProbeError: The broker does not answer.
        """
        self._connection.publish(topic, payload, retain=retain)
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
