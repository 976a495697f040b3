"""Card faces for training and test: parametric, with a font's figures, or from a package."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from msgspec import Struct, structs

from calibration.training import deck_packages, system_fonts
from calibration.training.chance import Chance
from calibration.training.signs import draw_emblem, draw_figure
from calibration.training.strokes import stroke_figure
from calibration.training.suits import plain_pip
from drivers.simulators.card_artwork import (
    ASPECT,
    LAYOUTS,
    UNSEEN_LAYOUTS,
    UNSEEN_SEED,
    Layout,
    Style,
    back,
    face,
    index_places,
    outline,
    style,
)
from drivers.simulators.card_artwork.card_drawing import IndexMasks, Place
from drivers.simulators.card_artwork.drawing_tools import Image, Mask, cropped
from drivers.simulators.card_artwork.shapes import pip_mask, rank_mask
from shoe_daemon.game import DECK, Card

_ART, _OWN, _TRACED = 0.35, 0.4, 0.65
"""Shares: complete artwork; of the rest, own figures, and (cumulative) traced figures."""
_STROKES = 0.25
"""Share of stroke figures in training, before the other kinds of index are chosen."""
_UNSEEN_LAYOUT, _FOUR = 0.5, 0.12
_TAIL = 0.25
"""Share of queens in training whose tail touches the pip, or nearly so."""
_INSET, _HUGE, _FOUR_COLOURS, _ANY_COLOURS = 0.13, 0.06, 0.12, 0.05
"""Shares of the decks of training: small indexes far from the edges, very large ones, colours."""


class Source(Struct, frozen=True, kw_only=True):
    """Sources of faces, for training or for the test."""

    decks: Path
    held_out: bool

    def style(self, chance: Chance) -> Style:
        """Choose a deck with seed and layout of this source."""
        if not self.held_out:
            four = chance.random() < _FOUR
            deck = style(int(chance.integers(UNSEEN_SEED)), Layout.FOUR if four else None)
            return _varied(chance, deck)
        seed = UNSEEN_SEED + int(chance.integers(UNSEEN_SEED))
        layouts: tuple[Layout, ...] = (
            UNSEEN_LAYOUTS if chance.random() < _UNSEEN_LAYOUT else LAYOUTS
        )
        return style(seed, layouts[int(chance.integers(len(layouts)))])


def _varied(chance: Chance, deck: Style) -> Style:
    """Give some decks another place and size of the index, or other colours."""
    kind = chance.random()
    if kind < _INSET:
        deck = structs.replace(
            deck,
            rank_height=float(chance.uniform(0.075, 0.145)),
            pip_height=float(chance.uniform(0.55, 0.95)),
            left=float(chance.uniform(0.05, 0.14)),
            top=float(chance.uniform(0.045, 0.12)),
            gap=float(chance.uniform(0.01, 0.04)),
        )
    elif kind < _INSET + _HUGE:
        deck = structs.replace(
            deck,
            rank_height=float(chance.uniform(0.17, 0.25)),
            rank_width=float(chance.uniform(0.2, 0.28)),
        )
    kind = chance.random()
    if kind < _FOUR_COLOURS:
        black, red = deck.ink[0], deck.ink[1]
        blue = _colour(chance, (130, 30, 0), (235, 130, 80))
        green = _colour(chance, (0, 75, 0), (90, 160, 70))
        deck = structs.replace(deck, ink=(black, red, blue, green))
    elif kind < _FOUR_COLOURS + _ANY_COLOURS:
        ink = tuple(_colour(chance, (0, 0, 0), (200, 150, 230)) for _ in deck.ink)
        deck = structs.replace(deck, ink=ink)
    return deck


def _colour(
    chance: Chance, low: tuple[int, int, int], high: tuple[int, int, int]
) -> tuple[int, int, int]:
    blue, green, red = (int(value) for value in chance.integers(low, high))
    return blue, green, red


class Face(Struct, frozen=True, kw_only=True):
    """
    A drawn side of a card.

    Attributes:
        card: None for a back, and for a card without a name.
        image: In the requested width.
        mask: The rounded corners.
        figure: Height of the index figure in parts of the card's width.
        places: Figure and pip of the index, in parts of the card's sides; empty for a back.
        four: The upper right corner has the same index.
        kind: ``own``, ``strokes``, ``traced``, ``font``, ``artwork`` or ``nameless``.
    """

    card: Card | None
    image: Image
    mask: Mask
    figure: float
    places: tuple[Place, Place] | None
    kind: str
    four: bool = False


def draw_face(chance: Chance, source: Source, width: int, card: Card | None = None) -> Face:
    """Draw the given or a random card from a random source."""
    card = card or DECK[int(chance.integers(len(DECK)))]
    deck = source.style(chance)
    if chance.random() < _ART:
        return _from_artwork(chance, source, deck, card, width)
    if card.rank == "Q" and not source.held_out and chance.random() < _TAIL:
        deck = structs.replace(deck, gap=float(chance.uniform(-0.035, 0.005)))
    kind, (figure, pip) = _index(chance, source, deck, card)
    index = (_bent(chance, figure), pip)
    image = face(card, deck, width, index)
    if card.rank in "JQK" and chance.random() < 0.5:  # noqa: PLR2004 - every second court
        _mosaic(chance, image, deck)
    return Face(
        card=card,
        image=image,
        mask=outline(deck, width),
        figure=deck.rank_height * ASPECT,
        places=_shares(index_places(card, deck, index)),
        kind=kind,
        four=deck.layout is Layout.FOUR,
    )


def draw_nameless_face(chance: Chance, source: Source, width: int) -> Face:
    """Draw a card whose figure is no rank, whose pip is no suit, or both."""
    card, deck = DECK[int(chance.integers(len(DECK)))], source.style(chance)
    _, (figure, pip) = _index(chance, source, deck, card)
    fonts, large = system_fonts.found(held_out=source.held_out), None
    kind = chance.random()
    if kind < _FOREIGN + _BOTH:
        figure = draw_figure(chance, fonts)
    if kind >= _FOREIGN:
        pip = draw_emblem(chance, fonts)
        if chance.random() < 0.6:  # noqa: PLR2004 - a share of the lessons
            large = pip
        if chance.random() < 0.35:  # noqa: PLR2004 - as above
            colour = _colour(chance, (0, 0, 0), (200, 190, 230))
            deck = structs.replace(deck, ink=(colour,) * len(deck.ink))
    index = (_bent(chance, figure), pip)
    image = face(card, deck, width, index, large)
    if card.rank in "JQK" and chance.random() < 0.5:  # noqa: PLR2004 - every second court
        _mosaic(chance, image, deck)
    return Face(
        card=None,
        image=image,
        mask=outline(deck, width),
        figure=deck.rank_height * ASPECT,
        places=_shares(index_places(card, deck, index)),
        kind="nameless",
        four=deck.layout is Layout.FOUR,
    )


_FOREIGN, _BOTH = 0.5, 0.06
"""Shares of cards without a name: with a figure that is no rank; with an emblem too."""


def _index(chance: Chance, source: Source, deck: Style, card: Card) -> tuple[str, IndexMasks]:
    """Choose the printed figure and pip: strokes, the deck's own, another deck's or a font's."""
    if not source.held_out and chance.random() < _STROKES:
        return "strokes", (stroke_figure(chance, card.rank), _varied_pip(chance, deck, card))
    kind = chance.random()
    if kind < _OWN:
        return "own", (rank_mask(card.rank, deck.figures), pip_mask(card.suit, deck.seed))
    if kind < _TRACED:
        return "traced", _traced(chance, source, card)
    return "font", _font_index(chance, source, deck, card)


