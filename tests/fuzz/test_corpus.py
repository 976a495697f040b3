"""No parser fails at an input of its corpus, or at a few that are made of them."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.__main__ import mutated
from tests.fuzz.parsers import PARSERS, outcome, read_corpus
from tests.volume import sample, volume

MUTATIONS = volume(5, 30)


@pytest.mark.parametrize("name", PARSERS)
def test_the_corpus_raises_nothing(name: str) -> None:
    inputs = sample(read_corpus(name), 3)
    assert inputs
    chance = random.Random(name)
    for data in (*inputs, *(mutated(chance, inputs) for _ in range(MUTATIONS))):
        outcome(name, data)
