"""
Share of dealer and reader faults that a table detects: `python -m bench.fault_detection`.

Rounds from shuffled eight-deck shoes at every depth, each dealt at a table of its own with one
fault (`--rounds N` per fault) and with its boundaries (no more bets, betting open). Four set-ups,
each including the previous one:

- boundary: the cards in drawing order, without slots;
- result: the dealer's button declares the winner of the cards on the table;
- inventory: at the end of the shoe, the cards read plus the rest counted by hand are compared
  with the decks;
- camera: a second source reports the true card and slot after each draw.

`at once`: an irregularity in the same round; `later`: at the end of the shoe; missed faults have
the right or a wrong winner published. A card read more often than the decks hold it counts as
inventory. Rounds without a fault are dealt too; none may raise an irregularity. In brackets: the
share detected by the drawing rules and boundaries in an independent simulation of 400,000 rounds
per fault.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import Final, NamedTuple

from shoe_daemon.game import DEALING_ORDER, DECK, Card, Coup, IrregularityKind, Slot
from shoe_daemon.report.shoe import compose
from shoe_daemon.table import (
    Event,
    Irregularity,
    Options,
    RoundEnd,
    RoundFinished,
    StaffComposition,
    Table,
    TableState,
    from_microseconds,
)
from shoe_daemon.table import observations as seen
from shoe_daemon.table.shoe_state import ShoeState

DECKS: Final = 8
BEHIND: Final = 14
"""Cards behind the cut card."""

SESSION: Final = seen.Session(options=Options(round_end=RoundEnd.BUTTON))
MOMENTS: Final = [from_microseconds(1_795_291_200_000_000 + n * 700_000) for n in range(40)]
SETUPS: Final = ("boundary", "+ result", "+ inventory", "+ camera")
ENDS: Final = ("at once", "later", "right winner", "wrong winner")


class Step(NamedTuple):
    """One card drawn: the reader's report, and the true card and slot."""

    card: Card
    reads: tuple[Card, ...]
    place: Slot | None


class Trial(NamedTuple):
    """
    One round with one fault.

    Attributes:
        before: Copies of each card drawn earlier in the shoe.
        outcome: The outcome of the cards on the table.
    """

    steps: list[Step]
    before: list[int]
    outcome: str


def lawful(cards: list[Card]) -> list[Step]:
    """Deal one round from these cards, read correctly."""
    coup = Coup.deal(cards)
    places = list(DEALING_ORDER[:4])
    places += [Slot.P3] * (len(coup.player.cards) > 2) + [Slot.B3] * (len(coup.banker.cards) > 2)
    return [Step(card, (card,), place) for card, place in zip(cards, places, strict=False)]


def no_fault(_dice: Random, steps: list[Step], _following: Card) -> list[Step]:
    return steps


def excess(_dice: Random, steps: list[Step], following: Card) -> list[Step]:
    return [*steps, Step(following, (following,), None)]


def not_dealt(_dice: Random, steps: list[Step], _following: Card) -> list[Step] | None:
    return steps[:-1] if len(steps) > 4 else None


def not_read(dice: Random, steps: list[Step], _following: Card) -> list[Step]:
    return _reading(dice.randrange(len(steps)), steps, lambda _card: ())


def read_twice(dice: Random, steps: list[Step], _following: Card) -> list[Step]:
    return _reading(dice.randrange(len(steps)), steps, lambda card: (card, card))


def value_misread(dice: Random, steps: list[Step], _following: Card) -> list[Step]:
    def other(card: Card) -> tuple[Card, ...]:
        return (dice.choice([each for each in DECK if each.points != card.points]),)

    return _reading(dice.randrange(len(steps)), steps, other)


def face_misread(dice: Random, steps: list[Step], _following: Card) -> list[Step]:
    def other(card: Card) -> tuple[Card, ...]:
        alike = [each for each in DECK if each.points == card.points and each is not card]
        return (dice.choice(alike),)

    return _reading(dice.randrange(len(steps)), steps, other)


