"""
The table from above: felt, chips, cards, hands and light, without what the sensor adds.
"""

from __future__ import annotations

import math
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.table.camera import Camera, Floats
from drivers.simulators.table.deck import Deck, deck_of
from drivers.simulators.table.felt import CHIP, MARKER, chip, cloth, marker
from drivers.simulators.table.hands import arm_shadow, hand, hand_corners
from drivers.simulators.table.layout import CARD, EXTENT, Point
from drivers.simulators.table.light import Lamps, Shadow, lamp_for_glare, lamps_of
from drivers.simulators.table.motion import HandTrack, Pose
from drivers.simulators.table.settings import Settings, Trouble
from drivers.simulators.table.sprite import LIT, Light, dim, lay, shade
from drivers.simulators.table.state import Moment, Shown, moment
from drivers.simulators.table.stretch import Bet, Effect, Stretch

__all__ = ["TableView"]

Pixels = NDArray[np.uint8]

_FADES: Final = 0.35
"""Seconds in which a lamp goes out."""

_STEPS: Final = 6
_PIXELS_A_STEP: Final = 3.0
_DETAIL: Final = 1.5
"""Cards are drawn so many times as large as they are seen."""

_CHIP_HEIGHT: Final = 3.3
_INDEX: Final = (20.0, 28.0)
"""Where a card's index is, from its corner, in millimetres."""


