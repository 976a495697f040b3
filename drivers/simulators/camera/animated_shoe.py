"""From a shoe's rounds to their animations."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec.structs import replace

from drivers.simulators import angel_eye as dealing
from drivers.simulators.camera.animated_round import AnimatedRound, Effect
from drivers.simulators.camera.dealing import TableDealing, ThroatDealing
from drivers.simulators.camera.settings import SHOE_FAULTS, SceneFault, Settings, Station
from drivers.simulators.camera.table_layout import PLACES, Point
from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.game import FOUR_CARDS

_DEALT_FAULTS: Final = {
    SceneFault.WRONG_PLACE,
    SceneFault.COVERED,
    SceneFault.DOUBLE_FEED,
    SceneFault.RETURNED,
}
"""Faults made by dealer and players; all others concern light and camera."""


def animated_rounds(settings: Settings) -> Iterator[AnimatedRound]:
    """Animate round after round; endlessly if neither `rounds` nor `shoes` is set."""
    fault_plan = _FaultPlan(settings)
    chance = Random(f"hands {settings.seed}")
    play = (TableDealing if settings.station is Station.OVERHEAD else ThroatDealing)(
        settings, chance
    )
    deck = 0
    for scene in dealing.scenes(_shoe(settings)):
        if scene.round is None:
            continue
        trouble = fault_plan.next(scene.round)
        if trouble is SceneFault.OTHER_DECK:
            deck += 1
        animation = play.round(scene.round, trouble if trouble in _DEALT_FAULTS else None)
        animation.trouble, animation.deck = trouble, deck
        if trouble is not None and trouble not in _DEALT_FAULTS:
            animation.effects += fault_plan.effects(trouble, animation.seconds)
        yield animation


def _shoe(settings: Settings) -> dealing.Settings:
    faults = tuple(Fault(each.value) for each in settings.faults if each in SHOE_FAULTS)
    share = len(faults) / len(settings.faults) if settings.faults else 0.0
    dealt = replace(settings, fault_rate=settings.fault_rate * share).dealing
    return dealing.Settings(mode=dealing.Mode.OPEN, faults=faults, **dealt)


class _FaultPlan:
    """Chooses the faults other than the dealer's."""

    def __init__(self, settings: Settings) -> None:
        self._chance = Random(f"camera {settings.seed}")
        self._own = [each for each in settings.faults if each not in SHOE_FAULTS]
        share = len(self._own) / len(settings.faults) if settings.faults else 0.0
        # The rate applies to all rounds, including those with a fault of the dealer.
        self._rate = settings.fault_rate * share
        self._waiting: list[SceneFault] = []

    def next(self, dealt: DealtRound) -> SceneFault | None:
        """Return the fault of this round."""
        if self._own and self._chance.random() < self._rate:
            self._waiting.append(self._chance.choice(self._own))
        if dealt.fault is not None:
            return SceneFault(dealt.fault.value)
        for trouble in self._waiting:
            if trouble is not SceneFault.WRONG_PLACE or len(dealt.cards) > FOUR_CARDS:
                self._waiting.remove(trouble)
                return trouble
        return None

    def effects(self, trouble: SceneFault, seconds: float) -> list[Effect]:
        """Choose time and place of a fault."""
        chance = self._chance
        since = chance.uniform(0.1, 0.6) * seconds
        match trouble:
            case SceneFault.STOPPED | SceneFault.BLACK:
                until = since + chance.uniform(2, 6)
            case SceneFault.FROZEN:
                until = since + 6
            case SceneFault.DAMAGED:
                until = since + chance.uniform(0.3, 1.5)
            case SceneFault.FLICKER:
                since, until = 0.0, seconds
            case _:
                until = seconds
        return [Effect(trouble, since, until, self._where(trouble))]

    def _where(self, trouble: SceneFault) -> Point:
        chance = self._chance
        if trouble in {SceneFault.GLARE, SceneFault.SHADOW}:
            box = PLACES[chance.choice(list(PLACES))]
            return box.x + chance.uniform(-25, 25), box.y + chance.uniform(-35, 35)
        far = {SceneFault.BUMP: 5.0, SceneFault.KNOCK: 50.0}.get(trouble, 1.0)
        x = chance.uniform(-far, far)
        return x, chance.choice([-1, 1]) * (far**2 - x**2) ** 0.5
