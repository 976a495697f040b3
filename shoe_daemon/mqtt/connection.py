"""
One connection to the broker: paho as a dumb pipe.

paho's own thread is not used. It dies of an exception in a callback while
`is_connected()` goes on saying yes, cannot be stopped while a message is
unacknowledged, and costs every message a change of threads. Here the caller's
thread turns the wheel: `turn` waits for the socket and returns what happened,
`publish` writes to the socket at once. Callbacks only append small tuples.

A connection is used once. What paho holds when it is lost is dropped with it.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from typing import Any, Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from shoe_daemon.mqtt.mqtt_settings import MqttSettings

__all__ = [
    "Acknowledged",
    "Arrived",
    "Closed",
    "Connected",
    "Connection",
    "Happening",
    "Subscribed",
    "SubscriptionRefused",
    "Will",
]

_SESSION_EXPIRY: Final = 60
_TAKEN_OVER: Final = 0x8E
_UNSPECIFIED: Final = 0x80


class Will(NamedTuple):
    """
    What the broker says in our place when we are gone.
    """

    topic: str
    payload: bytes
    delay: int


class Connected(NamedTuple):
    """
    The broker has accepted us.

    Attributes:
        receive_maximum: So many messages it takes unacknowledged; None for any.
        remembered: It has kept our session (never on MQTT 3.1.1).
        retains: It keeps retained messages (on MQTT 3.1.1 it cannot deny that).
    """

    receive_maximum: int | None
    remembered: bool
    retains: bool = True


class Closed(NamedTuple):
    """
    The connection is over, or was refused.
    """

    reason: str
    taken_over: bool


class Acknowledged(NamedTuple):
    """
    The broker's answer to a publish; 0x80 and above are refusals.
    """

    mid: int
    reason: int
    text: str


class Subscribed(NamedTuple):
    """
    The broker has taken note of what we asked for; what it kept for us came before.
    """


class SubscriptionRefused(NamedTuple):
    """
    The broker will not send us what we asked for.
    """

    reason: str
    topic_filter: str


class Arrived(NamedTuple):
    """
    A message for us.
    """

    topic: str
    payload: bytes
    retained: bool
    response_topic: str | None
    correlation: bytes | None


Happening = Connected | Closed | Acknowledged | Arrived | Subscribed | SubscriptionRefused


class Connection:
    """
    A connection from its opening to its loss, for one thread.

    Without a will it is one that only listens: the broker remembers nothing of it.
    """

    def __init__(
        self, settings: MqttSettings, client_id: str, will: Will | None, answer_within: float
    ) -> None:
        self._settings = settings
        self._is_5 = settings.protocol == "5"
        self._only_listens = will is None
        self._happened: deque[Happening] = deque()
        self._client = self._prepare(client_id, will, answer_within)
        self._poll = select.poll()
        self._watched: tuple[int, int] | None = None
        self._expiries: dict[int, Properties] = {}
        self._asked: dict[int, str] = {}

    def _prepare(self, client_id: str, will: Will | None, answer_within: float) -> paho.Client:
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            clean_session=None if self._is_5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if self._is_5 else MQTTProtocolVersion.MQTTv311,
            # Not ours to decide for paho: it would also fall back to MQTT 3.1.
            reconnect_on_failure=False,
        )
        client.suppress_exceptions = True
        client.connect_timeout = answer_within
        client.on_socket_open = _without_delay
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        self._introduce(client, will)
        return client

    def _introduce(self, client: paho.Client, will: Will | None) -> None:
        """
        Who we are, how the line is secured, and our last will.
        """
        settings = self._settings
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password())
        context = settings.tls_context()
        if context is not None:
            client.tls_set_context(context)
        if will is None:
            return
        properties = None
        if self._is_5:
            properties = _properties(PacketTypes.WILLMESSAGE, WillDelayInterval=will.delay)
        client.will_set(will.topic, will.payload, qos=1, retain=True, properties=properties)

    def open(self) -> None:
        """
        Reach the broker and introduce ourselves; `Connected` or `Closed` follows.

        Raises:
            OSError: Nobody answers there, or not with a certificate that we trust.
        """
        host, port = self._settings.address
        more: dict[str, Any] = {}
        if self._is_5 and not self._only_listens:
            # The session outlives a short drop, and with it the will stays unspoken.
            more["clean_start"] = False
            more["properties"] = _properties(
                PacketTypes.CONNECT, SessionExpiryInterval=_SESSION_EXPIRY
            )
        self._client.connect(host, port, self._settings.keepalive, **more)

    @property
    def is_open(self) -> bool:
        """
        Whether there is a socket, accepted by the broker or not.
        """
        return self._client.socket() is not None

    def subscribe(self, topic_filter: str) -> None:
        """
        Ask for messages, retained ones too where we have not asked before.

        On MQTT 5 the broker tells of each whether it was sent to be retained; to one
        that only listens, whether it is a copy that the broker had kept.
        """
        if self._is_5 and not self._only_listens:
            options = SubscribeOptions(qos=1, retainAsPublished=True, retainHandling=1)
            _, number = self._client.subscribe(topic_filter, options=options)
        else:
            _, number = self._client.subscribe(topic_filter, qos=1)
        if number is not None:
            self._asked[number] = topic_filter

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool,
        expiry: int | None = None,
        correlation: bytes | None = None,
    ) -> int:
        """
        Write a message of QoS 1 to the socket and return its number.

        On MQTT 5, `expiry`: after so many seconds the broker forgets it;
        `correlation`: goes with it.
        """
        properties = None
        if self._is_5 and correlation is not None:
            properties = _properties(PacketTypes.PUBLISH, CorrelationData=correlation)
        elif self._is_5 and expiry is not None:
            properties = self._expiring(expiry)
        return self._client.publish(topic, payload, 1, retain, properties).mid

    def _expiring(self, seconds: int) -> Properties:
        if seconds not in self._expiries:
            self._expiries[seconds] = _properties(
                PacketTypes.PUBLISH, MessageExpiryInterval=seconds
            )
        return self._expiries[seconds]

    def turn(self, wake: int, timeout: float) -> list[Happening]:
        """
        Wait for the socket, for the descriptor `wake` or for `timeout` seconds, at
        most one; return what happened.
        """
        # Before the wait, so that nothing that has come waits for it.
        self._client.loop_misc()
        pipe = self._client.socket()
        if pipe is not None and not self._happened:
            self._watch(pipe.fileno(), wake)
            ready = self._poll.poll(min(timeout, 1.0) * 1000)
            self._serve({descriptor for descriptor, _ in ready}, wake)
        happened = list(self._happened)
        self._happened.clear()
        return happened

    def _watch(self, descriptor: int, wake: int) -> None:
        wanted = select.POLLIN | (select.POLLOUT if self._client.want_write() else 0)
        if self._watched is None:
            self._poll.register(wake, select.POLLIN)
        if self._watched != (descriptor, wanted):
            self._poll.register(descriptor, wanted)
            self._watched = (descriptor, wanted)

    def _serve(self, ready: set[int], wake: int) -> None:
        if ready - {wake}:
            self._client.loop_read()
            while self._buffered():
                self._client.loop_read()
            if self._client.want_write():
                self._client.loop_write()

    def _buffered(self) -> bool:
        """
        TLS may have read more from the socket than was asked for: poll does not see it.
        """
        pending = getattr(self._client.socket(), "pending", None)
        return pending is not None and pending() > 0

    def disconnect(self) -> None:
        """
        Say goodbye: the broker will not speak our will.
        """
        self._client.disconnect()

    def close(self) -> None:
        """
        Let the line go without a word; does nothing to a line that is gone.
        """
        pipe = self._client.socket()
        if pipe is not None:
            self._client.on_disconnect = None
            pipe.close()

    def _on_connect(
        self,
        _c: paho.Client,
        _u: object,
        flags: paho.ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            self._happened.append(Closed(f"the broker refuses us: {reason}", taken_over=False))
        else:
            most = getattr(properties, "ReceiveMaximum", None)
            retains = getattr(properties, "RetainAvailable", 1) != 0
            self._happened.append(Connected(most, flags.session_present, retains))

    def _on_disconnect(
        self,
        _c: paho.Client,
        _u: object,
        flags: paho.DisconnectFlags,
        reason: ReasonCode,
        _p: Properties | None,
    ) -> None:
        if flags.is_disconnect_packet_from_server:
            self._happened.append(
                Closed(f"the broker ends it: {reason}", reason.value == _TAKEN_OVER)
            )
        else:
            text = "the line is closed" if reason.value == _UNSPECIFIED else f"{reason}".lower()
            self._happened.append(Closed(text, taken_over=False))

    def _on_publish(
        self, _c: paho.Client, _u: object, mid: int, reason: ReasonCode, _p: Properties | None
    ) -> None:
        self._happened.append(Acknowledged(mid, reason.value, str(reason)))

    def _on_subscribe(
        self,
        _c: paho.Client,
        _u: object,
        number: int,
        reasons: list[ReasonCode],
        _p: Properties | None,
    ) -> None:
        asked = self._asked.pop(number, "")
        self._happened.extend(SubscriptionRefused(str(r), asked) for r in reasons if r.is_failure)
        self._happened.append(Subscribed())

    def _on_message(self, _c: paho.Client, _u: object, message: paho.MQTTMessage) -> None:
        properties = message.properties
        self._happened.append(
            Arrived(
                message.topic,
                bytes(message.payload),
                message.retain,
                getattr(properties, "ResponseTopic", None),
                getattr(properties, "CorrelationData", None),
            )
        )


def _properties(packet: int, **values: object) -> Properties:
    properties = Properties(packet)  # type: ignore[no-untyped-call]  # paho has no type here
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def _without_delay(_client: paho.Client, _userdata: object, pipe: Any) -> None:  # noqa: ANN401
    """
    Small packets go out at once, not when the one before is acknowledged.
    """
    pipe.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
