"""Journal entries, and their conversion to rows."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shoe_daemon.journal import hash_chain
from shoe_daemon.table import Event, Observation, encode_event, encode_observation


class Step(Struct, frozen=True):
    """
    One observation, and the events that it caused.

    Attributes:
        observation: With its `at`.
        events: In order; may be empty.
        checkpoint: The table's state after the observation; set when a shoe started.
    """

    observation: Observation
    events: Sequence[Event] = ()
    checkpoint: bytes | None = None


class Entry(Struct, frozen=True):
    """
    One frame with its steps, or steps without a frame.

    Attributes:
        raw: The bytes as received.
        steps: In order.
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
        return hash_chain.journal_hash(*(part.encode() for part in parts))


class Batch:
    """
    Entries converted to rows, ready to be inserted.

    A batch writes nothing itself, so a failed write leaves no trace.
    """

    def __init__(self, head: Head, identity: Identity) -> None:
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

    def _add_capture(self, entry: Entry) -> int:
        at, source = entry.at, entry.source
        if not at and entry.steps:
            at, source = entry.steps[0].observation.at, entry.steps[0].observation.source
        if not at:
            raise ValueError("raw bytes without a moment")
        self._hash = hash_chain.capture_hash(
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
        self._hash = hash_chain.observation_hash(self._hash, body, capture)
        self._observation += 1
        kind = str(observation.__struct_config__.tag)
        self.observations.append(
            (
                self._observation,
                observation.at,
                observation.source,
                kind,
                body.decode(),
                capture,
                self._hash,
            )
        )

    def _add_event(self, event: Event) -> None:
        self._check(event)
        body = encode_event(event)
        self._hash = hash_chain.event_hash(self._hash, body)
        self._seq = event.seq
        self.events.append(
            (
                event.seq,
                self._observation,
                event.at,
                event.shoe,
                event.round,
                event.type,
                body.decode(),
                self._hash,
            )
        )
        self.stored.append(StoredEvent(event.seq, event.type, body))

    def _check(self, event: Event) -> None:
        # The journal is append-only: a wrong number or name could never be corrected.
        if event.seq != self._seq + 1:
            raise ValueError(f"event {event.seq} cannot follow event {self._seq}")
        if (event.site, event.table) != (self._identity.site, self._identity.table):
            raise ValueError(f"an event of {event.site}/{event.table}: {event!r}")

    def _add_checkpoint(self, body: bytes, events: Sequence[Event]) -> None:
        shoe = next((event.shoe for event in reversed(events) if event.shoe), None)
        self._hash = hash_chain.checkpoint_hash(self._hash, seq=self._seq, shoe=shoe, body=body)
        self.checkpoints.append((self._observation, self._seq, shoe, body, self._hash))
