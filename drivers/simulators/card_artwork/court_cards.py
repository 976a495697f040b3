"""Jack, queen and king: plain two-headed figures in a frame, in the colours of the deck."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import cv2
import numpy as np

from drivers.simulators.card_artwork.deck_style import Style
from drivers.simulators.card_artwork.drawing_tools import (
    Colour,
    Image,
    arc,
    blank,
    curve,
    fill,
    line,
    points,
    stamp,
)
from drivers.simulators.card_artwork.shapes import pip_mask
from shoe_daemon.game import SUITS, Card

_WIDTH, _HEIGHT = 240, 420
_HALF: Final = _HEIGHT // 2
_BLACK: Final[Colour] = (35, 30, 30)
_GOLD: Final[Colour] = (60, 190, 235)
_SKIN: Final[Colour] = (200, 220, 240)
_ROBES: Final[tuple[tuple[Colour, Colour], ...]] = (
    ((40, 35, 190), (60, 190, 235)),
    ((150, 70, 30), (60, 190, 235)),
    ((45, 40, 40), (40, 35, 190)),
    ((90, 120, 30), (225, 225, 225)),
    ((150, 70, 30), (40, 35, 190)),
)


@lru_cache(maxsize=96)
def court(card: Card, style: Style) -> Image:
    """Draw the picture of a court card, frame and both heads, 240 by 420."""
    chance = np.random.default_rng([style.seed, card.index])
    half: Image = blank(_HALF, _WIDTH, style.paper)
    cloth = _ROBES[int(chance.integers(len(_ROBES)))]
    _robe(half, chance, cloth)
    _head(half, chance)
    _crown(half, card.rank, cloth)
    _held(half, card.rank)
    ink = style.ink[SUITS.index(card.suit)]
    pip = pip_mask(card.suit, style.seed + 1)
    stamp(half, pip, (34, 36), (44 * pip.shape[1] / pip.shape[0], 44), ink)
    whole = np.vstack([half, half[::-1, ::-1]])
    cv2.line(whole, (0, _HALF), (_WIDTH, _HALF), _BLACK, 2)
    border = ink if style.seed % 2 else _BLACK
    cv2.rectangle(whole, (1, 1), (_WIDTH - 2, _HEIGHT - 2), border, 3)
    return whole


def _robe(half: Image, chance: np.random.Generator, cloth: tuple[Colour, Colour]) -> None:
    """Draw shoulders and a robe with a band down its middle, patterned."""
    robe = np.vstack(
        [curve((28, _HALF), (34, 128), (96, 116)), curve((144, 116), (206, 128), (212, _HALF))]
    )
    area = blank(_HALF, _WIDTH)
    fill(area, robe)
    pattern: Image = blank(_HALF, _WIDTH, cloth[0])
    _pattern(pattern, int(chance.integers(3)), cloth[1])
    half[area > 127] = pattern[area > 127]  # noqa: PLR2004 - half covered
    line(half, robe, _BLACK, 3)
    fill(half, points((106, 118), (134, 118), (140, _HALF), (100, _HALF)), cloth[1])
    line(half, points((106, 118), (100, _HALF)), _BLACK, 2)
    line(half, points((134, 118), (140, _HALF)), _BLACK, 2)


def _pattern(cloth: Image, kind: int, colour: Colour) -> None:
    for step in range(-_HALF, _WIDTH + _HALF, 22):
        if kind == 0:
            cv2.line(cloth, (step, 0), (step + _HALF, _HALF), colour, 5)
        elif kind == 1:
            cv2.line(cloth, (step, 0), (step + _HALF, _HALF), colour, 2)
            cv2.line(cloth, (step + _HALF, 0), (step, _HALF), colour, 2)
        else:
            for y in range(110, _HALF, 22):
                cv2.circle(cloth, (step, y), 5, colour, -1, cv2.LINE_AA)


def _head(half: Image, chance: np.random.Generator) -> None:
    hair = (_GOLD, (90, 130, 170), (120, 120, 120))[int(chance.integers(3))]
    for y, axes, colour in ((88, (38, 42), hair), (86, (25, 33), _SKIN)):
        cv2.ellipse(half, (120, y), axes, 0, 0, 360, colour, -1, cv2.LINE_AA)
        cv2.ellipse(half, (120, y), axes, 0, 0, 360, _BLACK, 2, cv2.LINE_AA)
    for x in (110, 130):
        cv2.circle(half, (x, 82), 3, _BLACK, -1, cv2.LINE_AA)
    line(half, points((120, 84), (117, 97), (123, 97)), _BLACK, 1)
    line(half, arc((120, 102), (8, 4), (10, 170)), (70, 60, 180), 2)


def _crown(half: Image, rank: str, cloth: tuple[Colour, Colour]) -> None:
    if rank == "K":
        crown = points((84, 58), (80, 22), (102, 42), (120, 14), (138, 42), (160, 22), (156, 58))
    elif rank == "Q":
        rim = arc((120, 50), (36, 28), (180, 360))
        crown = np.vstack([points((84, 58)), rim, points((156, 58))])
        for x in (92, 106, 120, 134, 148):
            cv2.circle(half, (x, 24 + abs(x - 120) // 2), 5, _GOLD, -1, cv2.LINE_AA)
    else:
        crown = points((82, 58), (86, 38), (154, 32), (160, 58))
        line(half, curve((154, 36), (186, 10), (196, 42)), cloth[0], 6)
    fill(half, crown, cloth[0] if rank == "J" else _GOLD)
    line(half, np.vstack([crown, crown[:1]]), _BLACK, 2)


def _held(half: Image, rank: str) -> None:
    """Give the king a sword, the queen a flower, the jack a halberd."""
    if rank == "K":
        fill(half, points((196, 20), (204, 8), (212, 20), (212, 150), (196, 150)), (215, 215, 210))
        line(half, points((204, 8), (204, 150)), _BLACK, 1)
        line(half, points((182, 152), (226, 152)), _GOLD, 6)
        line(half, points((204, 152), (204, 190)), _BLACK, 6)
    elif rank == "Q":
        line(half, curve((200, 84), (212, 130), (196, 180)), (60, 120, 40), 4)
        for turn in range(0, 360, 60):
            x, y = 200 + 13 * np.cos(np.radians(turn)), 72 + 13 * np.sin(np.radians(turn))
            cv2.circle(half, (round(x), round(y)), 9, (70, 60, 200), -1, cv2.LINE_AA)
        cv2.circle(half, (200, 72), 7, _GOLD, -1, cv2.LINE_AA)
    else:
        line(half, points((206, 20), (206, _HALF)), _BLACK, 5)
        fill(half, points((206, 30), (228, 22), (228, 70), (206, 60)), (215, 215, 210))
        line(half, points((206, 30), (228, 22), (228, 70), (206, 60)), _BLACK, 2)
