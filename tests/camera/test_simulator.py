"""The simulated camera shows exactly what its ground truth says, the same every time."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.simulators import angel_eye as dealing
from drivers.simulators.camera.card_images import choose_deck
from drivers.simulators.camera.scene import CardTruth, Scene, Shot, Truth
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.simulators.card_artwork import ASPECT, face
from shoe_daemon.game.cards import DECK, Card
from tests.camera.simulated_tables import mouth, settings, shots, table
from tests.volume import sample

_WIDE = 63
_HIGH = round(_WIDE * ASPECT)


def _flat(shot: Shot, lying: CardTruth) -> NDArray[np.uint8]:
    assert shot.image is not None
    corners = np.array([[0, 0], [_WIDE, 0], [_WIDE, _HIGH], [0, _HIGH]], np.float32)
    way = cv2.getPerspectiveTransform(np.array(lying.quad, np.float32), corners)
    return np.asarray(cv2.warpPerspective(shot.image, way, (_WIDE, _HIGH)), np.uint8)


def _likest(seen: NDArray[np.uint8], wish: Settings) -> Card:
    """Compare with every face of the deck; the window is a little smaller than the card."""
    deck = choose_deck(wish.seed, wish.deck, 0, _WIDE)

    def likeness(card: Card) -> float:
        drawn = np.asarray(face(card, deck.style, _WIDE), np.uint8)
        inner = drawn[4:-4, 4:-4]
        return float(cv2.matchTemplate(seen, inner, cv2.TM_CCOEFF_NORMED).max())

    return max(DECK, key=likeness)


def _still(seed: int) -> tuple[Scene, Shot]:
    """Give the picture with the most cards in it, face up, under nothing."""

    def scene() -> Scene:
        return table(seed=seed, width=1280, height=720, fps=2)

    best = max(
        (truth for truth in scene().truths() if len(truth.cards) >= 4 and not truth.moving),
        key=lambda truth: sum(
            card.face_up and not card.covered and not card.overlapped for card in truth.cards
        ),
    )
    shown = scene()
    return shown, shots(shown, lambda truth: truth.at == best.at, 1)[0]


@pytest.mark.parametrize("seed", sample([1, 6], 2))
def test_the_card_at_its_corners_is_the_card(seed: int) -> None:
    scene, shot = _still(seed)
    free = [card for card in shot.truth.cards if card.face_up and not card.overlapped]
    assert len(free) >= 4
    for lying in free:
        assert _likest(_flat(shot, lying), scene.settings) is lying.card


def _whole(truth: Truth) -> list[CardTruth]:
    """The cards that are whole in the picture."""
    return [card for card in truth.cards if all(60 < x < 1220 for x, _ in card.quad)]


def test_the_card_that_passes_the_mouth_is_the_card() -> None:
    scene = mouth(seed=4, width=1280, height=720, fps=30.0)
    dealt = scene.playing
    assert dealt is not None
    slots: set[str | None] = set()

    def is_new(truth: Truth) -> bool:
        new = {card.slot for card in _whole(truth)} - slots
        slots.update(new)
        return bool(new)

    seen = {
        lying.slot: _likest(_flat(shot, lying), scene.settings)
        for shot in shots(scene, is_new)
        for lying in _whole(shot.truth)
    }
    assert seen == dict(dealt.cards)


def test_rounds_are_those_of_the_other_simulators() -> None:
    wish = settings(seed=21, rounds=5, fps=2.0)
    finished = [truth.finished for truth in Scene(wish).truths() if truth.finished]
    shoe = dealing.scenario(dealing.Settings(seed=21, rounds=5, mode=dealing.Mode.OPEN))
    assert [each.cards for each in finished] == [each.cards for each in shoe.rounds]


def test_all_cards_of_a_round_come_to_lie_on_their_places_and_are_taken_away() -> None:
    scene = table(seed=2)
    dealt = scene.playing
    assert dealt is not None
    lay: dict[str, Card] = {}
    last: Truth | None = None
    for truth in scene.truths():
        lay |= {str(card.slot): card.card for card in truth.cards if card.face_up}
        last = truth
    assert lay == {str(slot): card for slot, card in dealt.cards}
    assert last is not None
    assert last.finished == dealt
    assert last.cards == ()


@pytest.mark.parametrize("station", list(Station))
def test_the_same_seed_shows_the_same(station: Station) -> None:
    def some(seed: int) -> list[bytes]:
        scene = table(seed=seed, station=station)
        return [
            shot.image.tobytes() for shot in islice(scene.frames(), 3) if shot.image is not None
        ]

    assert some(8) == some(8)
    assert some(8) != some(9)


def test_pictures_may_be_skipped_without_changing_the_others() -> None:
    every = table(seed=8, noise=0.0, fps=8)
    fewer = table(seed=8, noise=0.0, fps=2)
    pairs = list(zip(islice(every.frames(), 0, 24, 4), islice(fewer.frames(), 6), strict=True))
    assert pairs
    for one, other in pairs:
        assert one.truth == other.truth
        assert np.array_equal(one.image, other.image)  # type: ignore[arg-type]


def test_a_gate_holds_the_play_and_not_the_camera() -> None:
    open_now = False
    wish = settings(
        seed=1, rounds=12, fps=4.0, faults=(SceneFault.OVERDRAW,), fault_rate=1.0, turned=0.0
    )
    scene = Scene(wish, lambda: open_now)
    held = 0
    for number in range(400):
        shot = scene.shot(number / 4, draw=False)
        assert shot is not None
        if shot.truth.finished:
            break
        held += not shot.truth.moving and len(shot.truth.cards) > 4
        open_now = held > 40
    else:
        pytest.fail("it is held for ever")
    assert held > 40
