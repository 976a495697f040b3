"""
Measures weights with the test and writes what the package has beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from calibration.training.curves import (
    LIMITS,
    accepted,
    at_most,
    curve_of,
    readable,
    shipped_threshold,
)
from calibration.training.picture import picture
from calibration.training.rendered import Results
from drivers.camera.confidence import CurvePoint
from drivers.camera.recogniser import SHIPPED, checksum

__all__ = ["ONE_IN", "Figures", "measure", "ship"]

ONE_IN: Final = 15_000
"""Cards read for one wrong card that is borne, for the threshold that is shipped."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """
    What weights are worth, measured with the test.

    Attributes:
        cards: Cards of the test.
        right: The share of all of them, however taken, whose likeliest card is the right one.
        threshold: The shipped one.
        accepted: The share of all cards that it accepts.
        wrong: Wrong cards among them.
        within: Cards taken within the limits.
        within_right: The share of those whose likeliest card is the right one.
        within_accepted: The share of those that it accepts.
        within_wrong: Wrong cards among those.
        limits: The conditions within which a card should be read.
    """

    cards: int
    right: float
    threshold: float
    accepted: float
    wrong: int
    within: int
    within_right: float
    within_accepted: float
    within_wrong: int
    limits: dict[str, float]


def measure(results: Results, threshold: float | None = None) -> tuple[Figures, list[CurvePoint]]:
    """
    Say what the readings of the whole test are worth.

    The threshold is chosen from the curve where none is given.
    """
    curve = curve_of(results)
    chosen = shipped_threshold(curve, ONE_IN) if threshold is None else threshold
    taken = accepted(results, chosen)
    within = readable(results)
    figures = Figures(
        cards=len(taken),
        right=_share(results.right),
        threshold=chosen,
        accepted=_share(taken),
        wrong=int((taken & ~results.right).sum()),
        within=int(within.sum()),
        within_right=_share(results.right[within]),
        within_accepted=_share(taken[within]),
        within_wrong=int((taken & ~results.right)[within].sum()),
        limits=msgspec.to_builtins(LIMITS),
    )
    return figures, curve


def _share(chosen: Any) -> float:  # noqa: ANN401 - an array of truths
    return round(float(np.mean(chosen)), 5)


def ship(results: Results, weights: Path, svg: Path | None = None) -> Figures:
    """
    Write ``index.json`` and ``curve.json`` beside the weights that were measured, and the picture.
    """
    figures, curve = measure(results)
    known = {
        "sha256": checksum(weights),
        "threshold": figures.threshold,
        "sharpness": SHIPPED.sharpness,
        "pixels": SHIPPED.pixels,
        "temperature": SHIPPED.temperature,
        "test": msgspec.to_builtins(figures),
    }
    _write(weights.with_name("index.json"), known)
    _write(weights.with_name("curve.json"), {"curve": msgspec.to_builtins(curve)})
    card = weights.with_name("README.md")
    if card.is_file():
        card.write_text(_filled(card.read_text(), figures, known["sha256"]))
    if svg:
        svg.write_text(picture(results, figures.threshold))
    return figures


def _write(path: Path, known: dict[str, Any]) -> None:
    path.write_text(json.dumps(known, indent=2) + "\n")


_FIGURES: Final = """<!-- figures -->

## What it is worth

SHA-256 `{sha256}`.
Measured with {cards:,} rendered cards of the decks, fonts, seeds and layouts kept out of training,
corners off by 1.2 % of the card's width, both ends read:

| cards | likeliest card right | accepted | wrong among accepted |
|---|---|---|---|
| all {cards:,}, however bad the picture | {right:.2%} | {accepted:.2%} | {wrong} |
| {within:,} within the limits | {within_right:.2%} | {within_accepted:.2%} | {within_wrong} |

The limits: an index window at least {pixels:g} pixels high, blur of the lens (sigma) up to
{blur:.0%} and the trail of a motion up to {motion:.0%} of the card's width, at least {light:g} of
the light of a well lit table. Shipped threshold: {threshold:g}, the lowest at which no more than
one accepted card in {one_in:,} was wrong.

The threshold and the limits were chosen with these same cards, the sizes of the windows with the
first 2,000 of them and photos of one real deck. {wrong} wrong in so many accepted proves, at 95 %
confidence, no more than one in {proven:,}; `curve.json` has that for every threshold.

<!-- /figures -->"""


def _filled(text: str, figures: Figures, sha256: str) -> str:
    """
    Put the figures between the marks of the model card.
    """
    head, _, rest = text.partition("<!-- figures -->")
    tail = rest.partition("<!-- /figures -->")[2]
    known = {**msgspec.to_builtins(figures), **figures.limits, "sha256": sha256}
    proven = int(figures.cards * figures.accepted / at_most(figures.wrong))
    return head + _FIGURES.format(**known, one_in=ONE_IN, proven=proven) + tail
