"""
Confidence of a reading, and the measured risk of each threshold.

The network gives p(rank), p(suit) and p(no index) for one window. The probability of a card
is p(rank) x p(suit) x (1 - p(no index)). A window without a visible index has no influence;
two windows that contradict each other lower the confidence.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from drivers.camera.recognition.table_projection import Floats
from shoe_daemon.game import RANKS, SUITS, Card

CURVE_FILE: Final = Path(__file__).parent / "weights" / "curve.json"
"""Acceptance and errors at each threshold, measured with these weights."""

_NO_INDEX: Final = len(RANKS)
ANSWERS: Final = len(RANKS) + 1 + len(SUITS)
"""Outputs of a network: ranks, "no index", suits."""

MIN_WEIGHT: Final = 0.01
"""Weight of an uncertain view: all views together may be uncertain."""

_HALF: Final = 0.5
_DOUBT: Final = 0.45
"""Share of other cards in a doubtful belief: the likeliest card stays, far below any threshold."""

_MIN_PROBABILITY: Final = 1e-6
"""Added to every probability, so that its logarithm is finite."""

_SUIT_CONFIDENCE: Final = 0.987
"""Least confidence of a suit: unlike the rank, it is not confirmed by the other end."""

_LOOK_ALIKES: Final = {"7": 0.98, "8": 0.992}
"""
Ranks for which other signs are taken, and their least confidence: a 7 for the 1 of other
countries, an 8 for their B and for a 6 of very fat strokes.
"""


class Belief(Struct, frozen=True):
    """
    Probabilities of the cards for a window, an end or a card.

    Attributes:
        cards: A probability for each rank (row) and suit (column); their sum is 1 - nothing.
        nothing: The probability that no index is visible.
    """

    cards: Floats
    nothing: float

    @property
    def best(self) -> Card:
        """The most likely card, however unlikely it is."""
        return _card_at(int(self.cards.argmax()))

    @property
    def confidence(self) -> float:
        """Probability of the most likely card, from 0 to 1."""
        return float(self.cards.max())

    @property
    def accepted_up_to(self) -> float:
        """
        The highest threshold at which the most likely card is accepted: its probability, or 0
        where its suit is in doubt or its rank may be another sign.
        """
        suits = self.cards.sum(0)
        if suits.max() < _SUIT_CONFIDENCE * suits.sum():
            return 0.0
        if self.confidence < _LOOK_ALIKES.get(self.best.rank, 0.0):
            return 0.0
        return self.confidence

    @property
    def runner_up(self) -> Card:
        """The second most likely card."""
        return _card_at(int(self.cards.ravel().argsort()[-2]))


def _card_at(place: int) -> Card:
    rank, suit = divmod(place, len(SUITS))
    return Card(RANKS[rank] + SUITS[suit])


def belief_of(answers: NDArray[np.float32], temperature: float = 1.0) -> Belief:
    """Return the probabilities from the network's output for one window."""
    ranks = _softmax(answers[: _NO_INDEX + 1] / temperature)
    suits = _softmax(answers[_NO_INDEX + 1 :] / temperature)
    return Belief(np.outer(ranks[:_NO_INDEX], suits), float(ranks[_NO_INDEX]))


def sees_index(answers: NDArray[np.float32]) -> bool:
    """Return whether the network's output for a window is more likely an index than none."""
    return float(_softmax(answers[: _NO_INDEX + 1])[_NO_INDEX]) < _HALF


def _softmax(scores: NDArray[np.float32]) -> Floats:
    raised = np.exp(scores.astype(np.float64) - float(scores.max()))
    return np.asarray(raised / raised.sum(), np.float64)


def pool_beliefs(beliefs: Sequence[Belief], min_weight: float = MIN_WEIGHT) -> Belief:
    """
    Combine views of the same index: windows of several sizes, several frames.

    The mean is geometric: one view that is certain of another card makes the result uncertain.
    Certain views weigh more, because not every window fits every deck; `min_weight` is the weight
    of a view that sees no index, relative to about 1 of a certain one.
    """
    weights = np.array([each.confidence for each in beliefs]) ** 2 + min_weight
    weights /= weights.sum()
    logs = np.log(np.array([each.cards for each in beliefs]) + _MIN_PROBABILITY)
    cards = np.exp(np.tensordot(weights, logs, 1))
    blank = float(
        np.exp(weights @ np.log(np.array([each.nothing for each in beliefs]) + _MIN_PROBABILITY))
    )
    product = float(cards.sum()) + blank
    return Belief(cards / product, blank / product)


