"""The recogniser reads decks that were not trained, and names no card where there is none."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.camera.recognition.recogniser import WEIGHTS_FILE, Recogniser, window_quads
from drivers.simulators.card_artwork import back, face
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import DECK, Card
from tests.camera.rendered_photos import DECKS, photo
from tests.volume import sample, volume

Patches = NDArray[np.float32]


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


def test_every_card_of_unseen_decks_is_read_and_none_is_wrong(recogniser: Recogniser) -> None:
    accepted, decks = 0, volume(1, 2)
    for seed, card in enumerate(DECK * decks):
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed)
        reading = recogniser.read(image, quad)
        assert reading.card in {None, card}, (seed, deck.layout, reading.best)
        accepted += reading.card is not None
    assert accepted >= 0.96 * decks * len(DECK)


def test_one_end_is_enough(recogniser: Recogniser) -> None:
    accepted, cards = 0, sample(enumerate(DECK), 2)
    for seed, card in cards:
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed)
        hidden = window_quads(quad, recogniser.window)[1]
        cv2.fillConvexPoly(image, np.round(hidden).astype(np.int32), (120, 150, 200))
        reading = recogniser.read(image, quad)
        assert reading.card in {None, card}, (seed, reading.best)
        accepted += reading.card is not None
    assert accepted >= 0.7 * len(cards)  # one end must be as sure as both


def test_an_index_alone_is_read(recogniser: Recogniser) -> None:
    right, cards = 0, sample(enumerate(DECK), 4)
    for seed, card in cards:
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed)
        reading = recogniser.read_window(image, window_quads(quad, recogniser.window)[0])
        assert reading.card in {None, card}, (seed, reading.best)
        right += reading.best is card
    assert right >= 0.95 * len(cards)


def test_a_card_on_top_does_not_name_the_one_below(recogniser: Recogniser) -> None:
    deck = DECKS[3]
    for seed, lower in enumerate(sample(DECK[::3], 3)):
        upper = DECK[(21 * seed + 5) % len(DECK)]
        below, above = (face(card, deck, 160) for card in (lower, upper))
        _lay_over(below, above, right=(0.08, 0.12, 0.16, 0.2)[3 * seed % 4])
        reading = recogniser.read(*photo(below, deck, 3 * seed))
        assert reading.card in {None, lower}, (seed, reading.best)


def _lay_over(below: NDArray[np.uint8], above: NDArray[np.uint8], right: float) -> None:
    """Lay a card over another, shifted by parts of its width, so that its index can be seen."""
    height, width = below.shape[:2]
    x = round(right * width)
    below[:, x:] = above[:, : width - x]
    cv2.line(below, (x, 0), (x, height), (120, 120, 120))


def test_backs_and_blank_paper_are_no_cards(recogniser: Recogniser) -> None:
    for seed, deck in sample(enumerate(DECKS), 4):
        printed = back(deck, 160)
        for side in (printed, np.full_like(printed, 245)):
            assert recogniser.read(*photo(side, deck, seed)).card is None, seed


def test_a_card_read_crosswise_is_not_named(recogniser: Recogniser) -> None:
    for seed, card in sample(enumerate(DECK[::2]), 4):
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed)
        assert recogniser.read(image, np.roll(quad, 1, 0)).card is None, (seed, card)


def test_the_table_is_no_card(recogniser: Recogniser) -> None:
    chance = np.random.default_rng(3)
    for seed in range(volume(5, 20)):
        coarse = chance.integers(0, 256, (9, 12, 3)).astype(np.uint8)
        image = cv2.resize(coarse, (420, 360), interpolation=cv2.INTER_CUBIC)
        quad = np.array([[100, 80], [210, 85], [205, 240], [95, 235]], np.float32)
        assert recogniser.read(np.asarray(image, np.uint8), quad).card is None, seed


def test_a_soft_card_is_not_named(recogniser: Recogniser) -> None:
    for seed, card in sample(enumerate(DECK[::2]), 4):
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed, blur=7)
        assert recogniser.read(image, quad).card is None, (seed, card)


def test_blur_makes_fewer_readings_but_no_wrong_ones(recogniser: Recogniser) -> None:
    for blur in sample((1.5, 2.5, 3.5, 4.5), 2):
        for seed, card in enumerate(sample(DECK[::3], 2)):
            deck = DECKS[seed % len(DECKS)]
            image, quad = photo(face(card, deck, 160), deck, seed, blur=blur)
            assert recogniser.read(image, quad).card in {None, card}, (blur, seed)


@pytest.mark.parametrize(
    ("lamp", "share"),
    [((0.125, 0.125, 0.125), 0.9), ((0.02, 0.45, 1.0), 0.2)],
    ids=["an eighth of the light", "sodium"],
)
def test_poor_light_is_not_taken_for_blur(
    recogniser: Recogniser, lamp: tuple[float, float, float], share: float
) -> None:
    accepted, cards = 0, sample(DECK[::3], 2)
    for seed, card in enumerate(cards):
        deck = DECKS[seed % len(DECKS)]
        image, quad = photo(face(card, deck, 160), deck, seed)
        noise = np.random.default_rng(seed).normal(0, 1.5, image.shape)
        dim = np.clip(image * np.array(lamp) / image.max() * 230 + noise, 0, 255)
        reading = recogniser.read(dim.astype(np.uint8), quad)
        assert reading.card in {None, card}, seed
        assert reading.is_clear, seed
        accepted += reading.card is not None
    assert accepted >= share * len(cards)


def test_noise_does_not_make_a_soft_card_clear(recogniser: Recogniser) -> None:
    for seed, card in enumerate(sample(DECK[::5], 3)):
        deck = DECKS[seed % len(DECKS)]
        soft, quad = photo(face(card, deck, 160), deck, seed, blur=6)
        noise = np.random.default_rng(seed).normal(0, 12, soft.shape)
        noisy = np.clip(soft + noise, 0, 255).astype(np.uint8)
        assert not recogniser.read(noisy, quad).is_clear, seed


def test_frames_of_one_card_are_combined(recogniser: Recogniser) -> None:
    deck, card = DECKS[1], Card("9D")
    pictures = [photo(face(card, deck, 160), deck, seed) for seed in range(3)]
    readings = [recogniser.read(image, quad) for image, quad in pictures]
    assert recogniser.combined(readings).card is card


def test_contradicting_frames_name_no_card(recogniser: Recogniser) -> None:
    deck = DECKS[1]
    pictures = [photo(face(Card(name), deck, 160), deck, 5) for name in ("9D", "4S")]
    readings = [recogniser.read(image, quad) for image, quad in pictures]
    assert recogniser.combined(readings).card is None


def test_a_reading_tells_what_it_had(recogniser: Recogniser) -> None:
    deck = DECKS[0]
    image, quad = photo(face(Card("KS"), deck, 160), deck, 1, width=100)
    reading = recogniser.read(image, quad)
    assert reading.card is Card("KS")
    assert 40 < reading.index_pixels < 65
    assert 0 < reading.sharpness < 1.5
    assert len(reading.ends) == 2
    assert reading.ends[0].patch.shape == (96, 48, 3)


def test_a_card_that_is_too_small_costs_one_look() -> None:
    looks: list[int] = []

    class Counting(Recogniser):
        def answers(
            self,
            patches: Patches,
            networks: int | None = None,
            *,
            known: Patches | None = None,
        ) -> Patches:
            looks.append(len(patches))
            return super().answers(patches, networks, known=known)

    def read(width: int, *, printed: bool = True) -> Card | None:
        looks.clear()
        image, quad = photo(face(Card("KS"), DECKS[0], 160), DECKS[0], 1, width=width)
        return reader.read(image if printed else np.full_like(image, 200), quad).card

    reader = Counting()
    assert (read(50), looks) == (None, [2])
    assert (read(100), looks) == (Card("KS"), [2])
    assert (read(100, printed=False), looks) == (None, [2, 6])


def test_a_card_outside_the_image_is_not_named(recogniser: Recogniser) -> None:
    deck = DECKS[0]
    image, quad = photo(face(Card("KS"), deck, 160), deck, 1)
    assert recogniser.read(image, quad - np.array([300, 200], np.float32)).card is None
    assert recogniser.read(image, quad * 40).card is None


def test_invalid_weights_are_reported() -> None:
    with pytest.raises(UserError, match="no networks that OpenCV can read"):
        Recogniser(WEIGHTS_FILE.with_name("README.md"))


def test_weights_without_a_network_are_reported(tmp_path: Path) -> None:
    path = tmp_path / WEIGHTS_FILE.name
    zipfile.ZipFile(path, "w").close()
    with pytest.raises(UserError, match="the file is empty"):
        Recogniser(path)


def test_damaged_weights_are_reported(tmp_path: Path) -> None:
    damaged = bytearray(WEIGHTS_FILE.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path = tmp_path / WEIGHTS_FILE.name
    path.write_bytes(damaged)
    with pytest.raises(UserError, match="no networks that OpenCV can read"):
        Recogniser(path)


def test_reading_needs_no_training() -> None:
    Recogniser()
    assert "torch" not in sys.modules
