"""
Playing cards that nobody printed: whole faces and backs, drawn from a style.

The figures are strokes of our own, the pips and courts plain geometry, so that
there is no font, no artwork and no licence in them. A style follows from its
seed and its layout; `styles` gives decks that the recogniser's training never
saw, for simulators and tests. Colours are blue, green, red, as OpenCV has them.
"""

from drivers.simulators.card_artwork.card_backs import back
from drivers.simulators.card_artwork.card_faces import face, index_places, outline
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
