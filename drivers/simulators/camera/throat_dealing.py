"""Animation of cards leaving the shoe, one after the other, each within a fraction of a second."""

from __future__ import annotations

from random import Random
from typing import Final

from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    CardTrack,
    Effect,
    Key,
    Pose,
)
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.camera.table_layout import CARD, THROAT_SIZE
from drivers.simulators.simulated_shoe import DealtRound, Fault
from shoe_daemon.game import FOUR_CARDS, Card, Slot

_TRAVEL_MM: Final = THROAT_SIZE[0] / 2 + CARD[1] / 2 + 6


class ThroatDealing:
    """The dealer's finger, drawing card after card."""

    def __init__(self, settings: Settings, chance: Random) -> None:
        self._chance = chance
        self._pause = settings.pause
        self._animation = AnimatedRound(0)
        self._now = 0.0
        self._carried = False

    def round(self, dealt: DealtRound, trouble: SceneFault | None) -> AnimatedRound:
        """Draw all cards of one round."""
        self._animation = animation = AnimatedRound(dealt.shoe, dealt)
        self._now = 0.4 + self._pause * 8
        cards = list(dealt.cards)[1 if self._carried else 0 :]
        odd = self._chance.randrange(len(cards)) if cards else -1
        self._carried = dealt.carried
        unreadable = odd if dealt.fault is Fault.UNREADABLE else -1
        early = odd if trouble is SceneFault.RETURNED else -1
        pair = min(odd, len(cards) - 2) if trouble is SceneFault.DOUBLE_FEED else -1
        for number, (slot, card) in enumerate(cards):
            if dealt.made_good and number == FOUR_CARDS:
                self._animation.gates.append(self._now)
            if number == early:
                self._push_back(slot, card)
            self._pull(slot, card, hurried=number == unreadable, joined=number == pair)
        if dealt.excess is not None:
            self._pull(None, dealt.excess)
        if dealt.fault is not None:
            self._animation.gates.append(self._now)
        self._now += 0.4 + self._pause * 4
        animation.seconds = self._now
        return animation

    def _pull(
        self, slot: Slot | None, card: Card, *, hurried: bool = False, joined: bool = False
    ) -> None:
        chance = self._chance
        seconds = 0.07 if hurried else chance.uniform(0.28, 0.42)
        inside, outside = self._ends()
        track = CardTrack([Key(self._now, inside)], card, slot, stays=False)
        track.move(self._now, seconds, outside)
        self._animation.cards.append(track)
        if hurried:
            # Too fast for a sharp picture.
            effect = Effect(SceneFault.UNREADABLE, self._now - 0.02, self._now + seconds + 0.02)
            self._animation.effects.append(effect)
        if joined:
            # The next card follows before this card is out.
            self._now += seconds * chance.uniform(0.06, 0.14)
            return
        self._now += seconds + chance.uniform(0.45, 0.7) + self._pause * 0.4

    def _push_back(self, slot: Slot, card: Card) -> None:
        chance = self._chance
        inside, outside = self._ends()
        share = chance.uniform(0.40, 0.60)
        half = inside._replace(x=inside.x + (outside.x - inside.x) * share)
        track = CardTrack([Key(self._now, inside)], card, slot, stays=False)
        track.move(self._now, 0.25, half)
        track.move(self._now + 0.4, 0.3, inside)
        self._animation.cards.append(track)
        self._now += 1.3

    def _ends(self) -> tuple[Pose, Pose]:
        chance = self._chance
        y = max(-1.5, min(1.5, chance.gauss(0, 0.7)))
        heading = 90 + max(-2.5, min(2.5, chance.gauss(0, 0.9))) + 180 * chance.randrange(2)
        inside = Pose(-_TRAVEL_MM, y, 0.0, heading, FACE)
        return inside, inside._replace(x=_TRAVEL_MM, y=y + chance.uniform(-0.6, 0.6))
