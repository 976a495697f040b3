"""
The hash chain: what each row's hash is made of.

One chain runs through everything in the order in which it was written: a
frame's raw bytes, its first observation, that one's events, its checkpoint if
any, the next observation ... Pure.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import Final

_LENGTH: Final = Struct(">Q").pack
_ABSENT: Final = b"\xff" * 8


def link(previous: bytes, *parts: bytes | None) -> bytes:
    """
    Return the SHA-256 over the hash before and the parts.

    Every part is preceded by its length in eight bytes (all ones where it is
    absent), so that nothing can be shifted from one part to the next.
    """
    pieces = [previous]
    for part in parts:
        pieces += (_ABSENT,) if part is None else (_LENGTH(len(part)), part)
    return sha256(b"".join(pieces)).digest()


def of_journal(site: bytes, table: bytes, created: bytes) -> bytes:
    """Return the hash that the chain starts with."""
    return link(b"", b"journal", site, table, created)


def of_capture(
    previous: bytes, *, at: bytes, source: bytes | None, after: int, raw: bytes
) -> bytes:
    """Return the hash of raw bytes that came after the observation `after`."""
    return link(previous, b"capture", at, source, _number(after), raw)


def of_observation(previous: bytes, body: bytes, capture: int | None) -> bytes:
    """Return the hash of an observation; its other columns repeat its body."""
    return link(previous, b"observation", body, _number(capture))


def of_event(previous: bytes, body: bytes) -> bytes:
    """Return the hash of an event; its other columns repeat its body."""
    return link(previous, b"event", body)


def of_checkpoint(previous: bytes, *, seq: int, shoe: int | None, body: bytes) -> bytes:
    """Return the hash of the state that follows an observation."""
    return link(previous, b"checkpoint", _number(seq), _number(shoe), body)


def _number(value: int | None) -> bytes | None:
    return None if value is None else b"%d" % value
