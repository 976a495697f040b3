"""Sends one command and waits for its reply."""

from __future__ import annotations

import secrets
import time

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.mqtt.connection import (
    NO_SUBSCRIBERS,
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    ConnectionEvent,
    ConnectionLost,
    MessageReceived,
    Subscribed,
)
from shoe_daemon.mqtt.mqtt_settings import MqttSettings


class NoReplyError(UserError):
    """The command was sent, and whether it was carried out is not known."""


def send_command(
    settings: MqttSettings, topic: str, payload: bytes, *, reply: str, timeout_s: float
) -> bytes:
    """
    Publish a command and return the payload of its reply, which has the topic `reply`.

    `timeout_s` is for all of it.

    Raises:
        NoReplyError: It was sent, and there is no reply in time.
        UserError: It was not sent: the broker cannot be reached or refuses, or no daemon is
            subscribed.
    """
    client = _CommandClient(settings, topic, payload, reply)
    connection = Connection(settings, f"shoe-cmd-{secrets.token_hex(4)}", None, timeout_s)
    until = time.monotonic() + timeout_s
    try:
        return client.run(connection, until)
    finally:
        connection.disconnect()
        connection.close()


class _CommandClient:
    """Connects, subscribes to the reply, then publishes: each step follows the last answer."""

    def __init__(self, settings: MqttSettings, topic: str, payload: bytes, reply: str) -> None:
        host, port = settings.address
        self._broker = f"the broker at {host}:{port}"
        self._topic, self._payload, self._reply = topic, payload, reply
        self._sent = False

    def run(self, connection: Connection, until: float) -> bytes:
        try:
            connection.open()
            for event in connection.events(until - time.monotonic()):
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
                connection.publish(
                    self._topic, self._payload, retain=False, response_topic=self._reply
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
