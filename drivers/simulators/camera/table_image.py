"""Image of the table from above: felt, chips, cards, hands and light, before sensor effects."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from drivers.simulators.camera.animated_round import (
    Bet,
    CardState,
    CardTrack,
    Effect,
    HandTrack,
    Pose,
    SceneState,
)
from drivers.simulators.camera.card_images import choose_deck
from drivers.simulators.camera.hands import ARM_CORNERS, arm_on_table, arm_shadow, hand
from drivers.simulators.camera.lamps import Lamps, Shadow, lamp_for_glare, lamps_of
from drivers.simulators.camera.projection import Camera, Floats
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.camera.sprites import LIT, STILL, Box, Light, Pixels, dim, lay, shade
from drivers.simulators.camera.table_layout import CARD, EXTENT, Point, turned
from drivers.simulators.camera.table_surface import CHIP, MARKER, SCALE, chip, felt_image, marker

_LAMP_FADE_S: Final = 0.35
"""Duration of a lamp going out."""

_DETAIL: Final = 1.5
"""Resolution of drawn cards, relative to their size in the picture."""

_CHIP_HEIGHT: Final = 3.3
_PUSH_DEGREES: Final = {SceneFault.BUMP: 0.1, SceneFault.KNOCK: 0.8}
_INDEX: Final = (20.0, 28.0)
"""Position of an index from the card's corner, in millimetres."""


