"""
Journal entries, and their conversion to rows with hashes.

One chain of hashes runs through all rows in the order of writing: the raw bytes of a frame, its
first observation, the events of that observation, its checkpoint (if any), the next observation,
and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct as Packer
from typing import Final

from msgspec import Struct

from shoe_daemon.table import Event, Gap, Observation, encode_event, encode_observation

_LENGTH: Final = Packer(">Q").pack
_ABSENT: Final = b"\xff" * 8


class Step(Struct, frozen=True):
    """
    One observation, and the events that it caused.

    Attributes:
        checkpoint: The table's state after the observation; set when a shoe started.
    """

    observation: Observation
    events: Sequence[Event] = ()
    checkpoint: bytes | None = None


class Entry(Struct, frozen=True):
    """
    One frame with its steps, or steps without a frame.

    Attributes:
        at: The time of reception. If empty, `at` and `source` are taken from the first step.
        source: The reader's id; None for the only reader.
    """

    raw: bytes = b""
    steps: Sequence[Step] = ()
    at: str = ""
    source: str | None = None


class StoredEvent(Struct, frozen=True, gc=False):
    """An event as stored; `body` is its JSON, byte for byte."""

    seq: int
    type: str
    body: bytes


class Head(Struct, frozen=True, gc=False):
    """
    The end of a journal.

    Attributes:
        seq: The last event's number; 0 before the first event.
        observation: The last observation's id; 0 before the first.
        capture: The last capture's id; 0 before the first.
        hash: The hash of the chain's last link.
    """

    seq: int
    observation: int
    capture: int
    hash: bytes


class Identity(Struct, frozen=True, gc=False):
    """The site and table of a journal, and the time of its creation."""

    site: str
    table: str
    created: str

    def hash(self) -> bytes:
        """Return the first hash of this journal's chain."""
        parts = (self.site, self.table, self.created)
        return chain_hash(b"", b"journal", *(part.encode() for part in parts))


class Batch:
    """
    Entries converted to rows, ready to be inserted.

    A batch writes nothing itself, so a failed write leaves no trace.
    """

    def __init__(
        self, head: Head, identity: Identity, sign: Callable[[Head, int, str], None] | None = None
    ) -> None:
        # `sign` is called with the head after each step that ended a shoe, its shoe and time.
        self._sign = sign
        self._seq = head.seq
        self._observation = head.observation
        self._capture = head.capture
        self._hash = head.hash
        self._identity = identity
        self.captures: list[tuple[int, str, str | None, bytes, int, bytes]] = []
        self.observations: list[tuple[int, str, str | None, str, str, int | None, bytes]] = []
        self.events: list[tuple[int, int, str, int | None, int | None, str, str, bytes]] = []
        self.checkpoints: list[tuple[int, int, int | None, bytes, bytes]] = []
        self.stored: list[StoredEvent] = []

    @property
    def head(self) -> Head:
        """The end of the journal after this batch."""
        return Head(self._seq, self._observation, self._capture, self._hash)

    def add(self, entry: Entry) -> None:
        """
        Convert one entry.

        Raises:
            ValueError: The entry does not continue the journal.
        """
        capture = self._add_capture(entry) if entry.raw else None
        for step in entry.steps:
            self._add_observation(step.observation, capture)
            for event in step.events:
                self._add_event(event)
            if step.checkpoint is not None:
                self._add_checkpoint(step.checkpoint, step.events)
            if self._sign is not None and (shoe := _ended_shoe(step.events)):
                self._sign(self.head, shoe, step.observation.at)

    def _add_capture(self, entry: Entry) -> int:
        at, source = entry.at, entry.source
        if not at and entry.steps:
            at, source = entry.steps[0].observation.at, entry.steps[0].observation.source
        if not at:
            raise ValueError("raw bytes without a moment")
        self._hash = capture_hash(
            self._hash,
            at=at.encode(),
            source=None if source is None else source.encode(),
            after=self._observation,
            raw=entry.raw,
        )
        self._capture += 1
        self.captures.append((self._capture, at, source, entry.raw, self._observation, self._hash))
        return self._capture

    def _add_observation(self, observation: Observation, capture: int | None) -> None:
        if not observation.at:
            raise ValueError(f"an observation without a moment: {observation!r}")
        body = encode_observation(observation)
        self._hash = observation_hash(self._hash, body, capture)
        self._observation += 1
        if isinstance(observation, Gap) and observation.next_seq is not None:
            self._seq = max(self._seq, observation.next_seq - 1)
        kind = str(observation.__struct_config__.tag)
        row = (self._observation, observation.at, observation.source, kind)
        self.observations.append((*row, body.decode(), capture, self._hash))

    def _add_event(self, event: Event) -> None:
        self._check(event)
        body = encode_event(event)
        self._hash = event_hash(self._hash, body)
        self._seq = event.seq
        row = (event.seq, self._observation, event.at, event.shoe, event.round, event.type)
        self.events.append((*row, body.decode(), self._hash))
        self.stored.append(StoredEvent(event.seq, event.type, body))

    def _check(self, event: Event) -> None:
        # The journal is append-only: a wrong number or name could never be corrected.
        if event.seq != self._seq + 1:
            raise ValueError(f"event {event.seq} cannot follow event {self._seq}")
        if (event.site, event.table) != (self._identity.site, self._identity.table):
            raise ValueError(f"an event of {event.site}/{event.table}: {event!r}")

    def _add_checkpoint(self, body: bytes, events: Sequence[Event]) -> None:
        shoe = next((event.shoe for event in reversed(events) if event.shoe), None)
        self._hash = checkpoint_hash(self._hash, seq=self._seq, shoe=shoe, body=body)
        self.checkpoints.append((self._observation, self._seq, shoe, body, self._hash))


def _ended_shoe(events: Sequence[Event]) -> int | None:
    """Return the shoe that ended with these events: by itself, or as another one started."""
    for event in reversed(events):
        if event.type == "shoe_finished":
            return event.shoe
        if event.type == "shoe_started" and event.shoe:
            return event.shoe - 1 or None
    return None


def chain_hash(previous: bytes, *parts: bytes | None) -> bytes:
    """
    Return the SHA-256 over the previous hash and the parts.

    Each part is preceded by its length in eight bytes (all ones for None), so that no byte can
    move from one part to the next unnoticed.
    """
    pieces = [previous]
    for part in parts:
        pieces += (_ABSENT,) if part is None else (_LENGTH(len(part)), part)
    return sha256(b"".join(pieces)).digest()


def capture_hash(
    previous: bytes, *, at: bytes, source: bytes | None, after: int, raw: bytes
) -> bytes:
    """Return the hash of raw bytes received after observation `after`."""
    return chain_hash(previous, b"capture", at, source, _number(after), raw)


def observation_hash(previous: bytes, body: bytes, capture: int | None) -> bytes:
    """Return the hash of an observation. Its other columns repeat the body."""
    return chain_hash(previous, b"observation", body, _number(capture))


def event_hash(previous: bytes, body: bytes) -> bytes:
    """Return the hash of an event. Its other columns repeat the body."""
    return chain_hash(previous, b"event", body)


def checkpoint_hash(previous: bytes, *, seq: int, shoe: int | None, body: bytes) -> bytes:
    """Return the hash of a checkpoint."""
    return chain_hash(previous, b"checkpoint", _number(seq), _number(shoe), body)


def _number(value: int | None) -> bytes | None:
    return None if value is None else b"%d" % value