def swapped(dice: Random, steps: list[Step], _following: Card) -> list[Step] | None:
    at = dice.randrange(3)
    one, other = steps[at], steps[at + 1]
    if one.card.points == other.card.points:
        return None
    # The dealer swaps the two cards. The following draws depend on the cards as placed.
    return [*steps[:at], other, one, *steps[at + 2 :]]


def _reading(at: int, steps: list[Step], reads: Callable[[Card], tuple[Card, ...]]) -> list[Step]:
    wrong = steps[at]._replace(reads=reads(steps[at].card))
    return [*steps[:at], wrong, *steps[at + 1 :]]


class Fault(NamedTuple):
    """A fault, and the percentage detected by the drawing rules in the independent simulation."""

    name: str
    put_into: Callable[[Random, list[Step], Card], list[Step] | None]
    elsewhere: str


FAULTS: Final = (
    Fault("one excess card", excess, "100"),
    Fault("final card not dealt", not_dealt, "100"),
    Fault("one card not read", not_read, "85.4"),
    Fault("one card read twice", read_twice, "86.5"),
    Fault("one value misread", value_misread, "41.0"),
    Fault("neighbours swapped", swapped, "63.3"),
    Fault("face misread, same value", face_misread, ""),
    Fault("no fault at all", no_fault, ""),
)


def trials(fault: Fault, seed: str, rounds: int) -> Iterator[Trial]:
    """Deal rounds with this fault, at every depth of many shoes."""
    dice = Random(seed)
    while rounds:
        shoe, at = dice.sample(DECK * DECKS, len(DECK) * DECKS), 0
        before = [0] * len(DECK)
        while rounds and at < len(shoe) - BEHIND:
            right = lawful(shoe[at : at + 6])
            steps = fault.put_into(dice, right, shoe[at + len(right)])
            if steps is not None:
                yield Trial(steps, before.copy(), outcome_of(steps))
                rounds -= 1
            for step in right:
                before[step.card.index] += 1
            at += len(right)


def outcome_of(steps: list[Step]) -> str:
    """Return the winner of the cards on the table."""
    points = [
        sum(step.card.points for step in steps if step.place and step.place.value[0] == hand) % 10
        for hand in "PB"
    ]
    return "tie" if points[0] == points[1] else "player" if points[0] > points[1] else "banker"


def observations_of(trial: Trial, *, result: bool, camera: bool) -> Iterator[seen.Observation]:
    """Yield the observations of a round."""
    moment = iter(MOMENTS)
    yield seen.NoMoreBets(at=next(moment))
    for step in trial.steps:
        for card in step.reads:
            yield seen.CardDrawn(at=next(moment), source="shoe", card=card)
        if camera and step.place is not None:
            yield seen.Placed(at=next(moment), source="camera", slot=step.place, card=step.card)
    if result:
        yield seen.Result(at=next(moment), source="button", outcome=trial.outcome)
    yield seen.BettingOpen(at=next(moment))


def deal(
    trial: Trial, *, result: bool = False, inventory: bool = False, camera: bool = False
) -> tuple[str, Table]:
    """Deal one round in the middle of a shoe; return how it ended."""
    shoe = ShoeState(
        1, DECKS, MOMENTS[0], seen=trial.before.copy(), out=sum(trial.before), begun=1
    )
    table = Table(TableState(session=SESSION, shoes=1, shoe=shoe, betting="open", placing=False))
    events: list[Event] = []
    for observation in observations_of(trial, result=result, camera=camera):
        events += table.apply(observation)
    kinds = {event.data.kind for event in events if isinstance(event.data, Irregularity)}
    if kinds - (set() if inventory else {IrregularityKind.DUPLICATE_CARD}):
        return "at once", table
    finished = [event.data for event in events if isinstance(event.data, RoundFinished)]
    right = bool(finished) and finished[-1].outcome == trial.outcome
    return "right winner" if right else "wrong winner", table


