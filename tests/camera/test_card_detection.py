"""Cards are found by their visible parts, on any felt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.camera.image import Image, VideoFrame
from drivers.camera.line import make_station
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Place
from drivers.camera.recognition.outline_search import CardBounds, find_card
from drivers.camera.recognition.table_projection import (
    Floats,
    Patch,
    TableProjection,
    max_stray_mm,
    place_patch,
)
from drivers.simulators.camera.animated_round import (
    AnimatedRound,
    CardTrack,
    HandTrack,
    Key,
    Pose,
    scene_state,
)
from drivers.simulators.camera.card_images import card_quad
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import Settings
from drivers.simulators.camera.table_image import TableImage
from drivers.simulators.camera.table_layout import PLACES
from drivers.simulators.card_artwork import face, styles
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from tests.camera.profiles import simulated_profile
from tests.volume import sample, volume

Way = tuple[Slot, float, float, float]

_NEAR = 10
"""Maximum error, in pixels, of a face-down card."""

_UNIT = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)

_LIKE_THE_FELT = (5009, 5035, 5112)
"""Seeds whose backs are thin lines on the felt's own colour."""


class Backs:
    """A simulated table on which a card is laid face down."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._settings = settings = Settings(seed=seed, rounds=1)
        self._profile = load_profile(simulated_profile(settings, folder))
        self._view = TableImage(settings, create_camera(settings))
        self._sensor = Sensor(settings)

    def seen(self, *cards: CardTrack, hand: Pose | None = None) -> Image:
        hands = [] if hand is None else [HandTrack([Key(0.0, hand), Key(2.0, hand)])]
        drawn = self._view.draw(scene_state(AnimatedRound(0, cards=list(cards), hands=hands), 1.0))
        return self._sensor.take(drawn, 0.0, flicker=False, blur=0.0, torn=False)

    @cached_property
    def empty(self) -> Image:
        """The table without cards."""
        return self.seen()

    @cached_property
    def patches(self) -> dict[Slot, tuple[Place, Patch]]:
        """Each place, and its part of a picture."""
        ground, card = TableProjection(self._profile), self._profile.card
        return {
            slot: (each, place_patch(ground, each, card))
            for each in self._profile.place
            if (slot := each.slot) is not None
        }

    def miss(self, slot: Slot, x: float, y: float, turn: float) -> float:
        """Lay a card beside the middle of its place; return the error in pixels."""
        box, profile = PLACES[slot], self._profile
        pose = Pose(box.x + x, box.y + y, 0.0, box.turn + turn)
        place, patch = self.patches[slot]
        bounds = CardBounds(patch.scale, (63.0, 88.0), max_stray_mm(place, profile.place))
        lying = self.seen(CardTrack([Key(0.0, pose)], Card("5D"), slot))
        found = find_card(patch.cut(lying), patch.cut(self.empty), bounds)
        if found is None or not found.is_whole:
            return float("inf")
        true = card_quad(pose, self._view.camera)
        quad = patch.to_picture(found.quad)
        return float(min(np.abs(np.roll(quad, turn, 0) - true).max() for turn in (0, 2)))

    def state(self, way: Way, push: float) -> str:
        """Lay a card under an oblique camera; return the state of its place."""
        slot, x, y, turn = way
        box, self._view.camera = PLACES[slot], create_camera(self._settings).moved(push, -push)
        pose = Pose(box.x + x, box.y + y, 0.0, box.turn + turn)
        lying = CardTrack([Key(0.0, pose)], Card("5D"), slot)
        station = make_station(self._profile, CameraOptions(evidence=""), None)
        for number, image in enumerate([self.seen()] * 3 + [self.seen(lying)] * 5):
            station.process(VideoFrame(image, number / 10, number))
        return station.states()[slot][0]  # type: ignore[attr-defined,no-any-return] # of this station

    def states(self, slot: Slot) -> list[str]:
        """
        Lay a card as a dealer does, and remove it; return the state of its place each half second.
        """
        box = PLACES[slot]
        lying = CardTrack([Key(0.0, Pose(box.x, box.y, 0.0, box.turn))], Card("5D"), slot)
        hand = Pose(box.x, box.y, 10.0, 0.0)
        empty, covered, alone = (self.empty, self.seen(lying, hand=hand), self.seen(lying))
        station = make_station(self._profile, CameraOptions(evidence=""), None)
        states = []
        for number, image in enumerate([empty] * 5 + [covered] * 5 + [alone] * 40 + [empty] * 10):
            station.process(VideoFrame(image, number / 10, number))
            states.append(station.states()[slot][0])  # type: ignore[attr-defined] # of this station
        return states[4::5]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Backs]:
    """The table of a seed, the same for all tests."""
    return cache(lambda seed: Backs(seed, tmp_path_factory.mktemp("table")))


def _ways() -> Iterator[Way]:
    chance = np.random.default_rng(9)
    for number in range(volume(3, 15)):
        slot = list(PLACES)[number % len(PLACES)]
        x, y, turn = (float(chance.normal(0, spread)) for spread in (2.5, 3.0, 2.5))
        yield slot, x, y, turn


@pytest.mark.parametrize("seed", sample([2, 11, 102], 3))
def test_backs_are_found_on_any_felt(seed: int, table: Callable[[int], Backs]) -> None:
    """
    The back of seed 2 is printed to its rim, and as light as the felt; that of seed 102 has a
    white rim, and the felt's colour.
    """
    backs = table(seed)
    missed = [(way, miss) for way in _ways() if (miss := backs.miss(*way)) > _NEAR]
    assert missed == []


@pytest.mark.parametrize("seed", sample(_LIKE_THE_FELT, 3))
def test_faint_backs_are_found(seed: int, table: Callable[[int], Backs]) -> None:
    """All but those that hide the line around their place."""
    backs = table(seed)
    missed = [way for way in islice(_ways(), volume(3, 6)) if backs.miss(*way) > _NEAR]
    assert len(missed) <= 1


@pytest.mark.parametrize("seed", sample(_LIKE_THE_FELT, 3))
def test_a_faint_back_is_tracked_until_it_is_gone(
    seed: int, table: Callable[[int], Backs]
) -> None:
    backs = table(seed)
    assert backs.states(Slot.P1)[2:] == ["down"] * 8 + ["empty"] * 2


@pytest.mark.parametrize("push", sample([3.0, 6.5], 2))
def test_backs_are_found_by_an_oblique_camera(
    push: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    backs = Backs(2, tmp_path_factory.mktemp("table"))
    states = [backs.state(way, push) for way in islice(_ways(), volume(1, 5))]
    assert states == ["down"] * len(states)


def _laid_on(tone: Floats, seed: int) -> tuple[Image, Image, Floats]:
    """Lay a card on a plain table; return the table with it and without, and its corners."""
    chance = np.random.default_rng(seed)
    scale, side = 1.7, 255
    size = np.array([63.0, 88.0]) * scale
    turn = chance.normal(0, 0.08)
    spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    quad = ((_UNIT - 0.5) * size) @ spin.T + side / 2 + chance.normal(0, 6, 2)
    drawn = face(DECK[seed % len(DECK)], next(islice(styles(), seed % 8, None)), 200)
    corners = _UNIT * np.array(drawn.shape[1::-1], np.float32)
    plane = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    empty = tone + chance.normal(0, 4, (side, side, 1))
    laid = np.asarray(cv2.warpPerspective(drawn, plane, (side, side)), np.float32) * 0.9
    there = np.asarray(cv2.warpPerspective(np.ones(drawn.shape[:2]), plane, (side, side)))
    shadow = np.asarray(cv2.GaussianBlur(np.roll(there, (2, 2), (0, 1)), (0, 0), 2))
    there, shadow = there[..., None], shadow[..., None]

    def seen(scene: Floats) -> Image:
        soft = cv2.GaussianBlur(scene, (0, 0), 0.7) + chance.normal(0, 2, scene.shape)
        return np.clip(soft, 0, 255).astype(np.uint8)

    shaded = empty * (1 - 0.15 * shadow)
    return seen(shaded * (1 - there) + laid * there), seen(empty), quad


@pytest.mark.parametrize(("contrast", "share"), [(18, 0.8), (30, 1.0)])
def test_a_card_on_a_table_nearly_as_pale_is_found(contrast: int, share: float) -> None:
    seeds, count = range(volume(6, 24)), 0
    for seed in seeds:
        paper = np.array(next(islice(styles(), seed % 8, None)).paper) * 0.9
        image, empty, quad = _laid_on(paper - contrast * np.array([1.2, 1.0, 0.8]), seed)
        found = find_card(image, empty, CardBounds(1.7, (63.0, 88.0)))
        if found is None:
            continue  # a printed frame is stronger than the card's edge
        count += 1
        error = min(float(np.abs(np.roll(found.quad, turn, 0) - quad).max()) for turn in (0, 2))
        assert error < 0.04 * 63 * 1.7, seed
    assert count >= share * len(seeds)


def test_a_shadow_is_no_card() -> None:
    for seed in range(volume(6, 15)):
        chance = np.random.default_rng(seed)
        empty = np.full((255, 255, 3), (150.0, 170.0, 180.0)) + chance.normal(0, 4, (255, 255, 1))
        shade = np.zeros((255, 255), np.float32)
        low, high = chance.integers(40, 90, 2), chance.integers(150, 220, 2)
        shade[low[0] : high[0], low[1] : high[1]] = 1
        soft = np.asarray(cv2.GaussianBlur(shade, (0, 0), chance.uniform(4, 10)))[..., None]
        dark = empty * (1 - chance.uniform(0.1, 0.3) * soft)
        image, before = (
            np.clip(each + chance.normal(0, 2, each.shape), 0, 255).astype(np.uint8)
            for each in (dark, empty)
        )
        assert find_card(image, before, CardBounds(1.7, (63.0, 88.0))) is None, seed
