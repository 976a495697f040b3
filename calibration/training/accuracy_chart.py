"""Chart for the documentation: accepted and wrong cards against each condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibration.training.confidence_threshold import accepted, readable
from calibration.training.readable_conditions import LIMITS, Limits
from calibration.training.rendered_test import Results

__all__ = ["picture"]

_WIDE, _TALL = 300, 190
_LEFT, _TOP, _GAP, _BELOW = 60, 84, 64, 90
_INK, _GOOD, _BAD, _RULE = "#1c2733", "#1f6f54", "#b3261e", "#d5dbe1"
_MEASURES: Final = ("pixels", "blur", "motion", "light")


class _Panel(Struct, frozen=True):
    title: str
    unit: str
    values: NDArray[np.float64]
    edges: tuple[float, ...]
    others: NDArray[np.bool_]


class _Seen(Struct, frozen=True):
    accepted: NDArray[np.bool_]
    right: NDArray[np.bool_]


def picture(results: Results, threshold: float) -> str:
    """Draw six curves as SVG; each varies one condition, with all others within the limits."""
    seen = _Seen(accepted(results, threshold), results.right)
    width, height = _LEFT + 3 * (_WIDE + _GAP) - 30, _TOP + 2 * (_TALL + _BELOW) - 36
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f'<g font-family="DejaVu Sans, Arial, sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(len(seen.right), threshold),
    ]
    for place, panel in enumerate(_panels(results)):
        row, column = divmod(place, 3)
        at = _LEFT + column * (_WIDE + _GAP), _TOP + row * (_TALL + _BELOW)
        lines.append(f'<g transform="translate({at[0]} {at[1]})">')
        lines.extend((*_grid(panel), *_points(panel, seen), "</g>"))
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _panels(results: Results) -> Iterator[_Panel]:
    how = results.conditions
    angle = np.asarray(np.degrees(np.arccos(np.clip(how["tilt"], 0, 1))), np.float64)
    pixels, blur, motion, light = (_all_but(results, name) for name in _MEASURES)
    within = readable(results)
    of_width = "% of the card's width"
    edges: tuple[float, ...] = (16.0, 22.0, 28.0, 36.0, 46.0, 60.0, 80.0, 130.0)
    yield _Panel("Height of the index window", "pixels", results.pixels, edges, pixels)
    edges = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.6, 3.4)
    yield _Panel("Blur of the lens (sigma)", of_width, how["blur"] * 100, edges, blur)
    edges = (0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5, 9.0)
    yield _Panel("Trail of a motion", of_width, how["motion"] * 100, edges, motion)
    edges = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1)
    yield _Panel("Light", "1: a well lit table", how["light"], edges, light)
    edges = (0.0, 15.0, 25.0, 32.0, 38.0, 44.0, 50.0, 57.0)
    yield _Panel("Angle of view from above", "degrees", angle, edges, within)
    edges = (0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0)
    yield _Panel("Noise of the sensor", "grey levels", how["noise"], edges, within)


def _all_but(results: Results, name: str) -> NDArray[np.bool_]:
    anything = {"pixels": 0.0, "blur": 1.0, "motion": 1.0, "light": 0.0}
    limits = {each: getattr(LIMITS, each) for each in _MEASURES}
    return readable(results, Limits(**(limits | {name: anything[name]})))


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


_MIDDLE: Final = 'text-anchor="middle"'


def _legend(cards: int, threshold: float) -> Iterator[str]:
    what = f"{cards:,} rendered cards of decks, fonts and layouts that training never saw"
    yield _text(_LEFT, 24, what, 'font-size="15"')
    yield _text(_LEFT, 44, f"accepted at the threshold {threshold:g}", f'fill="{_GOOD}"')
    beside = _LEFT + 215
    yield _text(beside, 44, "wrong cards among those accepted, in number", f'fill="{_BAD}"')


def _grid(panel: _Panel) -> Iterator[str]:
    yield _text(0, -10, panel.title, 'font-size="13"')
    for share in (0, 25, 50, 75, 100):
        y = _TALL * (1 - share / 100)
        yield f'<path d="M0 {y:.1f}h{_WIDE}" stroke="{_RULE}"/>'
        yield _text(-6, y + 4, f"{share} %", 'text-anchor="end"')
    step = _WIDE / (len(panel.edges) - 1)
    for place, edge in enumerate(panel.edges):
        yield _text(place * step, _TALL + 16, f"{edge:g}", _MIDDLE)
    yield _text(_WIDE / 2, _TALL + 34, panel.unit, _MIDDLE)


def _points(panel: _Panel, seen: _Seen) -> Iterator[str]:
    step = _WIDE / (len(panel.edges) - 1)
    path = []
    for place, (low, high) in enumerate(zip(panel.edges, panel.edges[1:], strict=False)):
        chosen = (panel.values >= low) & (panel.values < high) & panel.others
        if not chosen.any():
            continue
        x = (place + 0.5) * step
        y = _TALL * (1 - float(seen.accepted[chosen].mean()))
        path.append(f"{x:.1f},{y:.1f}")
        wrong = int((seen.accepted & ~seen.right & chosen).sum())
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_GOOD}"/>'
        yield _text(x, _TALL - 6, str(wrong), f'{_MIDDLE} fill="{_BAD}"')
    yield f'<polyline points="{" ".join(path)}" fill="none" stroke="{_GOOD}" stroke-width="2"/>'
