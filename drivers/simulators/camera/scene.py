"""
Renders the table as its camera sees it, with the true scene of each picture.

Static parts are drawn once; only moving cards and hands are drawn for each picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from drivers.simulators.camera.animated_round import FACE, AnimatedRound, SceneState, scene_state
from drivers.simulators.camera.animated_shoe import animated_rounds
from drivers.simulators.camera.card_images import card_quad
from drivers.simulators.camera.hands import ARM_OUTLINE, arm_on_table
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.simulators.camera.sprites import Pixels
from drivers.simulators.camera.table_image import TableImage
from drivers.simulators.camera.throat_image import ThroatImage
from drivers.simulators.shoe import DealtRound
from shoe_daemon.game import Card, Slot

Corner = tuple[float, float]
Quad = tuple[Corner, Corner, Corner, Corner]


class CardTruth(Struct, frozen=True):
    """
    A card at rest, or a card that passes the shoe's exit.

    Attributes:
        slot: The card's place; None if on no place.
        card: The card.
        quad: Corners in pixels, from the upper left corner of the face.
        face_up: Its face is up.
        covered: A hand or another object is over it.
        overlapped: Another card covers a part of it.
        since: Seconds since it came to rest; negative while it moves.
    """

    slot: Slot | None
    card: Card
    quad: Quad
    face_up: bool = True
    covered: bool = False
    overlapped: bool = False
    since: float = 0.0


class Truth(Struct, frozen=True):
    """
    The true scene of one picture.

    Attributes:
        at: Seconds.
        shoe, round: The round in progress.
        cards: Cards at rest, in the order in which they came to rest.
        moving: Number of moving cards.
        trouble: The fault of the scene in this round.
        active: The fault is active now.
        finished: The round that ended with this picture.
    """

    at: float
    shoe: int = 0
    round: int = 0
    cards: tuple[CardTruth, ...] = ()
    moving: int = 0
    trouble: SceneFault | None = None
    active: bool = False
    finished: DealtRound | None = None


_TINY: Final = 1e-9
_DEFOCUS_SHARE: Final = 0.0022
"""Blur, as a share of the picture's width."""

_MIN_COVERED_SHARE: Final = 0.01


class Shot(NamedTuple):
    """
    Attributes:
        image: None if the camera delivers no picture.
        at: Seconds.
        truth: The true scene.
    """

    image: Pixels | None
    at: float
    truth: Truth