def counted(trial: Trial, end: str, table: Table) -> str:
    """Return the result of the inventory at the end of the shoe."""
    shoe = table.state.shoe
    if end == "at once" or shoe is None:
        return end
    gone = Counter(step.card for step in trial.steps)
    rest = {card: DECKS - trial.before[card.index] - gone[card] for card in DECK}
    read = {str(card): shoe.seen[card.index] + rest[card] for card in DECK}
    unread = max(DECKS * len(DECK) - sum(read.values()), 0)
    whole = compose(DECKS, None, (), StaffComposition(read, unread))
    return "later" if whole.missing or whole.surplus else end


def measure(job: tuple[int, str, int]) -> tuple[int, dict[str, Counter[str]]]:
    """Deal rounds with one fault in every set-up, and count how they end."""
    number, seed, rounds = job
    ends: dict[str, Counter[str]] = {setup: Counter() for setup in SETUPS}
    for trial in trials(FAULTS[number], seed, rounds):
        ends[SETUPS[0]][deal(trial)[0]] += 1
        ends[SETUPS[1]][deal(trial, result=True)[0]] += 1
        known = deal(trial, result=True, inventory=True)
        ends[SETUPS[2]][counted(trial, *known)] += 1
        seen_too = deal(trial, result=True, inventory=True, camera=True)
        ends[SETUPS[3]][counted(trial, *seen_too)] += 1
    return number, ends


def measured(rounds: int, seed: int, processes: int | None) -> list[dict[str, Counter[str]]]:
    """Measure all faults on several processor cores."""
    pieces = 4
    jobs = [
        (number, f"{seed} {number} {piece}", (rounds + piece) // pieces)
        for number in range(len(FAULTS))
        for piece in range(pieces)
    ]
    ends = [{setup: Counter[str]() for setup in SETUPS} for _ in FAULTS]
    with ProcessPoolExecutor(processes) as pool:
        for number, found in pool.map(measure, jobs):
            for setup, counts in found.items():
                ends[number][setup] += counts
    return ends


def report(ends: list[dict[str, Counter[str]]], rounds: int) -> Iterator[str]:
    """Format the table."""
    yield f"{'':<26}{'':<13}" + "".join(f"{end:>19}" for end in ENDS)
    for fault, found in zip(FAULTS, ends, strict=True):
        for setup in SETUPS:
            name = fault.name if setup == SETUPS[0] else ""
            cells = "".join(
                f"{found[setup][end]:>10,}{100 * found[setup][end] / rounds:>7.2f} %"
                for end in ENDS
            )
            beside = f"   ({fault.elsewhere} %)" if name and fault.elsewhere else ""
            yield f"{name:<26}{setup:<13}{cells}{beside}"
    yield ""
    yield from (f"{'holds' if not missed else 'DOES NOT HOLD':<15}{aim}: {missed:,} fail"
                for aim, missed in aims(ends))  # fmt: skip


def aims(ends: list[dict[str, Counter[str]]]) -> Iterator[tuple[str, int]]:
    """Yield each aim with the number of rounds that fail it."""
    missed = ("right winner", "wrong winner")
    first = sum(
        ends[number][setup][end] for number in (0, 1) for setup in SETUPS for end in missed
    )
    yield "every excess and every missing card is caught", first
    alarms = sum(ends[-1][setup][end] for setup in SETUPS for end in ("at once", "later"))
    yield "no round without a fault is called faulty", alarms
    silent = sum(found[setup]["wrong winner"] for found in ends for setup in SETUPS[1:])
    yield "with a result button no wrong winner passes in silence", silent
    misread = sum(ends[number][setup][end] for number in (4, 6) for setup in SETUPS[2:]
                  for end in missed)  # fmt: skip
    yield "with inventory every misread face is known by the end of the shoe", misread


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100_000, help="a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=None, help="all cores where not given")
    options = parser.parse_args()
    start = time.perf_counter()
    ends = measured(options.rounds, options.seed, options.processes)
    print(f"{options.rounds:,} rounds a fault, {DECKS} decks; in brackets the rules alone")
    print("\n".join(report(ends, options.rounds)))
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
