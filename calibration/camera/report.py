"""Report of a calibration: one HTML file with its images embedded, for screen or paper."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Final

import cv2
import numpy as np

from calibration.camera.output import CalibrationResult, list_faults, write_together
from calibration.camera.plane import projection_of
from calibration.camera.shown_cards import (
    ShownReading,
    card_with_symbol,
    draw_outline,
    good_index_pixels,
    risk_curve,
)
from drivers.camera.image import Image
from drivers.camera.recognition.confidence import CurvePoint
from drivers.camera.recognition.recogniser import window_quads
from drivers.camera.recognition.table_projection import Floats

_TEMPLATE_FILE: Final = Path(__file__).parent / "static" / "report.html"
_MAX_IMAGE_WIDTH_PX: Final = 1100
"""Maximum width of an image in the report."""

_NO_VALUE: Final = "&ndash;"
_CHART_SIZE: Final = (680, 190, 62)
"""Width, height, and left margin of the chart."""

_PASSED_COLOUR, _FAILED_COLOUR, _MARKER_COLOUR = (84, 160, 60), (38, 30, 200), (230, 140, 60)
"""Blue, green and red of outlines."""


def write_report(result: CalibrationResult, path: Path) -> None:
    """Write the report; where that fails, a UserError leaves a previous one unchanged."""
    write_together({path: render_report(result).encode()})


def render_report(result: CalibrationResult) -> str:
    """Return the report as HTML."""
    wrong = list_faults(result)
    count = f"{len(wrong)} thing{'s' if len(wrong) != 1 else ''} to put right"
    return Template(_TEMPLATE_FILE.read_text(encoding="utf-8")).substitute(
        station=escape(result.station),
        source=escape(result.source),
        at=escape(result.at),
        verdict="passed" if not wrong else count,
        kind="good" if not wrong else "bad",
        keys=_keys(result),
        faults="".join(f"<li>{escape(each)}</li>" for each in wrong),
        where="The table and its places" if result.throat is None else "The shoe's throat",
        table=_picture(_table(result), "The empty table with its places"),
        markers=_markers(result),
        budget=_budget(result),
        cards=_cards(result),
        samples=_samples(result.samples),
        settings=_settings(result),
        good=f"{good_index_pixels():.0f}",
        curve=_curve(result),
    )


def _keys(result: CalibrationResult) -> str:
    least = min(result.budget, key=lambda each: each.pixels, default=None)
    threshold, error = result.threshold, result.plane.error
    parts = (
        ("plane off by at most", _NO_VALUE if error is None else f"{error:.2f} <small>mm</small>"),
        ("sharpness, 1 is best", f"{result.sharpness:.2f}"),
        ("light of 255", f"{result.light:.0f}"),
        ("flicker", f"{result.flicker.strength:.1%}"),
        ("fewest pixels of an index", _NO_VALUE if least is None else f"{least.pixels:.0f}"),
        ("threshold", _NO_VALUE if threshold is None else f"{threshold.value:g}"),
    )
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in parts)


def _table(result: CalibrationResult) -> Image:
    drawn = result.reference.copy()
    ground = projection_of(result.plane)
    passed = {each.slot: each.passed for each in result.budget}
    for place in result.places:
        name = place.slot or "other"
        corners = ground.to_pixels(place.polygon)
        draw_outline(drawn, corners, _PASSED_COLOUR if passed.get(name, True) else _FAILED_COLOUR)
        _label(drawn, name, np.array([corners[:, 0].mean(), corners[:, 1].max() + 22]))
    if result.throat is not None:
        draw_outline(drawn, ground.to_pixels(result.throat.window), _PASSED_COLOUR)
    return drawn


def _label(image: Image, words: str, at: Floats) -> None:
    x, y = round(float(at[0])) - 10 * len(words), round(float(at[1])) + 9
    for colour, thick in (((0, 0, 0), 5), ((255, 255, 255), 2)):
        cv2.putText(image, words, (x, y), cv2.FONT_HERSHEY_DUPLEX, 0.9, colour, thick, cv2.LINE_AA)


def _markers(result: CalibrationResult) -> str:
    drawn = result.marker_image.copy()
    for each in result.markers:
        draw_outline(drawn, each.corners, _MARKER_COLOUR)
        _label(drawn, str(each.number), each.corners.mean(axis=0))
    for quad in result.clicked:
        draw_outline(drawn, np.array(quad), _MARKER_COLOUR)
    count = len(result.markers) or len(result.clicked)
    what = "marker" if result.markers else "clicked rectangle"
    words = f"{count} {what}{'s' if count != 1 else ''}. {_plane(result, count)}"
    return _picture(drawn, "What the plane was found by") + f'<p class="note">{words}</p>'


def _plane(result: CalibrationResult, count: int) -> str:
    plane, lens = result.plane, result.plane.lens
    parts = (
        f"Where cards lie, the plane is at most {plane.error or 0:.2f} mm off (95 of 100 such "
        "tries)."
    )
    if count > 1:
        parts = f"The one that fits least is {plane.misfit:.2f} mm off the others. {parts}"
    if lens is not None:
        return f"{parts} The lens bends by {lens.distortion[0]:+.4f}."
    # The throat is too small for lens distortion to matter.
    if result.throat is not None:
        return parts
    return f"{parts} The lens is not known: that takes two or more."


def _budget(result: CalibrationResult) -> str:
    most = max((each.pixels for each in result.budget), default=1.0) * 1.15
    rows = [
        f"<tr><td>{escape(each.slot)}</td><td class='n'><b>{each.pixels:.0f}</b></td>"
        f"<td class='n'>{each.least:.0f}</td><td>{_bar(each.pixels, each.least, most)}</td>"
        f"<td>{_verdict(each.passed)}</td></tr>"
        for each in result.budget
    ]
    return "".join(rows)


def _bar(value: float, least: float, most: float) -> str:
    # No style attributes: some browsers apply the page's policy to them.
    wide, mark = 100 * value / most, 100 * least / most
    colour = "#2d7a46" if value >= least else "#b3261e"
    return (
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none">'
        '<rect width="100" height="6" fill="#f5f6f8"/>'
        f'<rect width="{wide:.1f}" height="6" fill="{colour}"/>'
        f'<rect x="{mark:.1f}" width=".7" height="6" fill="#1c1f26"/></svg>'
    )


def _verdict(passed: bool) -> str:  # noqa: FBT001 - the only argument
    return f'<span class="{"good" if passed else "bad"}">{"passed" if passed else "failed"}</span>'


def _cards(result: CalibrationResult) -> str:
    parts = []
    for shown, sample in zip(result.shown, result.cards, strict=False):
        flat = shown.upright_image(180)
        high, wide = flat.shape[:2]
        # The image is cut off slightly inside the card's edge.
        edge = np.array([wide, high], np.float32) * 0.03
        corners = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float32)
        corners += np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32) * edge
        colour = _PASSED_COLOUR if sample.passed else _FAILED_COLOUR
        for window in window_quads(corners, result.window):
            draw_outline(flat, window.astype(np.float64), colour)
        picture = _picture(flat, str(sample.card), 180)
        parts.append(
            f"<figure>{picture}<figcaption><b>{card_with_symbol(sample.card)}</b> "
            f"{escape(sample.slot)}<br>{sample.confidence:.3f}, {sample.pixels:.0f} px<br>"
            f"{_verdict(sample.passed)}</figcaption></figure>"
        )
    if result.back is not None:
        picture = _picture(result.back, "The back", 180)
        parts.append(f"<figure>{picture}<figcaption><b>Back</b></figcaption></figure>")
    return "".join(parts) or "<p>None.</p>"


def _samples(samples: Iterable[ShownReading]) -> str:
    return "".join(
        f"<tr><td><b>{card_with_symbol(each.card)}</b></td><td>{escape(each.slot)}</td>"
        f"<td>{each.read or _NO_VALUE}</td><td class='n'>{each.confidence:.3f}</td>"
        f"<td class='n'>{each.pixels:.0f}</td><td class='n'>{each.blur:.2%}</td>"
        f"<td>{_verdict(each.passed)} {escape(each.fault)}</td></tr>"
        for each in samples
    )


def _curve(result: CalibrationResult) -> str:
    """Draw the proven rarity of wrong cards at each threshold, and the chosen threshold."""
    points, chosen = risk_curve(), result.threshold
    if len(points) < 2 or chosen is None:  # noqa: PLR2004 - two make a line
        return ""
    width, height, margin = _CHART_SIZE
    rarities = [math.log10(1 / each.risk) for each in points]
    low, high = math.floor(min(rarities)), max(rarities) + 0.25

    def y(power: float) -> float:
        return 8 + (height - 26) * (1 - (power - low) / (high - low))

    drawn = [
        f'<text x="{margin - 6}" y="{y(power) + 3:.1f}" '
        f'text-anchor="end">1 in {10**power:,}</text>'
        for power in range(low, math.floor(high) + 1)
    ]
    wide, last = width - margin - 24, len(points) - 1
    places = [(margin + wide * number / last, y(each)) for number, each in enumerate(rarities)]
    drawn.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    for each, place in zip(points, places, strict=True):
        drawn += _threshold(each, place, is_set=each.threshold == chosen.value)
    name = f"Threshold {chosen.summary}"
    return (
        f'<svg class="curve" role="img" aria-label="{escape(name)}" '
        f'viewBox="0 0 {width} {height}">{"".join(drawn)}</svg>'
    )


def _threshold(point: CurvePoint, at: tuple[float, float], *, is_set: bool) -> Iterator[str]:
    x, y = at
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4.5 if is_set else 2}"/>'
    words = f"<tspan>{point.threshold:g}</tspan>"
    kind = ' class="set"' if is_set else ""
    yield f'<text x="{x:.1f}" y="{_CHART_SIZE[1] - 4}" text-anchor="middle"{kind}>{words}</text>'


def _settings(result: CalibrationResult) -> str:
    camera, fit, chosen = result.camera, result.fit, result.threshold
    parts = [("picture", f"{camera.width}x{camera.height}")]
    parts += [(lock.name, lock.said) for lock in result.locks]
    if not result.locks:
        parts.append(
            ("exposure, white balance, focus", "not ours to lock: set them at the camera")
        )
    if fit is not None:
        parts.append(("index window", fit.summary))
    if chosen is not None:
        parts.append(("threshold", chosen.summary))
    return "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in parts
    )


def _picture(image: Image, words: str, width: int = _MAX_IMAGE_WIDTH_PX) -> str:
    if image.shape[1] > width:
        size = (width, round(image.shape[0] * width / image.shape[1]))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 86])
    coded = base64.b64encode(data.tobytes()).decode()
    return f'<img alt="{escape(words)}" src="data:image/jpeg;base64,{coded}">'
