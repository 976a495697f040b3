"""The anchor: where a journal begins after its oldest shoes were removed."""

from __future__ import annotations

import sqlite3

from msgspec import Struct


class Anchor(Struct, frozen=True):
    """
    The last removed capture, observation, event (`seq`) and shoe, and when they were removed.

    Attributes:
        hash: The hash of the chain after the last removed row.
    """

    capture: int
    observation: int
    seq: int
    shoe: int
    at: str
    hash: bytes


def read_anchor(connection: sqlite3.Connection) -> Anchor | None:
    """Return the anchor of a journal; None if it begins at its start."""
    exists = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'anchor'").fetchone()
    if not exists:
        return None  # a journal of version 1: a reader never migrates
    row = connection.execute(
        "SELECT capture, observation, seq, shoe, CAST(at AS BLOB), hash FROM anchor"
    ).fetchone()
    if row is None:
        return None
    capture, observation, seq, shoe, at, digest = row
    return Anchor(capture, observation, seq, shoe, at.decode(), digest)