class TableView:
    """
    Attributes:
        camera: As it stands now.
    """

    def __init__(self, settings: Settings, camera: Camera) -> None:
        self._settings = settings
        self._first = self.camera = camera
        self._felt = cloth(settings.seed)
        self._hung = lamps_of(settings.seed, camera)
        self._decks: dict[int, Deck] = {}
        self._pushed: set[int] = set()
        self._lamps: dict[tuple[Point, ...], Lamps] = {}
        self._ground_key: object = None
        self._ground: Pixels = np.zeros((1, 1, 3), np.uint8)
        self._light_key: object = None
        self._light = Light(self._ground)
        self._lit: Pixels = self._ground
        self._still_key: object = None
        self._still: Pixels = self._ground

    def leave(self, stretch: Stretch) -> None:
        """
        A stretch is over.
        """

    def set_right(self) -> None:
        """
        Put the camera back to where it was.
        """
        self.camera = self._first

    def draw(self, state: Moment) -> Pixels:
        """
        Give the picture of a moment.
        """
        self._shine(state)
        self._settle(state)
        moving = [each for each in state.cards if each.since < 0]
        if not moving and not state.hands:
            return self._still
        steps = self._exposures(state)
        if steps == 1:
            picture = self._still.copy()
            self._move(picture, state)
            return picture
        return self._blurred(state, steps)

    def _blurred(self, state: Moment, steps: int) -> Pixels:
        """
        Expose for as long as the shutter is open.
        """
        shutter = self._settings.exposure
        whole = np.zeros(self._still.shape, np.uint16)
        for number in range(steps):
            picture = self._still.copy()
            then = moment(state.stretch, state.at - shutter * number / (steps - 1))
            self._move(picture, then)
            cv2.add(whole, picture, dst=whole, dtype=cv2.CV_16U)
        return np.asarray(cv2.convertScaleAbs(whole, alpha=1 / steps), np.uint8)

    def _exposures(self, state: Moment) -> int:
        before = moment(state.stretch, max(0.0, state.at - self._settings.exposure))
        there = {id(each.track): each.pose for each in before.cards}
        there |= {id(track): pose for track, pose in before.hands}
        now = [(id(each.track), each.pose) for each in state.cards if each.since < 0]
        now += [(id(track), pose) for track, pose in state.hands]
        far = max((math.dist(pose.at, there.get(key, pose).at) for key, pose in now), default=0.0)
        pixels = far * self.camera.matrix[0, 0] / self.camera.height
        return 1 + min(_STEPS - 1, int(pixels / _PIXELS_A_STEP + 0.5))

    # What does not move.

    def push(self, state: Moment) -> None:
        """
        Let the camera be pushed, where it is.
        """
        for effect in state.effects:
            if effect.trouble in {Trouble.BUMP, Trouble.KNOCK} and id(effect) not in self._pushed:
                self._pushed.add(id(effect))
                turned = 0.8 if effect.trouble is Trouble.KNOCK else 0.1
                self.camera = self.camera.moved(*effect.where, turned)

    def _shine(self, state: Moment) -> None:
        if self._ground_key is not self.camera:
            self._ground_key, self._light_key = self.camera, None
            self._ground = self._warped()
            self._lamps.clear()
        strengths = [1.0] * len(self._hung)
        dazzling: tuple[Point, ...] = ()
        shadow: Shadow | None = None
        for effect in state.effects:
            if effect.trouble is Trouble.LAMP_OUT:
                gone = min(1.0, (state.at - effect.since) / _FADES)
                strengths[0] = round(1 - gone, 1)
            if effect.trouble is Trouble.GLARE:
                dazzling = (effect.where,)
            if effect.trouble is Trouble.SHADOW:
                shadow = _leaning(effect, state.at)
        key = (tuple(strengths), dazzling, shadow)
        if key != self._light_key:
            self._light_key, self._still_key = key, None
            self._light = self._lamps_with(dazzling).light(
                (*strengths, *(1.0 for _ in dazzling)), shadow
            )
            lit = cv2.multiply(self._ground, self._light.lit, scale=1 / LIT)
            if self._light.glare is not None:
                lit = cv2.addWeighted(lit, 1.0, self._light.glare, 0.10, 0)
            self._lit = np.asarray(lit, np.uint8)

    def _lamps_with(self, dazzling: tuple[Point, ...]) -> Lamps:
        if dazzling not in self._lamps:
            more = tuple(lamp_for_glare(spot, self.camera) for spot in dazzling)
            self._lamps[dazzling] = Lamps((*self._hung, *more), self.camera)
        return self._lamps[dazzling]

    def _warped(self) -> Pixels:
        drawn, scale = self._felt
        points = self.camera.table_points()
        x = (points[..., 0] - EXTENT[0]) * scale[0]
        y = (points[..., 1] - EXTENT[1]) * scale[1]
        warped = cv2.remap(drawn, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(warped, np.uint8)

    def _settle(self, state: Moment) -> None:
        lying = [each for each in state.cards if each.since >= 0]
        key = (
            tuple((id(each.track), each.pose, each.marked) for each in lying),
            state.bets,
            state.stretch.deck,
        )
        if key == self._still_key:
            return
        self._still_key = key
        self._still = self._lit.copy()
        for bet in state.bets:
            self._stack(bet)
        for each in lying:
            self._lay(self._still, each, state.stretch.deck)

    # What is drawn.

    def _deck(self, number: int) -> Deck:
        if number not in self._decks:
            scale = self.camera.matrix[0, 0] / self.camera.height
            width = round(CARD[0] * scale * _DETAIL)
            settings = self._settings
            self._decks[number] = deck_of(settings.seed, settings.deck, number, width)
        return self._decks[number]

    def _lay(self, picture: Pixels, shown: Shown, deck: int) -> None:
        self._deck(deck).lay(picture, shown.track.card, shown.pose, self.camera, self._light)
        if shown.marked:
            self._mark(picture, shown.pose)

    def _mark(self, picture: Pixels, pose: Pose) -> None:
        turn = math.radians(pose.heading)
        for side in (-1, 1):
            x = side * (CARD[0] / 2 - _INDEX[0] + 4)
            y = side * (CARD[1] / 2 - _INDEX[1] + 4)
            at = (
                x * math.cos(turn) - y * math.sin(turn) + pose.x,
                x * math.sin(turn) + y * math.cos(turn) + pose.y,
            )
            quad = self._square(at, MARKER, 3.0)
            shade(picture, quad + 1.5, 2.0, 0.35)
            lay(picture, marker("BANKER"), quad, self._light)

    def _stack(self, bet: Bet) -> None:
        for number in range(bet.chips):
            at = (bet.at[0] + (number * 37 % 5 - 2) * 0.8, bet.at[1] + (number * 23 % 5 - 2) * 0.8)
            quad = self._square(at, CHIP, _CHIP_HEIGHT * (number + 1))
            shade(self._still, self._square(at, CHIP * 0.8, 0.0) + 2.0, 3.0, 0.3)
            lay(self._still, chip(bet.number), quad, self._light)

    def _square(self, at: Point, size: float, up: float) -> Floats:
        half = size / 2
        rim = ((-half, -half), (half, -half), (half, half), (-half, half))
        return self.camera.seen(np.array([[at[0] + x, at[1] + y, up] for x, y in rim]))

    def _move(self, picture: Pixels, state: Moment) -> None:
        for each in state.cards:
            if each.since < 0:
                self._lay(picture, each, state.stretch.deck)
        for track, pose in state.hands:
            self._reach(picture, track, pose)

    def _reach(self, picture: Pixels, track: HandTrack, pose: Pose) -> None:
        corners = hand_corners(pose.at, pose.heading, pose.up)
        quad = self.camera.seen(corners)
        shadow = corners * np.array([1.0, 1.0, 0.0]) + np.array([10.0, 14.0, 0.0])
        dim(picture, arm_shadow(track.grip), self.camera.seen(shadow))
        lay(picture, hand(track.grip, track.person), quad, self._light)


def _leaning(effect: Effect, at: float) -> Shadow:
    """
    Let the shadow of somebody who leans over the table come and stay.
    """
    came = min(1.0, (at - effect.since) / 0.6)
    away = (0.3, 1.0)
    far = 160 * (1 - round(came, 1))
    return Shadow((effect.where[0] + away[0] * far, effect.where[1] + away[1] * far), away)
