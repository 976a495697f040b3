"""The documents `roads` and `history`: content and size."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.result_notation import parse_sequence
from shoe_daemon.game.roads import LeadingTies, Tail
from shoe_daemon.mqtt import documents
from shoe_daemon.mqtt.documents import LONG_LIMIT
from shoe_daemon.table.public_document_types import PastRound, PastShoe, PublicHistory
from tests.game.reference_roads import reference_roads
from tests.mqtt.generated_messages import most
from tests.mqtt.test_schema import check
from tests.volume import sample, volume

ROADS = ("bead", "big", "big_eye", "cockroach", "small")
OPTIONS = [
    documents.RoadOptions(leading_ties=ties, tail=tail) for ties in LeadingTies for tail in Tail
]
LONG = 300
SHOES = {
    "one side": "B" * LONG,
    "one after the other": "PB" * (LONG // 2),
    "two by two": "PPBB" * (LONG // 4),
    "dragons": ("P" * 20 + "B" * 20) * (LONG // 40),
    "ties": "T" * LONG,
    "one win": "B" + "T" * (LONG - 1),
    "all that there is": "".join(Random(7).choices(["Ppbn", "B", "Bbn", "Tp", "P"], k=LONG)),
}
"""Longer than any shoe, and as long as a table may have that shuffles after every hand."""


def payload(sequence: str, options: documents.RoadOptions = OPTIONS[0]) -> bytes:
    return documents.road_map(
        parse_sequence(sequence), options, shoe=10**6, seq=10**9, session="0123abcd"
    )


def read(sequence: str, options: documents.RoadOptions = OPTIONS[0]) -> dict[str, Any]:
    wire = payload(sequence, options)
    check("roads", wire)
    told: dict[str, Any] = json.loads(wire)
    return told


@pytest.mark.parametrize("options", OPTIONS, ids=lambda each: f"{each.leading_ties}-{each.tail}")
def test_roads_are_what_the_contract_shows_and_who_says_it(
    options: documents.RoadOptions,
) -> None:
    sequence = "TTBBBBBBBBBPPPPPPPPPPTBpPbnBPBn"
    expected = reference_roads(sequence, leading_ties=options.leading_ties, tail=options.tail)
    assert read(sequence, options) == expected | {
        "left_out": 0,
        "options": {"leading_ties": str(options.leading_ties), "tail": str(options.tail)},
        "schema": "1.0",
        "seq": 10**9,
        "session": "0123abcd",
        "shoe": 10**6,
    }


def test_before_the_first_shoe_there_are_empty_roads() -> None:
    told = json.loads(documents.road_map([], OPTIONS[0], shoe=None, seq=0, session="s"))
    assert told["shoe"] is None
    assert all(told[road] == [] for road in ROADS)
    assert told["ask"]["banker"] == {
        "big": {"col": 0, "row": 0},
        **dict.fromkeys(("big_eye", "cockroach", "small")),
    }


@pytest.mark.parametrize("kind", SHOES)
@pytest.mark.parametrize("options", OPTIONS[::3], ids=["defaults", "others"])
def test_however_long_a_shoe_is_the_limit_holds(kind: str, options: documents.RoadOptions) -> None:
    sequence = SHOES[kind]
    for length in sample([LONG, 200, 120, 90, 60], 3):
        rounds = "".join(sequence_of(sequence)[:length])
        assert len(payload(rounds, options)) < LONG_LIMIT
        whole = reference_roads(rounds, leading_ties=options.leading_ties, tail=options.tail)
        told = read(rounds, options)
        assert (told["ask"], told["counts"]) == (whole["ask"], whole["counts"])
        check_left_out(told, whole)


def sequence_of(text: str) -> list[str]:
    """Split a sequence into its rounds."""
    return "".join(f" {each}" if each.isupper() else each for each in text).split()


def check_left_out(told: dict[str, Any], whole: dict[str, Any]) -> None:
    """Whole columns at the end of each road are sent, about the same share of each."""
    beads = max(cell["col"] for cell in whole["bead"]) + 1
    assert 0 <= told["left_out"] < beads
    for road in ROADS:
        columns = max((cell["col"] for cell in whole[road]), default=-1) + 1
        first = columns * told["left_out"] // beads
        assert told[road] == [cell for cell in whole[road] if cell["col"] >= first]
        assert bool(told[road]) == bool(whole[road])


def test_no_more_is_left_out_than_must_be() -> None:
    for kind, sequence in SHOES.items():
        told = read(sequence)
        # All ties are a plate of beads and nothing else.
        assert (told["left_out"] > 0) == (kind not in {"ties", "one win"}), kind
        if told["left_out"]:
            # One column of beads has six, and about as many cells on each other road.
            assert len(payload(sequence)) > LONG_LIMIT - 4000, kind


def test_a_shoe_of_eight_decks_is_told_whole() -> None:
    for seed in range(volume(4, 20)):
        rounds = Random(seed).choices(["P", "B", "T", "Pp", "Bb"], [40, 41, 9, 5, 5], k=87)
        assert read("".join(rounds))["left_out"] == 0


def past_shoes(count: int, length: int = 80) -> tuple[PastShoe, ...]:
    return tuple(
        PastShoe(
            banker=37,
            ended_at="2026-11-21T09:30:36.000Z",
            player=36,
            rounds=length,
            sequence="Bpbn" * length,
            shoe=number,
            started_at="2026-11-21T08:30:36.000Z",
            tie=7,
        )
        for number in range(1, count + 1)
    )


def past_rounds(count: int) -> tuple[PastRound, ...]:
    full = msgspec.convert(most(PastRound), PastRound)
    hand = tuple(card for card in DECK if "10" in card)[:3]
    wins = tuple(f"dragon_bonus_banker_{n}" for n in range(4))
    return tuple(
        msgspec.structs.replace(full, round=number, player=hand, banker=hand, wins=wins)
        for number in range(1, count + 1)
    )


def history(rounds: int, shoes: int) -> tuple[bytes, dict[str, Any]]:
    told = PublicHistory(past_rounds(rounds), 13, past_shoes(shoes))
    wire = documents.history(told, seq=10**9, session="0123abcd")
    check("history", wire)
    read: dict[str, Any] = json.loads(wire)
    return wire, read


@pytest.mark.parametrize("rounds", [0, 1, 50, 100, LONG])
def test_however_much_lies_behind_the_limit_holds(rounds: int) -> None:
    wire, told = history(rounds, 12)
    assert len(wire) < LONG_LIMIT
    # The newest are told, and how many are not.
    assert told["left_out"] + len(told["rounds"]) == rounds
    assert [each["round"] for each in told["rounds"]] == list(
        range(told["left_out"] + 1, rounds + 1)
    )
    shoes = [each["shoe"] for each in told["shoes"]]
    assert shoes == list(range(13 - len(shoes), 13))
    if rounds <= 50:
        assert len(shoes) == 12
    if told["left_out"]:
        assert shoes == []  # no round of this shoe is given up for one before it
        assert len(wire) > LONG_LIMIT - 1000
