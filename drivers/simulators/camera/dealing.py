"""
Animation of a round.

On the table hands deal, turn over, squeeze and collect cards. At the throat cards leave the shoe
one after the other, each within a fraction of a second.
"""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec.structs import replace

from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    Bet,
    CardTrack,
    Effect,
    HandTrack,
    Key,
    Pose,
)
from drivers.simulators.camera.hands import Grip
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.camera.table_layout import CARD, DISCARD, PLACES, SHOE, THROAT_SIZE, Point
from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.game import FOUR_CARDS, Card, Slot

_DEALER: Final = 0
_PLAYERS: Final = (3, 4, 5, 6, 7, 8)
_OFF_TABLE_MM: Final = 420.0
_EXCESS_PLACE: Final[Point] = (255.0, 96.0)
"""Place of an excess card if all places are taken."""

_SLIDE_S, _FLIP_S, _LEAVE_S = 0.5, 0.36, 0.42
_TRAVEL_MM: Final = THROAT_SIZE[0] / 2 + CARD[1] / 2 + 6
"""Way of a card through the throat."""


class TableDealing:
    """Dealer and players at one table."""

    def __init__(self, settings: Settings, chance: Random) -> None:
        self._settings = settings
        self._chance = chance
        self._pause = settings.pause
        self._carried: CardTrack | None = None
        self._animation = AnimatedRound(0)
        self._now = 0.0

    def round(self, dealt: DealtRound, trouble: SceneFault | None) -> AnimatedRound:
        """Animate one round until the table is empty again."""
        chance = self._chance
        self._animation = animation = AnimatedRound(dealt.shoe, dealt)
        self._now = 0.3 + self._pause * chance.uniform(2.0, 3.0)
        self._bets()
        turned = chance.random() < self._settings.turned and not dealt.aborted
        odd = self._unreadable(dealt)
        for number, (slot, card) in enumerate(dealt.cards):
            if number == FOUR_CARDS and turned:
                self._turn_over(animation.cards[:FOUR_CARDS])
            if dealt.made_good and number == FOUR_CARDS:  # the result was called too early
                self._wait_for_decision()
            self._lay(slot, card, number, turned=turned, wrong=trouble is SceneFault.WRONG_PLACE)
            if number == odd:
                self._cover_indices(animation.cards[-1])
        if turned and len(dealt.cards) <= FOUR_CARDS:
            self._turn_over(animation.cards)
        if trouble is SceneFault.COVERED:
            self._rest_hand()
        self._end(dealt)
        animation.seconds = self._now
        return animation

    def _unreadable(self, dealt: DealtRound) -> int:
        if dealt.fault is not Fault.UNREADABLE:
            return -1
        return self._chance.randrange(1 if self._carried else 0, len(dealt.cards))

    def _wait(self, least: float, more: float = 0.0) -> None:
        self._now += least + self._pause * more * self._chance.uniform(0.8, 1.2)

    def _wait_for_decision(self) -> None:
        self._wait(0.8, 1.0)
        self._animation.gates.append(self._now)
        self._wait(0.3, 0.5)

    # Dealing

    def _lay(self, slot: Slot, card: Card, number: int, *, turned: bool, wrong: bool) -> None:
        carried, self._carried = self._carried, None
        if number >= FOUR_CARDS:
            self._wait(0.4, 1.2)
        place = _other(slot) if wrong and slot in {Slot.P3, Slot.B3} else slot
        pose = self._landing_pose(place)
        if number == 0 and carried is not None:
            self._carry(carried, slot, pose)
            return
        self._deal(CardTrack([], card, place), pose, face_up=number >= FOUR_CARDS or not turned)

    def _landing_pose(self, slot: Slot) -> Pose:
        chance, box = self._chance, PLACES[slot]
        x, y = box.x + _jitter(chance, 2.5, 6), box.y + _jitter(chance, 3, 8)
        if box.turn and chance.random() < self._settings.overlap:
            x -= chance.uniform(24, 32) * (1 if box.x > 0 else -1)
        heading = box.turn + _jitter(chance, 2, 6) + 180 * chance.randrange(2)
        return Pose(x, y, 0.0, heading)

    def _deal(self, track: CardTrack, pose: Pose, *, face_up: bool) -> None:
        """Move a card from the shoe to its place, by the dealer's hand."""
        start, land = self._now, self._now + _SLIDE_S
        out = Pose(*SHOE, 6.0, pose.heading - 30 * (1 if pose.heading < FACE else -1))
        track.keys = [Key(start, out), Key(land, pose._replace(up=2.0))]
        tilt = self._chance.uniform(-14, 14) + pose.x * 0.05
        hand = self._hand(start, Pose(SHOE[0] + 20, SHOE[1] - 30, 30.0, 205.0))
        hand.move(start, _SLIDE_S, Pose(pose.x, pose.y - 22, 22.0, 180 + tilt))
        if face_up:
            self._flip(track, land)
        seconds = _SLIDE_S + (_FLIP_S if face_up else 0.05)
        self._retreat(hand, start + seconds, SHOE)
        self._animation.cards.append(track)
        self._now += seconds + 0.25
        self._wait(0.15, 0.35)

    def _flip(self, track: CardTrack, at: float) -> None:
        lying = track.keys[-1].pose._replace(up=0.0)
        on_edge = lying._replace(up=26.0, turn=FACE / 2, peel=0.0)
        track.move(at, _FLIP_S, on_edge, lying._replace(turn=FACE, peel=0.0))

    def _hand(
        self, at: float, pose: Pose, person: int = _DEALER, grip: Grip = Grip.PINCH
    ) -> HandTrack:
        """Bring in a hand, above all others."""
        hand = HandTrack([Key(at, pose)], person, grip)
        self._animation.hands.append(hand)
        return hand

    def _retreat(self, hand: HandTrack, at: float, to: Point | None = None) -> None:
        pose = hand.keys[-1].pose
        up = 1 if pose.heading < FACE / 2 or pose.heading > 1.5 * FACE else -1
        x, y = to or (pose.x * 1.1, up * _OFF_TABLE_MM)
        hand.move(at, _LEAVE_S, pose._replace(x=x, y=y, up=40.0))

    def _carry(self, track: CardTrack, slot: Slot, pose: Pose) -> None:
        """Make the excess card the first card of this round."""
        lying = track.keys[-1].pose._replace(up=0.0)
        moved = CardTrack([Key(0.0, lying)], track.card, slot)
        self._wait(0.3, 0.5)
        hand = self._reach(lying)
        moved.move(self._now, 0.6, lying._replace(up=2.0), pose._replace(turn=FACE, up=0.0))
        hand.move(self._now, 0.6, *(self._over(p) for p in (lying, pose)))
        self._now += 0.6
        self._retreat(hand, self._now)
        self._animation.cards.append(moved)
        self._wait(0.5, 0.3)

    def _over(self, pose: Pose) -> Pose:
        return Pose(pose.x, pose.y - 24, 20.0, 180.0)

    def _reach(self, pose: Pose) -> HandTrack:
        """Move the dealer's empty hand to a card."""
        above = self._over(pose)
        hand = self._hand(self._now, above._replace(y=-_OFF_TABLE_MM))
        hand.move(self._now, 0.4, above)
        self._now += 0.4
        return hand

    # Cards dealt face down

    def _turn_over(self, tracks: list[CardTrack]) -> None:
        self._wait(0.4, 0.8)
        for side in ("P", "B"):
            squeezed = self._chance.random() < self._settings.squeezed
            for track in [each for each in tracks if each.slot and each.slot[0] == side]:
                if track.keys[-1].pose.turn == FACE:
                    continue
                if squeezed:
                    self._squeeze(track)
                else:
                    self._turn_one(track)

    def _turn_one(self, track: CardTrack) -> None:
        hand = self._reach(track.keys[-1].pose)
        self._flip(track, self._now)
        self._now += _FLIP_S
        self._retreat(hand, self._now)
        self._wait(0.25, 0.2)

    def _squeeze(self, track: CardTrack) -> None:
        """A player bends the card open slowly, then turns it over."""
        chance, lying = self._chance, track.keys[-1].pose._replace(up=0.0)
        upright = lying.heading % 360
        near = 44.0 if upright < FACE / 2 or upright > 1.5 * FACE else -44.0
        lying = lying._replace(heading=upright if near > 0 else upright - FACE)
        track.keys[-1] = Key(track.keys[-1].at, lying)
        at = Pose(lying.x + chance.uniform(-8, 8), lying.y + 36, 14.0, chance.uniform(-18, 18))
        hand = self._hand(self._now, at._replace(y=_OFF_TABLE_MM), self._player)
        hand.move(self._now, 0.5, at)
        self._now += 0.5
        slow = 0.5 + self._pause * chance.uniform(0.6, 1.4)
        far = chance.uniform(0.25, 0.42)
        opened = lying._replace(peel=far)
        track.move(self._now, slow, lying._replace(peel=far * 0.5), opened)
        hand.move(self._now, slow, at._replace(y=at.y - 12, up=24.0))
        self._now += slow
        track.move(self._now, 0.25, lying)
        self._now += 0.25
        self._flip(track, self._now)
        self._now += _FLIP_S
        self._retreat(hand, self._now)
        self._wait(0.25, 0.2)

    @property
    def _player(self) -> int:
        return self._chance.choice(_PLAYERS)

    # Other actions

    def _bets(self) -> None:
        if self._pause < 0.3:  # noqa: PLR2004 - the hurried table bets elsewhere
            return
        for seat in self._chance.sample(range(5), self._chance.randint(1, 3)):
            x, y = (seat - 2) * 170.0, 215.0 - abs(seat - 2) ** 2 * 11
            at = self._chance.uniform(0.2, max(0.3, self._now - 1.0))
            hand = self._hand(at, Pose(x, _OFF_TABLE_MM, 30.0, 4.0), _PLAYERS[seat])
            hand.move(at, 0.45, Pose(x, y + 12, 16.0, 4.0))
            self._retreat(hand, at + 0.55)
            number, chips = self._chance.randrange(5), self._chance.randint(1, 4)
            self._animation.bets.append(Bet((x, y), number, chips, at + 0.5, 1e9))

    def _cover_indices(self, track: CardTrack) -> None:
        """Place marker buttons on both indices of a card."""
        hand = self._reach(track.keys[-1].pose)
        track.marked = self._now
        self._retreat(hand, self._now + 0.2)
        self._wait(0.5, 0.3)

    def _rest_hand(self) -> None:
        """Rest a hand on a card for a while."""
        track = self._chance.choice(self._animation.cards)
        pose = track.keys[-1].pose
        from_above = self._chance.random() < 0.5  # noqa: PLR2004 - a coin
        heading = self._chance.uniform(-20, 20) + (180 if from_above else 0)
        over = Pose(pose.x, pose.y + (18 if from_above else -18), 12.0, heading)
        begins = over._replace(y=-_OFF_TABLE_MM if from_above else _OFF_TABLE_MM, up=40.0)
        person = _DEALER if from_above else self._player
        hand = self._hand(self._now, begins, person, Grip.FLAT)
        hand.move(self._now, 0.5, over)
        self._now += 0.5
        self._wait(1.0, 2.0)
        self._retreat(hand, self._now)
        self._wait(0.6)

    def _end(self, dealt: DealtRound) -> None:
        excess = None if dealt.excess is None else self._lay_excess(dealt.excess)
        if dealt.fault is not None:
            self._wait_for_decision()
        self._wait(0.9, 0.2 if dealt.aborted else 2.2)
        staying = excess if dealt.carried else None
        self._collect([each for each in self._animation.cards if each is not staying])
        if staying is not None:
            staying.stay(self._now)
            self._carried = staying

    def _lay_excess(self, card: Card) -> CardTrack:
        taken = {each.slot for each in self._animation.cards}
        free = [slot for slot in (Slot.P3, Slot.B3) if slot not in taken]
        self._wait(0.4, 1.0)
        if free:
            track, pose = CardTrack([], card, free[0]), self._landing_pose(free[0])
        else:
            track, pose = CardTrack([], card, None), Pose(*_EXCESS_PLACE, 0.0, 90.0)
        self._deal(track, pose, face_up=True)
        return track

    def _collect(self, tracks: list[CardTrack]) -> None:
        """Sweep the cards together from right to left, and off the table."""
        right = max((each.keys[-1].pose.x for each in tracks), default=0.0) + 30
        left = min((each.keys[-1].pose.x for each in tracks), default=0.0) - 10
        begin, sweep = self._now + 0.4, 0.9
        start = Pose(right, -_OFF_TABLE_MM, 30.0, 190.0)
        hand = self._hand(self._now, start, grip=Grip.FLAT)
        hand.move(self._now, 0.4, Pose(right, -8, 12.0, 188.0))
        hand.move(begin, sweep, Pose(left, -8, 12.0, 172.0))
        gone = Pose(*DISCARD, 12.0, 165.0)
        hand.move(begin + sweep, 0.5, gone)
        end = begin + sweep
        for number, track in enumerate(tracks):
            pose = track.keys[-1].pose._replace(up=0.0)
            reached = begin + sweep * 0.9 * (right - pose.x) / max(1.0, right - left)
            heap = pose._replace(x=left + 8 + 1.5 * number, y=4.0 + 2 * number, up=1.0)
            track.move(reached, max(0.05, end - reached), heap)
            track.move(end, 0.5, heap._replace(x=gone.x, y=gone.y + 20, up=4.0))
            track.stays = False
        self._now = end + 0.5
        self._animation.bets = [replace(bet, until=self._now) for bet in self._animation.bets]
        self._wait(0.35, 0.5)


def _jitter(chance: Random, usual: float, most: float) -> float:
    return max(-most, min(most, chance.gauss(0, usual)))


def _other(slot: Slot) -> Slot:
    return Slot.B3 if slot is Slot.P3 else Slot.P3


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
