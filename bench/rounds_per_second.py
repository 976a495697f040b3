"""
Rounds per second through the table, and through the drawing rules alone: `python -m
bench.rounds_per_second`.

Three measurements, alternating over the same eight-deck shoes in one run:

- the tableau: the next draw after each card, and the comparison of the hands;
- the table: the observations of an open-mode shoe with slots, folded into events;
- the table, with all events encoded as for journal and MQTT.

Times are processor times of this process, so other programs matter little.

Aim: at least 20,000 rounds per second through the table.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

from msgspec.structs import replace

from shoe_daemon.game import DECK, Card, Coup, Slot
from shoe_daemon.table import Table, encode_event, from_microseconds
from shoe_daemon.table import observations as seen

AIM: Final = 20_000
_DECKS: Final = 8
_CUT: Final = 16
_SECOND: Final = 1_000_000


def rounds(shoe: list[Card]) -> Iterator[tuple[Coup, list[Card]]]:
    """Deal a shoe down to the cut card, round by round."""
    place = 0
    while place < len(shoe) - _CUT:
        coup = Coup.deal(shoe[place : place + 6])
        used = len(coup.player.cards) + len(coup.banker.cards)
        yield coup, shoe[place : place + used]
        place += used


def observations_of(coup: Coup, cards: list[Card]) -> Iterator[seen.Observation]:
    """Yield the observations of one round."""
    places = [Slot.P1, Slot.B1, Slot.P2, Slot.B2]
    places += [Slot.P3] * (len(coup.player.cards) > 2) + [Slot.B3] * (len(coup.banker.cards) > 2)
    for card, place in zip(cards, places, strict=True):
        yield seen.CardDrawn(card=card, slot=place)
    yield seen.Result(outcome=coup.outcome.value)


def log(shoes: list[list[Card]]) -> list[seen.Observation]:
    """Return the observations of many shoes, one second apart."""
    observations: list[seen.Observation] = []
    for shoe in shoes:
        observations.append(seen.Command(name="new_shoe"))
        for coup, cards in rounds(shoe):
            observations += observations_of(coup, cards)
    return [
        replace(each, at=from_microseconds(number * _SECOND))
        for number, each in enumerate(observations)
    ]


def rate(work: Callable[[], int], count: int) -> float:
    """Run the work once; return rounds per second."""
    before = time.process_time()
    assert work() >= count  # noqa: S101 - what is measured has been done
    return count / (time.process_time() - before)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shoes", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    shoes = [dice.sample(DECK * _DECKS, len(DECK) * _DECKS) for _ in range(options.shoes)]
    observations = log(shoes)
    count = sum(1 for shoe in shoes for _ in rounds(shoe))

    def tableau() -> int:
        return sum(1 for shoe in shoes for _ in rounds(shoe))

    def table() -> int:
        fold = Table()
        return sum(len(fold.apply(each)) for each in observations)

    def written() -> int:
        fold = Table()
        return sum(len(encode_event(e)) for each in observations for e in fold.apply(each))

    print(f"{count} rounds of {options.shoes} shoes, {options.repeat} times each")
    ways = {"tableau alone": tableau, "whole table": table, "table and encoding": written}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.repeat):
        for name, work in ways.items():
            rates[name].append(rate(work, count))
    for name, each in rates.items():
        print(f"{name:>18}  {median(each):,.0f} [{min(each):,.0f} to {max(each):,.0f}] rounds/s")
    best = {name: max(each) for name, each in rates.items()}
    ratio = best["tableau alone"] / best["whole table"]
    print(f"the whole table costs {ratio:.1f} times the tableau; aim: {AIM} rounds/s or more")


if __name__ == "__main__":
    main()
