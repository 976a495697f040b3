"""
The retained documents, which are what a display needs after any loss, and the
answers to orders.

Every one carries `schema`, `seq` (it shows the table after this event) and
`session` (new per start of the daemon). The fields of every struct stand in
alphabetical order, as they do on the wire. Whole numbers and words only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from shoe_daemon.game import LeadingTies, Result, Roads, Tail, build_roads
from shoe_daemon.table import (
    EVENT_TYPES,
    SCHEMA,
    Alert,
    Detail,
    DetailValue,
    Event,
    EventData,
    LastResult,
    PublicHistory,
    PublicTable,
    RoundDocuments,
    is_staff,
)

SIZE_LIMIT: Final = 10_000
"""No payload reaches this many bytes, but for those that hold a whole shoe."""

LONG_LIMIT: Final = 32_000
"""Nor do `roads` and `history` reach this."""


class Status(Struct, frozen=True, kw_only=True):
    """
    The daemon speaks for the table, or no longer: birth, farewell and last will.

    Attributes:
        head: The hash of the journal's chain when this was sent; None in the last will, and
            where the journal cannot tell it.
        head_at_connect: In the last will: the hash when the daemon connected; None elsewhere.
        head_seq: The last event that `head` or `head_at_connect` covers; None without a hash.
        name: The name that people use for the table; None if it has none. It
            outlives `state`, which the broker drops when it expires.
        seq: The last event when this was written; a will is written in advance.
        session: The start of the daemon that says so.
        state: ``online`` comes after everything else was told.
    """

    head: str | None = None
    head_at_connect: str | None = None
    head_seq: int | None = None
    name: str | None = None
    schema: str = SCHEMA
    seq: int
    session: str
    state: Literal["online", "stopping", "offline"]


class State(PublicTable, frozen=True, kw_only=True):
    """
    The whole public table, with which a display draws itself from nothing.

    Attributes:
        alarm: Why the daemon cannot do its work, in a sentence; None when it can.
        detail_code: Which sentence `alarm` is, for displays in other languages.
        detail_values: What stands in it, by name.
        heartbeat: Seconds after which this is told again, changed or not: what is
            three times older is no news of this table any more.
        published: When this was sent, RFC 3339; a display greys out by it.
        session: The start of the daemon that says so.
    """

    alarm: str | None
    detail_code: str | None = None
    detail_values: dict[str, str | int | None] = field(default_factory=dict)
    heartbeat: int
    published: str
    session: str


class ResultLast(Struct, frozen=True, kw_only=True):
    """The last finished round in full; None before the first."""

    result: LastResult | None
    schema: str = SCHEMA
    seq: int
    session: str


class RoadOptions(Struct, frozen=True, kw_only=True):
    """By which of two conventions each the roads are drawn."""

    leading_ties: LeadingTies
    tail: Tail


class RoadsNow(Roads, frozen=True, kw_only=True):
    """
    All roads of this shoe, and what the next round would bring.

    Attributes:
        left_out: The leading columns of the bead plate that did not fit into this
            message. Of each other road the same share is missing; the columns that
            are told keep their numbers.
        session: The start of the daemon that says so.
        shoe: The shoe; null before the first.
    """

    left_out: int = 0
    options: RoadOptions
    schema: str = SCHEMA
    seq: int
    session: str
    shoe: int | None


class History(PublicHistory, frozen=True, kw_only=True):
    """
    The rounds of this shoe and the shoes before it, oldest first.

    Attributes:
        left_out: Rounds of this shoe, the oldest, that did not fit into this message.
        session: The start of the daemon that says so.
    """

    left_out: int = 0
    schema: str = SCHEMA
    seq: int
    session: str


class ActiveAlerts(Struct, frozen=True, kw_only=True):
    """
    The open irregularities, oldest first; an empty list when there are none.

    Attributes:
        omitted: Open irregularities that are not in `alerts`: they were too many, or did not fit
            into this message.
    """

    alerts: tuple[Alert, ...]
    omitted: int = 0
    schema: str = SCHEMA
    seq: int
    session: str


class StaffAlerts(ActiveAlerts, frozen=True, kw_only=True):
    """The open irregularities that the players may not know of yet, oldest first."""


class Device(Struct, frozen=True, kw_only=True):
    """
    The state of a reader's line; ages in milliseconds, counts since the start.

    Attributes:
        byte_age: Since the last byte; null where none came yet.
        bytes: Received; null where cards are dealt or burned face down, because the length of a
            message may depend on the face in it.
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
    bytes: int | None
    event_age: int | None
    frame_age: int | None
    frames: int
    noise: int
    repeats: int
    schema: str = SCHEMA
    seq: int
    session: str
    state: Literal["connected", "no-signal", "stale", "error"]


