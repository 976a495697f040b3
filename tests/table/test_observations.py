"""The observation log: what a line may hold, and what is said of one that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import house_to_mapping, load_house
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn, RoundEnd
from tests.each_case import each_case
from tests.volume import volume

AT = "2026-11-21T09:34:46.000Z"

# Every type of the log, with all its fields, as the contract names them.
LINES: dict[str, list[dict[str, Any]]] = {
    "session": [
        {"site": "s", "table": "t", "house": "chickasaw", "policy": "fr_2007"},
        {"options": {"decks": 6, "round_end": "quiet", "quiet_gap": 2.5, "reveal_after": None}},
    ],
    "tick": [{}, {"deadline": "quiet"}],
    "card": [
        {},
        {"card": "AS", "slot": "P1"},
        {"card": None, "slot": None, "role": "play"},
        {"card": "10H", "role": "burn"},
        {"card": "KD", "role": "first"},
        {"role": "outside", "source": "shoe"},
    ],
    "disclosed": [{"slot": "B3", "card": "2C"}],
    "withdrawn": [{}, {"card": "2C"}],
    "carried": [{}, {"slot": "P1", "card": "2C"}],
    "unreadable": [{}, {"slot": "P3"}],
    "placed": [{"slot": "B2", "card": "9S"}],
    "cut_card": [{}],
    "booted": [{}],
    "standby": [{}],
    "table_cleared": [{}],
    "result": [
        {},
        {"outcome": "player", "player_pair": True, "banker_pair": False},
        {"forced": True},
        {"outcome": "forced"},
    ],
    "device_error": [{"cause": "overdraw", "code": 2, "text": "E2"}, {}],
    "device_error_cleared": [{"cause": "card_code", "code": "6"}, {}],
    "lock": [{"locked": True}],
    "link": [{"up": False, "detail": "unplugged"}],
    "gap": [{"detail": "reconnect"}, {}],
    "clock_set": [{"by": 3_600_000}, {"by": -5001}],
    "no_more_bets": [{}],
    "betting_open": [{}],
    "command": [{"name": "new_shoe", "operator": "ann", "reason": "worn", "refused": "expired"}],
}
EXAMPLES = [(kind, fields) for kind, every in LINES.items() for fields in every]


def line(kind: str, **fields: object) -> bytes:
    """Write a line of a log."""
    return json.dumps({"at": AT, "type": kind, **fields}).encode()


def wrong(text: bytes | str) -> str:
    """Return what is said of a line that is wrong."""
    with pytest.raises(UserError) as raised:
        seen.decode_observation(text)
    said = str(raised.value)
    assert "\n" not in said
    assert said
    return said


@each_case("kind, fields", EXAMPLES)
def test_every_type_is_read_and_written_back(kind: str, fields: dict[str, Any]) -> None:
    observation = seen.decode_observation(line(kind, **fields))
    written = seen.encode_observation(observation)
    assert seen.decode_observation(written) == observation
    assert json.loads(written)["type"] == kind
    assert list(json.loads(written)) == sorted(json.loads(written))


@each_case("kind", LINES)
def test_unknown_fields_are_ignored(kind: str) -> None:
    fields = LINES[kind][0]
    with_more = line(kind, **fields, weather=["rain", {"since": 3}])
    assert seen.decode_observation(with_more) == seen.decode_observation(line(kind, **fields))


def test_an_unknown_type_is_an_error() -> None:
    assert "weather" in wrong(line("weather"))


@pytest.mark.parametrize(
    ("text", "card"), [("10H", "10H"), ("TH", "10H"), ("TS", "10S"), ("AS", "AS")]
)
def test_a_ten_may_be_written_with_a_letter(text: str, card: str) -> None:
    observation = seen.decode_observation(line("card", card=text))
    assert isinstance(observation, seen.CardDrawn)
    assert observation.card is Card(card)


@each_case(
    "kind, fields, word",
    [
        ("card", {"card": "1S"}, "card"),
        ("card", {"card": "as"}, "card"),
        ("card", {"card": "T"}, "card"),
        ("card", {"card": 5}, "card"),
        ("card", {"slot": "P4"}, "slot"),
        ("card", {"slot": 1}, "slot"),
        ("card", {"role": "joker"}, "role"),
        ("card", {"source": 3}, "source"),
        ("disclosed", {"slot": "P1"}, "card"),
        ("disclosed", {"card": "AS"}, "slot"),
        ("disclosed", {"slot": "P1", "card": None}, "card"),
        ("placed", {"slot": None, "card": "AS"}, "slot"),
        ("carried", {"slot": None}, "slot"),
        ("result", {"outcome": "house"}, "house"),
        ("result", {"player_pair": "yes"}, "player_pair"),
        ("device_error", {"cause": "rain"}, "cause"),
        ("lock", {}, "locked"),
        ("lock", {"locked": 1}, "locked"),
        ("link", {"up": None}, "up"),
        ("gap", {"detail": "long"}, "detail"),
        ("command", {}, "name"),
        ("session", {"house": "nowhere"}, "nowhere"),
        ("session", {"rules": {"name": "x"}}, "sheet"),
        ("session", {"rules": {"decks": 99}}, "decks"),
        ("session", {"rules": 5}, "rules"),
        ("session", {"options": {"round_end": "soon"}}, "round_end"),
        ("session", {"options": {"decks": 0}}, "decks"),
        ("session", {"options": {"quiet_gap": -1}}, "quiet_gap"),
        ("session", {"options": {"hold_from": 6}}, "hold_from"),
        ("session", {"round_end": "soon"}, "round_end"),
        ("session", {"decks": 13}, "decks"),
        ("session", {"limits": 5}, "limits"),
    ],
)
def test_each_wrong_field_is_one_line_that_names_it(
    kind: str, fields: dict[str, Any], word: str
) -> None:
    assert word in wrong(line(kind, **fields))


@each_case(
    "at",
    [
        "",
        "yesterday",
        "2026-11-21",
        "2026-11-21T09:34:46",
        "2026-11-21T09:34:46+01:00",
        "2026-02-30T09:34:46Z",
        "2026-11-21T25:34:46Z",
        "2026-11-21T09:34:46.Z",
        "٢٠٢٦-11-21T09:34:46Z",
        "0000-11-21T09:34:46Z",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        5,
        None,
    ],
)
def test_a_moment_that_is_none(at: object) -> None:
    wrong(json.dumps({"at": at, "type": "standby"}))


@pytest.mark.parametrize(
    "at",
    [
        "2026-11-21T09:34:46Z",
        "2026-11-21T09:34:46.1Z",
        "2026-11-21T09:34:46.123456789Z",
        "2026-11-21t09:34:46z",
        "2026-11-21 09:34:46Z",
        "2026-11-21T09:34:46+00:00",
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ],
)
def test_a_moment_in_any_form_of_the_standard(at: str) -> None:
    assert seen.decode_observation(json.dumps({"at": at, "type": "standby"})).at == at


@each_case(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"null",
        b'"card"',
        b"{}",
        b'{"at":"2026-11-21T09:34:46Z"}',
        b'{"type":"card"}',
        b'{"at":"2026-11-21T09:34:46Z","type":5}',
        b'\xff{"at":"2026-11-21T09:34:46Z","type":"card"}',
        b'{"at":"2026-11-21T09:34:46Z","type":"card","card":"\xff"}',
        b'{"at":"2026-11-21T09:34:46Z","type":"card"} {}',
        b'{"at":"2026-11-21T09:34:46Z","type":"card","x":' + b"[" * 100_000,
        b"[" * 100_000,
    ],
)
def test_what_is_no_line_of_a_log(text: bytes) -> None:
    wrong(text)


@given(st.binary(max_size=80) | st.text(max_size=80))
@settings(deadline=None, max_examples=volume(100, 300))
def test_no_line_raises_anything_else(text: bytes | str) -> None:
    try:
        seen.decode_observation(text)
    except UserError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most lines are wrong, not all


class TestSession:
    def test_options_beside_the_names(self) -> None:
        flat = seen.decode_observation(
            line("session", table="t", decks=6, round_end="quiet", result_on="confirmed")
        )
        nested = seen.decode_observation(
            line(
                "session",
                table="t",
                options={"decks": 6, "round_end": "quiet", "result_on": "confirmed"},
            )
        )
        assert flat == nested
        assert isinstance(flat, seen.Session)
        assert flat.options == Options(
            decks=6, round_end=RoundEnd.QUIET, result_on=ResultOn.CONFIRMED
        )

    def test_rules_in_full_survive_the_journal(self) -> None:
        rules = house_to_mapping(load_house("curator"))
        session = seen.Session(at=AT, house="curator", rules=rules)
        written = seen.encode_observation(session)
        assert seen.encode_observation(seen.decode_observation(written)) == written


OBSERVATIONS = st.one_of(
    st.builds(
        seen.CardDrawn,
        card=st.none() | st.sampled_from(DECK),
        slot=st.none() | st.sampled_from(list(Slot)),
        role=st.sampled_from(list(seen.Role)),
    ),
    st.builds(seen.Disclosed, slot=st.sampled_from(list(Slot)), card=st.sampled_from(DECK)),
    st.builds(
        seen.DeviceError,
        cause=st.sampled_from(list(seen.Cause)),
        code=st.none() | st.integers(0, 99) | st.text(max_size=4),
        text=st.none() | st.text(max_size=20),
    ),
    st.builds(seen.Command, name=st.text(max_size=20), reason=st.none() | st.text(max_size=20)),
    st.builds(seen.Link, up=st.booleans(), detail=st.none() | st.text(max_size=20)),
)


@given(OBSERVATIONS, st.none() | st.text(max_size=8))
@settings(deadline=None)
def test_whatever_is_written_is_read_back(
    observation: seen.Observation, source: str | None
) -> None:
    stamped = replace(observation, at=AT, source=source)
    assert seen.decode_observation(seen.encode_observation(stamped)) == stamped
