"""
Hashes of the journal's rows.

One chain runs through all rows in the order of writing: the raw bytes of a frame, its first
observation, the events of that observation, its checkpoint (if any), the next observation, and so
on. Pure.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import Final

_LENGTH: Final = Struct(">Q").pack
_ABSENT: Final = b"\xff" * 8


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


def journal_hash(site: bytes, table: bytes, created: bytes) -> bytes:
    """Return the first hash of the chain."""
    return chain_hash(b"", b"journal", site, table, created)


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
