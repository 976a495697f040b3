"""Cards accepted with the default index window, and with the one fitted to the deck."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bench.vision.strange_card_drawing import arrange, draw_card, make_deck
from calibration.camera.reading_settings_from_shown_cards import ShownCard, fit_window
from drivers.camera.profile.camera_profile import IndexWindow
from drivers.camera.recognition.corner_index_reader import Recogniser
from shoe_daemon.game import DECK, RANKS, SUITS, Card

__all__ = ["measure_window"]

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
