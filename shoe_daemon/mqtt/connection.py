"""
One connection to the broker, driven by the caller's thread.

paho's own thread is not used: it dies of an exception in a callback while
`is_connected()` stays true, cannot be stopped while a message is
unacknowledged, and adds a thread switch to every message. Here the caller
runs the network loop: `poll` waits for the socket and returns the events of the
connection, `publish` writes to the socket at once. Callbacks only append events.

A connection is used once. Messages that paho holds when it is lost are dropped
with it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeVar

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from shoe_daemon.errors import UserError
from shoe_daemon.limits import RetryDelay
from shoe_daemon.mqtt.settings import SESSION_EXPIRY_S, MqttSettings, Timeouts

REFUSED: Final = 0x80
"""Reason codes from this value on are refusals."""

NO_SUBSCRIBERS: Final = 0x10
"""Reason code of a message that was accepted and sent to no client."""

TOO_LARGE: Final = 0x95
"""Reason code of a message that is above the broker's maximum packet size."""

_MAX_POLL_S: Final = 1.0
_SESSION_TAKEN_OVER: Final = 0x8E
_UNSPECIFIED_ERROR: Final = 0x80

_CLOSED: Final = "the line is closed"
_CLOSED_BEFORE_LOGIN: Final = (
    "the line is closed before the login: the broker does not accept this client's certificate"
    " (mqtt.tls.cert_file), or asks for one"
)
"""With TLS 1.3 a client's certificate is refused after the handshake, without a reason."""

_UNKNOWN_ISSUER: Final = (2, 18, 19, 20, 21)
"""OpenSSL's codes for a certificate that no trusted authority has signed."""


class Will(NamedTuple):
    """
    The last will: published by the broker `delay_s` after the connection is lost. Without a delay
    the broker keeps no session.
    """

    topic: str
    payload: bytes
    delay_s: int


class Connected(NamedTuple):
    """
    The broker has accepted the connection.

    Attributes:
        receive_maximum: Limit of unacknowledged messages; None without a limit.
        session_present: The broker has kept the session (never on MQTT 3.1.1).
        retain_available: It keeps retained messages (assumed on MQTT 3.1.1).
        max_packet: The largest packet in bytes that it accepts; None without a limit, and on
            MQTT 3.1.1, where it is not announced.
    """

    receive_maximum: int | None
    session_present: bool
    retain_available: bool = True
    max_packet: int | None = None


class PacketTooLarge(UserError):  # noqa: N818 - a message that is not sent, not a failure
    """A message was not sent because the broker would end the connection."""


