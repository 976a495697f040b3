"""Image of the shoe's exit: a dark slot with its own lamp, through which cards pass."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.simulators.camera.animated_round import CardState, Pose, SceneState
from drivers.simulators.camera.card_images import choose_deck
from drivers.simulators.camera.projection import Camera
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.camera.sprites import LIT, STILL, Light, Pixels, three_channels
from drivers.simulators.camera.table_layout import CARD, THROAT_SIZE, THROAT_WINDOW, Point

_LAMP_OUT_STRENGTH: Final = 0.25
_SHUTTER_S: Final = 0.0012
"""The exposure time; short, thanks to the lamp."""

_SLOW_SHUTTER_S: Final = 0.022
"""The exposure time for a card that is too fast to be sharp."""


class ThroatImage:
    """
    Attributes:
        camera: The camera's position.
    """

    def __init__(self, settings: Settings, camera: Camera) -> None:
        self._settings = settings
        self.camera = camera
        self._window = _window_mask(camera)
        self._slot = _slot(settings, camera, self._window)
        self._lights: dict[float, tuple[Light, Pixels]] = {}

    def push_camera(self, state: SceneState) -> None:
        """Do nothing: the camera is fixed in the shoe."""

    def reset_camera(self) -> None:
        """Do nothing: the camera is fixed in the shoe."""

    def draw(self, state: SceneState) -> Pixels:
        """Draw the scene."""
        strength = _LAMP_OUT_STRENGTH if SceneFault.LAMP_OUT in state.active else 1.0
        light, empty = self._lit(strength)
        if not state.cards:
            return empty
        shutter = _SLOW_SHUTTER_S if SceneFault.UNREADABLE in state.active else _SHUTTER_S
        picture, settings = empty.copy(), self._settings
        width = round(CARD[0] * self.camera.scale)
        deck = choose_deck(settings.seed, settings.deck, state.animation.deck, width)
        # Each card lies on the previous one, which hides it when seen from below.
        for each in sorted(state.cards, key=lambda shown: shown.pose.x):
            pose, way = self._moving(each, state.at, shutter)
            deck.lay(picture, each.track.card, pose, self.camera, light, shadow=False, way=way)
        # The shoe's plates hide everything outside the window.
        cv2.copyTo(empty, self._window, picture)
        return picture

    def _moving(self, shown: CardState, at: float, shutter: float) -> tuple[Pose, Point]:
        """Return a card's pose in the middle of the exposure, and its path in pixels."""
        before, middle = shown.track.pose(at - shutter), shown.track.pose(at - shutter / 2)
        if before is None or middle is None:
            return shown.pose, STILL
        pixels = self.camera.scale
        x, y = shown.pose.x - before[0].x, shown.pose.y - before[0].y
        return middle[0], (x * pixels, y * pixels)

    def _lit(self, strength: float) -> tuple[Light, Pixels]:
        if strength not in self._lights:
            light = _led(self._settings, strength)
            empty = cv2.multiply(self._slot, light.lit, scale=1 / LIT)
            self._lights[strength] = light, np.asarray(empty, np.uint8)
        return self._lights[strength]


def _slot(settings: Settings, camera: Camera, window: Pixels) -> Pixels:
    """Draw the empty exit: black plates, and felt in the slot."""
    chance = np.random.default_rng([settings.seed & 0xFFFFFFFF, 6])
    size = (settings.height, settings.width)
    grain = cv2.GaussianBlur(chance.normal(0, 1, size).astype(np.float32), (0, 0), 1.2)
    plate = np.clip(38 + 10 * grain, 0, 255)[..., None].repeat(3, axis=2).astype(np.uint8)
    inside = np.array([52, 44, 40], np.float32) + 7 * grain[..., None]
    drawn = np.where(window[..., None] > 0, plate, np.clip(inside, 0, 255).astype(np.uint8))
    corners = _window_corners(camera)
    cv2.polylines(drawn, [corners], True, (16, 16, 17), 7, cv2.LINE_AA)  # noqa: FBT003 - OpenCV knows it by position
    for x in (-1, 1):
        centre = camera.on_table(np.array([[x * (THROAT_SIZE[0] / 2 - 5.5), 0.0]]))[0]
        at = (round(float(centre[0])), round(float(centre[1])))
        cv2.circle(drawn, at, size[0] // 26, (92, 94, 96), -1, cv2.LINE_AA)
        cv2.line(drawn, (at[0] - 14, at[1] - 9), (at[0] + 14, at[1] + 9), (40, 40, 42), 4)
    return np.asarray(drawn, np.uint8)


def _window_corners(camera: Camera) -> NDArray[np.int32]:
    return np.round(camera.on_table(np.array(THROAT_WINDOW.corners))).astype(np.int32)


def _window_mask(camera: Camera) -> Pixels:
    """Return the mask of the plates."""
    mask: Pixels = np.full((camera.size[1], camera.size[0]), 255, np.uint8)
    cv2.fillConvexPoly(mask, _window_corners(camera), (0,))
    return mask


def _led(settings: Settings, strength: float) -> Light:
    """Return the light of a lamp beside the lens: bright in the middle, with a reflection."""
    high, wide = settings.height, settings.width
    y, x = np.mgrid[-1 : 1 : high * 1j, -1 : 1 : wide * 1j]
    lit = strength * (1.06 - 0.30 * ((x - 0.1) ** 2 + (y + 0.05) ** 2))
    spot = 60 * strength * np.exp(-((x - 0.45) ** 2 / 0.012 + (y + 0.8) ** 2 / 0.03))
    grey, shine = (np.clip(each, 0, 255).round().astype(np.uint8) for each in (lit * LIT, spot))
    return Light(three_channels(grey), three_channels(shine))
