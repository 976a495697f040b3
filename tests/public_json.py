"""The JSON of a table's public snapshot, to compare tables byte by byte."""

from __future__ import annotations

import msgspec

from shoe_daemon.table import PublicTable

_encoder = msgspec.json.Encoder(order="sorted")


def encode_public_table(table: PublicTable) -> bytes:
    """Return the snapshot with sorted keys."""
    return _encoder.encode(table)
