"""
Validation of messages from the broker by topic, form and size.

A publisher may be faulty, of another version, or hostile. A message that is not of the form of
its topic raises `InvalidMessage`, never another exception. Unknown fields are ignored, so that
later daemons can add fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.game import format_sequence
from shoe_daemon.mqtt.documents import DOCUMENTS, NotifierStatus, State
from shoe_daemon.mqtt.topics import (
    ALERTS,
    HISTORY,
    RESULT,
    ROADS,
    STAFF_ALERTS,
    STATE,
    STATUS,
    notifiers,
)
from shoe_daemon.table import EVENT_TYPES, is_staff, to_microseconds

MAX_PAYLOAD_BYTES: Final = 65_536
"""Far more than any valid payload; longer payloads are not decoded."""

_ID: Final = re.compile(r"[a-z0-9-]{1,40}")
_EVENT_TYPE: Final = re.compile(r"[a-z0-9_]{1,60}")
MAX_HEARTBEAT_S: Final = 3600
MAX_SEQ: Final = 2**53 - 1
"""The largest whole number that JavaScript represents exactly."""

_SCHEMA_MAJOR: Final = "1."
_UNKNOWN_TOPIC: Final = "no topic of a subscription"

_encoder = msgspec.json.Encoder(order="sorted")


class InvalidMessage(Exception):  # noqa: N818 - a message, not a failure of the display
    """A message that is not of the form of its topic; the text is the reason, in one line."""


class TopicParts(NamedTuple):
    """
    A parsed topic.

    Attributes:
        kind: ``state``, ``device`` …, ``event``.
        name: Id of the device, or type of the event; else empty.
    """

    site: str
    table: str
    kind: str
    name: str = ""

    @property
    def key(self) -> str:
        """Name of the table that is unique among all sites."""
        return f"{self.site}.{self.table}"

    @property
    def document_name(self) -> str:
        """Name of the topic's document: the kind, or ``device/<id>``."""
        return f"device/{self.name}" if self.name else self.kind


class Document(NamedTuple):
    """
    A valid message.

    Attributes:
        body: The decoded message; of `roads` and `history` a `ShoeDocument`.
        json: The body as JSON, with the fields of its type and no others.
    """

    body: Any
    json: bytes


class ShoeDocument(Struct, frozen=True):
    """
    The part that the model stores of `roads` and `history` besides their JSON, which is long.

    Attributes:
        outcomes: The shoe as a sequence, of `roads`; else empty.
    """

    seq: int
    session: str
    outcomes: str


class _State(State, frozen=True, kw_only=True):
    heartbeat: int = 10  # older daemons do not publish it


class _Event(Struct, frozen=True, kw_only=True):
    at: str
    data: dict[str, Any]
    round: int | None
    schema: str
    seq: int
    shoe: int | None
    site: str
    table: str
    type: str


_TYPES: Final[dict[str, type[Struct]]] = {
    **{
        kind: DOCUMENTS[kind]
        for kind in (ALERTS, HISTORY, RESULT, ROADS, STAFF_ALERTS, STATUS, "device")
    },
    STATE: _State,
    "event": _Event,
}

_notifier_decoder = msgspec.json.Decoder(NotifierStatus)
_decoders = {kind: msgspec.json.Decoder(form) for kind, form in _TYPES.items()}


def topic_filters(
    prefix: str, site: str | None, *, staff_alerts: bool = False, notifier_status: bool = False
) -> list[str]:
    """
    Return the topic filters of a display: no commands, no replies, and of `staff/` only the open
    alerts if `staff_alerts` is set; the status of notifiers if `notifier_status` is.
    """
    root = f"{prefix}/{site or '+'}/+"
    wanted = [kind for kind in _TYPES if staff_alerts or kind != STAFF_ALERTS]
    kinds = (kind if kind not in {"device", "event"} else f"{kind}/+" for kind in wanted)
    others = [f"{notifiers(prefix)}/+"] if notifier_status else []
    return [*(f"{root}/{kind}" for kind in sorted(kinds)), *others]


def notifier_id(topic: str, prefix: str) -> str | None:
    """Return the id of the notifier whose topic this is; None for any other topic."""
    start = f"{notifiers(prefix)}/"
    name = topic.removeprefix(start)
    return name if topic.startswith(start) and _ID.fullmatch(name) else None


