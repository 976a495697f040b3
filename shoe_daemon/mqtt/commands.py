"""
What an operator sends to ``cmd/<verb>``, and how it is read: an order, or why it
can be none.

Reading never fails: whatever came becomes a `Command` that can be journaled, with
the fields that could be understood and, in `refused`, the first thing wrong.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from shoe_daemon.game import REPORTED, Action, Card, IrregularityKind, Outcome, Slot
from shoe_daemon.mqtt.publisher_context import Order
from shoe_daemon.table import ORDERS, Command

__all__ = ["VERBS", "Draft", "OrderMessage", "read_order"]

VERBS: Final = {name.replace("_", "-"): name for name in sorted(ORDERS)}
"""Every verb as it stands in a topic, and the name of its `Command`."""

SIZE_LIMIT: Final = 4096
"""No order needs as many bytes."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# "(?!\n)": in Python a `$` alone lets a line's end pass behind it.
OrderId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:-]{1,64}$(?!\n)")]
Text = Annotated[str, Meta(min_length=1, max_length=60, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]
LongText = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]
Pin = Annotated[str, Meta(max_length=64)]
Number = Annotated[int, Meta(ge=1, le=2**53)]


class OrderMessage(Struct, frozen=True, kw_only=True):
    """
    An operator's order; its verb is the last level of the topic.

    Attributes:
        action: What ``rule`` chooses.
        card: Rank then suit.
        expires_at: RFC 3339, with its offset; refused after that.
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
    """

    id: OrderId
    operator: Text
    reason: LongText | None = None
    expires_at: str | None = None
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
    left: Annotated[int, Meta(ge=0, le=2**53)] | None = None


_FIELDS: Final = {
    field.name: (field.type, field.required) for field in msgspec.structs.fields(OrderMessage)
}
_EXPECTED: Final = {
    "id": "1 to 64 letters, digits and . _ : -",
    "operator": "a name of 1 to 60 characters",
    "reason": "a text of at most 200 characters",
    "expires_at": "a moment with its offset, such as 2026-11-21T09:34:46Z",
    "pin": "a text of at most 64 characters",
    "action": f"one of {', '.join(Action)}",
    "slot": f"one of {', '.join(Slot)}",
    "card": "a card that exists, rank then suit, such as 10H",
    "outcome": f"one of {', '.join(Outcome)}",
    "kind": f"one of {', '.join(sorted(REPORTED))}",
    "left": "a whole number from 0 on",
    "player_pair": "true or false",
    "banker_pair": "true or false",
}
_NUMBER: Final = "a whole number from 1 on"
_ASIDE: Final = ("expires_at", "pin")
"""What is no field of a `Command`: it decides, and is not written down."""


class Draft(Struct, frozen=True):
    """
    An order as it was read, before anything was asked of the table.

    Attributes:
        command: What will be journaled; its `refused` says why it can be no order.
        expires: Microseconds since 1970; None where it does not say.
        pin: As it was given; never to be written down.
        response_topic: Where the sender wants the answer besides ``reply/<id>``.
        correlation: What has to go back with it.
    """

    command: Command
    expires: int | None = None
    pin: str | None = None
    response_topic: str | None = None
    correlation: bytes | None = None


def read_order(order: Order, *, operator_in_topic: bool = False) -> Draft:
    """
    Read what came.

    Args:
        order: As the broker brought it.
        operator_in_topic: The topic is ``cmd/<verb>/<operator>``, and the broker
            lets everybody write their own name only: it vouches for the operator.
    """
    verb, _, named = order.verb.partition("/") if operator_in_topic else (order.verb, "", "")
    name = VERBS.get(verb)
    fields, wrong = _read_payload(order.payload)
    expires = None
    if "expires_at" in fields:
        expires = _moment(fields["expires_at"])
        wrong = wrong or (_expected("expires_at") if expires is None else None)
    if named:
        wrong = _take_name(fields, named, wrong)
    if name is None:
        wrong = f"there is no order {verb[:40]!r}; there are: {', '.join(VERBS)}"
    elif order.retained:
        wrong = "it is retained: an order is given once, and never kept by the broker"
    elif order.waited and expires is None:
        wrong = wrong or "it waited while the table was away, and has no expires_at"
    known = {key: value for key, value in fields.items() if key not in _ASIDE}
    command = Command(name=name or verb[:40], claimed=not named, refused=wrong, **known)
    pin = fields.get("pin")
    return Draft(command, expires, pin, order.response_topic, order.correlation)


def _read_payload(payload: bytes) -> tuple[dict[str, Any], str | None]:
    """
    Return the fields that can be understood, and the first thing wrong.
    """
    if len(payload) > SIZE_LIMIT:
        return {}, f"it is too long: {len(payload)} bytes, expected at most {SIZE_LIMIT}"
    try:
        said = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return {}, "it is no JSON object"
    fields: dict[str, Any] = {}
    wrong: str | None = None
    for name, (kind, required) in _FIELDS.items():
        if said.get(name) is None:
            wrong = wrong or (_missing(name) if required else None)
            continue
        try:
            fields[name] = msgspec.convert(said[name], kind)
        except msgspec.ValidationError:
            wrong = wrong or _expected(name)
    return fields, wrong


def _missing(name: str) -> str:
    return f"{name}: missing"


def _expected(name: str) -> str:
    # Nothing of what came is repeated: it may be a PIN in the wrong place.
    return f"{name}: expected {_EXPECTED.get(name, _NUMBER)}"


def _moment(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _take_name(fields: dict[str, Any], named: str, wrong: str | None) -> str | None:
    """
    Let the name in the topic be the operator; return the first thing wrong.
    """
    claimed = fields.get("operator", named)
    wrong = None if wrong == _missing("operator") else wrong
    try:
        fields["operator"] = msgspec.convert(named, Text)
    except msgspec.ValidationError:
        return wrong or _expected("operator")
    return wrong or ("operator: another one than in the topic" if claimed != named else None)
