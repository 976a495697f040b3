"""The index window is fitted to a deck, and the threshold is the lowest that a risk allows."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from calibration.camera import shown_cards
from calibration.camera.deck_comparison import BACK_NAME, card_files, load_cards
from calibration.camera.output import write_together
from calibration.camera.shown_cards import (
    ShownCard,
    choose_threshold,
    fit_window,
)
from drivers.camera.image import Image
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition import confidence
from drivers.camera.recognition.recogniser import (
    WEIGHTS_INFO,
    CardReading,
    Quad,
    Recogniser,
)
from drivers.simulators.card_artwork import Style, face, styles
from shoe_daemon.game import DECK, Card

CARDS = ("AS", "10H", "KD")


def shown(name: str, style: Style, shrunk: float = 1.0) -> ShownCard:
    """
    Show a card whose corners are taken to be too far out, which makes its index smaller than the
    window expects.
    """
    drawn = np.pad(face(Card(name), style, 120), ((60, 60), (60, 60), (0, 0)), mode="edge")
    high, wide = drawn.shape[0] - 120, drawn.shape[1] - 120
    out = np.array([wide, high]) * (1 / shrunk - 1)
    corners = np.array([[0, 0], [wide, 0], [wide, high], [0, high]], np.float64) + 60
    corners += np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * out
    return ShownCard(Card(name), "P1", drawn, corners)


def test_a_fitting_window_reads_every_card() -> None:
    style = next(islice(styles(), 1, None))
    fit = fit_window(Recogniser(), [shown(name, style) for name in CARDS])
    assert fit.cards == fit.fitted == fit.usual == len(CARDS)
    assert fit.summary.endswith("3 of 3 cards certain") == (fit.window == IndexWindow())


def test_no_other_window_is_tried_where_the_usual_one_is_certain_of_all_cards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shown_cards, "_CERTAIN", 3.0)
    tried: list[IndexWindow] = []

    class Counting(Recogniser):
        def read(self, image: Image, quad: Quad) -> CardReading:
            tried.append(self.window)
            return super().read(image, quad)

    style = next(islice(styles(), 1, None))
    fit = fit_window(Counting(), [shown(name, style) for name in CARDS])
    assert tried == [IndexWindow()] * len(CARDS)
    assert fit.window == IndexWindow()


def test_an_index_far_from_the_edges_gets_a_window_further_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shown_cards, "_SHIFTS", (0.0, 0.08))
    monkeypatch.setattr(shown_cards, "_SCALES", (0.85, 1.0))
    style = replace(next(islice(styles(), 2, None)), left=0.12, top=0.12, rank_height=0.1)
    recogniser = Recogniser()
    fit = fit_window(recogniser, [shown(name, style) for name in (*CARDS, "5D", "9S", "QH")])
    assert max(fit.window.x, fit.window.y) > 0
    others = [shown(str(card), style) for card in DECK[3::5]]
    accepted = {}
    for window in (IndexWindow(), fit.window):
        recogniser.window = window
        read = [recogniser.read(each.image, np.asarray(each.quad, np.float32)) for each in others]
        assert all(got.card in (None, each.card) for got, each in zip(read, others, strict=True))
        accepted[window] = sum(each.card is not None for each in read)
    assert accepted[IndexWindow()] < accepted[fit.window]
    assert accepted[fit.window] >= len(others) - 1


def test_the_threshold_is_the_lowest_that_the_risk_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "curve.json"
    usual = WEIGHTS_INFO.threshold
    points = [
        (0.8, 0.99, 1, 30000, 1 / 5500),  # a lower risk than at the next, of fewer cards
        (usual, 0.985, 4, 29500, 1 / 4000),
        (0.995, 0.98, 0, 29000, 1 / 9700),
    ]
    names = ("threshold", "accepted", "wrong", "cards", "risk")
    told = [dict(zip(names, point, strict=True)) for point in points]
    path.write_text(json.dumps({"curve": told}))
    monkeypatch.setattr(shown_cards, "CURVE_FILE", path)
    monkeypatch.setattr(shown_cards, "load_curve", lambda: confidence.load_curve(path))
    # Strange decks, of which the curve knows nothing, forbid a lower one than that of the weights.
    assert choose_threshold(1 / 1000).value == usual
    strict = choose_threshold(1 / 5000)
    assert (strict.value, strict.is_proven) == (0.995, True)
    assert choose_threshold(None).value == usual
    assert strict.summary == (
        "0.995 for at most one wrong card in 5,000; measured: at most one in 9,700 wrong "
        "(95% sure), 98.0% accepted"
    )
    unproven = choose_threshold(1 / 50000)
    assert (unproven.value, unproven.is_proven) == (0.995, False)


def test_cards_of_the_previous_deck_are_removed(tmp_path: Path) -> None:
    red, blue = (np.full((224, 160, 3), grey, np.uint8) for grey in (90, 200))
    write_together(card_files(tmp_path, {"A": red, "K": red, BACK_NAME: red}))
    write_together(card_files(tmp_path, {"A": blue}))
    kept = load_cards(tmp_path)
    assert list(kept) == ["A"], "the back and the king are those of another deck"
    assert np.array_equal(kept["A"], blue)