def parse_topic(topic: str, prefix: str, *, staff_alerts: bool = False) -> TopicParts:
    """
    Parse a topic.

    Raises:
        InvalidMessage: The topic belongs to no subscription of the display.
    """
    start = prefix + "/"
    if not topic.startswith(start):
        raise InvalidMessage(_UNKNOWN_TOPIC)
    site, _, rest = topic[len(start) :].partition("/")
    table, _, suffix = rest.partition("/")
    if not (_ID.fullmatch(site) and _ID.fullmatch(table)):
        raise InvalidMessage("invalid site or table; expected ids of a-z, 0-9 and -")
    if suffix == STAFF_ALERTS and not staff_alerts:
        raise InvalidMessage(_UNKNOWN_TOPIC)
    if suffix in _TYPES:
        return TopicParts(site, table, suffix)
    kind, _, name = suffix.partition("/")
    form = {"device": _ID, "event": _EVENT_TYPE}.get(kind)
    if form is None or not form.fullmatch(name):
        raise InvalidMessage(_UNKNOWN_TOPIC)
    return TopicParts(site, table, kind, name)


def decode(topic: TopicParts, payload: bytes) -> Document:
    """
    Decode a payload strictly.

    Raises:
        InvalidMessage: The payload is not of the form of its topic.
    """
    with _decoding(payload):
        body: Any = _decoders[topic.kind].decode(payload)
        if not 0 <= body.seq <= MAX_SEQ:
            raise InvalidMessage(f"seq is {body.seq}"[:60])
        _check_schema(getattr(body, "schema", _SCHEMA_MAJOR))
        if isinstance(body, State | _Event) and (body.site, body.table) != topic[:2]:
            raise InvalidMessage("site and table differ from those of the topic")
        if isinstance(body, State):
            to_microseconds(body.published)
            _check_heartbeat(body.heartbeat)
        if isinstance(body, _Event):
            _check_event(topic, body)
        json = _encoder.encode(body)
        if topic.kind in {HISTORY, ROADS}:
            outcomes = format_sequence(body.bead) if topic.kind == ROADS else ""
            body = ShoeDocument(body.seq, body.session, outcomes)
        return Document(body, json)


def decode_notifier(payload: bytes) -> NotifierStatus:
    """
    Decode the status of a notifier, strictly.

    Raises:
        InvalidMessage: The payload is not of this form.
    """
    with _decoding(payload):
        status = _notifier_decoder.decode(payload)
        _check_schema(status.schema)
        _check_heartbeat(status.heartbeat)
        for each in (status.at, *(each.failing_since for each in status.recipients)):
            if each is not None:
                to_microseconds(each)
        return status


@contextmanager
def _decoding(payload: bytes) -> Iterator[None]:
    """Turn any error into `InvalidMessage`."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise InvalidMessage(f"{len(payload)} bytes; expected at most {MAX_PAYLOAD_BYTES}")
    try:
        yield
    except InvalidMessage:
        raise
    except RecursionError:
        raise InvalidMessage("nested too deeply") from None
    except Exception as error:  # noqa: BLE001 - no payload may end the display
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise InvalidMessage(reason) from None


def is_same_state(one: State, other: State) -> bool:
    """Return whether two `state` documents differ in nothing but their time of publication."""
    return replace(one, published="") == replace(other, published="")


def _check_schema(schema: str) -> None:
    if not schema.startswith(_SCHEMA_MAJOR):
        raise InvalidMessage(f"schema {schema[:10]!r}; this display knows version 1")


def _check_heartbeat(heartbeat: int) -> None:
    if not 1 <= heartbeat <= MAX_HEARTBEAT_S:
        raise InvalidMessage(f"a heartbeat of {heartbeat} s; expected 1 to {MAX_HEARTBEAT_S}")


def _check_event(topic: TopicParts, event: _Event) -> None:
    if event.type != topic.name or is_staff(event.type):
        raise InvalidMessage("type differs from that of the topic")
    data_type = EVENT_TYPES.get(event.type)
    if data_type is not None:
        msgspec.convert(event.data, data_type)  # on several threads: see EVENT_DECODERS
