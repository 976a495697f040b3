"""docs/mqtt.md agrees with the AsyncAPI document, the configuration and the constants."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from shoe_daemon.floor.table import LastContact, stale_at
from shoe_daemon.mqtt.asyncapi import asyncapi
from shoe_daemon.mqtt.schemas import load_examples
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX
from tests.mqtt import make_examples

PAGE = make_examples.PAGE.read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = asyncapi(load_examples())
CHANNELS = {
    channel["title"]: next(
        operation["bindings"]["mqtt"]
        for operation in DOCUMENT["operations"].values()
        if operation["channel"] == {"$ref": f"#/channels/{name}"}
    )
    for name, channel in DOCUMENT["channels"].items()
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def section(heading: str) -> str:
    text = PAGE.split(f"\n## {heading}\n")[1].partition("\n## ")[0]
    return re.sub(r"\s+", " ", text)


def test_its_tables_and_examples_are_those_of_the_document() -> None:
    made = make_examples.with_sections(PAGE, DOCUMENT)
    assert made == PAGE, "made anew by: python -m tests.mqtt.make_examples"
    messages_in_it = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
    named = [message["name"] for message in DOCUMENT["components"]["messages"].values()]
    assert sorted(messages_in_it) == sorted(named)


def test_the_short_table_is_right_and_leaves_nothing_out() -> None:
    rows = re.findall(r"^\| `([a-z/<>]+)` \| (yes|no) \|", PAGE, re.MULTILINE)
    assert len(rows) == 13
    covered = set()
    for topic, retained in rows:
        pattern = re.sub(r"<\w+>", r"[\\w{}]+(/{operator})?", topic)
        found = {title for title in CHANNELS if re.fullmatch(pattern, title)}
        assert {CHANNELS[title]["retain"] for title in found} == {retained == "yes"}, topic
        covered |= found
    assert covered == CHANNELS.keys()
    assert f"`{DEFAULT_PREFIX}/<site>/<table>/`" in PAGE
    assert {mqtt["qos"] for mqtt in CHANNELS.values()} == {1}
    assert "QoS 1" in section("Topics")


def test_a_state_counts_for_as_long_as_the_display_lets_it() -> None:
    limits = re.findall(r"^\| (was|is) .* \| (\d+) s \|$", PAGE, re.MULTILINE)
    heartbeat = MqttSettings().heartbeat
    live, copy = (
        round(stale_at(LastContact(heartbeat=heartbeat, is_copy=copied)))
        for copied in (False, True)
    )
    assert limits == [("was", str(live)), ("is", str(copy))]
    assert f"looks live for {copy} s at most" in section("How to build a display")


def test_the_configuration_is_one_and_shows_the_defaults() -> None:
    (block,) = blocks("toml")
    msgspec.convert(tomllib.loads(block)["mqtt"], MqttSettings)
    shown = dict(re.findall(r'^# (\w+) = "?([\w./]+)"?', block, re.MULTILINE))
    defaults = MqttSettings()
    for field in ("protocol", "prefix", "keepalive", "heartbeat"):
        assert str(getattr(defaults, field)) == shown[field]
