"""
Cards that pass a shoe's mouth, and whatever may go wrong meanwhile: small pictures, each
with the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import cv2
import numpy as np
from msgspec import Struct

from drivers.camera.frames import Image
from drivers.simulators.table.camera import camera_of
from drivers.simulators.table.layout import CARD, THROAT
from drivers.simulators.table.motion import FACE, CardTrack, Key, Pose
from drivers.simulators.table.mouth import MouthView
from drivers.simulators.table.sensor import Sensor
from drivers.simulators.table.settings import Settings, Station, Trouble
from drivers.simulators.table.state import moment
from drivers.simulators.table.stretch import Effect, Stretch
from shoe_daemon.game.cards import DECK, Card

__all__ = ["TROUBLES", "Act", "Stage", "acts", "stage_settings"]

_FAR: Final = THROAT.size[0] / 2 + CARD[1] / 2 + 6
_PLASTIC: Final = (40, 190, 225)

Change = Callable[[Image, float], Image | None]
"""What becomes of a picture taken at a moment; None where it does not come."""


class Act(Struct, eq=False):
    """
    What happens in the mouth.

    Attributes:
        tracks: The cards that move.
        left: Those that left the shoe, in their order.
        seconds: How long it takes, with the quiet after it.
        fps: Pictures a second.
        shutter: Whether all is exposed so long that nothing is sharp.
        changes: What happens to the pictures.
        joined: Whether two may be told as one: they lie upon each other.
        returned: How many went back.
        plain: Whether what passes is no card that has a name.
    """

    tracks: list[CardTrack] = []
    left: list[Card] = []
    seconds: float = 1.2
    fps: float = 25.0
    shutter: bool = False
    changes: list[Change] = []
    joined: bool = False
    returned: int = 0
    plain: bool = False


class Stage:
    """
    One shoe's mouth, lamp, deck and camera.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._view = MouthView(settings, camera_of(settings))
        self._sensor = Sensor(settings)

    def pictures(self, act: Act) -> Iterator[tuple[float, Image | None]]:
        """
        Take the pictures of an act, from 0 on.
        """
        stretch = Stretch(1, cards=act.tracks)
        if act.shutter:
            stretch.effects.append(Effect(Trouble.UNREADABLE, 0.0, act.seconds))
        for number in range(int(act.seconds * act.fps)):
            at = number / act.fps
            image: Image | None = np.asarray(self._view.draw(moment(stretch, at)), np.uint8)
            for change in act.changes:
                image = None if image is None else change(image, at)
            yield at, None if image is None else self._noisy(image, at)

    def _noisy(self, image: Image, at: float) -> Image:
        if not image.flags.writeable:
            return image  # frozen: with its noise
        return self._sensor.take(image, at, flicker=False, blur=0.0, torn=False)


class Acts:
    """
    Makes acts of one kind of trouble after the other.
    """

    def __init__(self, chance: Random, settings: Settings) -> None:
        self.chance = chance
        self.settings = settings
        self.scale = settings.width / THROAT.size[0]

    def card(self) -> Card:
        return self.chance.choice(DECK)

    def ends(self) -> tuple[Pose, Pose]:
        chance = self.chance
        y = max(-1.5, min(1.5, chance.gauss(0, 0.7)))
        heading = 90 + max(-2.5, min(2.5, chance.gauss(0, 0.9))) + 180 * chance.randrange(2)
        inside = Pose(-_FAR, y, 0.0, heading, FACE)
        return inside, inside._replace(x=_FAR, y=y + chance.uniform(-0.6, 0.6))

    def track(self, start: float, *moves: tuple[float, float, float]) -> CardTrack:
        """
        A card that moves: when, for how long, to which share of its way.
        """
        inside, outside = self.ends()
        track = CardTrack([Key(start, inside)], self.card(), None, stays=False)
        for at, seconds, share in moves:
            x = inside.x + (outside.x - inside.x) * share
            y = inside.y + (outside.y - inside.y) * share
            track.move(at, seconds, inside._replace(x=x, y=y))
        return track

    def one(self, low: float = 0.28, high: float = 0.42, *, start: float = 0.24) -> Act:
        """
        One card that passes.
        """
        seconds = self.chance.uniform(low, high)
        start += self.chance.uniform(0, 0.04)
        track = self.track(start, (start, seconds, 1.0))
        return Act([track], [track.card], seconds=start + seconds + 0.4)

    def with_change(self, *changes: Change) -> Act:
        act = self.one()
        act.changes += changes
        return act

    def span(self, act: Act, low: float, high: float) -> tuple[float, float]:
        """
        A stretch of time, so long, that touches what passes or comes near to it.
        """
        seconds = self.chance.uniform(low, high)
        begin, end = act.tracks[0].keys[0].at, act.tracks[-1].keys[-1].at
        since = self.chance.uniform(begin - seconds, end)
        act.seconds = max(act.seconds, since + seconds + 0.5)
        return since, since + seconds


