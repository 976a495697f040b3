"""Style of a deck: figures, sizes, places and colours, chosen by a seed."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import count
from typing import Final

import numpy as np
from msgspec import Struct

ASPECT: Final = 88 / 63
"""A poker card's height to its width."""


class Layout(StrEnum):
    """
    Position of the index on the card.

    ``standard``: small figures; ``bridge``: narrow ones; ``large``: between
    standard and jumbo; ``jumbo``: those of most casinos; ``four``: an index in
    every corner; ``framed``: a line round the face; ``beside``: the pip stands
    to the right of the figure. Never in training: ``casino``: large slab
    figures over a pip of the same width; ``column``: the indices in columns of
    their own, ruled off.
    """

    STANDARD = "standard"
    BRIDGE = "bridge"
    LARGE = "large"
    JUMBO = "jumbo"
    FOUR = "four"
    FRAMED = "framed"
    BESIDE = "beside"
    CASINO = "casino"
    COLUMN = "column"


UNSEEN_LAYOUTS: Final = (Layout.CASINO, Layout.COLUMN)
LAYOUTS: Final = tuple(each for each in Layout if each not in UNSEEN_LAYOUTS)
"""The layouts of training."""
UNSEEN_SEED: Final = 1_000_000
"""Seeds from here on belong to simulators and tests; training stays below."""

_HEIGHTS: Final = {
    Layout.STANDARD: (0.080, 0.115),
    Layout.BRIDGE: (0.090, 0.130),
    Layout.LARGE: (0.110, 0.150),
    Layout.JUMBO: (0.140, 0.210),
    Layout.FOUR: (0.085, 0.150),
    Layout.FRAMED: (0.080, 0.125),
    Layout.BESIDE: (0.080, 0.120),
    Layout.CASINO: (0.135, 0.185),
    Layout.COLUMN: (0.095, 0.130),
}
_BLACKS: Final = ((20, 20, 20), (42, 40, 38), (62, 40, 28), (10, 10, 12))
_REDS: Final = ((30, 25, 200), (40, 40, 225), (60, 50, 180), (20, 10, 160), (70, 70, 240))
_GREENS: Final = ((40, 130, 30), (60, 110, 20), (30, 100, 60))
_BLUES: Final = ((200, 90, 20), (180, 60, 30), (220, 120, 40))


class Figures(Struct, frozen=True, kw_only=True):
    """
    Drawing style of the figures of a deck; lengths in parts of a figure's height.

    Attributes:
        width: Of a usual figure.
        pen: Width of the pen.
        contrast: The pen's height to its width: below 1, upright strokes are the thick ones.
        slant: The pen's turn in degrees: above 0, thick and thin as with a quill.
        square: Blunt ends and sharp corners.
        serif: How far the feet jut out; 0: none.
        flat_three: The three has a flat top.
        narrow_ten: How far the ten is squeezed.
        seed: For what is left to chance within a deck.
    """

    width: float
    pen: float
    contrast: float
    slant: float
    square: bool
    serif: float
    flat_three: bool
    narrow_ten: float
    seed: int


class Style(Struct, frozen=True, kw_only=True):
    """
    One deck. Lengths are in parts of the card's height, x in parts of its width.

    Attributes:
        seed: What the deck follows from, with the layout.
        rank_height: Of the index's figure.
        rank_width: The most that a figure may take of the card's width.
        pip_height: Of the small pip, in parts of the figure.
        left: Between the card's edge and the index.
        top: Between the card's edge and the figure.
        gap: Between the figure and its pip.
        radius: Of the card's corners, in parts of its width.
        ink: The colours of spades, hearts, diamonds, clubs.
        paper: The card's own colour.
        frame: The colour of the line round the face, where there is one.
        back: The colours of the back.
    """

    seed: int
    layout: Layout
    figures: Figures
    rank_height: float
    rank_width: float
    pip_height: float
    left: float
    top: float
    gap: float
    radius: float
    ink: tuple[tuple[int, int, int], ...]
    paper: tuple[int, int, int]
    frame: tuple[int, int, int] | None
    back: tuple[tuple[int, int, int], tuple[int, int, int]]


