"""
Commands of operators on ``cmd/<verb>`` as messages, and the replies to them.

Parsing never fails: every payload becomes a `Command` that can be journaled, with
its valid fields, and the first fault is the reason of its refusal.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from shoe_daemon.game import REPORTABLE_KINDS, Action, Card, IrregularityKind, Outcome, Slot
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.documents import SIZE_LIMIT, encode_message, shortest_cut
from shoe_daemon.table import (
    COMMANDS,
    EVENT_TYPES,
    SCHEMA,
    Authority,
    Command,
    Detail,
    DetailValue,
    Event,
    EventData,
    RoundDocuments,
    is_staff,
    moment_to_microseconds,
    uncoded_detail,
)

VERBS: Final = {name.replace("_", "-"): name for name in sorted(COMMANDS)}
"""The name of the `Command` by the verb in the topic."""

MAX_COMMAND_BYTES: Final = 4096

# "(?!\n)": Python's `$` also matches before a final line break.
OrderId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,64}$(?!\n)")]
Text = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]
LongText = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]
Pin = Annotated[str, Meta(max_length=64)]
Number = Annotated[int, Meta(ge=1, le=2**53)]
NumberFromZero = Annotated[int, Meta(ge=0, le=2**53)]


class OrderMessage(Struct, frozen=True, kw_only=True):
    """
    An operator's order; its verb is the last level of the topic.

    Attributes:
        action: What ``rule`` chooses.
        card: Rank then suit.
        dry_run: Only answer what the order would do.
        expects_seq: The `seq` for which the sender decided; refused where the table has moved on.
        expires_at: RFC 3339, with its offset, 1970 to 9999 in UTC; refused after that.
        from_seq: Where ``replay`` begins.
        id: Chosen by the sender, never used before; the answer comes to ``reply/<id>``.
        irregularity: The id of the one that ``acknowledge`` and ``rule`` are about;
            needed where several are open.
        operator: Who gives it.
        outcome: Of a result entered by hand.
        player_pair: Whether the Player had a pair; None where nobody knows.
        banker_pair: Likewise.
        pin: The operator's, where the table asks for it; written down nowhere.
        reason: Why, in the operator's words.
        round: The round that a correction is about; None for the latest.
        seat: Of the curator; None for the next in turn.
        slot: The place of a card.
        kind: What a person has seen that no reader can, with ``hold``.
        left: The cards that a person counted in the old shoe, with ``new-shoe``.
        dealer: Who signs on, with ``dealer``; None for who signs off.
    """

    id: OrderId
    operator: Text
    reason: LongText | None = None
    expires_at: str | None = None
    dry_run: bool = False
    expects_seq: NumberFromZero | None = None
    pin: Pin | None = None
    irregularity: Number | None = None
    action: Action | None = None
    round: Number | None = None
    slot: Slot | None = None
    card: Card | None = None
    outcome: Outcome | None = None
    player_pair: bool | None = None
    banker_pair: bool | None = None
    seat: Number | None = None
    from_seq: Number | None = None
    kind: IrregularityKind | None = None
    left: NumberFromZero | None = None
    dealer: Text | None = None


_FIELDS: Final = {
    field.name: (field.type, field.required) for field in msgspec.structs.fields(OrderMessage)
}
_EXPECTED: Final = {
    "id": "1 to 64 letters, digits and . _ : -",
    "operator": "a name of 1 to 60 visible characters",
    "reason": "a text of at most 200 characters",
    "expires_at": "a moment with its offset, such as 2026-11-21T09:34:46Z",
    "dry_run": "true or false",
    "expects_seq": "a whole number from 0 on",
    "pin": "a text of at most 64 characters",
    "action": f"one of {', '.join(Action)}",
    "slot": f"one of {', '.join(Slot)}",
    "card": "a card that exists, rank then suit, such as 10H",
    "outcome": f"one of {', '.join(Outcome)}",
    "kind": f"one of {', '.join(sorted(REPORTABLE_KINDS))}",
    "left": "a whole number from 0 on",
    "dealer": "a name of 1 to 60 visible characters",
    "player_pair": "true or false",
    "banker_pair": "true or false",
}
_NAMES: Final = ("operator", "dealer")
_EXPECTED_NUMBER: Final = "a whole number from 1 on"
_NOT_STORED: Final = ("dry_run", "expires_at", "pin")
"""Fields that a `Command` does not have: they are checked and not journaled."""


class ReceivedCommand(Struct, eq=False):
    """
    A command from the broker to its judgement, valid or not.

    Attributes:
        command: What will be journaled, once it is judged.
        dry_run: It is only previewed: nothing is journaled.
        refusal: Why it is refused whatever the table's state is; None if it is not.
        expires_us: Microseconds since 1970; None where it does not expire.
        pin: As it was received; never to be stored.
        authority: The sender's, by the operators file; None before the PIN is checked, and where
            everybody may give the command.
        response_topic: Where to reply besides ``reply/<id>``.
        correlation: Correlation data of the reply.
    """

    command: Command
    dry_run: bool = False
    refusal: Detail | None = None
    expires_us: int | None = None
    pin: str | None = None
    authority: Authority | None = None
    response_topic: str | None = None
    correlation: bytes | None = None

    @property
    def pin_verified(self) -> bool:
        """True if the operator's PIN was right."""
        return self.authority is not None and self.authority.pin_verified


