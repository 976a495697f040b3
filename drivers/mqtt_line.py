"""
A topic of a broker as a line: `mqtt://HOST:PORT/TOPIC`, or `mqtts:` with TLS.

Each message is a line of bytes. One that the broker had kept since before the connection begins
with ``retained``.
"""

from __future__ import annotations

import contextlib
import re
import time
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from drivers.transport import READ_TIMEOUT_S, LineError, redact_url
from shoe_daemon.errors import UserError, one_line

RETAINED: Final = b"retained "
"""The beginning of a message that is old."""

CONNECT_TIMEOUT_S: Final = 5.0
"""Of a connection, and of the broker's answers after it."""

_LINE_ENDS: Final = bytes.maketrans(b"\r\n", b"  ")
_KEEPALIVE_S: Final = 10
_PLAIN_PORT: Final = 1883
_TLS_PORT: Final = 8883
_MAX_PORT: Final = 65_535
_MAX_TOPIC_BYTES: Final = 65_535
_URL: Final = re.compile(
    r"(?P<scheme>mqtts?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^/:@\[\]\s]+)(?::(?P<port>\d{1,5}))?"
    r"/(?P<topic>[^+#\0]+)"
)


class BrokerTopic(NamedTuple):
    """A broker and a topic."""

    tls: bool
    host: str
    port: int
    topic: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}/{self.topic}"


def parse_topic_url(url: str) -> BrokerTopic:
    """
    Return the broker and the topic of ``mqtt://HOST:PORT/TOPIC`` or ``mqtts://HOST:PORT/TOPIC``;
    a `UserError` if it is neither, or has a login.
    """
    found = _URL.fullmatch(url)
    port = int((found and found["port"]) or 1)
    if found is None or not 0 < port <= _MAX_PORT or len(url.encode()) > _MAX_TOPIC_BYTES:
        hint = "; the login belongs into options.username and options.password_file"
        raise UserError(
            f"port {redact_url(url)!r}: expected mqtt://HOST:PORT/TOPIC, or mqtts: with TLS, and "
            f"one topic without + and #{hint if '@' in url else ''}"
        )
    tls = found["scheme"] == "mqtts"
    default = _TLS_PORT if tls else _PLAIN_PORT
    return BrokerTopic(
        tls, found["host"].strip("[]"), port if found["port"] else default, found["topic"]
    )


class MqttLine:
    """
    A subscription as a line: one line of bytes for each message.

    The reader's thread runs the network loop. It keeps no session at the broker: what was
    published while there was no connection is missing, and the reader reports a gap.

    Raises:
        LineError: The broker cannot be reached, refuses, or does not answer.
    """

    def __init__(self, client: paho.Client, address: BrokerTopic) -> None:
        self._name = str(address)
        self._client = client
        self._lines: list[bytes] = []
        self._is_subscribed = False
        self._failure = ""
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        self._topic = address.topic
        try:
            client.connect(address.host, address.port, _KEEPALIVE_S)
            self._await_subscription()
        except (OSError, ValueError) as error:
            self.close()
            raise LineError(f"{self._name}: {one_line(error)}") from error
        except LineError:
            self.close()
            raise

    def _await_subscription(self) -> None:
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while not self._is_subscribed:
            if time.monotonic() > until:
                raise LineError(
                    f"{self._name}: the broker does not answer for {CONNECT_TIMEOUT_S:g} s"
                )
            self._loop()

    def _loop(self) -> None:
        code = self._client.loop(READ_TIMEOUT_S)
        if self._failure or code is not MQTTErrorCode.MQTT_ERR_SUCCESS:
            reason = self._failure or paho.error_string(code).rstrip(".").lower()
            raise LineError(f"{self._name}: {reason}")

    def read(self) -> bytes:
        """Return the messages that have come, as `Transport.read`."""
        try:
            if not self._lines:
                self._loop()
        except LineError:
            if not self._lines:  # what came before the end is passed on first
                raise
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def check(self) -> None:
        """Do nothing: a read notices the end of the connection, and asks a silent broker."""

    def write(self, data: bytes) -> None:
        """Refuse: raises `LineError`."""
        raise LineError(f"{self._name}: recognisers accept no data: {len(data)} bytes refused")

    def close(self) -> None:
        """Disconnect; nothing is raised."""
        self._client.on_disconnect = None
        with contextlib.suppress(Exception):
            self._client.disconnect()

    def _on_connect(
        self, _c: object, _u: object, _f: object, reason: ReasonCode, _p: object
    ) -> None:
        if reason.is_failure:
            self._failure = f"the broker refuses us: {reason}"
        else:
            self._client.subscribe(self._topic, qos=1)

    def _on_disconnect(
        self, _c: object, _u: object, _f: object, reason: ReasonCode, _p: object
    ) -> None:
        self._failure = self._failure or f"the line is closed: {str(reason).lower()}"

    def _on_subscribe(
        self, _c: object, _u: object, _m: int, reasons: list[ReasonCode], _p: object
    ) -> None:
        if any(each.is_failure for each in reasons):
            self._failure = f"the broker refuses the subscription: {reasons[0]}"
        self._is_subscribed = True

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        # A line end within a text is invalid JSON; elsewhere it is a space.
        payload = bytes(message.payload).translate(_LINE_ENDS)
        self._lines.append((RETAINED if message.retain else b"") + payload + b"\n")
