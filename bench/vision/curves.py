"""
`python -m bench.vision.curves`: cards accepted, and cards with a wrong name, as one
condition after another becomes worse: pixels, blur, motion, light, colour of the light, glare,
cover, errors of the corners, noise. All other conditions are good. Prints a table, and draws the
curves with `--picture FILE.svg`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.training.parallel import together
from calibration.training.photo import trail_kernel
from drivers.camera.image import Image
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import Quad, Recogniser
from drivers.simulators.card_artwork import ASPECT, Style, face, outline, styles
from shoe_daemon.game import DECK, Card

_FACE_WIDTH_PX: Final = 240
_MARGIN: Final = 0.35
"""Table around the card, as a share of its width."""

_UNIT: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
_FELT: Final = (60.0, 105.0, 25.0)
_HAND: Final = (120.0, 150.0, 200.0)

_WIDE, _TALL = 300, 190
_LEFT, _TOP, _GAP, _BELOW = 60, 84, 64, 90
_COLUMNS = 3
_INK, _GOOD, _BAD, _RULE = "#1c2733", "#1f6f54", "#b3261e", "#d5dbe1"

Lamp = tuple[float, float, float]
_LAMPS: Final[dict[str, Lamp]] = {
    "day": (1, 1, 1),
    "warm": (0.7, 0.88, 1),
    "bulb": (0.45, 0.75, 1),
    "candle": (0.2, 0.6, 1),
    "blue": (1, 0.5, 0.3),
    "sodium": (0.02, 0.45, 1),
    "red": (0.03, 0.08, 1),
}
"""Blue, green and red of a lamp."""


class Conditions(NamedTuple):
    """
    The conditions of a photograph; lengths are shares of the card's width.

    Attributes:
        pixels: Height of the index window.
        blur: Blur of the lens (sigma).
        motion: Length of a trail.
        light: Of 1.
        lamp: Its colour.
        glare: Radius of a white spot on one of the two indexes.
        cover: Share of both indexes that a finger hides, from their left.
        corners: Error of each corner (sigma).
        noise: Of the sensor, in grey values (sigma).
    """

    pixels: float = 60
    blur: float = 0.004
    motion: float = 0.0
    light: float = 0.9
    lamp: Lamp = (1, 1, 1)
    glare: float = 0.0
    cover: float = 0.0
    corners: float = 0.008
    noise: float = 2.0


class Series(NamedTuple):
    """
    One condition that becomes worse.

    Attributes:
        title: The condition.
        unit: Of the levels.
        levels: The text of each level, and its conditions.
    """

    title: str
    unit: str
    levels: Sequence[tuple[str, Conditions]]


def _series(title: str, unit: str, name: str, levels: Sequence[float], scale: float = 1) -> Series:
    worse: list[tuple[str, Conditions]] = []
    for level in levels:
        changed: dict[str, Any] = {name: level * scale}
        worse.append((f"{level:g}", Conditions(**changed)))
    return Series(title, unit, worse)


_OF_WIDTH: Final = "% of the card's width"
SERIES: Final = (
    _series("Height of the index window", "pixels", "pixels", (16, 20, 24, 28, 32, 40, 60, 90)),
    _series("Blur of the lens (sigma)", _OF_WIDTH, "blur", (0, 0.5, 1, 1.5, 2, 2.5, 3), 0.01),
    _series("Trail of a motion", _OF_WIDTH, "motion", (0, 2, 3, 4, 5, 6, 8), 0.01),
    _series("Light", "of a well lit table", "light", (0.05, 0.08, 0.125, 0.25, 0.5, 1)),
    Series(
        "Colour of the light",
        "lamp",
        [(name, Conditions(lamp=lamp)) for name, lamp in _LAMPS.items()],
    ),
    _series("Glare on one index", f"radius, {_OF_WIDTH}", "glare", (0, 5, 10, 15, 20, 30), 0.01),
    _series(
        "Cover of both indexes",
        "% of each, from the left",
        "cover",
        (0, 15, 30, 45, 60, 80, 100),
        0.01,
    ),
    _series("Error of the corners", f"sigma, {_OF_WIDTH}", "corners", (0, 1, 2, 3, 4, 6, 8), 0.01),
    _series("Noise of the sensor", "grey values (sigma)", "noise", (0, 3, 6, 9, 12, 18, 25)),
)


class Photo(NamedTuple):
    """A photograph, and the corners of its card as they were found."""

    image: Image
    quad: Quad


@lru_cache(maxsize=2)
def _decks(count: int) -> tuple[Style, ...]:
    """Return decks that the training never saw, all with the usual two indexes."""
    # Four indexes would show behind any cover.
    usual = (each for each in styles(1_400_000) if "four" not in each.layout)
    return tuple(islice(usual, count))


def photograph(chance: np.random.Generator, card: Card, deck: Style, how: Conditions) -> Photo:
    """Photograph a card from above, turned by chance."""
    width = how.pixels / (IndexWindow().height * ASPECT)
    side = round(width * (ASPECT + 2 * _MARGIN))
    turn = chance.uniform(0, 2 * np.pi)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    quad = ((_UNIT - 0.5) * (1, ASPECT) * width) @ spin.T + side / 2
    drawn = _covered(face(card, deck, _FACE_WIDTH_PX).astype(np.float32), deck, how.cover)
    if how.glare:
        middle = _index_box(deck).mean(0) * _FACE_WIDTH_PX
        _glare(drawn, middle, how.glare * _FACE_WIDTH_PX)
    scene = _lay(drawn, deck, quad.astype(np.float32), side)
    soft = np.asarray(cv2.GaussianBlur(scene, (0, 0), max(0.35, how.blur * width)), np.float32)
    scene = _smeared(chance, soft, how.motion * width)
    lit = scene * np.array(how.lamp) * how.light + chance.normal(0, how.noise, scene.shape)
    packed = cv2.imencode(
        ".jpg", np.clip(lit, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 92]
    )[1]
    image = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    found = quad + chance.normal(0, how.corners * width, (4, 2))
    return Photo(image, found.astype(np.float32))


def _index_box(deck: Style) -> NDArray[np.float64]:
    """Return two corners of the upper left index, in card widths."""
    left, top = deck.left, deck.top * ASPECT
    tall = (deck.rank_height * (1 + deck.pip_height) + deck.gap) * ASPECT
    return np.array([[left, top], [left + deck.rank_width, top + tall]])


def _covered(drawn: NDArray[np.float32], deck: Style, share: float) -> NDArray[np.float32]:
    """Lay a finger over a share of both indexes, from the left of each."""
    if share:
        (left, _), (right, bottom) = _index_box(deck) * _FACE_WIDTH_PX
        across = round(left + (right - left) * share)
        for part in (drawn, drawn[::-1, ::-1]):
            part[: round(bottom * 1.15), :across] = _HAND
    return drawn


def _glare(drawn: NDArray[np.float32], middle: NDArray[np.float64], radius: float) -> None:
    rows, columns = np.indices(drawn.shape[:2])
    far = np.hypot(columns - middle[0], rows - middle[1])
    drawn += (400 * np.exp(-((far / radius) ** 2) / 2))[..., None]
    np.clip(drawn, 0, 255, out=drawn)


def _lay(drawn: NDArray[np.float32], deck: Style, quad: Quad, side: int) -> NDArray[np.float32]:
    height, width = drawn.shape[:2]
    corners = _UNIT * np.array([width, height], np.float32)
    shrink = width / float(np.linalg.norm(quad[1] - quad[0]))
    soft = cv2.GaussianBlur(drawn, (0, 0), max(0.3, 0.4 * shrink))
    plane = cv2.getPerspectiveTransform(corners, quad)
    card = cv2.warpPerspective(soft, plane, (side, side), flags=cv2.INTER_LINEAR)
    mask = cv2.warpPerspective(outline(deck, width), plane, (side, side)) / np.float32(255)
    felt = np.full((side, side, 3), _FELT, np.float32)
    return np.asarray(felt + (card - felt) * mask[..., None], np.float32)


def _smeared(
    chance: np.random.Generator, scene: NDArray[np.float32], length: float
) -> NDArray[np.float32]:
    if length < 1:
        return scene
    return np.asarray(cv2.filter2D(scene, -1, trail_kernel(chance, length)), np.float32)


def measure_level(
    weights: Path | None, series: int, level: int, decks: int
) -> tuple[int, int, int]:
    """Read every card of some decks under one condition; return cards, accepted and wrong ones."""
    cv2.setNumThreads(1)
    recogniser, how = Recogniser(weights), SERIES[series].levels[level][1]
    accepted = wrong = cards = 0
    for number, deck in enumerate(_decks(decks)):
        for card in DECK:
            chance = np.random.default_rng([number, card.index])
            read = recogniser.read(*photograph(chance, card, deck, how)).card
            cards += 1
            accepted += read is not None
            wrong += read not in {None, card}
    return cards, accepted, wrong


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[2])
    parser.add_argument("--decks", type=int, default=8, help="of 52 cards for each level")
    parser.add_argument("--weights", type=Path, help="other weights than those of the package")
    parser.add_argument("--picture", type=Path, help="draw the curves into this file (SVG)")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    wanted = [
        (n, level, given.decks)
        for n, series in enumerate(SERIES)
        for level in range(len(series.levels))
    ]
    results = iter(together(partial(measure_level, given.weights), wanted, given.jobs))
    panels = []
    for series in SERIES:
        print(f"{series.title} ({series.unit})")
        labels, points = [], []
        for number, (label, _) in enumerate(series.levels):
            cards, accepted, wrong = next(results)
            print(f"  {label:>8}  {accepted / cards:6.1%} of {cards} accepted, {wrong} wrong")
            at = (number + 0.5) / len(series.levels)
            labels.append((at, label))
            points.append(Point(at, accepted / cards, wrong))
        panels.append(Panel(series.title, series.unit, labels, points))
    if given.picture:
        title = f"{52 * given.decks} cards of {given.decks} unseen decks for each point"
        given.picture.write_text(draw_chart(title, Recogniser().threshold, panels))


class Point(NamedTuple):
    """
    Results under one condition.

    Attributes:
        at: Place on the axis, from 0 to 1.
        accepted: Share of the cards that were accepted.
        wrong: Number of wrong cards among them.
    """

    at: float
    accepted: float
    wrong: int


class Panel(NamedTuple):
    """
    One curve.

    Attributes:
        title: The condition.
        unit: Of its values.
        labels: Places on the axis, from 0 to 1, and their texts.
        points: The curve, from left to right.
    """

    title: str
    unit: str
    labels: Sequence[tuple[float, str]]
    points: Sequence[Point]


def draw_chart(title: str, threshold: float, panels: Sequence[Panel]) -> str:
    """Draw curves as SVG, three in a row."""
    rows = -(-len(panels) // _COLUMNS)
    width = _LEFT + _COLUMNS * (_WIDE + _GAP) - 30
    height = _TOP + rows * (_TALL + _BELOW) - 36
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f'<g font-family="DejaVu Sans, Arial, sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(title, threshold),
    ]
    for place, panel in enumerate(panels):
        row, column = divmod(place, _COLUMNS)
        at = _LEFT + column * (_WIDE + _GAP), _TOP + row * (_TALL + _BELOW)
        lines.append(f'<g transform="translate({at[0]} {at[1]})">')
        lines.extend((*_grid(panel), *_curve(panel.points), "</g>"))
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


_MIDDLE: Final = 'text-anchor="middle"'


def _legend(title: str, threshold: float) -> Iterator[str]:
    yield _text(_LEFT, 24, title, 'font-size="15"')
    yield _text(_LEFT, 44, f"accepted at the threshold {threshold:g}", f'fill="{_GOOD}"')
    beside = _LEFT + 215
    yield _text(beside, 44, "wrong cards among those accepted, in number", f'fill="{_BAD}"')


def _grid(panel: Panel) -> Iterator[str]:
    yield _text(0, -10, panel.title, 'font-size="13"')
    for share in (0, 25, 50, 75, 100):
        y = _TALL * (1 - share / 100)
        yield f'<path d="M0 {y:.1f}h{_WIDE}" stroke="{_RULE}"/>'
        yield _text(-6, y + 4, f"{share} %", 'text-anchor="end"')
    for at, label in panel.labels:
        yield _text(at * _WIDE, _TALL + 16, label, _MIDDLE)
    yield _text(_WIDE / 2, _TALL + 34, panel.unit, _MIDDLE)


def _curve(points: Sequence[Point]) -> Iterator[str]:
    path = []
    for point in points:
        x, y = point.at * _WIDE, _TALL * (1 - point.accepted)
        path.append(f"{x:.1f},{y:.1f}")
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_GOOD}"/>'
        yield _text(x, _TALL - 6, str(point.wrong), f'{_MIDDLE} fill="{_BAD}"')
    yield f'<polyline points="{" ".join(path)}" fill="none" stroke="{_GOOD}" stroke-width="2"/>'


if __name__ == "__main__":
    main()
