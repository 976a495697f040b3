"""The envelope of an event, and its one JSON; `events` has the data of each type."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from shoe_daemon.table.events import EventData

SCHEMA: Final = "1.0"


class Event(Struct, frozen=True):
    """
    The envelope.

    Attributes:
        at: The moment of the observation, or of the deadline, that caused it.
        data: What happened.
        round: From 1 within a shoe; None outside a round.
        schema: The version of this form.
        seq: Gapless, from 1, per table, for ever.
        shoe: From 1 per table, for ever; None before the first.
        site: Where.
        table: Which table.
        type: The name of `data`.
    """

    at: str
    data: EventData
    round: int | None
    schema: str
    seq: int
    shoe: int | None
    site: str
    table: str
    type: str


EVENT_TYPES: Final = {kind.type: kind for kind in EventData.__subclasses__()}
"""Every type of event by its name on the wire."""

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """Return the event's one and only JSON: sorted keys, no spaces, UTF-8."""
    return _encoder.encode(event)


def decode_event(line: bytes) -> Event:
    """
    Read an event back from its JSON.

    Raises:
        msgspec.DecodeError: It is no event of this version.
    """
    envelope = msgspec.json.decode(line, type=_Envelope)
    if envelope.type not in EVENT_TYPES:
        raise msgspec.ValidationError(f"Unknown type of event `{envelope.type}`")
    data: Any = msgspec.convert(
        msgspec.json.decode(envelope.data), EVENT_TYPES[envelope.type], strict=True
    )
    return Event(**(msgspec.structs.asdict(envelope) | {"data": data}))


class _Envelope(Event, frozen=True):
    data: msgspec.Raw  # type: ignore[assignment]  # decoded by its type


def is_staff(event_type: str) -> bool:
    """Return whether events of this type are for staff only."""
    return event_type.startswith("staff_")