def parse_command(verb: str, message: MessageReceived, *, operator: str = "") -> ReceivedCommand:
    """
    Parse a command; the first fault is in `refusal` of the result.

    Args:
        verb: As in the topic ``cmd/<verb>``.
        message: As the broker delivered it.
        operator: As in the topic ``cmd/<verb>/<operator>``, where the broker lets everybody
            publish under their own name only: it authenticates the operator. Empty elsewhere.
    """
    name = VERBS.get(verb)
    fields, fault = _parse_payload(message.payload)
    expires_us = None
    if "expires_at" in fields:
        expires_us = _microseconds(fields["expires_at"])
        fault = fault or (_expected("expires_at") if expires_us is None else None)
    if operator:
        fault = _set_operator(fields, operator, fault)
    if name is None:
        fault = f"there is no order {verb[:40]!r}; there are: {', '.join(VERBS)}"
    elif message.retained:
        fault = "it is retained: an order is given once, and never kept by the broker"
    elif message.queued and expires_us is None:
        fault = fault or "it waited while the table was away, and has no expires_at"
    stored = {key: value for key, value in fields.items() if key not in _NOT_STORED}
    return ReceivedCommand(
        Command(name=name or verb[:40], claimed=not operator, **stored),
        fields.get("dry_run", False),
        None if fault is None else uncoded_detail(fault),
        expires_us,
        fields.get("pin"),
        response_topic=message.response_topic,
        correlation=message.correlation,
    )


def _parse_payload(payload: bytes) -> tuple[dict[str, Any], str | None]:
    """Return the valid fields, and the first fault."""
    if len(payload) > MAX_COMMAND_BYTES:
        return {}, f"it is too long: {len(payload)} bytes, expected at most {MAX_COMMAND_BYTES}"
    try:
        values = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return {}, "it is no JSON object"
    fields: dict[str, Any] = {}
    fault: str | None = None
    for name, (kind, required) in _FIELDS.items():
        if values.get(name) is None:
            fault = fault or (_missing(name) if required else None)
            continue
        try:
            fields[name] = _converted(name, values[name], kind)
        except msgspec.ValidationError:
            fault = fault or _expected(name)
    return fields, fault


def _converted(name: str, value: object, kind: Any) -> Any:  # noqa: ANN401 - as msgspec
    converted = msgspec.convert(value, kind)
    if name in _NAMES and not converted.isprintable():
        # Characters without a form, or that turn the text around, make one name look like another.
        raise msgspec.ValidationError
    return converted


def _missing(name: str) -> str:
    return f"{name}: missing"


def _expected(name: str) -> str:
    # The received value is not repeated: it may be a PIN in the wrong field.
    return f"{name}: expected {_EXPECTED.get(name, _EXPECTED_NUMBER)}"


def _microseconds(text: str) -> int | None:
    try:
        return moment_to_microseconds(datetime.fromisoformat(text))
    except ValueError:
        return None


def _set_operator(fields: dict[str, Any], topic_operator: str, fault: str | None) -> str | None:
    """Set the operator from the topic; return the first fault."""
    claimed = fields.get("operator", topic_operator)
    fault = None if fault == _missing("operator") else fault
    try:
        fields["operator"] = _converted("operator", topic_operator, Text)
    except msgspec.ValidationError:
        return fault or _expected("operator")
    is_other = claimed != topic_operator
    return fault or ("operator: another one than in the topic" if is_other else None)


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


def previewed_events(events: Iterable[Event]) -> tuple[PreviewedEvent, ...]:
    """Return public events in the form of a preview."""
    return tuple(
        _PREVIEWED_EVENT_TYPES[event.type](event.data, event.round, event.shoe) for event in events
    )


def reply(message: Reply) -> bytes:
    """Return the payload of ``reply/<id>``, below the limit of size in any case."""
    preview = message.preview
    if preview is None:
        return encode_message(message)
    events = preview.events

    def without(count: int) -> bytes:
        first = replace(preview, events=events[: len(events) - count], left_out=count)
        return encode_message(replace(message, preview=first))

    return shortest_cut(without, len(events), SIZE_LIMIT)
