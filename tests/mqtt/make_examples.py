"""
Makes the examples anew from a run, and the documents that show them: the AsyncAPI
document and two sections of docs/mqtt.md.

    .venv/bin/python -m tests.mqtt.make_examples
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.mqtt.asyncapi import asyncapi
from shoe_daemon.mqtt.schemas import load_examples
from shoe_daemon.table.detail_texts import DETAIL_TEMPLATES
from tests.brokers import Mosquitto
from tests.mqtt.example_run import Said, play

__all__ = ["PAGE", "REFERENCE", "anchor", "dense", "examples_of", "steady", "with_sections"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mqtt.md"
REFERENCE = ROOT / "docs" / "asyncapi.json"
EXAMPLES = ROOT / "shoe_daemon" / "mqtt" / "examples.json"

_BY_CHANCE = {
    "head",
    "head_seq",
    "byte_age",
    "bytes",
    "event_age",
    "frame_age",
    "frames",
    "noise",
    "repeats",
}
_MOST, _SHOWN = 6, 2
"""Of a list of more objects than so many, so many are shown."""

Examples = dict[str, list[dict[str, Any]]]


def dense(payload: object) -> str:
    """Return a payload as it is on the wire."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def examples_of(said: Iterable[Said]) -> Examples:
    """Put what was said under the names of its schemas."""
    examples: Examples = {}
    for each in said:
        summary = {"summary": each.summary} if each.summary else {}
        example = {**summary, "payload": json.loads(each.payload)}
        assert dense(example["payload"]) == each.payload.decode()
        examples.setdefault(each.name, []).append(example)
    return dict(sorted(examples.items()))


def steady(examples: Examples) -> Examples:
    """Return the examples without what differs from run to run."""
    by_chance = {name: _BY_CHANCE | {"seq"} for name in ("status", "device")}
    by_chance["event/shoe_finished"] = {"head"}
    by_chance["signature"] = {"signature", "signed"}
    return {
        name: [
            {**each, "payload": _without(each["payload"], by_chance.get(name, set()))}
            for each in several
        ]
        for name, several in examples.items()
    }


def _without(payload: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Leave out fields, those of an event's data too."""
    return {
        key: _without(value, names) if key == "data" else value
        for key, value in payload.items()
        if key not in names
    }


def with_sections(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with its sections made anew from the document."""
    sections = {
        "sentences": _sentences(),
        "channels": _channels(document),
        "payloads": _payloads(document),
    }
    for name, text in sections.items():
        begin, end = (
            f"<!-- {name}: made by tests/mqtt/make_examples.py -->\n",
            f"<!-- /{name} -->\n",
        )
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"docs/mqtt.md has no section {name}"
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def _sentences() -> str:
    """Return the table of all sentences by their codes."""
    lines = ["| code | sentence |", "|---|---|"]
    lines += [f"| `{code}` | {sentence} |" for code, sentence in DETAIL_TEMPLATES.items()]
    return "\n".join(lines) + "\n"


def _channels(document: Mapping[str, Any]) -> str:
    """Return the table of all channels."""
    lines = ["| topic | QoS | retained | expires | what |", "|---|---|---|---|---|"]
    for operation in document["operations"].values():
        channel = _follow(document, operation["channel"])
        (message,) = (_follow(document, each) for each in operation["messages"])
        message = _follow(document, message)
        mqtt = operation["bindings"]["mqtt"]
        expiry = f"{mqtt['messageExpiryInterval']} s" if "messageExpiryInterval" in mqtt else ""
        topic = f"[`{_topic(channel)}`](#{anchor(message['name'])})"
        retained = "yes" if mqtt["retain"] else "no"
        lines.append(f"| {topic} | {mqtt['qos']} | {retained} | {expiry} | {message['summary']} |")
    return "\n".join(lines) + "\n"


def _payloads(document: Mapping[str, Any]) -> str:
    """Return a paragraph with examples for every message."""
    return "\n".join(map(_payload, document["components"]["messages"].values()))


def _payload(message: Mapping[str, Any]) -> str:
    lines = [f"### `{message['name']}`", ""]
    for example in message["examples"]:
        payload, shortened = _shortened(example["payload"]), ""
        if payload != example["payload"]:
            shortened = "Shortened: `… 9` stands for nine more, and so on."
        if about := " ".join(filter(None, (example.get("summary"), shortened))):
            lines += [about, ""]
        lines += ["```json", dense(payload), "```", ""]
    return "\n".join(lines)


def _shortened(value: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """Return a payload whose long lists of objects are cut."""
    if isinstance(value, dict):
        return {key: _shortened(each) for key, each in value.items()}
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return value
    if len(value) <= _MOST:
        return [_shortened(each) for each in value]
    return [*value[:_SHOWN], f"… {len(value) - _SHOWN}"]


def _topic(channel: Mapping[str, Any]) -> str:
    suffix: str = channel["title"]
    return suffix.replace("{", "<").replace("}", ">")


def anchor(heading: str) -> str:
    """Return how a heading is linked to."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _follow(document: Mapping[str, Any], reference: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    found: Any = document
    for step in reference["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


def _make() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mosquitto").mkdir()
        with Mosquitto(folder / "mosquitto") as broker:
            examples = examples_of(play(broker, folder).examples)
    before = load_examples() if EXAMPLES.exists() else {}
    if steady(before) != steady(examples):
        EXAMPLES.write_text(_written(examples), encoding="utf-8")
        _tell(EXAMPLES)
    result = CliRunner().invoke(main, ["schema", "--asyncapi", "--out", str(REFERENCE)])
    assert result.exit_code == 0, result.output
    _tell(REFERENCE)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_sections(page, asyncapi(load_examples())), encoding="utf-8")
    _tell(PAGE)


def _written(examples: Examples) -> str:
    """Return the file of the examples: one a line."""
    names = [
        f"{dense(name)}:[\n" + ",\n".join(map(dense, several)) + "\n]"
        for name, several in examples.items()
    ]
    return "{\n" + ",\n".join(names) + "\n}\n"


def _tell(path: Path) -> None:
    print(f"written: {path.relative_to(ROOT)}")  # noqa: T201 - a tool talks to the person


if __name__ == "__main__":
    _make()