class SignatureLast(Struct, frozen=True, kw_only=True):
    """
    The last signature of the journal: at the end of a shoe, or after ten minutes of play; only
    tables with a key publish it.

    Attributes:
        key: The public key in hex, 64 digits. Compare it with the one that you know.
        session: The start of the daemon that says so.
        signature: The Ed25519 signature of `signed` in hex, 128 digits.
        signed: The signed text, byte for byte: JSON with the table, the last shoe that had ended,
            the last event, the counts of the journal, and the head of its chain.
    """

    key: str
    schema: str = SCHEMA
    seq: int
    session: str
    signature: str
    signed: str


class RecipientStatus(Struct, frozen=True, kw_only=True):
    """
    Success and failure of the notifications to a recipient.

    Attributes:
        attempts: Failed attempts since the last success.
        detail: Why the last attempt failed, without an address or a secret; null after a success.
        detail_code: Which sentence `detail` is, for displays in other languages.
        detail_values: What stands in it, by name.
        failing_since: Time of the first of these attempts; null after a success.
        id: The recipient.
        waiting: Open irregularities that are still to be sent.
    """

    attempts: int
    detail: str | None
    detail_code: str | None
    detail_values: dict[str, int]
    failing_since: str | None
    id: str
    waiting: int


class NotifierStatus(Struct, frozen=True, kw_only=True):
    """
    State of `shoe-daemon notify`; a stop on purpose clears it.

    Attributes:
        at: When this was written; a will is written when the notifier connects.
        heartbeat: Seconds after which this is published again, changed or not.
        omitted: Recipients that did not fit into this message.
        recipients: The failing ones first; none in the last will.
        site: The only site whose irregularities it sends; null for all.
        state: ``offline`` is the last will.
    """

    at: str
    heartbeat: int
    omitted: int = 0
    recipients: tuple[RecipientStatus, ...]
    schema: str = SCHEMA
    site: str | None
    state: Literal["online", "offline"]


class Earlier(Struct, frozen=True, kw_only=True):
    """
    Outcome of the first order with an id that was given again.

    Attributes:
        detail_code: As in a reply; None also where the daemon was restarted since.
        detail_values: What stands in the sentence, by name.
    """

    at: str
    detail_code: str | None = None
    detail_values: dict[str, DetailValue] = {}
    name: str
    ok: bool
    refused: str | None


def _previewed_event_type(kind: type[EventData]) -> type[Struct]:
    return msgspec.defstruct(
        f"Previewed{kind.__name__}",
        [("data", kind), ("round", int | None), ("shoe", int | None)],
        tag=kind.type,
        frozen=True,
        namespace={"__doc__": "An event that is not published."},
    )


_PREVIEWED_EVENT_TYPES: Final = {
    name: _previewed_event_type(kind) for name, kind in EVENT_TYPES.items() if not is_staff(name)
}

if TYPE_CHECKING:
    PreviewedEvent = Any
else:
    # The types of all public events: what only staff may know cannot be in a preview.
    PreviewedEvent = reduce(or_, _PREVIEWED_EVENT_TYPES.values())


