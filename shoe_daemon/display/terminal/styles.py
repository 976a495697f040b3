"""
How a character looks; no library is needed to say it.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

__all__ = ["Style", "grey"]


class Style(Struct, frozen=True):
    """
    Colours as ``#rrggbb``, each None for the one that is there already.

    Attributes:
        color: Of the character.
        bgcolor: Behind it.
        bold: In bold type.
        underline: With a line below.
    """

    color: str | None = None
    bgcolor: str | None = None
    bold: bool = False
    underline: bool = False

    def __add__(self, above: Style) -> Style:
        """
        Lay another style over this one.
        """
        return Style(
            above.color or self.color,
            above.bgcolor or self.bgcolor,
            self.bold or above.bold,
            self.underline or above.underline,
        )


@lru_cache(maxsize=1000)
def grey(style: Style) -> Style:
    """
    Take the colour out of a style, and bring it nearer to a dull middle.
    """
    return Style(_dull(style.color), _dull(style.bgcolor), style.bold, style.underline)


def _dull(colour: str | None) -> str | None:
    if colour is None:
        return None
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    light = (3 * red + 6 * green + blue) // 10
    level = 40 + light * 5 // 10
    return f"#{level:02x}{level:02x}{level:02x}"
