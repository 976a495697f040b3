"""Figures of weights: the confidence threshold, its curve, what the package publishes."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from calibration.training.rendered_test import LIMITS, Limits, Results
from drivers.camera.recognition.confidence import CurvePoint
from drivers.camera.recognition.recogniser import WEIGHTS_FILE, WEIGHTS_INFO, checksum

_THRESHOLDS: Final = (
    0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.94, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99,
)  # fmt: skip
LEAST_THRESHOLD: Final = 0.96
"""
Lowest shipped threshold. Below it, cards of strange decks get wrong names
(`bench.vision.strange_decks`): neither set of rendered cards has such decks.
"""
_SURE: Final = 0.95
"""Confidence level of the stated risk."""
ONE_IN: Final = 30_000
"""
Accepted cards per wrong card when choosing the threshold.

In use one in 15,000 is tolerated: a choice on a sample is about half as good elsewhere.
"""


def readable(results: Results, limits: Limits = LIMITS) -> NDArray[np.bool_]:
    """Return for each card whether its conditions are within the limits."""
    how = results.conditions
    return np.asarray(
        (results.pixels >= limits.pixels)
        & (how["blur"] <= limits.blur)
        & (how["motion"] <= limits.motion)
        & (how["light"] >= limits.light)
    )


def accepted(results: Results, threshold: float) -> NDArray[np.bool_]:
    """Return for each card whether it is accepted at a threshold."""
    clear = (results.sharpness >= WEIGHTS_INFO.sharpness) & (results.pixels >= WEIGHTS_INFO.pixels)
    return np.asarray(clear & (results.accepted_up_to >= threshold))


def curve_of(results: Results) -> list[CurvePoint]:
    """
    Return for each threshold the share of readable cards accepted, and the wrong cards of all.
    """
    within = readable(results)
    points = []
    for threshold in _THRESHOLDS:
        taken = accepted(results, threshold)
        wrong, cards = int((taken & ~results.right).sum()), int(taken.sum())
        share = float(taken[within].mean())
        risk = at_most(wrong) / max(cards, 1)
        points.append(CurvePoint(threshold, round(share, 5), wrong, cards, round(risk, 7)))
    return points


def at_most(wrong: int) -> float:
    """Return the upper bound (95 %) of a Poisson mean, given the observed count."""
    low, high = 0.0, 20.0 + 3 * wrong
    for _ in range(60):
        mean = (low + high) / 2
        seen = sum(
            math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(wrong + 1)
        )
        low, high = (mean, high) if seen > 1 - _SURE else (low, mean)
    return high


def shipped_threshold(points: Sequence[CurvePoint], one_in: int) -> float:
    """Return the lowest threshold from which on at most one accepted card in `one_in` is wrong."""
    for place, point in enumerate(points):
        if all(each.wrong * one_in <= each.cards for each in points[place:]):
            return point.threshold
    return points[-1].threshold


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """
    The figures of weights: the threshold from one set of cards, the rest from the other.

    Attributes:
        chosen_with: Cards used for choosing the threshold; none of them is in the test.
        cards: Cards of the test.
        right: Share of all cards whose most probable card is right.
        threshold: The shipped threshold.
        accepted: Share of all cards accepted.
        wrong: Wrong cards among them.
        within: Cards within the limits.
        within_right: Share of those whose most probable card is right.
        within_accepted: Share of those accepted.
        within_wrong: Wrong cards among those.
        limits: The conditions in which a card should be read.
    """

    chosen_with: int
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


def measure(choice: Results, test: Results, threshold: float | None = None) -> Figures:
    """
    Compute the figures of the test.

    Without a threshold, it is chosen with the other set, but not below `LEAST_THRESHOLD`.
    """
    fitting = max(LEAST_THRESHOLD, shipped_threshold(curve_of(choice), ONE_IN))
    chosen = fitting if threshold is None else threshold
    taken, within = accepted(test, chosen), readable(test)
    wrong = taken & ~test.right
    return Figures(
        chosen_with=len(choice.right),
        cards=len(taken),
        right=_share(test.right),
        threshold=chosen,
        accepted=_share(taken),
        wrong=int(wrong.sum()),
        within=int(within.sum()),
        within_right=_share(test.right[within]),
        within_accepted=_share(taken[within]),
        within_wrong=int(wrong[within].sum()),
        limits=msgspec.to_builtins(LIMITS),
    )


def _share(chosen: Any) -> float:  # noqa: ANN401 - an array of truths
    return round(float(np.mean(chosen)), 5)


def ship(choice: Results, test: Results, weights: Path) -> Figures:
    """
    Write ``index.json`` and ``curve.json`` beside the weights.

    The curve uses only cards that were not used for choosing.
    """
    figures = measure(choice, test)
    curve = curve_of(test)
    known = {
        "sha256": checksum(weights),
        "threshold": figures.threshold,
        "sharpness": WEIGHTS_INFO.sharpness,
        "pixels": WEIGHTS_INFO.pixels,
        "temperature": WEIGHTS_INFO.temperature,
        "test": msgspec.to_builtins(figures),
    }
    _write(weights.with_name("index.json"), known)
    _write(weights.with_name("curve.json"), {"curve": msgspec.to_builtins(curve)})
    return figures


def publish(folder: Path, weights: Path) -> None:
    """Copy weights and figures into the package, and update the model card."""
    for name in (WEIGHTS_FILE.name, "index.json", "curve.json"):
        shutil.copyfile(folder / name, weights / name)
    known = json.loads((folder / "index.json").read_text())
    figures = msgspec.convert(known["test"], Figures)
    card = weights / "README.md"
    card.write_text(_filled(card.read_text(), figures, known["sha256"]))


def _write(path: Path, known: dict[str, Any]) -> None:
    path.write_text(json.dumps(known, indent=2) + "\n")


_FIGURES: Final = """<!-- figures -->

