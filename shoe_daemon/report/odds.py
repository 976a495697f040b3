"""
Counts of outcomes, naturals and pairs, compared with their probability.

The odds of a round are exact for every round of an uncounted shoe, since at any time the next
cards are distributed like the first ones. The spread is that of independent rounds, which differs
little from that of a real shoe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import exp, lgamma, log, log1p, perm, sqrt
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from shoe_daemon.game import CARDS_PER_DECK, Outcome
from shoe_daemon.game.exact_odds import CARDS_PER_DRAW, count_shapes
from shoe_daemon.report.rounds import RoundLine

_CHANCE_TEXTS: Final = (
    (0.25, "as expected"),
    (0.05, "ordinary"),
    (0.01, "unusual"),
    (0.001, "rare"),
    (0.0, "very rare"),
)
_ROUNDING: Final = 1e-9
_Z_95: Final = 1.959963984540054
"""Standard deviations on both sides of the mean that hold 95 % of a normal distribution."""


class Expectation(Struct, frozen=True):
    """
    A count and its expected value.

    Attributes:
        name: The subject of the count.
        found: The count.
        rounds: The number of rounds.
        share: The exact probability in one round, ``n/d``.
        expected: The mean.
        chance: The probability of a count that is at least as improbable.
        words: `chance` in words.
    """

    name: str
    found: int
    rounds: int
    share: str
    expected: float
    chance: float
    words: str


def expectation(
    name: str, found: int, rounds: int, share: Fraction, thing: str = "shoe"
) -> Expectation:
    """Compare a count with its probability; `thing` is what was counted, for `words`."""
    chance = two_sided(found, rounds, float(share))
    text = f"{share.numerator}/{share.denominator}"
    words = chance_text(chance, thing) if rounds else "no rounds"
    return Expectation(
        name, found, rounds, text, round(float(rounds * share), 2), round(chance, 6), words
    )


def two_sided(found: int, rounds: int, share: float) -> float:
    """Return the probability of all counts that are at most as probable as this one."""
    logs = [_log_binomial(count, rounds, share) for count in range(rounds + 1)]
    limit = logs[found] + _ROUNDING
    return min(1.0, sum(exp(each) for each in logs if each <= limit))


def _log_binomial(found: int, rounds: int, share: float) -> float:
    ways = lgamma(rounds + 1) - lgamma(found + 1) - lgamma(rounds - found + 1)
    return ways + found * log(share) + (rounds - found) * log1p(-share)


def confidence_interval(found: int, rounds: int) -> tuple[float, float]:
    """
    Return the limits between which the share of `found` lies with 95 % confidence (Wilson).

    Without rounds the share may be anything: 0 to 1.
    """
    if not rounds:
        return 0.0, 1.0
    share, weight = found / rounds, _Z_95**2 / rounds
    middle = (share + weight / 2) / (1 + weight)
    half = sqrt(weight * (share * (1 - share) + weight / 4)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def chance_text(chance: float, thing: str = "shoe") -> str:
    """Describe how unusual an event of this probability is: ``rare, 1 shoe in 240``."""
    word = next(word for limit, word in _CHANCE_TEXTS if chance >= limit)
    if chance >= _CHANCE_TEXTS[1][0]:
        return word
    return f"{word}, 1 {thing} in {_round_number(chance)}"


def _round_number(chance: float) -> str:
    if chance < 1e-9:  # noqa: PLR2004 - more shoes than anyone will ever deal
        return "a billion or more"
    number = round(1 / chance)
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"


@cache
def odds_of(decks: int) -> Mapping[str, Fraction]:
    """Return the exact probabilities of outcomes, naturals and pairs in one round."""
    total = perm(CARDS_PER_DECK * decks, CARDS_PER_DRAW)
    counts = dict.fromkeys(("banker", "player", "tie", "natural", "player_pair", "banker_pair"), 0)
    for shape, count in count_shapes(decks).items():
        counts[Outcome(shape.outcome).value] += count
        counts["natural"] += count * (shape.player.natural or shape.banker.natural)
        counts["player_pair"] += count * shape.player.pair
        counts["banker_pair"] += count * shape.banker.pair
    return MappingProxyType({name: Fraction(count, total) for name, count in counts.items()})


def compare_with_odds(
    rounds: Sequence[tuple[RoundLine, int]], decks: int, thing: str = "shoe"
) -> Iterator[Expectation]:
    """
    Compare outcomes, naturals and pairs with the exact odds.

    Args:
        rounds: Counted rounds, each with the decks of its shoe.
        decks: The decks to compare with where there are no rounds.
        thing: What the rounds are from, for `Expectation.words`.
    """
    for name in odds_of(decks):
        known = [(found, of) for line, of in rounds if (found := _has(line, name)) is not None]
        by_decks = Counter(of for _, of in known) or Counter({decks: 1})
        share = sum((odds_of(of)[name] * many for of, many in by_decks.items()), Fraction())
        count = sum(found for found, _ in known)
        yield expectation(name, count, len(known), share / by_decks.total(), thing)


def _has(line: RoundLine, name: str) -> bool | None:
    """Return whether a round has an outcome, a natural or a pair; None if unknown."""
    if name == "natural":
        either = {line.player.natural, line.banker.natural}
        return True if True in either else None if None in either else False
    if name == "player_pair":
        return line.player.pair
    if name == "banker_pair":
        return line.banker.pair
    return None if line.outcome is None else line.outcome is Outcome(name)
