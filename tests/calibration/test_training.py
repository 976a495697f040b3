"""Training of the recogniser: readable lessons, and two separate sets to judge it with."""

from __future__ import annotations

import cv2
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from calibration.training.covers import with_covers
from calibration.training.faces import Face
from calibration.training.figures import LEAST_THRESHOLD, measure
from calibration.training.patches import NO_INDEX, Patch, lesson
from calibration.training.photo import Conditions, Photo, photograph
from calibration.training.rendered_test import CHOICE, FIELDS, TEST, Results
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import window_quads
from drivers.simulators.card_artwork import face, outline, style
from drivers.simulators.card_artwork.card_drawing import index_places
from drivers.simulators.card_artwork.deck_style import ASPECT, Layout
from drivers.simulators.card_artwork.shapes import pip_mask, rank_mask
from shoe_daemon.game.cards import RANKS, SUITS, Card

Quad = NDArray[np.float32]
_WELL = Conditions(
    width=160, turn=0, tilt=1, lean=0, blur=0, motion=0, light=1, noise=0,
)  # fmt: skip


def _face(name: str = "8H", layout: Layout = Layout.STANDARD) -> Face:
    card, deck = Card(name), style(3, layout)
    masks = (rank_mask(card.rank, deck.figures), pip_mask(card.suit, deck.seed))
    figure, pip = (
        ((x, y / ASPECT), (wide, tall / ASPECT))
        for (x, y), (wide, tall) in index_places(card, deck, masks)
    )
    return Face(
        card=card,
        image=face(card, deck, 200),
        mask=outline(deck, 200),
        figure=deck.rank_height * ASPECT,
        places=(figure, pip),
        kind="own",
    )


def _taught(photo: Photo, window: IndexWindow, *, end: int = 0) -> Patch:
    chance = np.random.default_rng(0)  # whose first number lays no hand over the card
    return lesson(chance, photo, _face(), window_quads(photo.quad, window)[end], (end, 1.0))


def _photo(over: tuple[Face, ...] = ()) -> Photo:
    return photograph(np.random.default_rng(1), _face(), _WELL, over)


@pytest.mark.parametrize("end", [0, 1])
def test_an_index_that_is_whole_is_taught_as_its_card(end: int) -> None:
    patch = _taught(_photo(), IndexWindow(), end=end)
    assert (patch.rank, patch.suit, patch.legible) == (RANKS.index("8"), SUITS.index("H"), 1.0)


def test_a_figure_that_the_window_cuts_is_no_index() -> None:
    places = _face().places
    assert places
    patch = _taught(_photo(), IndexWindow(x=places[0][0][0]))
    assert (patch.rank, patch.legible) == (NO_INDEX, 0.0)


def test_an_index_under_another_card_is_no_index() -> None:
    photo = _photo()
    hidden = Photo(
        image=photo.image, quad=photo.quad, covers=(photo.quad,), softness=photo.softness
    )
    assert _taught(hidden, IndexWindow()).rank == NO_INDEX


def test_a_card_without_a_name_is_no_index() -> None:
    photo, face = _photo(), msgspec.structs.replace(_face(), card=None)
    window = window_quads(photo.quad, IndexWindow())[0]
    patch = lesson(np.random.default_rng(0), photo, face, window, (0, 1.0))
    assert (patch.rank, patch.legible) == (NO_INDEX, 0.0)


def test_covers_lie_over_the_index_that_they_hide() -> None:
    face, hidden = _face(), 0
    for seed in range(40):
        covered, covers = with_covers(np.random.default_rng(seed), face)
        assert 1 <= len(covers) <= 2
        photo = photograph(np.random.default_rng(1), covered, _WELL)
        photo = msgspec.structs.replace(
            photo, covers=tuple(_in_picture(photo, each) for each in covers)
        )
        patches = [_taught(photo, IndexWindow(), end=end) for end in (0, 1)]
        hidden += any(patch.rank == NO_INDEX for patch in patches)
    assert 10 <= hidden < 40


def _in_picture(photo: Photo, cover: NDArray[np.float32]) -> Quad:
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    plane = cv2.getPerspectiveTransform(unit, photo.quad)
    return np.asarray(cv2.perspectiveTransform(cover[None], plane)[0], np.float32)


def _results(confidence: float, *, right: bool, cards: int = 20_000) -> Results:
    conditions = {name: np.zeros(cards) for name in FIELDS} | {"light": np.ones(cards)}
    return Results(
        right=np.full(cards, right),
        accepted_up_to=np.full(cards, confidence),
        sharpness=np.ones(cards),
        pixels=np.full(cards, 80.0),
        conditions=conditions,
    )


def _together(one: Results, other: Results) -> Results:
    both = [msgspec.structs.asdict(results) for results in (one, other)]
    fields = {
        name: np.concatenate([each[name] for each in both])
        for name in both[0]
        if name != "conditions"
    }
    conditions = {
        name: np.concatenate([each["conditions"][name] for each in both]) for name in FIELDS
    }
    return Results(**fields, conditions=conditions)


def test_the_threshold_is_chosen_with_other_cards_than_the_figures_are_stated_for() -> None:
    assert not set(CHOICE) & set(TEST)
    unsure = _results(0.987, right=False, cards=100)
    figures = measure(_together(_results(1.0, right=True), unsure), _results(1.0, right=True))
    assert figures.threshold == 0.99
    assert (figures.chosen_with, figures.cards, figures.wrong) == (20_100, 20_000, 0)


def test_wrong_cards_of_the_test_are_stated_and_move_no_threshold() -> None:
    wrong = _together(_results(1.0, right=True), _results(0.987, right=False, cards=100))
    figures = measure(_results(1.0, right=True), wrong)
    assert figures.threshold == LEAST_THRESHOLD
    assert figures.wrong == 100
