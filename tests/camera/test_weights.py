"""The weights in the package are the measured ones."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from drivers.camera.recognition import recogniser as reading
from drivers.camera.recognition.confidence import (
    Belief,
    accepted_card,
    belief_of,
    combine_ends,
    doubt_between,
)
from drivers.camera.recognition.recogniser import (
    WEIGHTS_FILE,
    WEIGHTS_INFO,
    Recogniser,
    checksum,
    crop_window,
    normalise_patch,
    percentiles,
    window_quads,
)
from drivers.simulators.card_artwork import face
from shoe_daemon.game import RANKS, SUITS, Card
from tests.camera.rendered_photos import DECKS, photo

Patches = NDArray[np.float32]


def test_the_weights_are_those_that_were_measured() -> None:
    assert checksum(WEIGHTS_FILE) == WEIGHTS_INFO.sha256


def test_the_stated_test_was_passed() -> None:
    test = json.loads(WEIGHTS_FILE.with_name("index.json").read_text())["test"]
    assert test["cards"] >= 30_000
    assert test["wrong"] * 15_000 <= test["cards"] * test["accepted"]
    assert test["within_accepted"] >= 0.98
    assert test["within_wrong"] * 15_000 <= test["within"] * test["within_accepted"]
    assert test["chosen_with"] >= 20_000


def test_all_networks_are_asked_where_the_first_sees_an_index(tmp_path: Path) -> None:
    deck = DECKS[0]
    image, quad = photo(face(Card("KS"), deck, 160), deck, 1)
    recogniser = Recogniser()
    index = crop_window(image, window_quads(quad, recogniser.window.scaled(1.19, 1.19))[0])
    patches = np.stack([normalise_patch(index), np.ones((3, 96, 48), np.float32)])
    alone = np.concatenate([each.answers(patches) for each in _single_networks(tmp_path)])
    answers = recogniser.answers(patches)
    assert answers[:, 0] == pytest.approx(alone[:, 0], abs=1e-3)
    assert answers[:, 1] == pytest.approx(np.stack([alone[0, 1]] * 3), abs=1e-3)
    assert recogniser.answers(patches, 2) == pytest.approx(answers[:2], abs=1e-3)


def test_the_first_networks_must_find_the_card_probable(monkeypatch: pytest.MonkeyPatch) -> None:
    deck = DECKS[0]
    image, quad = photo(face(Card("KS"), deck, 160), deck, 1)
    monkeypatch.setattr(reading, "_CERTAIN", 1.0)
    assert Recogniser().read(image, quad).card is Card("KS")
    monkeypatch.setattr(reading, "_PROBABLE", 1.0)
    doubted = Recogniser().read(image, quad)
    assert (doubted.card, doubted.best) == (None, Card("KS"))
    assert doubted.confidence < 0.65


@pytest.mark.parametrize("other", [4, 5])
def test_no_doubted_card_is_accepted(other: int) -> None:
    five, six = Card("5H"), Card("6H")
    ends = [belief_of(_said(rank, 1, 9)) for rank in (4, other)]
    doubted = [doubt_between(end, five, {six}) for end in ends]
    assert combine_ends(doubted).best is five
    assert combine_ends(doubted).confidence < 0.65
    assert accepted_card(doubted, 0.8) is None
    assert accepted_card(doubted[:1], 0.8) is None


def _believed(card: str, rank: float, suit: float) -> Belief:
    """Return a belief in a card whose rank and suit have these probabilities."""
    ranks, suits = np.full(13, (1 - rank) / 12), np.full(4, (1 - suit) / 3)
    ranks[RANKS.index(card[:-1])], suits[SUITS.index(card[-1])] = rank, suit
    return Belief(np.outer(ranks, suits), 0.0)


@pytest.mark.parametrize(
    ("card", "rank", "suit", "is_accepted"),
    [
        ("KS", 0.97, 0.99, True),
        ("KS", 0.95, 0.99, False),
        ("KS", 0.999, 0.98, False),  # a club that is taken for a spade is one at both ends
        ("7H", 0.97, 0.995, False),  # a 1 of another country
        ("8H", 0.995, 0.995, False),  # a B, or a 6 of very fat strokes
        ("7H", 0.99, 0.995, True),
        ("8H", 0.999, 0.995, True),
    ],
)
def test_a_card_needs_rank_and_suit(
    card: str,
    rank: float,
    suit: float,
    is_accepted: bool,  # noqa: FBT001 - of the table
) -> None:
    one = _believed(card, rank, suit)
    assert (accepted_card([one], 0.95) is Card(card)) is is_accepted
    covered = Belief(np.full((13, 4), 1e-6), 1 - 52e-6)
    assert (accepted_card([one, covered], 0.95) is Card(card)) is is_accepted


@given(
    st.floats(0.3, 1),
    st.floats(0.3, 1),
    st.sampled_from(RANKS),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_no_higher_threshold_accepts_more(
    rank: float, suit: float, name: str, thresholds: list[float]
) -> None:
    belief = _believed(f"{name}S", rank, suit)
    lower, higher = (accepted_card([belief], threshold) for threshold in thresholds)
    assert higher in {None, lower}
    assert belief.runner_up is not belief.best


def _single_networks(folder: Path) -> list[Recogniser]:
    with zipfile.ZipFile(WEIGHTS_FILE) as archive:
        return [Recogniser(Path(archive.extract(name, folder))) for name in archive.namelist()]


@given(st.lists(st.integers(0, 255), min_size=2, max_size=200), st.integers(0, 99))
def test_percentiles_are_those_of_numpy(values: list[int], percent: int) -> None:
    (found,) = percentiles(np.array(values, np.float32), percent)
    assert found == pytest.approx(np.percentile(values, percent), abs=1e-3)


def _said(rank: int, suit: int, score: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    answers = np.zeros(18, np.float32)
    answers[rank] = answers[14 + suit] = score
    return answers


def test_the_suits_of_two_ends_are_not_independent() -> None:
    soft = _said(4, 1, 2)
    one = belief_of(soft)
    both = combine_ends([one, belief_of(soft)])
    assert _share(both, 0) > _share(one, 0) + 0.05  # of the rank they are two
    assert _share(both, 1) == pytest.approx(_share(one, 1), abs=0.01)


def _share(believed: Belief, kind: int) -> float:
    shares = believed.cards.sum(1 - kind)
    return float(shares.max() / shares.sum())
