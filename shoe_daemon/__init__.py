"""
A daemon for baccarat tables: reads the shoe, checks every draw, tells the scoreboards.

The rooms: `game` and `table` are pure and know the rules; `journal` keeps what happened;
`mqtt` and `display` tell it; `service` wires them; `cli` is the door for people.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
