"""Home Assistant's discovery document: valid, of public topics only, and with true values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from shoe_daemon.mqtt import schemas
from shoe_daemon.mqtt.documents import SIZE_LIMIT
from shoe_daemon.mqtt.home_assistant import MAX_STATE, discovery_document
from shoe_daemon.mqtt.topics import HOME_ASSISTANT, TableIdentity, Topics
from tests.brokers import Listener, Mosquitto, mosquitto
from tests.each_case import each_case
from tests.service.conftest import Run, run
from tests.service.daemon_process import configure
from tests.waiting import wait_for

__all__ = ["mosquitto", "run"]

TOPICS = Topics("casino", "table-7")
IDENTITY = TableIdentity("casino", "table-7", "s", "Baccarat 7")
DOCUMENT = json.loads(discovery_document(TOPICS, IDENTITY, ["shoe", "camera"], 10))
COMPONENTS: dict[str, dict[str, Any]] = DOCUMENT["components"]

# https://www.home-assistant.io/integrations/mqtt, sensor.mqtt and binary_sensor.mqtt
COMMON = {
    *("availability", "device_class", "entity_category", "expire_after", "icon", "name"),
    *("platform", "state_topic", "unique_id", "value_template"),
}
KEYS = {"binary_sensor": COMMON, "sensor": COMMON | {"options", "state_class"}}
DEVICE_CLASSES = {"binary_sensor": {"connectivity", "problem", None}, "sensor": {"enum", None}}


def examples() -> dict[str, Any]:
    """Return a document of every topic."""
    path = Path(schemas.__file__).with_name("examples.json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def rendered(key: str, document: Any) -> str:  # noqa: ANN401 - any payload
    """Return the state that Home Assistant shows for a payload."""
    template = ImmutableSandboxedEnvironment().from_string(COMPONENTS[key]["value_template"])
    return template.render(value_json=document, value=json.dumps(document)).strip()


def test_the_document_has_what_home_assistant_requires() -> None:
    assert DOCUMENT["device"]["identifiers"] == ["shoe_casino_table-7"]
    assert DOCUMENT["device"]["name"] == "Baccarat 7"
    assert DOCUMENT["origin"]["name"]
    unique = [each["unique_id"] for each in COMPONENTS.values()]
    assert len(set(unique)) == len(unique) == len(COMPONENTS)
    for component in COMPONENTS.values():
        platform = component["platform"]
        assert {"name", "state_topic", "unique_id", "value_template"} <= component.keys()
        assert component.keys() <= KEYS[platform]
        assert component.get("device_class") in DEVICE_CLASSES[platform]
        assert ("options" in component) == (component.get("device_class") == "enum")
    assert {"reader_shoe", "reader_camera"} <= COMPONENTS.keys()
    assert TOPICS.retained(HOME_ASSISTANT) == "homeassistant/device/shoe_casino_table-7/config"


def test_it_names_public_topics_only_and_is_small() -> None:
    for component in COMPONENTS.values():
        topics = [
            component["state_topic"],
            *(a["topic"] for a in component.get("availability", [])),
        ]
        for topic in topics:
            assert topic.startswith("shoe/v1/casino/table-7/")
            assert "/staff/" not in topic
            assert "/cmd/" not in topic
    readers = [f"{number:040}" for number in range(10)]
    assert len(discovery_document(TOPICS, IDENTITY, readers, 3600)) < SIZE_LIMIT


def test_what_expires_in_the_broker_expires_there() -> None:
    for component in COMPONENTS.values():
        of_state = component["state_topic"].endswith("/state")
        assert component.get("expire_after") == (30 if of_state else None)


ALERT = {"data": {"severity": 3, "detail": "The Player drew on 6."}}
WORSE = {"data": {"severity": 5, "detail": "x" * 400}}


@each_case(
    "key, document, state",
    [
        ("online", {"state": "online"}, "ON"),
        ("online", {"state": "stopping"}, "OFF"),
        ("alert", {"alerts": []}, "OFF"),
        ("alert", {"alerts": [ALERT]}, "ON"),
        ("alert_text", {"alerts": []}, "none"),
        ("alert_text", {"alerts": [ALERT]}, "The Player drew on 6."),
        ("alert_text", {"alerts": [WORSE, ALERT]}, "x" * MAX_STATE),
        ("alarm", {"alarm": None}, "OFF"),
        ("alarm", {"alarm": "The journal cannot be written."}, "ON"),
        ("held", {"held": []}, "OFF"),
        ("held", {"held": [3]}, "ON"),
        ("due", {"round": None}, "none"),
        ("due", {"round": {"draw_due": None}}, "none"),
        (
            "due",
            {"round": {"draw_due": {"text": "The Player draws on 5."}}},
            "The Player draws on 5.",
        ),
        ("betting", {"betting": "open"}, "open"),
        ("rounds", {"counts": {"rounds": 12}}, "12"),
        # Home Assistant shows None as unknown.
        ("result", {"result": None}, "None"),
        ("result", {"result": {"data": {"outcome": None}}}, "None"),
        ("result", {"result": {"data": {"outcome": "tie"}}}, "tie"),
        ("reader_shoe", {"state": "connected"}, "ON"),
        ("reader_shoe", {"state": "no-signal"}, "OFF"),
    ],
)
def test_the_states(key: str, document: dict[str, Any], state: str) -> None:
    assert rendered(key, document) == state


def test_the_templates_accept_real_documents() -> None:
    documents = examples()
    root = "shoe/v1/casino/table-7/"
    for key, component in COMPONENTS.items():
        suffix = component["state_topic"].removeprefix(root)
        found = documents["device" if suffix.startswith("device/") else suffix]
        assert found
        for example in found:
            state = rendered(key, example["payload"])
            if component["platform"] == "binary_sensor":
                assert state in {"ON", "OFF"}
            if "options" in component:
                assert state in {*component["options"], "None"}
            assert 0 < len(state) <= MAX_STATE


@pytest.mark.mosquitto
def test_a_table_publishes_it_where_it_is_asked_to(
    tmp_path: Path, run: Run, mosquitto: Mosquitto
) -> None:
    topic = "homeassistant/device/shoe_hall_table-7/config"
    config = configure(tmp_path / "on", port=mosquitto.port)
    config.write_text(config.read_text() + "home_assistant = true\n")
    with Listener(mosquitto.port) as listener:
        daemon = run(config).wait_ready()
        wait_for(lambda: listener.of(topic), "the discovery document")
        (message,) = listener.of(topic)
        topics = {each["state_topic"] for each in message.json["components"].values()}
        wait_for(
            lambda: topics <= {each.topic for each in listener.messages},
            "all documents that it names",
        )
        assert daemon.stop() == 0
    with Listener(mosquitto.port) as late:
        wait_for(lambda: late.of(topic), "the retained document")
