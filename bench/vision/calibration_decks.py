"""Other decks: those that pass the check of a shoe, and index windows fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from bench.vision.calibrated_table import THIRTEEN, calibrated
from bench.vision.strange_cards import arrange, draw_card, make_deck
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
from calibration.camera.shown_cards import ShownCard, fit_window
from calibration.camera.simulated_table import SimulatedTable
from drivers.camera.image import Image
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import Recogniser
from drivers.simulators.camera.settings import Settings
from shoe_daemon.game import DECK, RANKS, SUITS, Card

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


_CORNER_ERROR: Final = 0.008
"""Error of a found corner (sigma), as a share of the card's width."""

_SHOWN: Final = tuple(Card(rank + SUITS[n % len(SUITS)]) for n, rank in enumerate(RANKS))
_OTHERS: Final = DECK[::2]


class _Counts(NamedTuple):
    cards: int = 0
    usual: int = 0
    fitted: int = 0
    wrong: int = 0


def measure_window(decks: int) -> bool:
    """
    Fit the window to decks that the training never saw; print how many other cards are accepted.

    Every second deck has a small index far from the edges. A deck has one camera and one light;
    the noise and the found corners differ from card to card.
    """
    total = {"far from the edges": _Counts(), "usual": _Counts()}
    for seed in range(decks):
        kind = tuple(total)[seed % 2]
        found = _measure_deck(seed, inset=seed % 2 == 0)
        print(f"deck {seed}: {found.usual}, fitted {found.fitted} of {found.cards}")
        total[kind] = _Counts(*(sum(pair) for pair in zip(total[kind], found, strict=True)))
    print(f"{'index':18}  cards  accepted, usual window  fitted window  wrong")
    for kind, found in total.items():
        usual, fitted = (n / max(1, found.cards) for n in (found.usual, found.fitted))
        print(f"{kind:18}  {found.cards:5}  {usual:22.1%}  {fitted:13.1%}  {found.wrong:5}")
    return all(each.wrong == 0 and each.fitted >= each.usual for each in total.values())


def _measure_deck(seed: int, *, inset: bool) -> _Counts:
    chance = np.random.default_rng([7, seed])
    deck = make_deck(chance, inset=inset)

    def shown(card: Card, number: int) -> ShownCard:
        noise = np.random.default_rng([seed, number])
        face = draw_card(chance, deck, card.rank, card.suit)
        photo = arrange(np.random.default_rng([8, seed]), face).photograph(noise)
        width = float(np.linalg.norm(photo.quad[1] - photo.quad[0]))
        quad = photo.quad + noise.normal(0, _CORNER_ERROR * width, (4, 2))
        return ShownCard(card, "P1", photo.image, quad)

    recogniser = Recogniser()
    fit = fit_window(recogniser, [shown(card, n) for n, card in enumerate(_SHOWN)])
    others = [shown(card, len(_SHOWN) + n) for n, card in enumerate(_OTHERS)]
    accepted, wrong = [], 0
    for recogniser.window in (IndexWindow(), fit.window):
        read = [recogniser.read(each.image, each.quad.astype(np.float32)).card for each in others]
        accepted.append(sum(card is not None for card in read))
        wrong += sum(
            card not in {None, each.card} for card, each in zip(read, others, strict=True)
        )
    return _Counts(len(others), accepted[0], accepted[1], wrong)