def doubt_between(belief: Belief, likeliest: Card, others: Collection[Card]) -> Belief:
    """
    Return a belief in several cards, little more in the likeliest than in the others together.

    Ends or views that are all in doubt between the same cards leave it, however often combined.
    """
    cards = np.zeros_like(belief.cards)
    seen = float(belief.cards.sum())
    cards[_place(likeliest)] = seen * (1 - _DOUBT)
    for card in others:
        cards[_place(card)] = seen * _DOUBT / len(others)
    return Belief(cards, belief.nothing)


def _place(card: Card) -> tuple[int, int]:
    return RANKS.index(card.rank), SUITS.index(card.suit)


def combine_ends(ends: Sequence[Belief]) -> Belief:
    """
    Combine both ends of one card: each confirms or contradicts the other.

    An end without a visible index has no influence. The ranks of both ends are independent;
    the suits are not: a club so soft that it looks like a spade does so at both ends.
    """
    product = np.ones(_NO_INDEX)
    suits, visible_sum = np.zeros(len(SUITS)), 0.0
    for end in ends:
        product = product * (end.cards.sum(1) + end.nothing / _NO_INDEX)
        visible = 1 - end.nothing + _MIN_PROBABILITY
        suits += visible * np.log(
            end.cards.sum(0) / max(float(end.cards.sum()), _MIN_PROBABILITY) + _MIN_PROBABILITY
        )
        visible_sum += visible
    nothing = float(np.prod([end.nothing for end in ends]))
    ranks, kinds = product / product.sum(), np.exp(suits / visible_sum)
    return Belief(np.outer(ranks, kinds / kinds.sum()) * (1 - nothing), nothing)


class PooledLooks:
    """
    The evidence of all looks at a card that has not moved.

    Each look counts the same: a look that is sure does not outweigh those that doubt. Otherwise
    a card that cannot be read gets a name as soon as noise makes two of many looks sure.
    """

    def __init__(self) -> None:
        self._logs: Floats | None = None
        self._count = 0

    def add(self, ends: Sequence[Belief]) -> None:
        """Add a look; every look at a card has the same ends."""
        rows = [np.append(end.cards.ravel(), end.nothing) for end in ends]
        logs = np.log(np.array(rows) + _MIN_PROBABILITY)
        self._logs = logs if self._logs is None else self._logs + logs
        self._count += 1

    def accepted_card(self, threshold: float) -> Card | None:
        """Return the card that all looks together show with enough confidence."""
        if self._logs is None:
            return None
        means = np.exp(self._logs / self._count)
        means /= means.sum(1, keepdims=True)
        shape = len(RANKS), len(SUITS)
        return accepted_card(
            [Belief(mean[:-1].reshape(shape), float(mean[-1])) for mean in means], threshold
        )


def accepted_card(ends: Sequence[Belief], threshold: float) -> Card | None:
    """Return the card that the ends of a card show with enough confidence; else None."""
    believed = combine_ends(ends)
    return believed.best if believed.accepted_up_to >= threshold else None


def count_visible_ends(ends: Sequence[Belief]) -> int:
    """Count the ends in which an index is more likely visible than not."""
    return sum(end.nothing < _HALF for end in ends)


class CurvePoint(Struct, frozen=True):
    """
    Results of one threshold on the test cards.

    Attributes:
        threshold: Minimum confidence.
        accepted: Share of readable cards that were accepted.
        wrong: Number of wrong cards among the accepted ones.
        cards: Number of accepted cards.
        risk: Upper limit of the share of wrong cards, at 95 per cent.
    """

    threshold: float
    accepted: float
    wrong: int
    cards: int
    risk: float


@lru_cache(maxsize=4)
def load_curve(path: Path = CURVE_FILE) -> tuple[CurvePoint, ...]:
    """Load the measured curve, in order of the thresholds."""
    return tuple(CurvePoint(**point) for point in json.loads(path.read_text())["curve"])
