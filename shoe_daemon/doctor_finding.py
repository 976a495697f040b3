"""
What `doctor` has found.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

__all__ = ["Finding"]


class Finding(Struct, frozen=True):
    """
    One thing that was looked at.

    Attributes:
        about: What.
        verdict: ``good``; ``note``: to be known; ``bad``: the table will suffer.
        text: One sentence.
    """

    about: str
    verdict: Literal["good", "note", "bad"]
    text: str
