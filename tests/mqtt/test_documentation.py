"""
What docs/mqtt.md shows is what is said: its examples pass the schemas, its
configuration is one, its topics are ours.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from shoe_daemon.mqtt import MqttSettings, messages, schemas
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX

PAGE = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def _document(fields: AbstractSet[str]) -> str:
    kinds = messages.DOCUMENTS.items()
    return next(name for name, kind in kinds if set(kind.__struct_fields__) == fields)


def test_every_example_passes_its_schema() -> None:
    found = []
    for line in "".join(blocks("json")).splitlines():
        example = json.loads(line)
        name = f"event/{example['type']}" if "type" in example else _document(example.keys())
        Draft202012Validator(schemas.schema_of(name)).validate(example)
        found.append(name)
        dense = json.dumps(example, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert dense == line
    assert found == ["status", "event/card_dealt", "event/draw_due", "state", "device"]


def test_the_configuration_is_one_and_shows_the_defaults() -> None:
    (block,) = blocks("toml")
    msgspec.convert(tomllib.loads(block)["mqtt"], MqttSettings)
    shown = dict(re.findall(r'^# (\w+) = "?([\w./]+)"?', block, re.MULTILINE))
    defaults = MqttSettings()
    for field in ("protocol", "prefix", "keepalive", "heartbeat"):
        assert str(getattr(defaults, field)) == shown[field]


@pytest.mark.parametrize("name", [*messages.DOCUMENTS, "event"])
def test_every_topic_is_in_the_table(name: str) -> None:
    assert f"| `{name}" in PAGE
    assert f"`{DEFAULT_PREFIX}/<site>/<table>/`" in PAGE
