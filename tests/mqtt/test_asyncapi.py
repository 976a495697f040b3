"""
The AsyncAPI document is valid, follows from the types, and describes a real daemon:
every topic, its QoS, whether it is retained, every payload.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator, Draft202012Validator

from shoe_daemon.cli import main
from shoe_daemon.mqtt import schemas
from shoe_daemon.mqtt.schemas import load_examples
from tests.brokers import Message
from tests.each_case import each_case
from tests.mqtt.example_run import Played
from tests.mqtt.make_examples import REFERENCE, examples_of, steady
from tests.volume import sample

SPECIFICATION = Path(__file__).parent / "specification" / "asyncapi-3.0.0.json.gz"
RIGHTS = Path(__file__).parents[2] / "systemd" / "mosquitto-shoe.acl"
DOCUMENT: dict[str, Any] = json.loads(REFERENCE.read_bytes())
OPERATIONS = DOCUMENT["operations"]
NOT_OF_TABLES = {"observation", "notifier"}
"""Schemas of what no table says or hears over MQTT."""

MAKE = "made anew by: python -m tests.mqtt.make_examples"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["schema", *map(str, arguments)])
    return result.exit_code, result.output


def follow(reference: Mapping[str, str]) -> Any:  # noqa: ANN401 - any part of the document
    found: Any = DOCUMENT
    assert reference["$ref"].startswith("#/")
    for step in reference["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


@cache
def validator(message: str) -> Draft7Validator:
    payload = DOCUMENT["components"]["messages"][message]["payload"]
    return Draft7Validator({**payload, "components": DOCUMENT["components"]})


def fits(topic: str, address: str) -> bool:
    """Tell whether a topic is of the channel with this address."""
    said, asked = topic.split("/"), address.split("/")
    return len(said) == len(asked) and all(map(_fits, said, asked))


def _fits(level: str, asked: str) -> bool:
    if not asked.startswith("{"):
        return level == asked
    parameter = DOCUMENT["components"]["parameters"][asked[1:-1]]
    if "enum" in parameter:
        return level in parameter["enum"]
    return re.search(parameter["x-pattern"], level) is not None


def operation_of(topic: str) -> dict[str, Any]:
    """Return the only operation whose channel a topic is of."""
    found = [o for o in OPERATIONS.values() if fits(topic, follow(o["channel"])["address"])]
    assert len(found) == 1, topic
    operation: dict[str, Any] = found[0]
    return operation


def message_of(operation: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any message
    (message,) = operation["messages"]
    return follow(follow(message))


def test_the_document_is_valid() -> None:
    schema = json.loads(gzip.decompress(SPECIFICATION.read_bytes()))
    errors = list(Draft7Validator(schema).iter_errors(DOCUMENT))
    assert not errors, errors[0]


def test_what_is_checked_in_is_what_the_types_say(tmp_path: Path) -> None:
    file = tmp_path / "new" / "asyncapi.json"
    assert run("--asyncapi", "--out", file) == (0, f"{file}\n")
    assert file.read_bytes() == REFERENCE.read_bytes(), MAKE
    assert run("--asyncapi") == (0, REFERENCE.read_text(encoding="utf-8"))
    assert run("--asyncapi", "--out", tmp_path) == (
        2,
        f"shoe-daemon: {tmp_path}: Is a directory\n",
    )
    assert run("--asyncapi", "--all")[0] == 2


@each_case("message", DOCUMENT["components"]["messages"])
def test_every_example_passes(message: str) -> None:
    described = DOCUMENT["components"]["messages"][message]
    assert described["examples"]
    for example in described["examples"]:
        validator(message).validate(example["payload"])
        Draft202012Validator(schemas.schema_of(described["name"])).validate(example["payload"])


def test_the_sample_rights_let_displays_read_what_players_may_and_no_more() -> None:
    board = RIGHTS.read_text(encoding="utf-8").partition("user board")[2].partition("\n\n")[0]
    filters = re.findall(r"^topic read shoe/v1/casino/\+/(.+)$", board, re.MULTILINE)
    readable = {filter_.replace("+", "{}") for filter_ in filters}
    told = {re.sub(r"{\w+}", "{}", channel["title"]) for channel in DOCUMENT["channels"].values()}
    public = {topic for topic in told if not topic.startswith(("staff/", "cmd/", "reply/"))}
    assert {re.sub("^event/.*", "event/{}", topic) for topic in public} == readable


@pytest.mark.mosquitto
def test_the_examples_are_taken_from_a_run(played: Played) -> None:
    made = steady(examples_of(played.examples))
    checked_in = steady(load_examples())
    assert made.keys() == checked_in.keys()
    for name, examples in made.items():
        assert examples == checked_in[name], f"{name}: {MAKE}"


@pytest.mark.mosquitto
def test_what_a_real_daemon_says_is_what_stands_here(played: Played) -> None:
    assert len(played.messages) > 300
    for said in sample(played.messages, 4):
        check(said, operation_of(said.topic))


@pytest.mark.mosquitto
def test_a_run_says_everything_at_least_once(played: Played) -> None:
    said = {message_of(operation_of(each.topic))["name"] for each in played.messages}
    assert said == set(schemas.names()) - NOT_OF_TABLES


def check(said: Message, operation: Mapping[str, Any]) -> None:
    mqtt = operation["bindings"]["mqtt"]
    assert (said.qos, said.retain) == (mqtt["qos"], mqtt["retain"]), said.topic
    longest = mqtt.get("messageExpiryInterval")
    # The broker counts down while it holds a message.
    assert said.expiry == longest or (longest and 0 < (said.expiry or 0) <= longest), said.topic
    message = message_of(operation)
    (key,) = [k for k, v in DOCUMENT["components"]["messages"].items() if v is message]
    validator(key).validate(said.json)