class ConnectionLost(Exception):  # noqa: N818 - every connection ends so
    """
    The connection has ended, or is of no more use.

    Attributes:
        refused: The broker has refused the connection.
        code: The reason code of the broker's DISCONNECT (MQTT 5); None without one.
        closed: The broker has closed the line without a reason.
    """

    def __init__(
        self,
        reason: str,
        *,
        refused: bool = False,
        code: int | None = None,
        closed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.refused, self.code, self.closed = refused, code, closed

    @property
    def taken_over(self) -> bool:
        """True if another client has connected with the same id."""
        return self.code == _SESSION_TAKEN_OVER


class Acknowledged(NamedTuple):
    """The broker's answer to a publish; reason codes at `REFUSED` and above are refusals."""

    mid: int
    reason: int
    text: str


class Subscribed(NamedTuple):
    """
    The broker has answered a subscription; messages that it had queued came before.

    Attributes:
        refusal: Why it has refused it; the connection tries it again. None if it has not.
    """

    topic_filter: str = ""
    refusal: str | None = None


class MessageReceived(NamedTuple):
    """
    A message of a subscribed topic.

    Attributes:
        retained: The broker had retained it, or with a session: its sender wanted it retained.
        response_topic: Where the sender expects an answer (MQTT 5).
        correlation: Correlation data of the answer (MQTT 5).
        queued: The broker had queued it while the client was away.
    """

    topic: str
    payload: bytes
    retained: bool = False
    response_topic: str | None = None
    correlation: bytes | None = None
    queued: bool = False


ConnectionEvent = Connected | Acknowledged | MessageReceived | Subscribed
Event = TypeVar("Event", bound=ConnectionEvent)


class _Subscription(NamedTuple):
    """A subscription, and when it is tried again after a refusal."""

    topic_filter: str
    copies: bool
    delay: RetryDelay


class Connection:
    """
    A connection from its opening to its loss, for one thread.

    Without a delayed will the broker keeps no session: such a connection disturbs no other.

    Attributes:
        settings: The broker; the first one, if there are several.
        max_packet: The largest packet in bytes that is sent; None without a limit. Set when the
            broker accepts the connection, and by the caller where a broker does not announce it.
    """

    def __init__(
        self,
        settings: MqttSettings,
        client_id: str,
        will: Will | None,
        connect_timeout_s: float,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.settings = settings.each[0]
        self.max_packet: int | None = None
        self._timeouts = timeouts or Timeouts()
        self._is_5 = settings.protocol == "5"
        self._has_session = self._is_5 and will is not None and will.delay_s > 0
        self._events: deque[ConnectionEvent] = deque()
        self._client = client = create_client(settings, client_id)
        client.suppress_exceptions = True
        client.connect_timeout = connect_timeout_s
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        if will is not None:
            self._set_will(will)
        self._poll = select.poll()
        self._registered: tuple[int, int] | None = None
        self._subscribing: dict[int, _Subscription] = {}
        self._refused: list[_Subscription] = []
        self._is_accepted = False
        self._receives_queued = False
        self._lost: ConnectionLost | None = None

    def _set_will(self, will: Will) -> None:
        properties = None
        if self._is_5:
            properties = _properties(PacketTypes.WILLMESSAGE, WillDelayInterval=will.delay_s)
        self._client.will_set(will.topic, will.payload, qos=1, retain=True, properties=properties)

    def open(self) -> None:
        """
        Connect and log in; `poll` gives `Connected`, or raises, later.

        Raises:
            OSError: The broker cannot be reached, or its certificate is not trusted.
        """
        host, port = self.settings.address
        more: dict[str, Any] = {}
        if self._has_session:
            # The session outlives a short loss, and delays the will.
            more["clean_start"] = False
            more["properties"] = _properties(
                PacketTypes.CONNECT, SessionExpiryInterval=SESSION_EXPIRY_S
            )
        try:
            self._client.connect(host, port, self.settings.keepalive, **more)
        except ssl.SSLCertVerificationError as error:
            raise ConnectionError(_not_trusted(error, self.settings)) from error

    @property
    def is_open(self) -> bool:
        """True if there is a socket, accepted by the broker or not."""
        return self._client.socket() is not None

    @property
    def broker_certificate(self) -> bytes | None:
        """The certificate that the broker has shown (DER); None without TLS."""
        line = self._client.socket()
        return line.getpeercert(binary_form=True) if isinstance(line, ssl.SSLSocket) else None

    def subscribe(self, topic_filter: str, *, copies: bool = False) -> None:
        """
        Subscribe; a subscription that the broker refuses is tried again, ever more slowly.

        Retained messages follow where the session had no such subscription, and with `copies`
        always. With a session, `retained` of a message is the sender's flag; without one it
        marks a copy that the broker had kept.
        """
        self._subscribe(_Subscription(topic_filter, copies, self._timeouts.refusal_delay()))

    def _subscribe(self, wanted: _Subscription) -> None:
        if self._has_session:
            handling = 0 if wanted.copies else 1
            options = SubscribeOptions(qos=1, retainAsPublished=True, retainHandling=handling)
            _, mid = self._client.subscribe(wanted.topic_filter, options=options)
        else:
            _, mid = self._client.subscribe(wanted.topic_filter, qos=1 if self._is_5 else 0)
        if mid is not None:
            self._subscribing[mid] = wanted

    def _subscribe_again(self, now: float) -> None:
        due = [each for each in self._refused if each.delay.retry_at <= now]
        self._refused = [each for each in self._refused if each.delay.retry_at > now]
        for each in due:
            self._subscribe(each)

    def publish(  # noqa: PLR0913 - the parts of a message
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool,
        expiry_s: int | None = None,
        correlation: bytes | None = None,
        response_topic: str | None = None,
        qos: Literal[0, 1] = 1,
    ) -> int:
        """
        Write a message to the socket and return its number.

        On MQTT 5 the broker forgets it after `expiry_s`, an answer has its `correlation` data,
        and the receiver answers to `response_topic`.

        Raises:
            PacketTooLarge: The packet is larger than `max_packet`; nothing was sent.
        """
        values = {
            "CorrelationData": correlation,
            "MessageExpiryInterval": expiry_s,
            "ResponseTopic": response_topic,
        }
        given = {name: value for name, value in values.items() if value is not None}
        properties = None
        if self._is_5 and given:
            properties = _properties(PacketTypes.PUBLISH, **given)
        if self.max_packet is not None:
            size = packet_size(topic, payload, given if self._is_5 else None)
            if size > self.max_packet:
                raise PacketTooLarge(
                    f"{size:,} bytes; the broker accepts at most {self.max_packet:,}:"
                    " raise its limit of the packet size"
                )
        return self._client.publish(topic, payload, qos, retain, properties).mid

    def poll(self, timeout_s: float, wakeup: int | None = None) -> Iterator[ConnectionEvent]:
        """
        Run the network loop once and give the events since the last call.

        Waits for the socket, for the descriptor `wakeup` or for `timeout_s`, at
        most one second.

        Raises:
            ConnectionLost: After the last event.
        """
        # Before the wait: events of this call must not wait.
        self._client.loop_misc()
        if self._refused:
            self._subscribe_again(time.monotonic())
        sock = self._client.socket()
        if sock is not None and not self._events:
            self._register(sock.fileno(), wakeup)
            ready = self._poll.poll(min(timeout_s, _MAX_POLL_S) * 1000)
            if any(descriptor != wakeup for descriptor, _ in ready):
                self._read_and_write()
        while self._events:
            yield self._events.popleft()
        if self._lost is not None:
            raise self._lost
        if not self.is_open:
            raise ConnectionLost(_CLOSED)

    def events(self, timeout_s: float) -> Iterator[ConnectionEvent]:
        """Give the events of so many seconds; raises as `poll`."""
        until = time.monotonic() + timeout_s
        while (left := until - time.monotonic()) > 0:
            yield from self.poll(left)

    def wait_for(self, kind: type[Event], request: str, timeout_s: float) -> Event:
        """
        Return the answer to a request; other events are dropped.

        Raises:
            ConnectionLost: The connection has ended, or the broker does not answer in time.
        """
        for event in self.events(timeout_s):
            if isinstance(event, kind):
                return event
        raise ConnectionLost(f"does not answer {request} within {timeout_s:g} s")

    def _register(self, descriptor: int, wakeup: int | None) -> None:
        mask = select.POLLIN | (select.POLLOUT if self._client.want_write() else 0)
        if self._registered is None and wakeup is not None:
            self._poll.register(wakeup, select.POLLIN)
        if self._registered != (descriptor, mask):
            self._poll.register(descriptor, mask)
            self._registered = (descriptor, mask)

    def _read_and_write(self) -> None:
        self._client.loop_read()
        while self._has_buffered_bytes():
            self._client.loop_read()
        if self._client.want_write():
            self._client.loop_write()

    def _has_buffered_bytes(self) -> bool:
        """Return whether TLS has read more from the socket than paho has; poll cannot see that."""
        pending = getattr(self._client.socket(), "pending", None)
        return pending is not None and pending() > 0

    def disconnect(self) -> None:
        """Send DISCONNECT: the broker does not publish the will."""
        self._client.disconnect()

    def close(self) -> None:
        """Close the socket without DISCONNECT, if it is open."""
        sock = self._client.socket()
        if sock is not None:
            self._client.on_disconnect = None
            sock.close()

    def _on_connect(
        self,
        _c: object,
        _u: object,
        flags: paho.ConnectFlags,
        reason: ReasonCode,
        properties: object,
    ) -> None:
        if reason.is_failure:
            text = f"the broker refuses us: {reason}"
            self._lost = self._lost or ConnectionLost(text, refused=True)
        else:
            self._is_accepted = True
            self._receives_queued = flags.session_present
            receive_maximum = getattr(properties, "ReceiveMaximum", None)
            retain_available = getattr(properties, "RetainAvailable", 1) != 0
            self.max_packet = getattr(properties, "MaximumPacketSize", None)
            self._events.append(
                Connected(
                    receive_maximum, flags.session_present, retain_available, self.max_packet
                )
            )

    def _on_disconnect(
        self, _c: object, _u: object, flags: paho.DisconnectFlags, reason: ReasonCode, _p: object
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            text = f"the broker ends it: {reason}"
        elif reason.value == _UNSPECIFIED_ERROR:
            text = _CLOSED
            if self.settings.tls is not None and not self._is_accepted:
                text = _CLOSED_BEFORE_LOGIN
        else:
            text = f"{reason}".lower()
        code = reason.value if flags.is_disconnect_packet_from_server else None
        closed = code is None and reason.value == _UNSPECIFIED_ERROR
        self._lost = self._lost or ConnectionLost(text, code=code, closed=closed)

    def _on_publish(
        self, _c: object, _u: object, mid: int, reason: ReasonCode, _p: object
    ) -> None:
        self._events.append(Acknowledged(mid, reason.value, str(reason)))

    def _on_subscribe(
        self, _c: object, _u: object, mid: int, reasons: list[ReasonCode], _p: object
    ) -> None:
        self._receives_queued = False
        wanted = self._subscribing.pop(mid, None)
        topic_filter = "" if wanted is None else wanted.topic_filter
        refusal = next((str(each) for each in reasons if each.is_failure), None)
        if refusal is not None and wanted is not None:
            wanted.delay.failed(time.monotonic())
            self._refused.append(wanted)
        self._events.append(Subscribed(topic_filter, refusal))

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        properties = message.properties
        self._events.append(
            MessageReceived(
                message.topic,
                bytes(message.payload),
                message.retain,
                getattr(properties, "ResponseTopic", None),
                getattr(properties, "CorrelationData", None),
                self._receives_queued,
            )
        )


def packet_size(topic: str, payload: bytes, properties: Mapping[str, Any] | None = None) -> int:
    """Return the bytes of a PUBLISH of QoS 1; `properties` are None on MQTT 3.1.1."""
    rest = 2 + len(topic.encode()) + 2 + len(payload)
    if properties is not None:
        packed: bytes = _properties(PacketTypes.PUBLISH, **properties).pack()  # type: ignore[no-untyped-call]  # paho has no type here
        rest += len(packed)
    # The type of the packet, its length in groups of seven bits, the rest.
    return 1 + -(-rest.bit_length() // 7) + rest


def create_client(
    settings: MqttSettings, client_id: str, *, reconnect: bool = False
) -> paho.Client:
    """
    Return a client that is not connected yet.

    With `reconnect` paho reconnects by itself; it may then fall back to MQTT 3.1.

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


def leave(client: paho.Client) -> None:
    """Disconnect from the broker, and wait for the end of the client's thread."""
    client.disconnect()
    # paho fails if the thread ends by itself at the same time.
    with contextlib.suppress(AttributeError):
        client.loop_stop()


def _not_trusted(error: ssl.SSLCertVerificationError, settings: MqttSettings) -> str:
    text = f"its certificate is not to be trusted: {error.verify_message}"
    trusts_system = settings.tls is not None and settings.tls.ca_file is None
    if trusts_system and error.verify_code in _UNKNOWN_ISSUER:
        text += (
            "; no authority of the system has signed it: name its authority in mqtt.tls.ca_file"
        )
    return text


@lru_cache(maxsize=16)
def _properties(packet_type: int, **values: Hashable) -> Properties:
    """Return MQTT 5 properties of a packet; they are not to be changed."""
    properties = Properties(packet_type)  # type: ignore[no-untyped-call]  # paho has no type here
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _disable_nagle(_client: paho.Client, _userdata: object, connection: Any) -> None:  # noqa: ANN401
    """Send small packets at once, before the previous one is acknowledged."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
