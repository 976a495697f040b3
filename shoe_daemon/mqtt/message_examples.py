"""
An example of every message, taken from a run of two tables.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec

__all__ = ["load_examples"]


def load_examples() -> dict[str, list[dict[str, Any]]]:
    """
    Return the examples by the names of their schemas: `payload`, and in `summary`
    what it is an example of, where there is more to say than its type does.
    """
    text = files("shoe_daemon.mqtt").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[dict[str, Any]]])