def _traced(chance: Chance, source: Source, card: Card) -> IndexMasks:
    names = [name for name in _decks(source) if name not in deck_packages.ORNATE]
    name = names[int(chance.integers(len(names)))]
    figure = deck_packages.index_masks(source.decks, name, str(card))[0]
    return figure, deck_packages.index_masks(source.decks, name, f"5{card.suit}")[1]


def _deck_name(chance: Chance, source: Source) -> str:
    names = _decks(source)
    return names[int(chance.integers(len(names)))]


def _decks(source: Source) -> tuple[str, ...]:
    return deck_packages.HELD_OUT if source.held_out else deck_packages.SEEN


def _shares(places: tuple[Place, Place]) -> tuple[Place, Place]:
    """Convert places from parts of the card's width to parts of its sides."""
    figure, pip = (((x, y / ASPECT), (wide, tall / ASPECT)) for (x, y), (wide, tall) in places)
    return figure, pip


def _bent(chance: Chance, figure: Mask) -> Mask:
    """Sometimes thicken or slant a figure's strokes, as different makers do."""
    kind = chance.random()
    if kind > 0.35:  # noqa: PLR2004 - a share of the decks
        return figure
    wide = figure.shape[1]
    pad = 12
    canvas = np.asarray(cv2.copyMakeBorder(figure, pad, pad, pad * 2, pad * 2, 0), np.uint8)
    if kind < 0.2:  # noqa: PLR2004 - as above
        side = max(2, round(wide * chance.uniform(0.03, 0.09)))
        brush = (1, side) if chance.random() < 0.5 else (side, 1)  # noqa: PLR2004 - every second
        canvas = np.asarray(cv2.dilate(canvas, np.ones(brush, np.uint8)), np.uint8)
    else:
        lean = chance.uniform(-0.12, 0.12)
        matrix = np.array([[1, lean, -lean * canvas.shape[0] / 2], [0, 1, 0]], np.float32)
        size = (canvas.shape[1], canvas.shape[0])
        canvas = np.asarray(cv2.warpAffine(canvas, matrix, size), np.uint8)
    return cropped(canvas)


