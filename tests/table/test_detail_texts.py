"""
Sentences and their codes: a display in another language can make every sentence
that is published, from its code and its values.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import shoe_daemon
from shoe_daemon.table import DrawDue, Irregularity, decode_event, encode_event
from shoe_daemon.table.detail_texts import (
    DETAIL_TEMPLATES,
    DETAIL_VALUES,
    DRAW_CODES,
    detail_text,
    make_detail,
)
from shoe_daemon.table.table import Table
from tests.table.dealer import NATURAL, Dealer
from tests.table.random_observations import RandomObservations
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoe_daemon.table.detail_texts import DetailValue

SOURCES = [*Path(shoe_daemon.__file__).parent.rglob("*.py")]
STORMS = volume(4, 12)
LENGTH = 1500


def holds(code: str, values: dict[str, DetailValue], text: str) -> None:
    """Check one sentence against its code and its values."""
    assert detail_text(code, values) == text
    names = {*DETAIL_VALUES[code], *DETAIL_VALUES.get(str(values.get("because")), ())}
    required = {
        name for name in names if f"{{{name}}}" in re.sub(r"\[.*?\]", "", DETAIL_TEMPLATES[code])
    }
    assert required <= set(values) <= names
    assert list(values) == sorted(values)
    for value in values.values():
        assert value is None or type(value) in {str, int}
    if "because" in values:
        assert values["because"] in DRAW_CODES


@pytest.mark.parametrize("seed", range(STORMS))
def test_every_sentence_is_made_from_its_code_and_its_values(seed: int) -> None:
    table = Table()
    for observation in RandomObservations(seed).generate(LENGTH):
        for event in table.apply(observation):
            data = decode_event(encode_event(event)).data
            if isinstance(data, DrawDue):
                holds(data.detail_code, data.detail_values, data.text)
            elif isinstance(data, Irregularity):
                holds(data.detail_code, data.detail_values, data.detail)


def test_a_sentence_names_its_values() -> None:
    said = make_detail("laid_on_another_place", laid="P3", slot="B3")
    assert said.code == "laid_on_another_place"
    assert said.values == {"laid": "P3", "slot": "B3"}
    assert said.text == (
        "A card was laid on P3 while B3 was due; by the order out of the shoe it is B3."
    )


def test_a_part_in_brackets_is_left_out_where_its_value_is_null() -> None:
    assert (
        make_detail("unread_card", slot="P2").text
        == "The card on P2 passed and could not be read."
    )
    assert make_detail("unread_card", slot=None).text == "The card passed and could not be read."


def test_what_a_device_or_a_person_writes_is_taken_as_it_is() -> None:
    text = "a [bracket] and {code} {"
    assert make_detail("said_by_person", text=text).text == text
    assert (
        make_detail("fault", code=None, text=text).text == f"The reader reports an error: {text}."
    )


def test_a_sentence_within_a_sentence() -> None:
    said = make_detail(
        "excess_after_end", card="5D", because="player_stood_banker_stands", player=6, banker=7
    )
    assert said.text == (
        "5D was drawn and is no part of this round: "
        "the Player stands on 6; the Banker stands on 7."
    )


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Find every place that makes a sentence from a code that is written there."""
    sources = [path.read_text(encoding="utf-8") for path in SOURCES]
    for source in filter(re.compile(r"\bmake_detail\(").search, sources):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "make_detail":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value), node


def test_every_place_gives_the_values_that_its_sentence_names() -> None:
    found = dict(calls())
    assert len(found) > 25
    for code, node in found.items():
        given = {each.arg for each in node.keywords}
        assert None in given or given == set(DETAIL_VALUES[code]), code


def without(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Take every code and its values out, as they were before there were any."""
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if not k.startswith("detail_")}
    return [without(each) for each in value] if isinstance(value, list) else value


def test_an_event_without_codes_can_be_read() -> None:
    dealer = Dealer()
    dealer.deal(NATURAL)
    dealer.outside("AC")
    for event in dealer.events:
        old = json.dumps(without(json.loads(encode_event(event)))).encode()
        again = decode_event(old)
        assert without(json.loads(encode_event(again))) == json.loads(old)
