"""
The retained documents, which are what a display needs after any loss.

Every one carries `schema`, `seq` (it shows the table after this event) and
`session` (new per start of the daemon). The fields of every struct stand in
alphabetical order, as they do on the wire. Whole numbers and words only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from shoe_daemon.game import LeadingTies, Result, Roads, Tail, build_roads
from shoe_daemon.table import (
    SCHEMA,
    Alert,
    Detail,
    LastResult,
    PublicHistory,
    PublicTable,
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


DOCUMENTS: Final[dict[str, type[Struct]]] = {
    "alert/active": ActiveAlerts,
    "device": Device,
    "history": History,
    "result/last": ResultLast,
    "roads": RoadsNow,
    "signature": SignatureLast,
    "staff/alert/active": StaffAlerts,
    "state": State,
    "status": Status,
}
"""Every type of document by its topic (`device` by its first level)."""

_encoder = msgspec.json.Encoder(order="sorted")


def encode_message(message: Struct) -> bytes:
    """Return a document's JSON: sorted keys, no spaces, UTF-8."""
    return _encoder.encode(message)


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

    return shortest_cut(without, len(recipients), SIZE_LIMIT)


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

    return shortest_cut(without, most)


def history(table: PublicHistory, *, seq: int, session: str) -> bytes:
    """Return the payload of ``history``, below its limit of size in any case."""
    whole = History(**asdict(table), seq=seq, session=session)

    def without(count: int) -> bytes:
        # Older shoes are left out before rounds of this one.
        shoes, rounds = min(count, len(whole.shoes)), max(count - len(whole.shoes), 0)
        shorter = {"shoes": whole.shoes[shoes:], "rounds": whole.rounds[rounds:]}
        return _encoder.encode(replace(whole, left_out=rounds, **shorter))

    return shortest_cut(without, len(whole.shoes) + len(whole.rounds))


_ROADS: Final = ("bead", "big", "big_eye", "cockroach", "small")


def shortest_cut(without: Callable[[int], bytes], most: int, limit: int = LONG_LIMIT) -> bytes:
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

    return shortest_cut(without, len(alerts), SIZE_LIMIT)
