"""
Every trouble of the simulated camera is one: it shows in the pictures, or in what lies there.
"""

from __future__ import annotations

import math
from itertools import pairwise

import cv2
import numpy as np
import pytest

from drivers.simulators.camera.scene import Scene, Shot, Truth
from drivers.simulators.camera.settings import SceneFault
from drivers.simulators.shoe import Excess
from tests.camera.simulated_tables import mouth, shots, table


def _active(scene: Scene) -> list[Shot]:
    found = shots(scene, lambda truth: truth.active, 12)
    assert found, "it never happened"
    return found


def _means(found: list[Shot]) -> list[float]:
    return [float(shot.image.mean()) for shot in found if shot.image is not None]


def _usual() -> float:
    return _means(shots(table(seed=7), most=1))[0]


def test_a_stopped_camera_gives_no_picture() -> None:
    assert all(shot.image is None for shot in _active(table(SceneFault.STOPPED, seed=7)))


def test_a_frozen_camera_gives_the_same_picture() -> None:
    found = _active(table(SceneFault.FROZEN, seed=7))
    first = found[0].image
    assert first is not None
    assert len(found) > 1
    assert all(np.array_equal(first, shot.image) for shot in found[1:])  # type: ignore[arg-type]


def test_a_black_picture_is_black() -> None:
    assert max(_means(_active(table(SceneFault.BLACK, seed=7)))) < 8


def test_a_lamp_goes_out() -> None:
    assert _means(_active(table(SceneFault.LAMP_OUT, seed=7)))[-1] < 0.85 * _usual()


def test_lamps_flicker() -> None:
    means = _means(_active(table(SceneFault.FLICKER, seed=7)))
    assert max(means) > 1.1 * min(means)


@pytest.mark.parametrize("trouble", [SceneFault.SHADOW, SceneFault.GLARE])
def test_light_changes_at_a_place(trouble: SceneFault) -> None:
    def dealt(truth: Truth) -> bool:
        return len(truth.cards) >= 4 and truth.at > 11

    usual, changed = (
        shots(scene, dealt, 1)[0].image
        for scene in (table(seed=7, noise=0.0), table(trouble, seed=7, noise=0.0))
    )
    assert usual is not None
    assert changed is not None
    apart = changed.astype(int) - usual
    if trouble is SceneFault.SHADOW:
        assert float(apart.mean()) < -2
    else:
        assert float(np.percentile(apart.min(axis=2), 99.9)) > 8


def test_a_camera_out_of_focus_is_not_sharp() -> None:
    def sharp(scene: Scene) -> float:
        image = shots(scene, lambda truth: len(truth.cards) >= 4, 1)[0].image
        assert image is not None
        return float(cv2.Laplacian(image, cv2.CV_64F).var())

    blurred = table(SceneFault.DEFOCUS, seed=7, noise=0.0)
    assert sharp(blurred) < 0.5 * sharp(table(seed=7, noise=0.0))


def test_a_damaged_picture_has_strange_rows() -> None:
    scenes = (table(seed=7, noise=0.0), table(SceneFault.DAMAGED, seed=7, noise=0.0))
    torn = _active(scenes[1])[0]
    whole = scenes[0].shot(torn.at)
    assert whole is not None
    assert torn.image is not None
    assert whole.image is not None
    rows = np.abs(torn.image.astype(int) - whole.image).mean(axis=(1, 2))
    assert float(rows.max()) > 8
    assert float(rows.min()) < 1


@pytest.mark.parametrize(("trouble", "far"), [(SceneFault.BUMP, 5.0), (SceneFault.KNOCK, 50.0)])
def test_a_pushed_camera_sees_everything_elsewhere(trouble: SceneFault, far: float) -> None:
    still, pushed = (
        {
            (card.card, card.since): card.quad
            for truth in scene.truths()
            for card in truth.cards
            if not truth.moving
        }
        for scene in (table(seed=9), table(trouble, seed=9))
    )
    scale = 640 / 880
    moved = [
        math.dist(quad[0], pushed[key][0]) / scale for key, quad in still.items() if key in pushed
    ]
    assert max(moved) == pytest.approx(far, rel=0.5, abs=1.5)


def test_a_card_too_many_is_laid() -> None:
    scene = table(SceneFault.OVERDRAW, seed=7)
    dealt = scene.playing
    assert dealt is not None
    assert dealt.excess is not None
    most = max(len(truth.cards) for truth in scene.truths())
    assert most == len(dealt.cards) + 1


def test_a_carried_card_stays_and_is_the_first_of_the_next_round() -> None:
    scene = table(SceneFault.OVERDRAW, seed=7, rounds=2, excess=Excess.CARRIED, fps=4)
    excess = scene.playing.excess if scene.playing else None
    assert excess is not None
    places = {
        card.slot
        for truth in scene.truths()
        for card in truth.cards
        if card.card is excess and truth.round == 2
    }
    assert "P1" in places


def test_buttons_lie_on_both_indices() -> None:
    assert any(
        card.covered and not truth.moving
        for truth in table(SceneFault.UNREADABLE, seed=7).truths()
        for card in truth.cards
    )


def test_a_third_card_is_laid_on_the_wrong_side() -> None:
    scene = table(SceneFault.WRONG_PLACE, seed=1, rounds=4, fps=4)
    strange = False
    for truth in scene.truths():
        dealt = scene.playing
        if dealt is not None and truth.trouble is SceneFault.WRONG_PLACE:
            right = dict(dealt.cards)
            strange |= any(
                card.slot is not None and right.get(card.slot) is not card.card
                for card in truth.cards
            )
    assert strange


def test_a_hand_rests_on_cards() -> None:
    truths = table(SceneFault.COVERED, seed=7).truths()
    assert sum(any(card.covered for card in truth.cards) for truth in truths) > 6


def test_two_cards_leave_the_shoe_together() -> None:
    together = [len(truth.cards) for truth in mouth(SceneFault.DOUBLE_FEED, seed=7).truths()]
    assert max(together) == 2


def test_a_card_is_pushed_back() -> None:
    xs = [
        truth.cards[0].quad[0][0]
        for truth in mouth(SceneFault.RETURNED, seed=7).truths()
        if len(truth.cards) == 1
    ]
    assert any(after < before - 10 for before, after in pairwise(xs))