def draw_back(chance: Chance, source: Source, width: int) -> Face:
    """Draw the back of a deck."""
    deck, kind = source.style(chance), "own"
    image = back(deck, width)
    if chance.random() < _ART:
        picture = deck_packages.deck(source.decks, _deck_name(chance, source))["back"]
        image, kind = _resized(picture, image), "artwork"
    return Face(
        card=None, image=image, mask=outline(deck, width), figure=0, places=None, kind=kind
    )


def _resized(picture: Image, like: Image) -> Image:
    size = (like.shape[1], like.shape[0])
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)


def _from_artwork(chance: Chance, source: Source, deck: Style, card: Card, width: int) -> Face:
    name = _deck_name(chance, source)
    picture = deck_packages.deck(source.decks, name)[str(card)]
    places = deck_packages.index_places(source.decks, name)
    mask = outline(deck, width)
    size = (mask.shape[1], mask.shape[0])
    image = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    return Face(
        card=card,
        image=image,
        mask=mask,
        figure=places[0][1][1] * ASPECT,
        places=places,
        kind="artwork",
    )


def _font_index(chance: Chance, source: Source, deck: Style, card: Card) -> IndexMasks:
    """Return an index in a font's figures, condensed, bolder or lighter."""
    every = system_fonts.found(held_out=source.held_out)
    figure = system_fonts.glyph(every[int(chance.integers(len(every)))], card.rank)
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
    signs = system_fonts.suit_fonts()
    if not signs or chance.random() > 0.2:  # noqa: PLR2004 - a fifth has a font's pip
        return pip_mask(card.suit, deck.seed)
    return system_fonts.suit_glyph(signs[int(chance.integers(len(signs)))], card.suit)


_PLAIN = 0.35
"""Share of plain pips in training with stroke figures."""


def _varied_pip(chance: Chance, deck: Style, card: Card) -> Mask:
    """Draw a pip of discs and triangles, or the usual one, thicker, thinner or rounder."""
    kind = chance.random()
    pip = plain_pip(chance, card.suit) if kind < _PLAIN else _pip(chance, deck, card)
    if chance.random() < 0.3:  # noqa: PLR2004 - as above
        pad = round(max(pip.shape) * 0.12)
        pip = np.asarray(cv2.copyMakeBorder(pip, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=0))
        spread = chance.uniform(0.01, 0.05) * max(pip.shape)
        soft = cv2.GaussianBlur(pip, (0, 0), spread).astype(np.float32)
        pip = cropped(np.clip((soft - chance.uniform(85, 150)) * 8 + 127, 0, 255).astype(np.uint8))
    height = max(8, round(pip.shape[0] * chance.uniform(0.85, 1.2)))
    return np.asarray(
        cv2.resize(pip, (pip.shape[1], height), interpolation=cv2.INTER_AREA), np.uint8
    )


def _mosaic(chance: Chance, image: Image, deck: Style) -> None:
    """Replace the court by patches of colour: every maker draws other kings."""
    height, width = image.shape[:2]
    left = round(width * max(chance.uniform(0.18, 0.26), deck.left + deck.rank_width))
    top = round(height * chance.uniform(0.05, 0.1))
    cells = chance.integers(0, 256, (int(chance.integers(4, 22)), int(chance.integers(3, 14)), 3))
    how = cv2.INTER_NEAREST if chance.random() < 0.5 else cv2.INTER_LINEAR  # noqa: PLR2004 - every second
    area = image[top : height - top, left : width - left]
    area[:] = cv2.resize(cells.astype(np.uint8), (area.shape[1], area.shape[0]), interpolation=how)
