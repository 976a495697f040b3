"""What is typed while a program runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

__all__ = ["typed"]


def typed() -> Iterator[str]:
    """
    Give standard input line by line; what is no text becomes ``\ufffd``, lest whoever hears
    the lines hears nothing any more.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    yield from sys.stdin
