"""
Original playing cards: faces and backs, drawn from a style.

Figures are strokes of our own, pips and courts plain geometry, so there is no font, artwork or
licence in them. A style is determined by its seed and layout; `styles` yields decks never seen in
the recogniser's training, for simulators and tests. Colours are blue, green, red, as in OpenCV.
"""

from drivers.simulators.card_artwork.card_drawing import back, face, index_places, outline
from drivers.simulators.card_artwork.deck_style import (
    ASPECT,
    LAYOUTS,
    UNSEEN_LAYOUTS,
    UNSEEN_SEED,
    Layout,
    Style,
    style,
    styles,
)

__all__ = [
    "ASPECT",
    "LAYOUTS",
    "UNSEEN_LAYOUTS",
    "UNSEEN_SEED",
    "Layout",
    "Style",
    "back",
    "face",
    "index_places",
    "outline",
    "style",
    "styles",
]
