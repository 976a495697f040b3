"""
Cards of another deck that pass the check at the start of a shoe, by number of cards, and cards of
the same deck that fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from bench.vision.calibration_table import THIRTEEN, calibrated
from calibration.camera.deck_comparison import (
    BACK_NAME,
    MIN_BACK_LIKENESS,
    MIN_FACES,
    CardPrint,
    ReferenceDeck,
    back_likeness,
    is_other_deck,
    print_of,
)
from calibration.camera.simulated_table import SimulatedTable
from drivers.camera.sources.frame_capture_and_checks import Image
from drivers.simulators.camera.scene_settings import Settings
from shoe_daemon.game import RANKS, Card

__all__ = ["measure_deck"]

_FALSE: Final = 2.0
"""Maximum false alarms in 100 checks of the same deck."""

_DRAWS: Final = 40
"""Draws of cards for each pair of decks."""

Odds = Sequence[Sequence[Sequence[float]]]
"""
For each deck and each other deck: the probability that each of its cards belongs to the first.
"""


class _Known(NamedTuple):
    """A deck as in its profile, and cards of it seen later."""

    deck: ReferenceDeck
    seen: list[tuple[str, CardPrint]]
    back: Image | None


def measure_deck(decks: int) -> bool:
    """
    Print how often each deck passes as itself and as another deck; return whether false alarms are
    rare enough.
    """
    known = [_known(number) for number in range(decks)]
    odds = [
        [[one.deck.log_odds(now, rank) for rank, now in two.seen] for two in known]
        for one in known
    ]
    chance = np.random.default_rng(5)
    print(f"deck, {decks} decks: of 100 checks with so many cards face up")
    print("faces  the same deck is told to be another   another deck passes")
    good = True
    for count in range(1, 7):
        same, other = (
            100
            * np.mean([_told(odds[i][j], count, chance) for i, j in pairs for _ in range(_DRAWS)])
            for pairs in _pairs(decks)
        )
        good &= bool(same < _FALSE)
        print(f"{count:5}  {same:35.1f}   {100 - other:19.1f}")
    print(_backs(known, odds, chance), end="\n\n")
    return good


def _pairs(decks: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    same = [(number, number) for number in range(decks)]
    return same, [(i, j) for i in range(decks) for j in range(decks) if i != j]


def _known(number: int) -> _Known:
    here = SimulatedTable(Settings(seed=3 + number % 4, deck=number * 37 + 5))
    made = calibrated(here, THIRTEEN)
    cards = {shown.card.rank: shown.upright_image(160) for shown in made.shown}
    if made.back is not None:
        cards[BACK_NAME] = made.back
    others = [Card(f"{rank}{'HDCS'[n % 4]}") for n, rank in enumerate(RANKS)]
    again = calibrated(here, others)
    seen = [(each.card.rank, print_of(each.upright_image(160))) for each in again.shown]
    return _Known(ReferenceDeck(cards), seen, again.back)


def _told(odds: Sequence[float], count: int, chance: np.random.Generator) -> bool:
    return is_other_deck([odds[n] for n in chance.permutation(len(odds))[:count]])


def _backs(known: Sequence[_Known], odds: Odds, chance: np.random.Generator) -> str:
    there = [n for n, one in enumerate(known) if one.back is not None]
    same = [_alike(known[n], known[n]) for n in there]
    other = {(i, j): _alike(known[i], known[j]) for i in there for j in there if i != j}
    passed = [
        likeness >= MIN_BACK_LIKENESS and not _told(odds[i][j], MIN_FACES, chance)
        for (i, j), likeness in other.items()
        for _ in range(_DRAWS)
    ]
    alone = 100 * np.mean([likeness >= MIN_BACK_LIKENESS for likeness in other.values()])
    return (
        f"backs: of the same deck {min(same):.2f} alike or more, of others "
        f"{np.median(list(other.values())):.2f}; {MIN_BACK_LIKENESS} is needed\n"
        f"another deck passes by its back alone {alone:.1f}, with {MIN_FACES} faces besides "
        f"{100 * np.mean(passed):.2f} of 100 times"
    )


def _alike(one: _Known, other: _Known) -> float:
    now, before = other.back, one.deck.back
    return 0.0 if now is None or before is None else back_likeness(now, before)
