"""
Disturbances at a shoe's exit, applied to the pictures: lamp, camera, hands, knocks, and objects
other than cards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import cv2
import numpy as np

from bench.vision.throat_acts import Act, Acts, Change
from drivers.camera.image import Image
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.table_layout import THROAT_WINDOW

__all__ = ["DISTURBANCES"]

_SKINS: Final = ((120, 150, 200), (60, 80, 120), (30, 34, 40), (20, 20, 22))
"""Colours of hands; the last ones are dark gloves."""

_PLASTIC: Final = (40, 190, 225)


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
    """An object that comes in from the table's side and leaves again."""

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
        scale, half = self._acts.scale, THROAT_WINDOW.size[0] / 2
        x, y = image.shape[1] / 2, image.shape[0] / 2
        tip = half + 8 - self._reach * into
        shape = image.copy()
        first = (round(x + tip * scale), round(y + (self._y - self._wide / 2) * scale))
        last = (round(x + (half - 1) * scale), round(y + (self._y + self._wide / 2) * scale))
        if last[0] > first[0]:
            cv2.rectangle(shape, first, last, self._colour, -1)
        return np.asarray(shape, np.uint8)


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
    half = np.array(THROAT_WINDOW.size) / 2 * acts.scale

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
        # A cut card: a single colour in place of a card.
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
    act = acts.pair()
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


DISTURBANCES: Final[dict[str, Callable[[Acts], Act]]] = {
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
