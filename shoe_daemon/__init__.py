"""
A daemon for baccarat tables: reads the shoe, checks every draw, drives the scoreboards.

`game` and `table` are pure and know the rules; `journal` stores everything; `mqtt` and `display`
publish it; `service` connects them; `cli` is the command line.
"""

from __future__ import annotations

__version__ = "0.1.0"
"""The only place of the version: packages, pages and records take it from here."""
