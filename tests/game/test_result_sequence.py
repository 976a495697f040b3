"""Sequences are read as they are written, and what is wrong is said with its place."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.result_notation import Result, format_sequence, parse_sequence

FLAGS = [False, True]
ROUNDS = [Result(*each) for each in product(Outcome, FLAGS, FLAGS, FLAGS)]


@given(st.lists(st.sampled_from(ROUNDS), max_size=120))
def test_what_was_written_is_read_back(results: list[Result]) -> None:
    assert parse_sequence(format_sequence(results)) == results


def test_the_example_of_the_documentation() -> None:
    player, banker, tie = Outcome
    assert parse_sequence("BpPTBbn") == [
        Result(banker, player_pair=True),
        Result(player),
        Result(tie),
        Result(banker, banker_pair=True, natural=True),
    ]


def test_flags_are_written_in_one_order_and_read_in_any() -> None:
    assert format_sequence(parse_sequence("Pnbp Tbp")) == "PpbnTpb"


def test_white_space_stands_between_rounds() -> None:
    assert parse_sequence(" P B\n\tT  ") == parse_sequence("PBT")
    assert parse_sequence("") == parse_sequence(" \n") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("PBX", "character 3 ('X')"),
        ("pPB", "character 1 ('p')"),
        ("PB b", "character 4 ('b')"),
        ("P,B", "character 2 (',')"),
        ("PBz", "character 3 ('z')"),
        ("莊", "character 1 ('莊')"),
        ("P\0", "character 2 ('\\x00')"),
        ("BPpTpp", "character 4 ('Tpp')"),
        ("BnpnP", "character 1 ('Bnpn')"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(text: str, place: str) -> None:
    with pytest.raises(UserError) as error:
        parse_sequence(text)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"sequence, {place}: ")


@given(st.text(st.sampled_from("PBTpbn xX\n"), max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        results = parse_sequence(text)
    except UserError:
        return
    assert sorted(format_sequence(results)) == sorted("".join(text.split()))
