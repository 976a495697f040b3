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

EVENT_DECODERS: Final = {name: msgspec.json.Decoder(kind) for name, kind in EVENT_TYPES.items()}
"""
The JSON decoder of each type.

They are made here, on the thread that imports: two threads that decode into the same type for the
first time, at the same moment, crash msgspec 0.22. `msgspec.convert` is safe with them too.
"""

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
    envelope = _envelope_decoder.decode(line)
    decoder = EVENT_DECODERS.get(envelope.type)
    if decoder is None:
        raise msgspec.ValidationError(f"Unknown type of event `{envelope.type}`")
    data: Any = decoder.decode(envelope.data)
    return Event(**(msgspec.structs.asdict(envelope) | {"data": data}))


class _Envelope(Event, frozen=True):
    data: msgspec.Raw  # type: ignore[assignment]  # decoded by its type


_envelope_decoder = msgspec.json.Decoder(_Envelope)


def is_staff(event_type: str) -> bool:
    """Return whether events of this type are for staff only."""
    return event_type.startswith("staff_")
