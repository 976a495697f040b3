"""
The retained documents, which are what a display needs after any loss, and the
answers to orders.

Every one carries `schema`, `seq` (it shows the table after this event) and
`session` (new per start of the daemon). The fields of every struct stand in
alphabetical order, as they do on the wire. Whole numbers and words only.

The document `roads` comes with a later feature.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, Literal

import msgspec
from msgspec import Struct

from shoe_daemon.table.events import SCHEMA
from shoe_daemon.table.snapshot import Alert, LastResult, PublicTable

__all__ = [
    "DOCUMENTS",
    "SIZE_LIMIT",
    "ActiveAlerts",
    "Device",
    "Earlier",
    "Reply",
    "ResultLast",
    "State",
    "Status",
    "active_alerts",
    "encode_message",
    "state",
]

SIZE_LIMIT: Final = 10_000
"""No payload reaches this many bytes."""


class Status(Struct, frozen=True, kw_only=True):
    """
    Whether the daemon speaks for the table: birth, farewell and last will.

    Attributes:
        head: The journal's hash after event `seq`; None where it is not told.
        seq: The last event when this was written; a will is written in advance.
        session: The start of the daemon that says so.
        state: ``online`` comes after everything else was told.
    """

    head: str | None = None
    schema: str = SCHEMA
    seq: int
    session: str
    state: Literal["online", "stopping", "offline"]


class State(PublicTable, frozen=True, kw_only=True):
    """
    The whole public table, with which a display draws itself from nothing.

    Attributes:
        alarm: Why the daemon cannot do its work, in a sentence; None when it can.
        alerts_omitted: Open irregularities that did not fit into this message.
        published: When this was sent, RFC 3339; a display greys out by it.
        session: The start of the daemon that says so.
    """

    alarm: str | None
    alerts_omitted: int = 0
    published: str
    session: str


class ResultLast(Struct, frozen=True, kw_only=True):
    """
    The last finished round in full; None before the first.
    """

    result: LastResult | None
    schema: str = SCHEMA
    seq: int
    session: str


class ActiveAlerts(Struct, frozen=True, kw_only=True):
    """
    The open irregularities, oldest first; an empty list when there are none.

    Attributes:
        omitted: Open irregularities that did not fit into this message.
    """

    alerts: tuple[Alert, ...]
    omitted: int = 0
    schema: str = SCHEMA
    seq: int
    session: str


class Device(Struct, frozen=True, kw_only=True):
    """
    How well a reader is heard; ages in milliseconds, counts since the start.

    Attributes:
        byte_age: Since the last byte; null where none came yet.
        bytes: Received.
        event_age: Since the last frame that said something new; null as above.
        frame_age: Since the last valid frame; null as above.
        frames: Valid ones, repeats included.
        noise: Bytes that belonged to no valid frame.
        repeats: Frames that only repeated the one before.
        state:
            ``connected``: frames come, or none is due; ``no-signal``: the line is
            closed or silent; ``stale``: bytes come, frames do not; ``error``: the
            reader says so itself.
    """

    byte_age: int | None
    bytes: int
    event_age: int | None
    frame_age: int | None
    frames: int
    noise: int
    repeats: int
    schema: str = SCHEMA
    seq: int
    session: str
    state: Literal["connected", "no-signal", "stale", "error"]


class Earlier(Struct, frozen=True, kw_only=True):
    """
    What became of the first order with an id that was given again.
    """

    at: str
    name: str
    ok: bool
    refused: str | None


class Reply(Struct, frozen=True, kw_only=True):
    """
    The answer to an order: whether it was carried out, and what it caused.

    Attributes:
        earlier: Where the id was given before: what became of that order.
        events: The numbers of the events that it caused.
        id: The order's; None where it had none that can be used.
        name: The verb, with underscores.
        ok: It was carried out.
        refused: Why it was not, in a sentence; None where it was.
        replayed: So many events are published again; None for other orders.
        seq: The last event when it was judged.
        session: The start of the daemon that says so.
    """

    earlier: Earlier | None = None
    events: tuple[int, ...] = ()
    id: str | None
    name: str
    ok: bool
    refused: str | None
    replayed: int | None = None
    schema: str = SCHEMA
    seq: int
    session: str


DOCUMENTS: Final[dict[str, type[Struct]]] = {
    "alert/active": ActiveAlerts,
    "device": Device,
    "reply": Reply,
    "result/last": ResultLast,
    "state": State,
    "status": Status,
}
"""Every type of document by its topic (`device` and `reply` by their first level)."""

_encoder = msgspec.json.Encoder(order="sorted")


def encode_message(message: Struct) -> bytes:
    """
    Return a document's JSON: sorted keys, no spaces, UTF-8.
    """
    return _encoder.encode(message)


def state(table: PublicTable, *, session: str, alarm: str | None, published: str) -> bytes:
    """
    Return the payload of ``state``, below the limit of size in any case.
    """
    whole = State(
        **{name: getattr(table, name) for name in PublicTable.__struct_fields__},
        alarm=alarm,
        published=published,
        session=session,
    )
    return _fitting(whole, "alerts_omitted")


def active_alerts(alerts: tuple[Alert, ...], *, seq: int, session: str) -> bytes:
    """
    Return the payload of ``alert/active``, below the limit of size in any case.
    """
    return _fitting(ActiveAlerts(alerts=alerts, seq=seq, session=session), "omitted")


def _fitting(message: State | ActiveAlerts, omitted: str) -> bytes:
    """
    Encode; where that is too long, tell less of the alerts, the newest kept longest.
    """
    payload = _encoder.encode(message)
    if len(payload) < SIZE_LIMIT:
        return payload
    # What the policy proposes can be looked up; that something is open cannot.
    alerts = tuple(_without_proposals(alert) for alert in message.alerts)

    def without(dropped: int) -> bytes:
        shorter = {"alerts": alerts[dropped:], omitted: dropped}
        return _encoder.encode(msgspec.structs.replace(message, **shorter))

    counts = range(len(alerts))
    return without(
        bisect_left(counts, x=True, key=lambda dropped: len(without(dropped)) < SIZE_LIMIT)
    )


def _without_proposals(alert: Alert) -> Alert:
    data = msgspec.structs.replace(alert.data, proposals=())
    return msgspec.structs.replace(alert, data=data)
