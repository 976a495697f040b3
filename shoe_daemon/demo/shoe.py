"""Options of the demo, and the shoe that follows from them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import CUT_BEHIND, Excess, Fault
from drivers.simulators.simulator import Simulator, find_simulator
from shoe_daemon.demo.supervisor import CARRIES
from shoe_daemon.errors import UserError
from shoe_daemon.game import House, IrregularityKind, Policy, find_house, find_policy

ANGEL_EYE: Final = "angel-eye-ii"

QUIET_S: Final = 3.0
"""Seconds at real pace: more than between two cards, less than between two rounds."""

OFTEN: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.NOISE)
"""Default faults."""

_WITHOUT_SLOTS: Final = (Fault.OVERDRAW, Fault.UNPLUG)
"""Faults after which the table knows the next round without slots and without a person."""

_MISDEALS: Final = frozenset({Fault.OVERDRAW, Fault.MISSED_DRAW})
_EARLY: Final = 3
_TRIES: Final = 100


class DemoSettings(Struct, frozen=True, kw_only=True):
    """
    Options of `shoe-daemon demo`, whose help describes them.

    Attributes:
        rounds: Number of rounds after those of `warm_up`; None until a signal, or to the end of
            the shoe where the reader does not report a new one.
        mode: The shoe reports faces at each draw, or with the result.
        seed: None for a random seed with an early misdeal.
        decide_after: Seconds that a person has for a decision.
        keep: None for a temporary folder.
    """

    rounds: int | None = None
    warm_up: int = 0
    driver: str = ANGEL_EYE
    speed: float = 2.0
    mode: Mode = Mode.OPEN
    house: str = "punto-banco"
    policy: str = "fr_2007"
    seed: int | None = None
    faults: tuple[Fault, ...] = OFTEN
    fault_rate: float = 0.25
    decide_after: float = 0.0
    port: int = 1883
    board_port: int = 8080
    camera: bool = False
    plain: bool = False
    debug: bool = False
    keep: Path | None = None


def house_of(settings: DemoSettings) -> House:
    """
    Load the house rules.

    Raises:
        UserError: The house is unknown, or does not deal whole shoes.
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
    """Configure the simulated shoe."""
    at_once = not settings.camera and not find_simulator(settings.driver).ends_in_silence
    warm_up = settings.warm_up if at_once else 0
    wanted = Settings(
        mode=settings.mode,
        decks=house.decks,
        rounds=None if settings.rounds is None else warm_up + settings.rounds,
        warm_up=warm_up,
        seed=settings.seed or 0,
        faults=settings.faults,
        fault_rate=settings.fault_rate,
        cut_behind=max(house.cut_card.position or CUT_BEHIND, CUT_BEHIND),
        last_rounds=min(house.cut_card.hands_after, 1),
        burn=house.burn,
        excess=_excess(find_policy(settings.policy), camera=settings.camera),
        make_good=True,
    )
    if not settings.camera and settings.driver != ANGEL_EYE:
        wanted = replace(wanted, shoes=1, excess=Excess.BURNED, make_good=False)
        if find_simulator(settings.driver).ends_in_silence:
            faults = tuple(fault for fault in _WITHOUT_SLOTS if fault in settings.faults)
            wanted = replace(wanted, faults=faults)
    return wanted if settings.seed is not None else _early_misdeal(wanted)


def simulator_of(settings: DemoSettings) -> type[Simulator]:
    """
    Return the simulated reader.

    Raises:
        UserError: It has no simulator, or the demo cannot show it in this way.
    """
    simulator = find_simulator(settings.driver)
    if simulator.ends_in_silence and not settings.speed:
        raise UserError(f"--speed 0: expected more: with {simulator.about}, silence ends a round")
    return simulator


def reader_options(settings: DemoSettings) -> dict[str, Any]:
    """
    Return the options of the driver.

    In the demo nothing is sent twice, and equal cards may follow each other faster than at a
    table: no time makes one a repeat of the other.
    """
    simulator = simulator_of(settings)
    needed = getattr(simulator, "demo_options", {})
    return {**needed, **dict.fromkeys(simulator.repeat_options, 0.0)}


def _excess(policy: Policy, *, camera: bool) -> Excess:
    """
    Choose what happens to an excess card: what the policy says. A card that a camera has
    read was exposed, and cannot become the first card of the next round.
    """
    if camera:
        return Excess.BURNED
    rulings = policy.rulings(IrregularityKind.EXCESS_CARD)
    return Excess.CARRIED if rulings and rulings[0].action in CARRIES else Excess.BURNED


def _early_misdeal(wanted: Settings) -> Settings:
    """Choose a seed whose second or third round after those at once is the first misdeal."""
    chosen = wanted
    for _ in range(_TRIES if wanted.fault_rate and _MISDEALS & set(wanted.faults) else 1):
        chosen = replace(wanted, seed=random.randrange(1_000_000))
        rounds = scenario(replace(chosen, rounds=wanted.warm_up + _EARLY)).rounds
        faults = [each.fault for each in rounds[wanted.warm_up :]]
        if faults[0] is None and next(filter(None, faults), None) in _MISDEALS:
            break
    return chosen