class TableImage:
    """
    Attributes:
        camera: The camera's current position.
    """

    def __init__(self, settings: Settings, camera: Camera) -> None:
        self._settings = settings
        self._first = self.camera = camera
        self._hung = lamps_of(settings.seed, camera)
        self._pushed: set[int] = set()
        self._lamps: dict[tuple[Point, ...], Lamps] = {}
        self._ground_key: object = None
        self._ground: Pixels = np.zeros((1, 1, 3), np.uint8)
        self._light_key: object = None
        self._light = Light(self._ground)
        self._lit: Pixels = self._ground
        self._still_key: tuple[object, list[object]] = (None, [])
        self._still: Pixels = self._ground
        self._stills = 0
        self._picture: Pixels = self._ground
        self._picture_of = 0
        self._stale: list[Box] = []

    def reset_camera(self) -> None:
        """Move the camera back."""
        self.camera = self._first

    def draw(self, state: SceneState) -> Pixels:
        """Draw the scene; the picture is valid until the next call."""
        self._shine(state)
        self._settle(state)
        self._wipe()
        picture = self._picture
        for each in state.cards:
            if each.since < 0:
                pose, way = self._moving(each.track, state.at, each.pose)
                seen = each._replace(pose=pose)
                self._stale += self._lay(picture, seen, state.animation.deck, way)
        for track, pose in state.hands:
            self._reach(picture, track, *self._moving(track, state.at, pose))
        return picture

    def _wipe(self) -> None:
        """Restore the background under moving objects."""
        if self._picture.shape != self._still.shape or self._picture_of != self._stills:
            self._picture_of, self._picture = self._stills, _onto(self._picture, self._still)
        for left, top, right, bottom in self._stale:
            self._picture[top:bottom, left:right] = self._still[top:bottom, left:right]
        self._stale.clear()

    def _moving(self, track: CardTrack | HandTrack, at: float, now: Pose) -> tuple[Pose, Point]:
        """Return a moving object's pose in the middle of the exposure, and its path in pixels."""
        shutter = self._settings.exposure
        before, middle = track.pose(at - shutter), track.pose(at - shutter / 2)
        if before is None or middle is None:
            return now, STILL
        ends = self.camera.project(np.array([(p.x, p.y, p.up) for p in (before[0], now)]))
        x, y = ends[1] - ends[0]
        return middle[0], (float(x), float(y))

    # Static parts

    def push_camera(self, state: SceneState) -> None:
        """Push the camera if the scene says so."""
        for effect in state.effects:
            degrees = _PUSH_DEGREES.get(effect.trouble)
            if degrees is not None and id(effect) not in self._pushed:
                self._pushed.add(id(effect))
                self.camera = self.camera.moved(*effect.where, degrees)

    def _shine(self, state: SceneState) -> None:
        if self._ground_key is not self.camera:
            self._ground_key, self._light_key = self.camera, None
            self._ground, self._still_key = self._warped(), (None, [])
            self._lamps.clear()
        strengths = [1.0] * len(self._hung)
        dazzling: tuple[Point, ...] = ()
        shadow: Shadow | None = None
        for effect in state.effects:
            if effect.trouble is SceneFault.LAMP_OUT:
                gone = min(1.0, (state.at - effect.since) / _LAMP_FADE_S)
                strengths[0] = round(1 - gone, 1)
            if effect.trouble is SceneFault.GLARE:
                dazzling = (effect.where,)
            if effect.trouble is SceneFault.SHADOW:
                shadow = _leaning(effect, state.at)
        key = (tuple(strengths), dazzling, shadow)
        if key != self._light_key:
            self._light_key = key
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
        points = self.camera.table_points()
        x, y = ((points[..., axis] - EXTENT[axis]) * SCALE for axis in (0, 1))
        felt = felt_image(self._settings.seed)
        warped = cv2.remap(felt, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(warped, np.uint8)

    def _settle(self, state: SceneState) -> None:
        lying = [each for each in state.cards if each.since >= 0]
        ground = (self._light_key, state.bets, state.animation.deck)
        key: list[object] = [(each.track, each.pose, each.marked) for each in lying]
        if (ground, key) == self._still_key:
            return
        before, there = self._still_key
        self._still_key = ground, key
        self._stills += 1
        if before != ground or key[: len(there)] != there:
            there = []
            self._still = _onto(self._still, self._lit)
            for bet in state.bets:
                self._stack(bet)
        for each in lying[len(there) :]:
            self._lay(self._still, each, state.animation.deck)

    # Drawing

    def _lay(self, picture: Pixels, shown: CardState, deck: int, way: Point = STILL) -> list[Box]:
        card, pose, settings = shown.track.card, shown.pose, self._settings
        width = round(CARD[0] * self.camera.scale * _DETAIL)
        cards = choose_deck(settings.seed, settings.deck, deck, width)
        changed = cards.lay(picture, card, pose, self.camera, self._light, way=way)
        if shown.marked:
            self._mark(picture, pose)
        return changed

    def _mark(self, picture: Pixels, pose: Pose) -> None:
        x, y = (CARD[axis] / 2 - _INDEX[axis] + 4 for axis in (0, 1))
        for side in (-1, 1):
            at = turned(side * x, side * y, pose.heading, pose.at)
            quad = self._square(at, MARKER, 3.0)
            shade(picture, quad + 1.5, 2.0, 0.35)
            lay(picture, marker(), quad, self._light)

    def _stack(self, bet: Bet) -> None:
        for number in range(bet.chips):
            at = (bet.at[0] + (number * 37 % 5 - 2) * 0.8, bet.at[1] + (number * 23 % 5 - 2) * 0.8)
            quad = self._square(at, CHIP, _CHIP_HEIGHT * (number + 1))
            shade(self._still, self._square(at, CHIP * 0.8, 0.0) + 2.0, 3.0, 0.3)
            lay(self._still, chip(bet.number), quad, self._light)

    def _square(self, at: Point, size: float, up: float) -> Floats:
        half = size / 2
        rim = ((-half, -half), (half, -half), (half, half), (-half, half))
        return self.camera.project(np.array([[at[0] + x, at[1] + y, up] for x, y in rim]))

    def _reach(self, picture: Pixels, track: HandTrack, pose: Pose, way: Point) -> None:
        corners = arm_on_table(ARM_CORNERS, pose.at, pose.heading, pose.up)
        shadow = corners * np.array([1.0, 1.0, 0.0]) + np.array([10.0, 14.0, 0.0])
        drawn = hand(track.grip, track.person)
        for box in (
            dim(picture, arm_shadow(track.grip), self.camera.project(shadow)),
            lay(picture, drawn, self.camera.project(corners), self._light, way),
        ):
            if box is not None:
                self._stale.append(box)


def _onto(place: Pixels, picture: Pixels) -> Pixels:
    """Copy into an existing picture, which is faster than allocating a new one."""
    if place.shape != picture.shape:
        return picture.copy()
    np.copyto(place, picture)
    return place


def _leaning(effect: Effect, at: float) -> Shadow:
    """Animate the shadow of a person leaning over the table."""
    came = min(1.0, (at - effect.since) / 0.6)
    away = (0.3, 1.0)
    far = 160 * (1 - round(came, 1))
    return Shadow((effect.where[0] + away[0] * far, effect.where[1] + away[1] * far), away)
