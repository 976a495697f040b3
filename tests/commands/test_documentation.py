"""The examples of docs/orders.md are orders, answers, commands and configurations."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import msgspec
from jsonschema import Draft202012Validator

from shoe_daemon.cli.cmd import command
from shoe_daemon.config.sections import OrdersSettings
from shoe_daemon.display.config import OrderSettings
from shoe_daemon.mqtt import schemas
from shoe_daemon.mqtt.commands import (
    parse_command,
)
from shoe_daemon.mqtt.connection import MessageReceived

PAGE = (Path(__file__).parents[2] / "docs" / "orders.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_examples_are_orders_and_answers() -> None:
    order, *answers = "".join(blocks("json")).splitlines()
    Draft202012Validator(schemas.schema_of("cmd")).validate(json.loads(order))
    message = MessageReceived("", order.encode())
    assert parse_command("acknowledge", message).refusal is None
    assert len(answers) == 3
    for answer in answers:
        Draft202012Validator(schemas.schema_of("reply")).validate(json.loads(answer))
        dense = json.dumps(json.loads(answer), sort_keys=True, separators=(",", ":"))
        assert dense == answer


def test_the_commands_can_be_given() -> None:
    lines = [line for shell in blocks("sh") for line in shell.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("shoe-daemon cmd ")]
    assert len(commands) >= 3
    for _, _, *arguments in commands:
        command.make_context("cmd", arguments)


def test_the_configuration_is_one() -> None:
    display, table, operators = map(tomllib.loads, blocks("toml"))
    msgspec.convert(display["display"]["orders"], OrderSettings)
    msgspec.convert(table["orders"], OrdersSettings)
    assert [each["name"] for each in operators["operator"]] == ["Maria", "Kim", "Robin"]