class Preview(Struct, frozen=True, kw_only=True):
    """
    Effects that an order would have; nothing has changed.

    Attributes:
        after: The round of `before`, as it would be; None where no document would show it.
        before: The round that the order would change, as it is; None where it would change none.
        events: The events that would be published, as on `event/<type>`; those for staff alone
            are not among them. `head` of `shoe_finished` is that of this moment.
        faces_hidden: The order may turn over cards that lie face down: what it would do is not
            told before it is done. Such a card may also decide whether `undo` is refused.
        left_out: The last events that did not fit into this message.
        needs_pin: The order takes a supervisor with PIN, at this moment; false without an
            operators file.
        needs_reason: The order takes a reason; likewise.
        seq: The last event before the order; give it as `expects_seq`.
    """

    after: RoundDocuments | None
    before: RoundDocuments | None
    events: tuple[PreviewedEvent, ...]
    faces_hidden: bool
    left_out: int = 0
    needs_pin: bool = False
    needs_reason: bool = False
    seq: int


class Reply(Struct, frozen=True, kw_only=True):
    """
    The answer to an order: whether it was carried out, and what it caused.

    Attributes:
        detail_code: Which sentence `refused` is, for displays in other languages; None where it
            was accepted, where its id was given before, for a refused `replay`, and for a faulty
            message.
        detail_values: What stands in it, by name.
        earlier: Where the id was given before: what became of that order.
        events: The numbers of the events that it caused; none for a preview.
        id: The order's; None where it had none that can be used.
        name: The verb, with underscores.
        ok: It was carried out; for a preview: it would be.
        preview: What the order would do, where it had `dry_run`; None where it would be refused,
            and for other orders.
        refused: Why it was not, in a sentence; None where it was.
        replayed: So many events are published again, or for a preview would be; None for other
            orders.
        replayed_public: So many of them are not for staff only.
        seq: The last event when it was judged.
        session: The start of the daemon that says so.
    """

    detail_code: str | None = None
    detail_values: dict[str, DetailValue] = {}
    earlier: Earlier | None = None
    events: tuple[int, ...] = ()
    id: str | None
    name: str
    ok: bool
    preview: Preview | None = None
    refused: str | None
    replayed: int | None = None
    replayed_public: int | None = None
    schema: str = SCHEMA
    seq: int
    session: str


decode_reply = msgspec.json.Decoder(Reply).decode
"""Decode a reply; made on the thread that imports, as `EVENT_DECODERS`."""

DOCUMENTS: Final[dict[str, type[Struct]]] = {
    "alert/active": ActiveAlerts,
    "device": Device,
    "history": History,
    "reply": Reply,
    "result/last": ResultLast,
    "roads": RoadsNow,
    "signature": SignatureLast,
    "staff/alert/active": StaffAlerts,
    "state": State,
    "status": Status,
}
"""Every type of document by its topic (`device` and `reply` by their first level)."""

_encoder = msgspec.json.Encoder(order="sorted")


def encode_message(message: Struct) -> bytes:
    """Return a document's JSON: sorted keys, no spaces, UTF-8."""
    return _encoder.encode(message)


def previewed_events(events: Iterable[Event]) -> tuple[PreviewedEvent, ...]:
    """Return public events in the form of a preview."""
    return tuple(
        _PREVIEWED_EVENT_TYPES[event.type](event.data, event.round, event.shoe) for event in events
    )


def reply(message: Reply) -> bytes:
    """Return the payload of ``reply/<id>``, below the limit of size in any case."""
    preview = message.preview
    if preview is None:
        return _encoder.encode(message)
    events = preview.events

    def without(count: int) -> bytes:
        first = replace(preview, events=events[: len(events) - count], left_out=count)
        return _encoder.encode(replace(message, preview=first))

    return _shortest_cut(without, len(events), SIZE_LIMIT)


def state(
    table: PublicTable, *, session: str, alarm: Detail | None, heartbeat: int, published: str
) -> bytes:
    """Return the payload of ``state``, below the limit of size in any case."""
    whole = State(
        **asdict(table),
        alarm=None if alarm is None else alarm.text,
        detail_code=None if alarm is None else alarm.code,
        detail_values={} if alarm is None else alarm.values,
        heartbeat=heartbeat,
        published=published,
        session=session,
    )
    return _within_limit(whole, "alerts_omitted")


