"""Roads from sequences, as plain data: what `--json` shows."""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_daemon.game.result_notation import parse_sequence
from shoe_daemon.game.roads import LeadingTies, Roads, Tail, build_roads

DERIVED = {"big_eye": 1, "small": 2, "cockroach": 3}
"""The derived roads, and how many columns each looks back."""


def draw(sequence: str, *, leading_ties: str = "merge", tail: str = "flat") -> Roads:
    """Draw the roads of a sequence."""
    return build_roads(
        parse_sequence(sequence), leading_ties=LeadingTies(leading_ties), tail=Tail(tail)
    )


def plain(drawn: Roads) -> dict[str, Any]:
    """Return roads as a reader of their JSON gets them."""
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(drawn))
    return read


def colours(drawn: Roads, road: str) -> str:
    """Return a derived road's marks, the oldest first: ``R`` and ``B``."""
    return "".join(cell.mark[0].upper() for cell in getattr(drawn, road))