class Scene:
    """
    A table in play, and its camera.

    Attributes:
        settings: As given.
        camera: The camera's initial position.
    """

    def __init__(self, settings: Settings, gate: Callable[[], bool] | None = None) -> None:
        """
        Args:
            settings: The play and the camera.
            gate: Called while the dealer waits for a ruling; returns True to continue.
        """
        self.settings = settings
        self.camera = create_camera(settings)
        overhead = settings.station is Station.OVERHEAD
        self._view = (TableImage if overhead else ThroatImage)(settings, self.camera)
        self._sensor = Sensor(settings)
        self._gate = gate
        self._script = animated_rounds(settings)
        self._began = self._now = self._at = 0.0
        self._frozen: Pixels | None = None
        self._animation: AnimatedRound | None = None
        self._next()

    @property
    def playing(self) -> DealtRound | None:
        """The current round."""
        return self._animation.dealt if self._animation else None

    def frames(self, *, draw: bool = True) -> Iterator[Shot]:
        """Yield pictures at the configured rate until the end of play; see `shot`."""
        number = 0
        while (shot := self.shot(number / self.settings.fps, draw=draw)) is not None:
            number += 1
            yield shot

    def truths(self) -> Iterator[Truth]:
        """Yield the true scenes at the same rate, without rendering."""
        return (shot.truth for shot in self.frames(draw=False))

    def empty(self) -> Pixels:
        """Render the empty table."""
        view, state = self._view, scene_state(AnimatedRound(0), 0.0)
        return self._sensor.take(view.draw(state), 0.0)

    def reset_camera(self) -> None:
        """Move a pushed camera back."""
        self._view.reset_camera()

    def shot(self, at: float, *, draw: bool = True) -> Shot | None:
        """
        Take a picture; None after the end of play.

        Args:
            at: Seconds; never less than in the previous call.
            draw: False to return the true scene only.
        """
        animation = self._animation
        if animation is None:
            return None
        self._pass(at)
        inside = self._now - self._began
        finished: DealtRound | None = None
        if inside > animation.seconds:
            finished, inside = animation.dealt, animation.seconds
            self._began += animation.seconds
            self._next()
        state = scene_state(animation, inside)
        self._view.push_camera(state)
        truth = self._truth(state, animation, at, finished)
        return Shot(self._picture(state, at) if draw else None, at, truth)

    def _pass(self, at: float) -> None:
        """Advance the time, as far as the gates permit."""
        step = at - self._at
        self._at = at
        now = self._now + step
        while self._gates and now - self._began >= self._gates[0] - _TINY:
            if self._gate is not None and not self._gate():
                now = self._began + self._gates[0]
                break
            self._gates.pop(0)
        self._now = now

    def _next(self) -> None:
        before, self._animation = self._animation, next(self._script, None)
        self._gates = sorted(self._animation.gates) if self._animation else []
        if before and self._animation and before.shoe != self._animation.shoe:
            # Staff put the camera right between two shoes.
            self.reset_camera()

    def _picture(self, state: SceneState, at: float) -> Pixels | None:
        active = state.active
        if SceneFault.STOPPED in active:
            return None
        if SceneFault.FROZEN in active and self._frozen is not None:
            return self._frozen
        if SceneFault.BLACK in active:
            drawn = np.zeros((self.settings.height, self.settings.width, 3), np.uint8)
        else:
            drawn = self._view.draw(state)
        blur = _DEFOCUS_SHARE * self.settings.width if SceneFault.DEFOCUS in active else 0.0
        torn = SceneFault.DAMAGED in active
        flicker = SceneFault.FLICKER in active
        self._frozen = self._sensor.take(drawn, at, flicker=flicker, blur=blur, torn=torn)
        return self._frozen

    def _truth(
        self, state: SceneState, animation: AnimatedRound, at: float, finished: DealtRound | None
    ) -> Truth:
        dealt = animation.dealt
        return Truth(
            at=at,
            shoe=animation.shoe,
            round=dealt.number if dealt else 0,
            cards=tuple(self._card_truths(state, at)),
            moving=sum(each.since < 0 for each in state.cards),
            trouble=animation.trouble,
            active=bool(state.active),
            finished=finished,
        )

    def _card_truths(self, state: SceneState, at: float) -> Iterator[CardTruth]:
        """Yield the true position of each card; above a table, only of cards at rest."""
        camera = self._view.camera
        hulls = [
            camera.project(arm_on_table(ARM_OUTLINE, pose.at, pose.heading, pose.up))
            for _, pose in state.hands
        ]
        overhead = self.settings.station is Station.OVERHEAD
        shown = [each for each in state.cards if each.since >= 0 or not overhead]
        quads = [np.asarray(card_quad(each.pose, camera)) for each in shown]
        for number, (each, quad) in enumerate(zip(shown, quads, strict=True)):
            yield CardTruth(
                slot=each.track.slot,
                card=each.track.card,
                quad=_corners(quad),
                face_up=each.pose.turn == FACE,
                covered=each.marked or any(_touch(quad, hull) for hull in hulls),
                overlapped=any(_touch(quad, above) for above in quads[number + 1 :]),
                since=at - (state.at - each.since) if each.since >= 0 else -1.0,
            )


def _corners(quad: NDArray[np.float64]) -> Quad:
    a, b, c, d = ((float(x), float(y)) for x, y in quad)
    return a, b, c, d


def _touch(quad: NDArray[np.float64], shape: NDArray[np.float64]) -> bool:
    """Return whether a shape covers more than a trace of a card."""
    mine = np.asarray(quad, np.float32)
    theirs = cv2.convexHull(np.asarray(shape, np.float32))
    area, _ = cv2.intersectConvexConvex(cv2.convexHull(mine), theirs)
    return bool(area > _MIN_COVERED_SHARE * cv2.contourArea(mine))