def active_alerts(alerts: tuple[Alert, ...], *, seq: int, session: str, omitted: int = 0) -> bytes:
    """Return the payload of ``alert/active``, below the limit of size in any case."""
    message = ActiveAlerts(alerts=alerts, omitted=omitted, seq=seq, session=session)
    return _within_limit(message, "omitted")


def staff_alerts(alerts: tuple[Alert, ...], *, seq: int, session: str) -> bytes:
    """Return the payload of ``staff/alert/active``, below the limit of size in any case."""
    return _within_limit(StaffAlerts(alerts=alerts, seq=seq, session=session), "omitted")


def notifier_status(status: NotifierStatus) -> bytes:
    """Return the payload of a notifier, below the limit of size in any case."""
    recipients = status.recipients

    def without(count: int) -> bytes:
        left = recipients[: len(recipients) - count]
        return _encoder.encode(replace(status, recipients=left, omitted=count))

    return _shortest_cut(without, len(recipients), SIZE_LIMIT)


def road_map(
    results: Sequence[Result], options: RoadOptions, *, shoe: int | None, seq: int, session: str
) -> bytes:
    """Return the payload of ``roads``, below its limit of size in any case."""
    drawn = build_roads(results, leading_ties=options.leading_ties, tail=options.tail)
    whole = RoadsNow(**asdict(drawn), options=options, shoe=shoe, seq=seq, session=session)
    cells = {road: getattr(whole, road) for road in _ROADS}
    columns = {road: max((cell.col for cell in cells[road]), default=-1) + 1 for road in _ROADS}
    most = max(columns["bead"], 1)

    def without(beads: int) -> bytes:
        # The same share of each road: a short one must not vanish before a long one.
        later = {
            road: tuple(cell for cell in cells[road] if cell.col >= count * beads // most)
            for road, count in columns.items()
        }
        return _encoder.encode(replace(whole, left_out=beads, **later))

    return _shortest_cut(without, most)


def history(table: PublicHistory, *, seq: int, session: str) -> bytes:
    """Return the payload of ``history``, below its limit of size in any case."""
    whole = History(**asdict(table), seq=seq, session=session)

    def without(count: int) -> bytes:
        # Older shoes are left out before rounds of this one.
        shoes, rounds = min(count, len(whole.shoes)), max(count - len(whole.shoes), 0)
        shorter = {"shoes": whole.shoes[shoes:], "rounds": whole.rounds[rounds:]}
        return _encoder.encode(replace(whole, left_out=rounds, **shorter))

    return _shortest_cut(without, len(whole.shoes) + len(whole.rounds))


_ROADS: Final = ("bead", "big", "big_eye", "cockroach", "small")


def _shortest_cut(without: Callable[[int], bytes], most: int, limit: int = LONG_LIMIT) -> bytes:
    """Return the longest payload below the limit: leave out as little as possible."""
    whole = without(0)
    if len(whole) < limit:
        return whole
    return without(bisect_left(range(most), x=True, key=lambda n: len(without(n)) < limit))


def _within_limit(message: State | ActiveAlerts, omitted: str) -> bytes:
    """Encode; if that is too long, leave out proposals, then the oldest alerts."""
    payload = _encoder.encode(message)
    if len(payload) < SIZE_LIMIT:
        return payload
    # Proposals can be looked up in the policy; open irregularities nowhere else.
    alerts = tuple(
        replace(alert, data=replace(alert.data, proposals=())) for alert in message.alerts
    )

    def without(dropped: int) -> bytes:
        shorter = {"alerts": alerts[dropped:], omitted: dropped + getattr(message, omitted)}
        return _encoder.encode(replace(message, **shorter))

    return _shortest_cut(without, len(alerts), SIZE_LIMIT)
