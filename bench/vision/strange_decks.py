"""
`python -m bench.vision.strange_decks`: how often a card of a strange deck gets a wrong name.

Prints for each kind of card how many were right, accepted, and accepted with a wrong name; for
each threshold the wrong names of readable cards and the names of cards that have none; and how
many cards without a name get one from a place of the table within many looks.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import cv2
import numpy as np

from bench.vision.strange_cards import (
    EMBLEMS,
    FOREIGN_RANKS,
    Chance,
    arrange,
    cover_halves,
    draw_card,
    make_deck,
    overlap,
)
from calibration.training.parallel import together
from drivers.camera.image import Image
from drivers.camera.recognition.card_reader import Sighting, SightingKind
from drivers.camera.recognition.recogniser import CardReading, Recogniser
from drivers.camera.stations.slot_tracker import SlotChange, SlotTracker
from shoe_daemon.game import DECK, RANKS, SUITS, Card

READABLE: Final = ("figures", "inset", "four-colours")
COVERED: Final = ("half-covered", "half-covered, other end hidden", "overlap")
NAMELESS: Final = ("foreign letters", "emblems")
KINDS: Final = READABLE + COVERED + NAMELESS

_THRESHOLDS: Final = (0.9, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995)
_SHARD: Final = 250
_LOOK_INTERVAL_S: Final = 0.15


class Read(NamedTuple):
    """
    A card that was read once.

    Attributes:
        kind: One of `KINDS`.
        truth: Its name; None where it has none.
        printed: Rank and suit or emblem as printed.
        over: Name of the card that lies over it, if any.
        best: The most likely card.
        accepted_up_to: The highest threshold at which it gets that name, however bad the picture.
        accepted: It reached the threshold, and the picture was clear.
    """

    kind: str
    truth: Card | None
    printed: str
    over: Card | None
    best: Card
    accepted_up_to: float
    accepted: bool


class Drawn(NamedTuple):
    """
    A card that was drawn.

    Attributes:
        face: Its picture.
        truth, printed, over: See `Read`.
    """

    face: Image
    truth: Card | None
    printed: str
    over: Card | None


def draw(chance: Chance, kind: str) -> Drawn:
    """Draw a card of a kind."""
    deck = make_deck(chance, inset=kind == "inset", four_colours=kind == "four-colours")
    card = DECK[int(chance.integers(len(DECK)))]
    rank, pip = card.rank, card.suit
    if kind == "foreign letters":
        rank = str(chance.choice(FOREIGN_RANKS))
    elif kind == "emblems":
        pip = str(chance.choice(EMBLEMS))
    face, over = draw_card(chance, deck, rank, pip), None
    if kind.startswith("half-covered"):
        face = cover_halves(chance, face, deck, other_end=kind == "half-covered")
    elif kind == "overlap":
        over = Card(str(chance.choice(RANKS)) + str(chance.choice(SUITS)))
        face = overlap(chance, face, draw_card(chance, deck, over.rank, over.suit))
    return Drawn(face, None if kind in NAMELESS else card, f"{rank}-{pip}", over)


def read_shard(weights: Path | None, seed: int, kind: str, count: int) -> list[Read]:
    """Draw, photograph and read cards of a kind."""
    cv2.setNumThreads(1)
    recogniser, chance = Recogniser(weights), np.random.default_rng([seed, KINDS.index(kind)])
    found = []
    for _ in range(count):
        drawn = draw(chance, kind)
        photo = arrange(chance, drawn.face).photograph(chance)
        reading = recogniser.read(photo.image, photo.quad)
        found.append(
            Read(
                kind,
                drawn.truth,
                drawn.printed,
                drawn.over,
                reading.best,
                reading.accepted_up_to,
                reading.card is not None,
            )
        )
    return found


class Looks(NamedTuple):
    """
    Many looks at one card.

    Attributes:
        number: How many.
        grain: The most grey values by which noise moves a pixel (sigma).
    """

    number: int
    grain: float


class Named(NamedTuple):
    """
    The end of many looks at one card.

    Attributes:
        kind: One of `KINDS`.
        truth: Its name; None where it has none.
        printed: Rank and suit or emblem as printed.
        card: The name it got; None where it got none.
        looks: The number of looks until then.
    """

    kind: str
    truth: Card | None
    printed: str
    card: Card | None
    looks: int


def look_shard(
    weights: Path | None, seed: int, kind: str, count: int, looks: Looks
) -> list[Named]:
    """Look at cards of a kind many times, as at a place of a table."""
    cv2.setNumThreads(1)
    recogniser, chance = Recogniser(weights), np.random.default_rng([seed, 99, KINDS.index(kind)])
    found = []
    for _ in range(count):
        drawn = draw(chance, kind)
        card, number = _looked_at(recogniser, chance, drawn.face, looks)
        found.append(Named(kind, drawn.truth, drawn.printed, card, number))
    return found


def _looked_at(
    recogniser: Recogniser, chance: Chance, face: Image, looks: Looks
) -> tuple[Card | None, int]:
    place = SlotTracker(recogniser.threshold)
    place.update(SlotChange(0.9, 0.0), 0.0)
    arrangement = arrange(chance, face, grain=looks.grain)
    for look in range(1, looks.number + 1):
        photo = arrangement.photograph(np.random.default_rng(look))
        at = look * _LOOK_INTERVAL_S
        place.update(SlotChange(0.9, 0.0), at)
        seen = place.add_sighting(_sighting(recogniser.read(photo.image, photo.quad)), at)
        if seen is not None and seen.kind is SightingKind.FACE:
            return seen.card, look
    return None, looks.number


def _sighting(reading: CardReading) -> Sighting:
    kind = SightingKind.UNSURE if reading.card is None else SightingKind.FACE
    ends = tuple(end.believed for end in reading.ends) if reading.is_clear else ()
    return Sighting(kind, reading.card, reading.best, reading.confidence, ends=ends)


def _print_kinds(reads: list[Read]) -> None:
    print(f"{'kind':31} cards  most likely right  accepted  wrong among them")
    for kind in KINDS:
        cards = [each for each in reads if each.kind == kind]
        if not cards:
            continue
        right = sum(each.best is each.truth for each in cards) / len(cards)
        accepted = [each for each in cards if each.accepted]
        wrong = [each for each in accepted if each.best is not each.truth]
        likely = "                -" if kind in NAMELESS else f"{right:17.1%}"
        print(
            f"{kind:31} {len(cards):5}  {likely}  {len(accepted) / len(cards):8.1%}  {len(wrong)}"
        )
        if upper := sum(each.best is each.over for each in wrong):
            print(f"    {upper} x the name of the card over it")
        names = Counter(f"{each.printed} as {each.best}" for each in wrong)
        for name, count in names.most_common(6):
            print(f"    {count} x {name}")


def _print_curve(reads: list[Read]) -> None:
    print("\nthreshold  accepted of readable  wrong  named of covered wrongly  named of nameless")
    readable, covered, nameless = (
        [each for each in reads if each.kind in kinds] for kinds in (READABLE, COVERED, NAMELESS)
    )
    for threshold in _THRESHOLDS:
        accepted = [each for each in readable if each.accepted_up_to >= threshold]
        wrong, mistaken = (
            sum(each.best is not each.truth for each in group if each.accepted_up_to >= threshold)
            for group in (readable, covered)
        )
        named = sum(each.accepted_up_to >= threshold for each in nameless)
        share = len(accepted) / max(1, len(readable))
        print(f"{threshold:9}  {share:20.1%}  {wrong:5}  {mistaken:24}  {named:17}")


def _print_looks(ends: list[Named], looks: Looks) -> None:
    print(f"\n{looks.number} looks at each card with noise up to {looks.grain:g}")
    print(f"{'kind':31} cards  named rightly  named wrongly")
    for kind in KINDS:
        cards = [each for each in ends if each.kind == kind]
        named = [each for each in cards if each.card is not None]
        wrong = [each for each in named if each.card is not each.truth]
        print(f"{kind:31} {len(cards):5}  {len(named) - len(wrong):13}  {len(wrong):13}")
        for each in wrong:
            print(f"    {each.printed} as {each.card} after {each.looks} looks")


def _shards(cards: int, kinds: Sequence[str], first_seed: int) -> list[tuple[int, str, int]]:
    each = cards // len(kinds)
    sizes = [min(_SHARD, each - start) for start in range(0, each, _SHARD)]
    return [(seed, kind, size) for kind in kinds for seed, size in enumerate(sizes, first_seed)]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=30_000, help="cards that are read once")
    parser.add_argument(
        "--often", type=int, default=40, help="cards of a kind that are read often"
    )
    parser.add_argument("--looks", type=int, default=60, help="looks at each of them")
    parser.add_argument("--grain", type=float, default=12.0, help="noise of these looks (sigma)")
    parser.add_argument("--kinds", choices=KINDS, nargs="*", default=KINDS, help="only these")
    parser.add_argument("--seed", type=int, default=0, help="the first; each draws 250 cards")
    parser.add_argument("--weights", type=Path, help="other weights than those of the package")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    shards = _shards(given.cards, given.kinds, given.seed)
    parts = together(partial(read_shard, given.weights), shards, given.jobs)
    reads = [each for part in parts for each in part]
    _print_kinds(reads)
    _print_curve(reads)
    if not given.often:
        return
    wanted = Looks(given.looks, given.grain)
    often = _shards(given.often * len(given.kinds), given.kinds, given.seed)
    looks = [(*shard, wanted) for shard in often]
    ends = together(partial(look_shard, given.weights), looks, given.jobs)
    _print_looks([each for part in ends for each in part], wanted)


if __name__ == "__main__":
    main()