def styles(start: int = UNSEEN_SEED) -> Iterator[Style]:
    """Give decks without end that training never saw; every second one of an unseen layout."""
    for seed in count(max(start, UNSEEN_SEED)):
        layouts = tuple(Layout) if seed % 2 else UNSEEN_LAYOUTS
        yield style(seed, layouts[seed // 2 % len(layouts)])


def style(seed: int, layout: Layout | None = None) -> Style:
    """Draw up the deck of a seed; the same seed gives the same deck."""
    chance = np.random.default_rng(seed)
    chosen = layout or LAYOUTS[int(chance.integers(len(LAYOUTS)))]
    big = chosen in {Layout.JUMBO, Layout.CASINO}
    low, high = _HEIGHTS[chosen]
    widest = 0.125 if chosen is Layout.COLUMN else 0.17
    frame = _frame(chance, chosen)
    return Style(
        seed=seed,
        layout=chosen,
        figures=_figures(chance, chosen),
        rank_height=float(chance.uniform(low, high)),
        rank_width=float(chance.uniform(0.17, 0.25) if big else chance.uniform(0.12, widest)),
        pip_height=float(chance.uniform(0.5, 0.95)),
        left=float(chance.uniform(0.04 if frame else 0.02, 0.06)),
        top=float(chance.uniform(0.035 if frame else 0.02, 0.055)),
        gap=float(chance.uniform(0.008, 0.032)),
        radius=float(chance.uniform(0.025, 0.07)),
        ink=_inks(chance, four=chance.random() < (0.3 if chosen is Layout.FOUR else 0.06)),
        paper=_paper(chance),
        frame=frame,
        back=_back(chance),
    )


def _figures(chance: np.random.Generator, layout: Layout) -> Figures:
    slab = layout is Layout.CASINO
    square = slab or bool(chance.random() < 0.35)  # noqa: PLR2004 - a share of the decks
    narrow = layout is Layout.BRIDGE
    return Figures(
        width=float(chance.uniform(0.36, 0.55) if narrow else chance.uniform(0.45, 0.82)),
        pen=float(chance.uniform(0.08, 0.22)),
        contrast=float(chance.uniform(0.45, 1.15)),
        slant=float(chance.choice([0, 0, 0, 20, 35])),
        square=square,
        serif=float(chance.uniform(0.06, 0.16) if slab or chance.random() < 0.55 else 0),  # noqa: PLR2004 - as above
        flat_three=bool(chance.random() < 0.5),  # noqa: PLR2004 - as above
        narrow_ten=float(chance.uniform(0.55, 1.0)),
        seed=int(chance.integers(1 << 30)),
    )


def _inks(chance: np.random.Generator, *, four: bool) -> tuple[tuple[int, int, int], ...]:
    def pick(of: tuple[tuple[int, int, int], ...]) -> tuple[int, int, int]:
        return of[int(chance.integers(len(of)))]

    black, red, blue, green = (pick(of) for of in (_BLACKS, _REDS, _BLUES, _GREENS))
    return (black, red, blue, green) if four else (black, red, red, black)


def _paper(chance: np.random.Generator) -> tuple[int, int, int]:
    shade = int(chance.integers(236, 256))
    blue, green, red = (shade - int(chance.integers(0, most)) for most in (14, 6, 4))
    return blue, green, red


def _frame(chance: np.random.Generator, layout: Layout) -> tuple[int, int, int] | None:
    if layout not in {Layout.FRAMED, Layout.COLUMN} and chance.random() > 0.05:  # noqa: PLR2004 - a share of the decks
        return None
    blue, green, red = (int(v) for v in chance.integers(0, 170, 3))
    return blue, green, red


def _back(chance: np.random.Generator) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    dark = ((40, 30, 170), (150, 60, 20), (60, 90, 20), (90, 30, 90), (30, 30, 30), (20, 60, 130))
    light = ((245, 245, 245), (200, 225, 240), (120, 190, 225), (230, 210, 180))
    return dark[int(chance.integers(len(dark)))], light[int(chance.integers(len(light)))]
