"""
Journal entries, and their conversion to rows with hashes.

One chain of hashes runs through all rows in the order of writing: the raw bytes of a frame, its
first observation, the events of that observation, its checkpoint (if any), the next observation,
and so on.

Each row has a random salt, which is part of its hash and is never published. Hashes of the chain
are public, and a row may hold one of 52 hidden faces: without the salt, trying all of them would
find it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct as Packer
from typing import Final

from msgspec import Struct

from shoe_daemon.table import Event, Gap, Observation, encode_event, encode_observation

_LENGTH: Final = Packer(">Q").pack
_ABSENT: Final = b"\xff" * 8
_SALT_BYTES: Final = 16


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
        self, head: Head, identity: Identity, sign: Callable[[Head, Step], None] | None = None
    ) -> None:
        # `sign` is called after each step with events, with the head there.
        self._sign = sign
        self._seq = head.seq
        self._observation = head.observation
        self._capture = head.capture
        self._hash = head.hash
        self._identity = identity
        # The columns of each row, in their order.
        self.captures: list[tuple[int, str, str | None, bytes, int, bytes, bytes]] = []
        self.observations: list[
            tuple[int, str, str | None, str, str, int | None, bytes, bytes]
        ] = []
        self.events: list[
            tuple[int, int, str, int | None, int | None, str, str, bytes, bytes]
        ] = []
        self.checkpoints: list[tuple[int, int, int | None, bytes, bytes, bytes]] = []
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
            if self._sign is not None and step.events:
                self._sign(self.head, step)

    def _add_capture(self, entry: Entry) -> int:
        at, source = entry.at, entry.source
        if not at and entry.steps:
            at, source = entry.steps[0].observation.at, entry.steps[0].observation.source
        if not at:
            raise ValueError("raw bytes without a moment")
        salt = new_salt()
        self._hash = capture_hash(
            self._hash,
            salt,
            at=at.encode(),
            source=None if source is None else source.encode(),
            after=self._observation,
            raw=entry.raw,
        )
        self._capture += 1
        row = (self._capture, at, source, entry.raw, self._observation)
        self.captures.append((*row, self._hash, salt))
        return self._capture

    def _add_observation(self, observation: Observation, capture: int | None) -> None:
        if not observation.at:
            raise ValueError(f"an observation without a moment: {observation!r}")
        body, salt = encode_observation(observation), new_salt()
        self._hash = observation_hash(self._hash, salt, body, capture)
        self._observation += 1
        if isinstance(observation, Gap) and observation.next_seq is not None:
            self._seq = max(self._seq, observation.next_seq - 1)
        kind = str(observation.__struct_config__.tag)
        row = (self._observation, observation.at, observation.source, kind)
        self.observations.append((*row, body.decode(), capture, self._hash, salt))

    def _add_event(self, event: Event) -> None:
        self._check(event)
        body, salt = encode_event(event), new_salt()
        self._hash = event_hash(self._hash, salt, body)
        self._seq = event.seq
        row = (event.seq, self._observation, event.at, event.shoe, event.round, event.type)
        self.events.append((*row, body.decode(), self._hash, salt))
        self.stored.append(StoredEvent(event.seq, event.type, body))

    def _check(self, event: Event) -> None:
        # The journal is append-only: a wrong number or name could never be corrected.
        if event.seq != self._seq + 1:
            raise ValueError(f"event {event.seq} cannot follow event {self._seq}")
        if (event.site, event.table) != (self._identity.site, self._identity.table):
            raise ValueError(f"an event of {event.site}/{event.table}: {event!r}")

    def _add_checkpoint(self, body: bytes, events: Sequence[Event]) -> None:
        shoe = next((event.shoe for event in reversed(events) if event.shoe), None)
        salt = new_salt()
        self._hash = checkpoint_hash(self._hash, salt, seq=self._seq, shoe=shoe, body=body)
        self.checkpoints.append((self._observation, self._seq, shoe, body, self._hash, salt))


def new_salt() -> bytes:
    """Return the salt of a new row."""
    return os.urandom(_SALT_BYTES)


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


def _row_hash(previous: bytes, salt: bytes | None, *parts: bytes | None) -> bytes:
    """Return the hash of a row; rows of versions 1 and 2 have no salt."""
    if salt is None:
        return chain_hash(previous, *parts)
    return chain_hash(previous, b"salted", salt, *parts)


def capture_hash(  # noqa: PLR0913 - everything that is hashed
    previous: bytes,
    salt: bytes | None,
    *,
    at: bytes,
    source: bytes | None,
    after: int,
    raw: bytes,
) -> bytes:
    """Return the hash of raw bytes received after observation `after`."""
    return _row_hash(previous, salt, b"capture", at, source, _number(after), raw)


def observation_hash(
    previous: bytes, salt: bytes | None, body: bytes, capture: int | None
) -> bytes:
    """Return the hash of an observation. Its other columns repeat the body."""
    return _row_hash(previous, salt, b"observation", body, _number(capture))


def event_hash(previous: bytes, salt: bytes | None, body: bytes) -> bytes:
    """Return the hash of an event. Its other columns repeat the body."""
    return _row_hash(previous, salt, b"event", body)


def checkpoint_hash(
    previous: bytes, salt: bytes | None, *, seq: int, shoe: int | None, body: bytes
) -> bytes:
    """Return the hash of a checkpoint."""
    return _row_hash(previous, salt, b"checkpoint", _number(seq), _number(shoe), body)


def _number(value: int | None) -> bytes | None:
    return None if value is None else b"%d" % value
