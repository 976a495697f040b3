"""
What a person may wish of the demo, and the shoe that is dealt for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from drivers.simulators.angel_eye_scenario import Mode, Scene, Settings, scenario
from drivers.simulators.angel_eye_wire import Step
from drivers.simulators.simulated_shoe import CUT_BEHIND, Excess, Fault
from shoe_daemon.errors import UserError
from shoe_daemon.game import Action, House, IrregularityKind, Policy, find_house, find_policy

__all__ = ["OFTEN", "DemoSettings", "house_of", "shoe_of", "without_waiting"]

OFTEN: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.NOISE)
"""What goes wrong unless something else is wished for."""

_MISDEALS: Final = frozenset({Fault.OVERDRAW, Fault.MISSED_DRAW})
_EARLY: Final = range(2, 4)
_TRIES: Final = 500

_LONGEST_PAUSE: Final = 5.0
_BURNING: Final = 0.4
_TO_READ: Final = 5.0
"""Seconds more after an error of the shoe: people gather, and read what it says."""


class DemoSettings(Struct, frozen=True, kw_only=True):
    """
    What is shown, and how.

    Attributes:
        rounds: Ends after so many; None when it is told to.
        speed: Multiple of a real table's pace; 0 is as fast as it goes.
        mode: Whether the shoe tells faces at each draw, or with the result.
        house: One of `rules list`, or a file.
        policy: Whose procedure is proposed: one of `rules policy --list`, or a file.
        seed: The same seed deals the same; None leaves it to chance, but lets
            something go wrong early.
        faults: What may go wrong.
        fault_rate: The chance of each round that something does, 0 to 1.
        port: Where the broker is to listen.
        board: Whether a display for browsers is started, where it is installed.
        camera: Whether a simulated camera reads the cards, instead of the shoe.
        plain: Lines instead of a picture, on a terminal too.
        keep: The folder for the journal; None for one that is removed.
    """

    rounds: int | None = None
    speed: float = 2.0
    mode: Mode = Mode.OPEN
    house: str = "seven-feathers"
    policy: str = "us_nj_pa"
    seed: int | None = None
    faults: tuple[Fault, ...] = OFTEN
    fault_rate: float = 0.25
    port: int = 1883
    board: bool = True
    camera: bool = False
    plain: bool = False
    keep: Path | None = None


def house_of(settings: DemoSettings) -> House:
    """
    Find the house whose rules hold.

    Raises:
        UserError: There is none, or the simulated shoe cannot be dealt by its rules.
    """
    house = find_house(settings.house)
    if house.reshuffle != "per_shoe":
        when = house.reshuffle.replace("_", " ")
        raise UserError(
            f"--house {settings.house}: its cards are shuffled {when}, which the simulated shoe"
            " does not do; expected a house that deals whole shoes"
        )
    return house


def shoe_of(settings: DemoSettings, house: House) -> Settings:
    """
    Say how the simulated shoe is to be dealt.
    """
    wanted = Settings(
        mode=settings.mode,
        decks=house.decks,
        rounds=settings.rounds,
        seed=settings.seed or 0,
        faults=settings.faults,
        fault_rate=settings.fault_rate,
        cut_behind=max(house.cut_card.position or CUT_BEHIND, CUT_BEHIND),
        last_rounds=min(house.cut_card.hands_after, 1),
        excess=_excess(find_policy(settings.policy), camera=settings.camera),
        make_good=True,
    )
    return wanted if settings.seed is not None else _early_misdeal(wanted)


def _excess(policy: Policy, *, camera: bool) -> Excess:
    """
    Say what becomes of a card too many: what the policy would have done with it. One that
    a camera has read lay there for all to see, and is nobody's first card any more.
    """
    if camera:
        return Excess.BURNED
    rulings = policy.rulings(IrregularityKind.EXCESS_CARD)
    carried = {Action.CARRY_TO_NEXT_HAND, Action.CARRY_AS_DUMMY_HAND}
    return Excess.CARRIED if rulings and rulings[0].action in carried else Excess.BURNED


def _early_misdeal(wanted: Settings) -> Settings:
    """
    Choose a seed by which the second or third round is the first misdeal, if one can be.
    """
    chosen = wanted
    for _ in range(_TRIES if wanted.fault_rate and _MISDEALS & set(wanted.faults) else 1):
        chosen = replace(wanted, seed=random.randrange(1_000_000))
        rounds = scenario(replace(chosen, rounds=_EARLY.stop - 1)).rounds
        faults = [dealt for dealt in rounds if dealt.fault]
        if faults and faults[0].number in _EARLY and faults[0].fault in _MISDEALS:
            break
    return chosen


def without_waiting(scenes: Iterable[Scene]) -> Iterator[Scene]:
    """
    Shorten what is waited for at a real table, bets and burned cards, and leave
    more time to read what went wrong.
    """
    now = before = 0.0
    last: Step | None = None
    for scene in scenes:
        steps = []
        for step in scene.steps:
            now += _pause(step.at - before, last, burning=scene.round is None)
            before, last = step.at, step
            steps.append(replace(step, at=now))
        yield replace(scene, steps=tuple(steps))


def _pause(seconds: float, after: Step | None, *, burning: bool) -> float:
    if after is not None and after.report is not None and after.report.code == "E":
        return seconds + _TO_READ
    return seconds * _BURNING if burning else min(seconds, _LONGEST_PAUSE)
