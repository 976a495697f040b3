"""Sends one command and waits for its reply."""

from __future__ import annotations

import secrets
import time
from typing import Final

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_connection import (
    NO_SUBSCRIBERS,
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

_POLL_S: Final = 0.1


class NoReplyError(UserError):
    """The command was sent, and whether it was carried out is not known."""


def send_command(
    settings: MqttSettings, topic: str, payload: bytes, *, reply: str, timeout_s: float
) -> bytes:
    """
    Publish a command and return the payload of its reply.

    Args:
        settings: The broker.
        topic: The command's topic.
        payload: The command.
        reply: The topic of the reply.
        timeout_s: Seconds for all of it.

    Raises:
        NoReplyError: It was sent, and there is no reply in time.
        UserError: It was not sent: the broker cannot be reached or refuses, or no daemon is
            subscribed.
    """
    client = _CommandClient(settings, topic, payload, reply)
    try:
        return client.run(time.monotonic() + timeout_s, timeout_s)
    finally:
        client.close()


class _CommandClient:
    """Connects, subscribes to the reply, then publishes: each step follows the last answer."""

    def __init__(self, settings: MqttSettings, topic: str, payload: bytes, reply: str) -> None:
        host, port = settings.address
        self._broker = f"the broker at {host}:{port}"
        self._settings = settings
        self._topic, self._payload, self._reply = topic, payload, reply
        self._connection: Connection | None = None
        self._sent = self._rejected = False
        self._answer: bytes | None = None
        self._failure: str | None = None

    def run(self, until: float, timeout_s: float) -> bytes:
        client_id = f"shoe-cmd-{secrets.token_hex(4)}"
        connection = Connection(self._settings, client_id, None, timeout_s)
        self._connection = connection
        try:
            connection.open()
        except OSError as error:
            raise UserError(f"{self._broker}: {one_line(error).lower()}") from error
        while time.monotonic() < until:
            for event in connection.poll(_POLL_S):
                self._handle(event, connection)
            if self._answer is not None:
                return self._answer
            if self._failure is not None:
                raise self._error(self._failure)
            if not connection.is_open:
                raise self._error(f"{self._broker} has closed the line")
        if self._sent:
            raise NoReplyError("no answer to the order: whether it is carried out is not known")
        raise UserError(f"{self._broker} does not answer")

    def _error(self, failure: str) -> UserError:
        """Return the error for a failure: a lost connection does not tell what was received."""
        unknown = self._sent and not self._rejected
        return NoReplyError(failure) if unknown else UserError(failure)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.disconnect()
            self._connection.close()

    def _handle(self, event: ConnectionEvent, connection: Connection) -> None:
        match event:
            case Connected():
                connection.subscribe(self._reply)
            case SubscriptionRefused():
                self._failure = "the broker does not let us read the answer"
            case Subscribed() if self._failure is None:
                self._sent = True
                connection.publish(
                    self._topic, self._payload, retain=False, response_topic=self._reply
                )
            case Acknowledged(_, reason, text) if reason >= REFUSED:
                self._failure, self._rejected = f"the broker refuses the order: {text}", True
            case Acknowledged(_, reason) if reason == NO_SUBSCRIBERS:
                self._failure, self._rejected = "no daemon listens for orders there", True
            case MessageReceived(topic, answer) if topic == self._reply:
                self._answer = answer
            case Disconnected(reason, _, refused) if self._failure is None:
                self._failure = reason if refused else f"{self._broker} has closed the line"
            case _:
                pass
