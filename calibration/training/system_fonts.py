"""Figures and pips from free fonts of the machine, beside the project's own strokes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

from drivers.simulators.card_artwork.drawing_tools import Mask, cropped
from shoe_daemon.errors import UserError

FAMILIES: Final = (
    "urw-base35", "freefont", "dejavu", "liberation2", "roboto", "lato", "linux-libertine",
    "cantarell", "league-spartan", "quattrocento", "gentium-basic", "bebas-neue", "open-sans",
    "crosextra",
)  # fmt: skip
"""From the Debian packages of these names."""
HELD_OUT: Final = ("C059", "Cantarell", "NimbusSansNarrow")
"""Typefaces for the test only."""
_ROOT: Final = Path("/usr/share/fonts")
_NO_INDEX: Final = (
    "Initials", "Keyboard", "Thin", "Hairline", "D050000L", "StandardSymbols", "Oblique",
    "Ita", "Mono", "BI.", "BasI.", "_I.", "_RI", "_RZI", "Math", "-It", "_K.",
)  # fmt: skip
"""Parts of the names of fonts unsuitable for cards."""
_SIZE: Final = 120
_SUITS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


@lru_cache(maxsize=2)
def found(*, held_out: bool) -> tuple[Path, ...]:
    """
    Return the fonts for training, or those for the test only.

    Raises:
        UserError: None of them is installed.
    """
    fonts = [
        path
        for family in FAMILIES
        for kind in ("ttf", "otf")
        for path in sorted(_ROOT.glob(f"*/{family}/**/*.{kind}"))
        if not any(part in path.name for part in _NO_INDEX)
    ]
    chosen = tuple(path for path in fonts if _kept_back(path) == held_out)
    if not chosen:
        raise UserError(f"{_ROOT}: no font of {', '.join(FAMILIES)}; install one")
    return chosen


def _kept_back(path: Path) -> bool:
    return path.name.startswith(HELD_OUT)


def suit_fonts() -> tuple[Path, ...]:
    """Return the fonts with the four suits."""
    return tuple(
        path
        for held_out in (False, True)
        for path in found(held_out=held_out)
        if path.stem in {"DejaVuSans", "FreeSerif", "FreeSans", "DejaVuSans-Bold"}
    )


def suit_glyph(path: Path, suit: str) -> Mask:
    """Draw the symbol of a suit's letter in a font, cropped."""
    return glyph(path, _SUITS[suit])


@lru_cache(maxsize=4096)
def glyph(path: Path, text: str) -> Mask:
    """Draw a text in a font, cropped."""
    font = ImageFont.truetype(str(path), _SIZE)
    left, top, right, bottom = font.getbbox(text)
    picture = Picture.new("L", (int(right - left) + 16, int(bottom - top) + 16), 0)
    ImageDraw.Draw(picture).text((8 - left, 8 - top), text, 255, font=font)
    return cropped(np.asarray(picture))