## What it is worth

SHA-256 `{sha256}`.
Measured with {cards:,} rendered cards of the decks, fonts, seeds and layouts kept out of training,
six in ten taken within the limits and the others anyhow, corners off by 1.2 % of the card's width,
both ends read:

| cards | likeliest card right | accepted | wrong among accepted |
|---|---|---|---|
| all {cards:,}, however bad the picture | {right:.2%} | {accepted:.2%} | {wrong} |
| {within:,} within the limits | {within_right:.2%} | {within_accepted:.2%} | {within_wrong} |

The limits: an index window at least {pixels:g} pixels high, blur of the lens (sigma) up to
{blur:.0%} and the trail of a motion up to {motion:.0%} of the card's width, at least {light:g} of
the light of a well lit table. Shipped threshold: {threshold:g}.

The threshold was chosen with {chosen_with:,} other cards, made in the same way from other seeds:
the lowest from {least:g} on at which, and above which, no more than one accepted card in
{one_in:,} of those was wrong; below {least:g}, cards of strange decks get wrong names. How the two
ends are put together was chosen with them and with strange decks too. The limits had been fixed
before with cards that are in neither set. {wrong} wrong in {taken:,} accepted proves, at 95 %
confidence, no more than one in {proven:,}; `curve.json` has that for every threshold.

<!-- /figures -->"""


def _filled(text: str, figures: Figures, sha256: str) -> str:
    """Insert the figures into the model card."""
    head, _, rest = text.partition("<!-- figures -->")
    tail = rest.partition("<!-- /figures -->")[2]
    known = {**msgspec.to_builtins(figures), **figures.limits, "sha256": sha256}
    known |= {"one_in": ONE_IN, "least": LEAST_THRESHOLD}
    taken = round(figures.cards * figures.accepted)
    proven = int(taken / at_most(figures.wrong))
    return head + _FIGURES.format(**known, taken=taken, proven=proven) + tail
