"""
Judges what comes from the broker: who may say what, in which form.

A publisher may be wrong, of another version, or hostile. What is not of the form
that the topic promises is a `Fault`, never an exception of another kind. Unknown
fields are let drop, so that a later daemon can say more.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.game import format_sequence
from shoe_daemon.mqtt.messages import DOCUMENTS, State
from shoe_daemon.mqtt.topics import ALERTS, HISTORY, RESULT, ROADS, STAFF_ALERTS, STATE, STATUS
from shoe_daemon.table import EVENT_TYPES, is_staff, to_microseconds

__all__ = [
    "SIZE_LIMIT",
    "Document",
    "Fault",
    "Place",
    "decode",
    "filters",
    "place_of",
    "same_but_time",
]

SIZE_LIMIT: Final = 65_536
"""No payload of ours comes near so many bytes; a longer one is not looked at."""

_ID: Final = re.compile(r"[a-z0-9-]{1,40}")
_TYPE: Final = re.compile(r"[a-z0-9_]{1,60}")
_LONGEST_HEARTBEAT: Final = 3600
_MOST: Final = 2**53 - 1
"""Browsers count no further."""

_MAJOR: Final = "1."

_encoder = msgspec.json.Encoder(order="sorted")


class Fault(Exception):  # noqa: N818 - it is what the pit calls it
    """
    A message that is not what its topic promises: why, in one line.
    """


class Place(NamedTuple):
    """
    What a topic speaks of.

    Attributes:
        site: Where the table stands.
        table: Its id.
        kind: ``state``, ``device`` …, ``event``.
        name: The device's id, or the event's type; else empty.
    """

    site: str
    table: str
    kind: str
    name: str = ""

    @property
    def key(self) -> str:
        """
        The table's name among all sites.
        """
        return f"{self.site}.{self.table}"


class Document(NamedTuple):
    """
    A message of the right form.

    Attributes:
        body: What it says; of `roads` and `history` a `Shoe`.
        json: The same again as JSON: what the type knows, and nothing else.
    """

    body: Any
    json: bytes


class Shoe(Struct, frozen=True):
    """
    What is kept of `roads` and `history` beside their JSON, which is long.

    Attributes:
        outcomes: The shoe as a sequence, of `roads`; else empty.
    """

    seq: int
    session: str
    outcomes: str


class _State(State, frozen=True, kw_only=True):
    heartbeat: int = 10  # older daemons do not tell it


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

_decoders = {kind: msgspec.json.Decoder(form) for kind, form in _TYPES.items()}


def filters(prefix: str, site: str | None, *, staff_alerts: bool = False) -> list[str]:
    """
    Return the topic filters that a display subscribes to: no orders, no answers, and nothing
    below `staff/` except the open alerts, if `staff_alerts` asks for them.
    """
    root = f"{prefix}/{site or '+'}/+"
    wanted = [kind for kind in _TYPES if staff_alerts or kind != STAFF_ALERTS]
    kinds = (kind if kind not in {"device", "event"} else f"{kind}/+" for kind in wanted)
    return [f"{root}/{kind}" for kind in sorted(kinds)]


def place_of(topic: str, prefix: str, *, staff_alerts: bool = False) -> Place:
    """
    Say what a topic speaks of.

    Raises:
        Fault: It is none of those that a display has asked for.
    """
    start = prefix + "/"
    if not topic.startswith(start):
        raise Fault("a topic that nobody has asked for")
    site, _, rest = topic[len(start) :].partition("/")
    table, _, suffix = rest.partition("/")
    if not (_ID.fullmatch(site) and _ID.fullmatch(table)):
        raise Fault("site and table are no ids of a-z, 0-9 and -")
    if suffix == STAFF_ALERTS and not staff_alerts:
        raise Fault("a topic that nobody has asked for")
    if suffix in _TYPES:
        return Place(site, table, suffix)
    kind, _, name = suffix.partition("/")
    form = {"device": _ID, "event": _TYPE}.get(kind)
    if form is None or not form.fullmatch(name):
        raise Fault("a topic that nobody has asked for")
    return Place(site, table, kind, name)


def decode(place: Place, payload: bytes) -> Document:
    """
    Read a payload strictly.

    Raises:
        Fault: What is wrong with it.
    """
    if len(payload) > SIZE_LIMIT:
        raise Fault(f"{len(payload)} bytes; expected at most {SIZE_LIMIT}")
    try:
        return _decoded(place, payload)
    except Fault:
        raise
    except RecursionError:
        raise Fault("nested too deeply") from None
    except Exception as error:  # noqa: BLE001 - whatever is sent, it must not end the display
        raise Fault(_first_line(error)) from None


def same_but_time(one: State, other: State) -> bool:
    """
    Tell whether two `state` say the same, whenever they were sent.
    """
    return replace(one, published="") == replace(other, published="")


def _decoded(place: Place, payload: bytes) -> Document:
    body: Any = _decoders[place.kind].decode(payload)
    if not 0 <= body.seq <= _MOST:
        raise Fault(f"seq is {body.seq}"[:60])
    if not getattr(body, "schema", _MAJOR).startswith(_MAJOR):
        raise Fault(f"schema {body.schema[:10]!r}; this display knows version 1")
    if isinstance(body, State | _Event) and (body.site, body.table) != place[:2]:
        raise Fault("it names another table than its topic")
    if isinstance(body, State):
        _check_state(body)
    if isinstance(body, _Event):
        _check_event(place, body)
    json = _encoder.encode(body)
    if place.kind in {HISTORY, ROADS}:
        outcomes = format_sequence(body.bead) if place.kind == ROADS else ""
        body = Shoe(body.seq, body.session, outcomes)
    return Document(body, json)


def _check_state(state: State) -> None:
    to_microseconds(state.published)
    if not 1 <= state.heartbeat <= _LONGEST_HEARTBEAT:
        raise Fault(f"a heartbeat of {state.heartbeat} s; expected 1 to {_LONGEST_HEARTBEAT}")


def _check_event(place: Place, event: _Event) -> None:
    if event.type != place.name or is_staff(event.type):
        raise Fault("its type is another one than its topic's")
    known = EVENT_TYPES.get(event.type)
    if known is not None:
        msgspec.convert(event.data, known)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__