def _clean(acts: Acts) -> Act:
    return acts.one()


def _slow(acts: Acts) -> Act:
    return acts.one(0.7, 2.5)


def _fast(acts: Acts) -> Act:
    return acts.one(0.10, 0.22)


def _hurried(acts: Acts) -> Act:
    act = acts.one(0.08, 0.14)
    act.shutter = True
    return act


def _twenty(acts: Acts) -> Act:
    act = acts.one()
    act.fps = 20.0
    return act


def _sixty(acts: Acts) -> Act:
    act = acts.one()
    act.fps = 60.0
    return act


def _pair(acts: Acts, low: float, high: float) -> Act:
    act = acts.one()
    (first,) = act.tracks
    start, end = first.keys[0].at, first.keys[-1].at
    seconds = end - start
    lag = seconds * acts.chance.uniform(low, high)
    second = acts.track(start + lag, (start + lag, seconds, 1.0))
    act.tracks.append(second)
    act.left.append(second.card)
    act.seconds += lag
    return act


def _double(acts: Acts) -> Act:
    return _pair(acts, 0.06, 0.14)


def _upon(acts: Acts) -> Act:
    act = _pair(acts, 0.0, 0.03)
    act.joined = True
    return act


def _behind(acts: Acts) -> Act:
    return _pair(acts, 0.35, 1.2)


def _rests(acts: Acts) -> Act:
    chance = acts.chance
    share, rest = chance.uniform(0.1, 0.9), chance.uniform(0.2, 3.0)
    track = acts.track(0.3, (0.3, 0.25, share), (0.55 + rest, 0.25, 1.0))
    return Act([track], [track.card], seconds=rest + 1.3)


def _returned(acts: Acts) -> Act:
    share = acts.chance.uniform(0.35, 0.65)
    rest = acts.chance.uniform(0.0, 0.4)
    track = acts.track(0.3, (0.3, 0.25, share), (0.55 + rest, 0.3, 0.0))
    return Act([track], [], seconds=rest + 1.4, returned=1)


def _peeps(acts: Acts) -> Act:
    track = acts.track(0.3, (0.3, 0.3, acts.chance.uniform(0.04, 0.12)), (0.9, 0.3, 0.0))
    return Act([track], [], seconds=1.7)


def _redrawn(acts: Acts) -> Act:
    act = _returned(acts)
    (first,) = act.tracks
    again = acts.track(act.seconds, (act.seconds, 0.34, 1.0))
    again.card = first.card
    act.tracks.append(again)
    act.left, act.seconds = [again.card], act.seconds + 0.9
    return act


def _turned(acts: Acts) -> Act:
    act = acts.one()
    for number, key in enumerate(act.tracks[0].keys):
        act.tracks[0].keys[number] = Key(key.at, key.pose._replace(turn=0.0))
    act.plain = True
    return act


def _askew(acts: Acts) -> Act:
    act = acts.one()
    turn = acts.chance.choice([-1, 1]) * acts.chance.uniform(3, 8)
    for number, key in enumerate(act.tracks[0].keys):
        pose = key.pose._replace(heading=key.pose.heading + turn)
        act.tracks[0].keys[number] = Key(key.at, pose)
    return act


def _lit(gain: Callable[[float], float]) -> Change:
    def change(image: Image, at: float) -> Image:
        return np.asarray(cv2.convertScaleAbs(image, alpha=gain(at)), np.uint8)

    return change


def _lamp_out(acts: Acts) -> Act:
    act = acts.one()
    since, until = acts.span(act, 0.2, 3.0)
    dark = acts.chance.choice([0.0, 0.02, 0.1, 0.25, 0.4])
    act.changes.append(_lit(lambda at: dark if since <= at < until else 1.0))
    return act


