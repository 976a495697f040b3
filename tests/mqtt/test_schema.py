"""
The schemas follow from the types, are checked in as they are, and real messages pass
them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from shoe_daemon.cli import main
from shoe_daemon.mqtt import documents, schemas
from shoe_daemon.table import EVENT_TYPES, Event, encode_event, is_staff
from shoe_daemon.table.observations import AnyObservation, decode_observation, encode_observation
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.mqtt.generated_messages import least, most, required
from tests.volume import sample

CHECKED_IN = Path(__file__).parents[2] / "docs" / "schema"
CAPTURES = Path(__file__).parents[1] / "captures" / "angel-eye-ii"


def event_schema(event_type: str) -> str:
    return f"{'staff/' if is_staff(event_type) else ''}event/{event_type}"


@cache
def validator(name: str) -> Draft202012Validator:
    schema = schemas.schema_of(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check(name: str, payload: bytes) -> None:
    validator(name).validate(json.loads(payload))


@each_case("event_type", EVENT_TYPES)
@each_case("example", [least, most])
def test_every_event_passes(event_type: str, example: Any) -> None:  # noqa: ANN401 - a function
    data = msgspec.convert(example(EVENT_TYPES[event_type]), EVENT_TYPES[event_type])
    event = Event("1970-01-01T00:00:00Z", data, None, "1.0", 1, None, "s", "t", event_type)
    check(event_schema(event_type), encode_event(event))


@each_case("name", schemas.TABLE_MESSAGES)
@each_case("example", [least, most])
def test_every_document_passes(name: str, example: Any) -> None:  # noqa: ANN401 - a function
    document = {**example(schemas.TABLE_MESSAGES[name]), "schema": "1.0"}
    check(
        name,
        documents.encode_message(msgspec.convert(document, schemas.TABLE_MESSAGES[name])),
    )


@each_case("kind", AnyObservation.__args__)
def test_every_observation_passes(kind: type[Any]) -> None:
    example = {"at": "1970-01-01T00:00:00Z", **required(kind)}
    check("observation", json.dumps(example).encode())


@pytest.mark.parametrize("capture", sample(["hidden", "open", "overdraw-open", "noise-open"], 2))
def test_what_a_shoe_says_passes(capture: str) -> None:
    table, seen = Table(), set()
    lines = (CAPTURES / f"{capture}.observations.jsonl").read_bytes().splitlines()
    for number, line in enumerate(lines[:600]):
        observation = decode_observation(line)
        check("observation", line)
        check("observation", encode_observation(observation))
        for event in table.apply(observation):
            seen.add(event.type)
            check(event_schema(event.type), encode_event(event))
        if number % 10 == 0:
            payload = documents.state(
                table.public(),
                session="s",
                alarm=None,
                heartbeat=10,
                published="1970-01-01T00:00:00Z",
            )
            check("state", payload)
    assert seen >= {"shoe_started", "card_dealt", "draw_due", "round_finished"}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("event/card_dealt", {"seq": "1"}),
        ("event/card_dealt", {"seq": -1}),
        ("event/card_dealt", {"schema": "2.0"}),
        ("event/card_dealt", {"type": "card_burned"}),
        ("event/card_dealt", {"data": {"card": "AX"}}),
        ("status", {"state": "away"}),
        ("device", {"byte_age": 1.5}),
    ],
)
def test_what_is_wrong_does_not_pass(name: str, change: dict[str, Any]) -> None:
    if name in schemas.TABLE_MESSAGES:
        right = {**most(schemas.TABLE_MESSAGES[name]), "schema": "1.0"}
    else:
        data = most(EVENT_TYPES[name.removeprefix("event/")])
        right = {**least(Event), "data": data, "schema": "1.0", "type": "card_dealt"}
    assert validator(name).is_valid(right)
    assert not validator(name).is_valid({**right, **change})
    for field in right:
        assert not validator(name).is_valid({k: v for k, v in right.items() if k != field})


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["schema", *arguments])
    return result.exit_code, result.output


def test_the_command_lists_and_prints() -> None:
    assert run() == (0, "\n".join(schemas.names()) + "\n")
    status, text = run("event/card_dealt")
    assert (status, json.loads(text)) == (0, schemas.schema_of("event/card_dealt"))
    status, text = run("--all")
    assert sorted(json.loads(text)) == schemas.names()


def test_the_command_writes_what_is_checked_in(tmp_path: Path) -> None:
    assert run("--out", str(tmp_path)) == (
        0,
        f"{len(schemas.names())} schemas below {tmp_path}\n",
    )
    assert contents(tmp_path) == contents(CHECKED_IN), "shoe-daemon schema --out docs/schema"


def contents(folder: Path) -> dict[Path, bytes]:
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.json")}


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    assert run("nope") == (
        2,
        "shoe-daemon: schema: 'nope' is none; `shoe-daemon schema` lists them\n",
    )
    assert run("state", "--all")[0] == 2
    (tmp_path / "event").touch()
    status, text = run("--out", str(tmp_path))
    assert status == 2
    assert text.count("\n") == 1
