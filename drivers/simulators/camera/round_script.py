"""From a shoe's rounds to stretches of play: the same rounds that the other simulators deal."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from drivers.simulators import angel_eye_scenario as dealing
from drivers.simulators.camera.round_animation import Effect, Stretch
from drivers.simulators.camera.scene_settings import SHOE_FAULTS, Settings, Station, Trouble
from drivers.simulators.camera.table_dealing import TablePlay
from drivers.simulators.camera.table_layout import PLACES
from drivers.simulators.camera.throat_dealing import MouthPlay
from drivers.simulators.simulated_shoe import DealtRound

__all__ = ["stretches"]

_BY_FAULT: Final = {fault: trouble for trouble, fault in SHOE_FAULTS.items()}
_ACTED: Final = {
    Trouble.WRONG_PLACE,
    Trouble.COVERED,
    Trouble.DOUBLE_FEED,
    Trouble.RETURNED,
}
"""Troubles that dealer and players make; the rest happens to light and camera."""

_FULL_HAND: Final = 4


def stretches(settings: Settings) -> Iterator[Stretch]:
    """Play, round after round, for ever where neither `rounds` nor `shoes` is set."""
    mischief = _Mischief(settings)
    chance = Random(f"hands {settings.seed}")
    play = (TablePlay if settings.station is Station.OVERHEAD else MouthPlay)(settings, chance)
    deck = 0
    for scene in dealing.scenes(_shoe(settings)):
        if scene.round is None:
            continue
        trouble = mischief.next(scene.round)
        if trouble is Trouble.OTHER_DECK:
            deck += 1
        stretch = play.round(scene.round, trouble if trouble in _ACTED else None)
        stretch.trouble, stretch.deck = trouble, deck
        if trouble is not None and trouble not in _ACTED:
            stretch.effects += mischief.effects(trouble, stretch.seconds)
        yield stretch


def _shoe(settings: Settings) -> dealing.Settings:
    faults = tuple(SHOE_FAULTS[each] for each in settings.troubles if each in SHOE_FAULTS)
    share = len(faults) / len(settings.troubles) if settings.troubles else 0.0
    return dealing.Settings(
        mode=dealing.Mode.OPEN,
        decks=settings.decks,
        rounds=settings.rounds,
        shoes=settings.shoes,
        seed=settings.seed,
        faults=faults,
        fault_rate=settings.trouble_rate * share,
        excess=settings.excess,
        make_good=settings.make_good,
        cut_behind=settings.cut_behind,
        last_rounds=settings.last_rounds,
    )


class _Mischief:
    """What goes wrong, beside what the dealer does."""

    def __init__(self, settings: Settings) -> None:
        self._chance = Random(f"camera {settings.seed}")
        self._own = [each for each in settings.troubles if each not in SHOE_FAULTS]
        share = len(self._own) / len(settings.troubles) if settings.troubles else 0.0
        # The chance is of the rounds; those with a fault of the dealer's have theirs.
        self._rate = settings.trouble_rate * share
        self._waiting: list[Trouble] = []

    def next(self, dealt: DealtRound) -> Trouble | None:
        """Say what is wrong with this round."""
        if self._own and self._chance.random() < self._rate:
            self._waiting.append(self._chance.choice(self._own))
        if dealt.fault is not None:
            return _BY_FAULT[dealt.fault]
        for trouble in self._waiting:
            if trouble is not Trouble.WRONG_PLACE or len(dealt.cards) > _FULL_HAND:
                self._waiting.remove(trouble)
                return trouble
        return None

    def effects(self, trouble: Trouble, seconds: float) -> list[Effect]:
        """Say when it is and where."""
        chance = self._chance
        since = chance.uniform(0.1, 0.6) * seconds
        match trouble:
            case Trouble.STOPPED | Trouble.BLACK:
                until = since + chance.uniform(2, 6)
            case Trouble.FROZEN:
                until = since + 6
            case Trouble.DAMAGED:
                until = since + chance.uniform(0.3, 1.5)
            case Trouble.FLICKER:
                since, until = 0.0, seconds
            case _:
                until = seconds
        return [Effect(trouble, since, until, self._where(trouble))]

    def _where(self, trouble: Trouble) -> tuple[float, float]:
        chance = self._chance
        if trouble in {Trouble.GLARE, Trouble.SHADOW}:
            box = PLACES[chance.choice(list(PLACES))]
            return box.x + chance.uniform(-25, 25), box.y + chance.uniform(-35, 35)
        far = {Trouble.BUMP: 5.0, Trouble.KNOCK: 50.0}.get(trouble, 1.0)
        return _way(chance, far)


def _way(chance: Random, far: float) -> tuple[float, float]:
    x = chance.uniform(-far, far)
    return x, chance.choice([-1, 1]) * (far**2 - x**2) ** 0.5
