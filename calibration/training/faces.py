"""
One face for training or test: parametric, with a font's figures, or from a package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from calibration.training import artwork, fonts
from drivers.simulators.cards import (
    ASPECT,
    LAYOUTS,
    UNSEEN_LAYOUTS,
    UNSEEN_SEED,
    Layout,
    Style,
    back,
    face,
    outline,
    style,
)
from drivers.simulators.cards.faces import IndexMasks
from drivers.simulators.cards.figures import rank_mask
from drivers.simulators.cards.paint import Image, Mask
from drivers.simulators.cards.pips import pip_mask
from shoe_daemon.game.cards import DECK, Card

__all__ = ["Chance", "Face", "Source", "draw_back", "draw_face"]

Chance = np.random.Generator
_ART, _FONT = 0.35, 0.5
_FIGURE: Final = 0.095


class Source(Struct, frozen=True, kw_only=True):
    """
    Where faces come from: what training sees, or what it never does.
    """

    decks: Path
    held_out: bool

    def style(self, chance: Chance) -> Style:
        """
        Draw up a deck, of seeds and layouts of this side only.
        """
        if not self.held_out:
            return style(int(chance.integers(UNSEEN_SEED)))
        seed = UNSEEN_SEED + int(chance.integers(UNSEEN_SEED))
        layouts: tuple[Layout, ...] = UNSEEN_LAYOUTS if chance.random() < _FONT else LAYOUTS
        return style(seed, layouts[int(chance.integers(len(layouts)))])


class Face(Struct, frozen=True, kw_only=True):
    """
    A drawn card side.

    Attributes:
        card: None for a back.
        image: As wide as asked for.
        mask: Its rounded corners.
        figure: Height of the index's figure in parts of the card's width.
        index: Right and lower end of the index, in parts of the card's sides.
        kind: ``own``, ``font`` or ``artwork``.
    """

    card: Card | None
    image: Image
    mask: Mask
    figure: float
    index: tuple[float, float]
    kind: str


def draw_face(chance: Chance, source: Source, width: int, card: Card | None = None) -> Face:
    """
    Draw a card, or any card, from any of the sources.
    """
    card = card or DECK[int(chance.integers(len(DECK)))]
    deck = source.style(chance)
    if chance.random() < _ART:
        return _from_artwork(chance, source, deck, card, width)
    own = chance.random() < _FONT
    index = None if own else _font_index(chance, source, deck, card)
    image = face(card, deck, width, index)
    if card.rank in "JQK" and chance.random() < 0.5:  # noqa: PLR2004 - every second court
        _mosaic(chance, image, deck)
    reach = deck.left + deck.rank_width * 1.1
    bottom = deck.top + deck.rank_height * (1 + deck.pip_height) + deck.gap
    return Face(
        card=card,
        image=image,
        mask=outline(deck, width),
        figure=deck.rank_height * ASPECT,
        index=(min(reach, 0.32), min(bottom, 0.42)),
        kind="own" if own else "font",
    )


def draw_back(chance: Chance, source: Source, width: int) -> Face:
    """
    Draw the back of a deck.
    """
    deck, kind = source.style(chance), "own"
    image = back(deck, width)
    if chance.random() < _ART:
        names = artwork.HELD_OUT if source.held_out else artwork.SEEN
        picture = artwork.deck(source.decks, names[int(chance.integers(len(names)))])["back"]
        image, kind = _resized(picture, image), "artwork"
    return Face(
        card=None, image=image, mask=outline(deck, width), figure=0, index=(0, 0), kind=kind
    )


def _resized(picture: Image, like: Image) -> Image:
    size = (like.shape[1], like.shape[0])
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _from_artwork(chance: Chance, source: Source, deck: Style, card: Card, width: int) -> Face:
    names = artwork.HELD_OUT if source.held_out else artwork.SEEN
    picture = artwork.deck(source.decks, names[int(chance.integers(len(names)))])[str(card)]
    mask = outline(deck, width)
    size = (mask.shape[1], mask.shape[0])
    image = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Face(
        card=card,
        image=image,
        mask=mask,
        figure=_FIGURE * ASPECT,
        index=(0.22, 0.28),
        kind="artwork",
    )


def _font_index(chance: Chance, source: Source, deck: Style, card: Card) -> IndexMasks:
    """
    Give an index in a font's figures, squeezed, bolder or lighter as card makers like it.
    """
    every = fonts.found(held_out=source.held_out)
    figure = fonts.glyph(every[int(chance.integers(len(every)))], card.rank)
    low, high = (0.5, 1.0) if card.rank == "10" else (0.62, 1.1)
    width = max(6, round(figure.shape[1] * chance.uniform(low, high)))
    figure = np.asarray(
        cv2.resize(figure, (width, figure.shape[0]), interpolation=cv2.INTER_AREA), np.uint8
    )
    weight = chance.random()
    if weight < 0.25:  # noqa: PLR2004 - a quarter bolder, a tenth lighter
        side = int(chance.integers(2, 6))
        figure = np.asarray(cv2.dilate(figure, np.ones((side, side), np.uint8)), np.uint8)
    elif weight < 0.35:  # noqa: PLR2004 - as above
        figure = np.asarray(cv2.erode(figure, np.ones((3, 3), np.uint8)), np.uint8)
    if not figure.any():
        figure = rank_mask(card.rank, deck.figures)
    return figure, _pip(chance, deck, card)


def _pip(chance: Chance, deck: Style, card: Card) -> Mask:
    signs = fonts.suit_fonts()
    if not signs or chance.random() > 0.2:  # noqa: PLR2004 - a fifth has a font's pip
        return pip_mask(card.suit, deck.seed)
    return fonts.glyph(signs[int(chance.integers(len(signs)))], card.suit)


def _mosaic(chance: Chance, image: Image, deck: Style) -> None:
    """
    Put patches of colour where the court is: no two printers draw the same king.
    """
    height, width = image.shape[:2]
    left = round(width * max(chance.uniform(0.18, 0.26), deck.left + deck.rank_width))
    top = round(height * chance.uniform(0.05, 0.1))
    cells = chance.integers(0, 256, (int(chance.integers(4, 22)), int(chance.integers(3, 14)), 3))
    how = cv2.INTER_NEAREST if chance.random() < 0.5 else cv2.INTER_LINEAR  # noqa: PLR2004 - every second
    area = image[top : height - top, left : width - left]
    area[:] = cv2.resize(cells.astype(np.uint8), (area.shape[1], area.shape[0]), interpolation=how)
