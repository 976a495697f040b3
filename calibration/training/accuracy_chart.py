"""Charts for the documentation: accepted and wrong cards against each condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibration.training.confidence_threshold import accepted, readable
from calibration.training.readable_conditions import LIMITS, Limits
from calibration.training.rendered_test import Results

__all__ = ["Panel", "Point", "draw_chart", "picture"]

_WIDE, _TALL = 300, 190
_LEFT, _TOP, _GAP, _BELOW = 60, 84, 64, 90
_COLUMNS = 3
_INK, _GOOD, _BAD, _RULE = "#1c2733", "#1f6f54", "#b3261e", "#d5dbe1"
_MEASURES: Final = ("pixels", "blur", "motion", "light")


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


def picture(results: Results, threshold: float) -> str:
    """Draw six curves as SVG; each varies one condition, with all others within the limits."""
    cards = len(results.right)
    title = f"{cards:,} rendered cards of decks, fonts and layouts that training never saw"
    return draw_chart(title, threshold, list(_panels(results, accepted(results, threshold))))


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


def _panels(results: Results, taken: NDArray[np.bool_]) -> Iterator[Panel]:
    how = results.conditions
    angle = np.asarray(np.degrees(np.arccos(np.clip(how["tilt"], 0, 1))), np.float64)
    pixels, blur, motion, light = (_all_but(results, name) for name in _MEASURES)
    within = readable(results)
    of_width = "% of the card's width"
    for title, unit, values, edges, others in (
        (
            "Height of the index window",
            "pixels",
            results.pixels,
            (16, 22, 28, 36, 46, 60, 80, 130),
            pixels,
        ),
        (
            "Blur of the lens (sigma)",
            of_width,
            how["blur"] * 100,
            (0, 0.4, 0.8, 1.2, 1.6, 2, 2.6, 3.4),
            blur,
        ),
        ("Trail of a motion", of_width, how["motion"] * 100, (0, 2, 3, 4, 5, 6, 7.5, 9), motion),
        (
            "Light",
            "1: a well lit table",
            how["light"],
            (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1),
            light,
        ),
        ("Angle of view from above", "degrees", angle, (0, 15, 25, 32, 38, 44, 50, 57), within),
        ("Noise of the sensor", "grey levels", how["noise"], (0, 1.5, 3, 4.5, 6, 7.5, 9), within),
    ):
        labels = [(n / (len(edges) - 1), f"{edge:g}") for n, edge in enumerate(edges)]
        wrong = taken & ~results.right
        points = []
        for n, (low, high) in enumerate(pairwise(edges)):
            chosen = (values >= low) & (values < high) & others
            if chosen.any():
                at = (n + 0.5) / (len(edges) - 1)
                share = float(taken[chosen].mean())
                points.append(Point(at, share, int((wrong & chosen).sum())))
        yield Panel(title, unit, labels, points)


def _all_but(results: Results, name: str) -> NDArray[np.bool_]:
    anything = {"pixels": 0.0, "blur": 1.0, "motion": 1.0, "light": 0.0}
    limits = {each: getattr(LIMITS, each) for each in _MEASURES}
    return readable(results, Limits(**(limits | {name: anything[name]})))


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