def _flicker(acts: Acts) -> Act:
    phase = acts.chance.uniform(0, 6)
    return acts.with_change(_lit(lambda at: 1 + 0.12 * math.sin(46 * at + phase)))


def _exposure(acts: Acts) -> Act:
    act = acts.one()
    since, until = acts.span(act, 0.1, 0.4)
    first, last = acts.chance.choice([(1.0, 0.4), (0.45, 1.0), (1.0, 1.7), (1.0, 0.7)])

    def gain(at: float) -> float:
        share = min(1.0, max(0.0, (at - since) / (until - since)))
        return first + (last - first) * share

    act.changes.append(_lit(gain))
    return act


def _defocus(acts: Acts) -> Act:
    soft = acts.chance.uniform(0.5, 4.0) * acts.scale / 5
    return acts.with_change(
        lambda image, _: np.asarray(cv2.GaussianBlur(image, (0, 0), soft), np.uint8)
    )


def _during(act: Act, since: float, until: float, change: Change) -> Act:
    def maybe(image: Image, at: float) -> Image | None:
        return change(image, at) if since <= at < until else image

    act.changes.append(maybe)
    return act


def _damaged(acts: Acts) -> Act:
    act, chance = acts.one(), acts.chance

    def tear(image: Image, _: float) -> Image:
        torn = image.copy()
        for _ in range(chance.randrange(2, 7)):
            top = chance.randrange(image.shape[0] - 8)
            rows = slice(top, top + chance.randrange(3, image.shape[0] // 8))
            shift = chance.randrange(10, 150)
            torn[rows] = (
                torn[top, ::-1] if chance.random() < 0.5 else np.roll(torn[rows], shift, 1)
            )
        return torn

    return _during(act, *acts.span(act, 0.1, 1.0), tear)


def _stopped(acts: Acts) -> Act:
    act = acts.one()
    return _during(act, *acts.span(act, 0.05, 1.2), lambda _image, _at: None)


def _dropped(acts: Acts) -> Act:
    share, chance = acts.chance.uniform(0.1, 0.6), acts.chance
    return acts.with_change(lambda image, _: None if chance.random() < share else image)


def _frozen(acts: Acts) -> Act:
    act = acts.one()
    kept: list[Image] = []
    sensor = Sensor(acts.settings)

    def freeze(image: Image, at: float) -> Image:
        if not kept:
            kept.append(sensor.take(image, at, flicker=False, blur=0.0, torn=False))
            kept[0].flags.writeable = False
        return kept[0]

    return _during(act, *acts.span(act, 0.1, 2.0), freeze)


def _black(acts: Acts) -> Act:
    act = acts.one()
    return _during(act, *acts.span(act, 0.05, 0.9), lambda image, _: np.zeros_like(image))


class _Hand:
    """
    Something that comes in from the table's side, and goes again.
    """

    def __init__(self, acts: Acts, reach: float, wide: float, colour: tuple[int, ...]) -> None:
        chance = acts.chance
        self.since, self.rest = chance.uniform(0.1, 0.5), chance.uniform(0.0, 0.6)
        self._acts, self._reach, self._wide, self._colour = acts, reach, wide, colour
        self._y = chance.uniform(-6, 6)

    @property
    def until(self) -> float:
        return self.since + 0.5 + self.rest

    def __call__(self, image: Image, at: float) -> Image:
        into = min((at - self.since) / 0.25, (self.until - at) / 0.25, 1.0)
        if into <= 0:
            return image
        scale, half = self._acts.scale, THROAT.window[0] / 2
        x, y = image.shape[1] / 2, image.shape[0] / 2
        tip = half + 8 - self._reach * into
        shape = image.copy()
        first = (round(x + tip * scale), round(y + (self._y - self._wide / 2) * scale))
        last = (round(x + (half - 1) * scale), round(y + (self._y + self._wide / 2) * scale))
        if last[0] > first[0]:
            cv2.rectangle(shape, first, last, self._colour, -1)
        return np.asarray(shape, np.uint8)


_SKINS: Final = ((120, 150, 200), (60, 80, 120), (30, 34, 40), (20, 20, 22))
"""Of hands; the last are dark gloves."""


def _finger(acts: Acts) -> Act:
    hand = _Hand(acts, acts.chance.uniform(20, 110), 18, acts.chance.choice(_SKINS))
    return Act(seconds=hand.until + 0.4, changes=[hand])


def _hand(acts: Acts) -> Act:
    hand = _Hand(acts, acts.chance.uniform(20, 110), 75, acts.chance.choice(_SKINS))
    return Act(seconds=hand.until + 0.4, changes=[hand])


def _hand_on_card(acts: Acts) -> Act:
    act = acts.one(start=0.3)
    wide = acts.chance.choice([18, 40, 75])
    hand = _Hand(acts, acts.chance.uniform(20, 110), wide, acts.chance.choice(_SKINS))
    act.changes.append(hand)
    act.seconds = max(act.seconds, hand.until + 0.4)
    return act


def _knock(acts: Acts) -> Act:
    act, chance = acts.one(), acts.chance
    since = chance.uniform(0.0, 0.5)
    far = chance.choice([5.0, 20.0, 50.0]) * acts.scale
    turn = chance.uniform(0, 2 * math.pi)
    matrix = np.array([[1, 0, far * math.cos(turn)], [0, 1, far * math.sin(turn)]])

    def push(image: Image, _: float) -> Image:
        size = image.shape[1], image.shape[0]
        return np.asarray(cv2.warpAffine(image, matrix, size, borderValue=(25, 28, 30)), np.uint8)

    act.seconds += 12.0
    return _during(act, since, act.seconds, push)


def _daylight(acts: Acts) -> Act:
    act = acts.one()
    more = acts.chance.uniform(8, 45)
    half = np.array(THROAT.window) / 2 * acts.scale

    def light(image: Image, _: float) -> Image:
        brighter = image.copy()
        high, wide = image.shape[:2]
        rows = slice(max(0, round(high / 2 - half[1])), round(high / 2 + half[1]))
        columns = slice(max(0, round(wide / 2 - half[0])), round(wide / 2 + half[0]))
        part = brighter[rows, columns]
        brighter[rows, columns] = cv2.add(part, np.full_like(part, round(more)))
        return brighter

    return _during(act, *acts.span(act, 0.3, 2.0), light)


def _plastic(acts: Acts) -> Act:
    act = acts.one()
    act.plain = True

    def paint(image: Image, _: float) -> Image:
        # A cut card: of one colour, where a card would be.
        bright = image.max(axis=2) > 100
        painted = image.copy()
        painted[
            cv2.morphologyEx(bright.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((41, 41))) > 0
        ] = _PLASTIC
        return painted

    act.changes.append(paint)
    return act


def _scrap(acts: Acts) -> Act:
    chance = acts.chance
    act = _behind(acts)
    x, long = chance.uniform(-40, 40), chance.uniform(10, 30)
    scale = acts.scale

    def lie(image: Image, at: float) -> Image:
        if at < 0.1:
            return image
        high, wide = image.shape[:2]
        left = round(wide / 2 + (x - long / 2) * scale)
        there = image.copy()
        cv2.rectangle(there, (left, 0), (left + round(long * scale), high), (180, 190, 200), -1)
        return there

    act.seconds += 12.0
    return _during(act, 0.0, act.seconds - 2.0, lie)


TROUBLES: Final[dict[str, Callable[[Acts], Act]]] = {
    "none": _clean,
    "slow": _slow,
    "fast": _fast,
    "hurried": _hurried,
    "20 a second": _twenty,
    "60 a second": _sixty,
    "double feed": _double,
    "one upon the other": _upon,
    "close behind": _behind,
    "rests half way": _rests,
    "pushed back": _returned,
    "peeps out": _peeps,
    "pushed back, redrawn": _redrawn,
    "back to the camera": _turned,
    "askew": _askew,
    "lamp out": _lamp_out,
    "flicker": _flicker,
    "exposure changes": _exposure,
    "defocus": _defocus,
    "damaged": _damaged,
    "stopped": _stopped,
    "pictures dropped": _dropped,
    "frozen": _frozen,
    "black": _black,
    "finger, no card": _finger,
    "hand, no card": _hand,
    "hand on a card": _hand_on_card,
    "knocked": _knock,
    "daylight": _daylight,
    "cut card": _plastic,
    "scrap in the mouth": _scrap,
}


def acts(settings: Settings) -> Acts:
    """
    Give what makes acts for such a stage.
    """
    return Acts(Random(f"passages {settings.seed}"), settings)


def stage_settings(seed: int, width: int) -> Settings:
    """
    Give the settings of a picture of this width.
    """
    high = width * 9 // 16
    return Settings(station=Station.THROAT, width=width, height=high, seed=seed, fps=25.0)
