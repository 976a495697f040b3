"""
Replies: published once, not retained, after the events they name, to the requested
topic, and never to a table's own topics.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from paho.mqtt.client import topic_matches_sub

from shoe_daemon.mqtt import schemas
from shoe_daemon.mqtt.connection import Connection
from shoe_daemon.mqtt.topics import Topics
from tests.brokers import Mosquitto
from tests.commands.command_table import Pit, Supervisor, open_pit
from tests.commands.conftest import OpenPit
from tests.waiting import PATIENCE, wait_for

TOPICS = Topics("hall", "table-7", lamps=["lamps/table-7"])
ORDER = b'{"id":"%s","operator":"Maria"}'


def answers(pit: Pit, topic: str) -> list[bytes | None]:
    return [each.correlation for each in pit.heard if each.topic == topic]


@pytest.mark.mosquitto
def test_it_comes_to_both_topics_with_its_correlation(pit: Pit) -> None:
    pit.send("hold", ORDER % b"a", answer_to="answers/mine", correlation=b"\x00\xff")
    wait_for(lambda: answers(pit, "answers/mine"), "the answer")
    (here,) = pit.wait("reply/a")
    (there,) = [each for each in pit.heard if each.topic == "answers/mine"]
    assert here.payload == there.payload
    assert (here.correlation, there.correlation) == (b"\x00\xff", b"\x00\xff")
    assert (here.qos, here.retain) == (1, False)
    Draft202012Validator(schemas.schema_of("reply")).validate(here.json)
    assert set(here.json) == set(schemas.schema_of("reply")["properties"])


@pytest.mark.mosquitto
def test_it_comes_once_where_both_topics_are_one(pit: Pit) -> None:
    pit.send("hold", ORDER % b"b", answer_to=f"{pit.root}/reply/b", correlation=b"1")
    pit.wait("reply/b")
    pit.order("resume")
    assert answers(pit, f"{pit.root}/reply/b") == [b"1"]


@pytest.mark.mosquitto
def test_it_comes_after_what_it_tells_of(pit: Pit) -> None:
    pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
    pit.wait("event/round_finished")
    answer = pit.order("void-round")
    topics = [each.topic.removeprefix(f"{pit.root}/") for each in pit.heard]
    told = [
        topics.index("event/round_voided"),
        topics.index(f"reply/{answer['id']}"),
    ]
    assert told == sorted(told)
    assert pit.of("event/round_voided")[0].json["seq"] in answer["events"]


@pytest.mark.mosquitto
def test_it_does_not_come_among_what_tables_say(pit: Pit) -> None:
    before = len(pit.of("state"))
    places = [f"{pit.root}/event/card_dealt", f"{pit.root}/status", "shoe/v1/hall/other/state"]
    places += ["shoe-notify/v1/pit", "homeassistant/device/shoe_hall_table-7/config"]
    for number, place in enumerate(places):
        order = ORDER % f"evil-{number}".encode()
        pit.send("resume", order, answer_to=place)
        pit.wait(f"reply/evil-{number}")
    assert not pit.of("event/card_dealt")
    assert all("state" in each.json for each in pit.of("status"))
    assert not [each for each in pit.heard if each.topic.startswith(("shoe-notify", "home"))]
    assert all("table" in each.json for each in pit.of("state")[before:])


LEVELS = st.sampled_from(
    [
        *("shoe", "v1", "hall", "table-7", "reply", "status", "shoe-notify", "homeassistant"),
        *("device", "lamps", "$SYS", "$share", "x", "", "+", "#", "é", "\x00", "\n"),
    ]
)
TAKEN = ("shoe/v1/#", "shoe-notify/v1/#", "homeassistant/#", "lamps/table-7/#", "$SYS/#")


@given(st.one_of(st.text(), st.lists(LEVELS, max_size=7).map("/".join)))
def test_an_answer_goes_to_every_topic_that_is_free_and_to_no_other(topic: str) -> None:
    is_topic = 1 <= len(topic) <= 250 and not re.search(r"[+#\x00-\x1f\x7f]|^\$", topic)
    is_taken = is_topic and any(topic_matches_sub(each, topic) for each in TAKEN)
    is_reply = is_topic and topic_matches_sub("shoe/v1/hall/table-7/reply/#", topic + "/x")
    if topic != "shoe/v1/hall/table-7/reply":
        assert TOPICS.may_reply_to(topic) is (is_topic and (is_reply or not is_taken))


@pytest.mark.mosquitto
def test_without_mqtt_5_it_comes_to_the_reply_topic(tmp_path: Path, broker: Mosquitto) -> None:
    with (
        open_pit(tmp_path, broker.port, protocol="3.1.1") as pit,
        Supervisor(broker.port, pit.root, protocol="3.1.1") as old,
    ):
        assert old.order("hold")["ok"]


@pytest.mark.mosquitto
def test_what_waited_for_the_table_has_to_say_until_when_it_holds(
    pit: Pit, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, opened = threading.Event(), Connection.open

    def open_when_free(connection: Connection) -> None:
        assert free.wait(PATIENCE)
        opened(connection)

    monkeypatch.setattr(Connection, "open", open_when_free)
    # The line is lost and comes back: what comes meanwhile is kept by the broker.
    cut(pit)
    pit.send("hold", ORDER % b"waited")
    later = {"id": "later", "operator": "Maria", "expires_at": "2999-01-01T00:00:00Z"}
    pit.send("hold", json.dumps(later).encode())
    free.set()
    waited, lasts = pit.wait("reply/waited")[0].json, pit.wait("reply/later")[0].json
    assert waited["refused"] == "it waited while the table was away, and has no expires_at"
    assert lasts["ok"]


def cut(pit: Pit) -> None:
    """Let the daemon's line to the broker go, without a word."""
    publisher = pit.daemon.publisher
    assert publisher is not None
    session = publisher._publication  # noqa: SLF001 - a cut cable has no other door
    assert session is not None
    since = publisher.health.since
    pipe = session._connection._client.socket()  # noqa: SLF001 - likewise
    assert isinstance(pipe, socket.socket)
    pipe.shutdown(socket.SHUT_RDWR)
    # It may be back sooner than anybody sees that it was away.
    wait_for(lambda: publisher.health.since != since, "the loss")


@pytest.mark.mosquitto
def test_an_answer_survives_a_lost_line(tables: OpenPit) -> None:
    pit = tables()
    for number in range(20):
        pit.send("resume", ORDER % f"n{number}".encode())
    cut(pit)
    for number in range(20):
        pit.wait(f"reply/n{number}")


@pytest.mark.mosquitto
def test_a_refusal_has_its_code_when_it_is_asked_for_again(pit: Pit) -> None:
    first, second = (pit.ask("resume", ORDER % b"again") for _ in range(2))
    assert first["detail_code"] == "refused_not_on_hold"
    assert second["earlier"]["detail_code"] == "refused_not_on_hold"
    assert second["detail_code"] is None
