"""
Every browser receives the latest documents of its subscription; a slow browser costs nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from shoe_daemon.display.streams import BrowserStream, StreamRegistry, Subscription
from shoe_daemon.display.views import JsonViews
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Link
from tests.display.event_loop import in_event_loop
from tests.floor.table_messages import ModelFeeder, alert, at, event, live_model, roads

BOARD = Subscription(("board", "roads"), "table-1")
PIT = Subscription(("row",), None, pit=True)
PIT_TABLE = Subscription(
    ("row", "board", "alerts", "roads", "history", "events"), "table-1", events=True, pit=True
)

PIT_PAGES = {"row": PIT, "alerts": PIT_TABLE}


class OpenFloor:
    """A model, its streams, and what a browser reads."""

    def __init__(self, model: ModelFeeder, *wanted: str) -> None:
        self.model = model
        self.streams = StreamRegistry(
            model.tables, JsonViews(model.tables, wanted), lambda: "now", "v1"
        )

    def watch(self, watched: Subscription, heartbeat: float = 30.0) -> AsyncGenerator[bytes, None]:
        return BrowserStream(self.streams, watched, heartbeat=heartbeat).run()

    def say(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401
        self.streams.publish(self.model.feed(*arguments, **more))


async def events_of(stream: AsyncGenerator[bytes, None]) -> list[tuple[str, Any]]:
    """Return what comes next, as the browser's EventSource reads it."""
    async with asyncio.timeout(20):
        chunk = await anext(stream)
    found = []
    for block in chunk.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def names(found: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in found]


@in_event_loop
async def test_a_browser_gets_everything_first_and_then_what_changes() -> None:
    floor = OpenFloor(live_model())
    floor.say("roads", roads("BP"))
    stream = floor.watch(BOARD)
    first = await events_of(stream)
    assert names(first) == ["board", "roads", "beat"]
    assert first[0][1]["state"]["seq"] == 1
    assert first[0][1]["fresh"] == {"is": "live", "since": None}
    assert [bead["outcome"] for bead in first[1][1]["bead"]] == ["banker", "player"]
    floor.say("state", seq=2, name="New")
    (name, board), *rest = await events_of(stream)
    assert (name, board["state"]["name"], rest) == ("board", "New", [])
    floor.say("roads", roads("BPP", seq=2))
    assert names(await events_of(stream)) == ["roads"]
    await stream.aclose()
    assert len(floor.streams) == 0


@in_event_loop
async def test_players_are_not_told_what_is_irregular() -> None:
    floor = OpenFloor(live_model())
    floor.say("state", seq=2, alerts=[alert()], alerts_omitted=3)
    floor.say("alert/active", alerts=[alert()])
    first = await events_of(floor.watch(BOARD))
    assert names(first) == ["board", "roads", "beat"]
    assert (first[0][1]["state"]["alerts"], first[0][1]["state"]["alerts_omitted"]) == ([], 0)
    room = dict(await events_of(floor.watch(PIT_TABLE)))
    assert len(room["alerts"]["alerts"]) == len(room["row"]["alerts"]) == 1
    assert len(room["row"]["state"]["alerts"]) == 1


@in_event_loop
async def test_what_only_staff_may_know_reaches_the_pit_and_no_board() -> None:
    floor = OpenFloor(live_model(model=ModelFeeder(Floor(staff_alerts=True))))
    everything = BOARD._replace(names=(*BOARD.names, "history"))
    streams = {name: floor.watch(each) for name, each in PIT_PAGES.items()}
    board = floor.watch(everything)
    for stream in (*streams.values(), board):
        await events_of(stream)
    floor.say("alert/active", alerts=[alert(7)], omitted=0)
    floor.say("staff/alert/active", alerts=[alert(8), alert(9)], omitted=2)
    for name, stream in streams.items():
        (shown,) = [model for kind, model in await events_of(stream) if kind == name]
        marks = {each["data"]["id"]: each.get("staff_only") for each in shown["alerts"]}
        assert marks == {7: None, 8: True, 9: True}
        assert shown.get("omitted", 2) == 2
    floor.say("state", seq=2)
    assert "staff" not in str(await events_of(board))


def test_an_alert_that_becomes_public_is_shown_once_and_without_the_mark() -> None:
    model = live_model(model=ModelFeeder(Floor(staff_alerts=True)))
    model.feed("staff/alert/active", alerts=[alert(8)])
    model.feed("alert/active", alerts=[alert(8)])
    (shown,) = json.loads(row_of(model))["alerts"]
    assert "staff_only" not in shown
    model.feed("staff/alert/active", alerts=[], seq=2)
    model.feed("alert/active", alerts=[], seq=2)
    assert json.loads(row_of(model))["alerts"] == []


def test_the_pit_is_told_where_alerts_for_staff_do_not_arrive() -> None:
    model = live_model()
    assert json.loads(row_of(model))["staff_alerts_missing"] is False
    model = live_model(model=ModelFeeder(Floor(staff_alerts=True)))
    assert json.loads(row_of(model))["staff_alerts_missing"] is True
    model.feed("staff/alert/active")
    assert json.loads(row_of(model))["staff_alerts_missing"] is False


def row_of(model: ModelFeeder) -> bytes:
    (table,) = model.tables
    return JsonViews(model.tables).table("row", table)


@in_event_loop
async def test_a_slow_browser_gets_the_latest_and_once() -> None:
    floor = OpenFloor(live_model())
    stream = floor.watch(PIT)
    await events_of(stream)
    for number in range(2, 2000):
        floor.say("state", seq=number)
    late = await events_of(stream)
    assert names(late) == ["row"]
    assert late[0][1]["state"]["seq"] == 1999


@in_event_loop
async def test_of_events_a_slow_browser_gets_the_last_ones() -> None:
    floor = OpenFloor(live_model())
    floor.say("event/round_started", event(1))
    stream = floor.watch(PIT_TABLE)
    first = dict(await events_of(stream))
    assert [each["seq"] for each in first["events"]["events"]] == [1]
    assert first["events"]["since"] == at(0).wall
    for seq in range(2, 1000):
        floor.say("event/round_started", event(seq))
    late = await events_of(stream)
    assert [each["event"]["seq"] for _, each in late] == list(range(800, 1000))
    assert set(names(late)) == {"event"}


@in_event_loop
async def test_a_sign_of_life_comes_where_nothing_else_does() -> None:
    stream = OpenFloor(live_model()).watch(BOARD, heartbeat=0.01)
    await events_of(stream)
    assert await events_of(stream) == [("beat", {"now": "now", "version": "v1"})]


@in_event_loop
async def test_a_board_waits_for_its_table() -> None:
    floor = OpenFloor(ModelFeeder())
    by_id, by_key = floor.watch(BOARD), floor.watch(BOARD._replace(table="house.table-1"))
    for stream in (by_id, by_key):
        first = await events_of(stream)
        assert names(first) == ["board", "roads", "beat"]
        assert first[0][1]["known"] is False
        assert first[0][1]["fresh"]["is"] == "no_broker"
    floor.streams.publish(floor.model.tables.set_link(Link(connected=True, since="x"), 1000.0))
    for stream in (by_id, by_key):
        assert [each["fresh"]["is"] for _, each in await events_of(stream)] == ["unknown"]
    floor.say("state")
    for stream in (by_id, by_key):
        found = dict(await events_of(stream))
        assert found["board"]["known"] is True
        assert found["board"]["key"] == "house.table-1"
    assert len(floor.streams) == 2
    floor.say("state", b"")
    found = dict(await events_of(by_id))
    assert found["board"]["known"] is False
    assert found["roads"] is None
    floor.say("state", seq=7)
    assert dict(await events_of(by_id))["board"]["state"]["seq"] == 7
    for stream in (by_id, by_key):
        await stream.aclose()
    assert len(floor.streams) == 0


@in_event_loop
async def test_the_pit_sees_tables_come_and_go() -> None:
    floor = OpenFloor(live_model())
    stream = floor.watch(PIT)
    assert names(await events_of(stream)) == ["pit", "row", "beat"]
    floor.say("state", table="table-2")
    found = dict(await events_of(stream))
    assert found["row"]["key"] == "house.table-2"
    assert found["pit"]["order"] == ["house.table-1", "house.table-2"]
    floor.say("state", b"", table="table-2")
    found = dict(await events_of(stream))
    assert found["gone"] == {"key": "house.table-2"}
    assert found["pit"]["order"] == ["house.table-1"]


@in_event_loop
async def test_the_pit_waits_for_the_tables_of_its_configuration() -> None:
    floor = OpenFloor(live_model("table-10"), "table-2", "house.table-3")
    stream = floor.watch(PIT)
    first = await events_of(stream)
    rows = [each for name, each in first if name == "row"]
    assert [each["key"] for each in rows] == ["table-2", "house.table-3", "house.table-10"]
    assert [each["fresh"]["is"] for each in rows] == ["unknown", "unknown", "live"]
    assert [each["name"] for each in rows][:2] == ["table-2", "table-3"]
    floor.say("state", table="table-2")
    second = await events_of(stream)
    assert ("gone", {"key": "table-2"}) in second
    assert dict(second)["pit"]["order"] == [
        "house.table-2",
        "house.table-3",
        "house.table-10",
    ]
    floor.say("state", b"", table="table-2")
    third = await events_of(stream)
    assert ("gone", {"key": "house.table-2"}) in third
    assert dict(third)["row"]["key"] == "table-2"
    floor.streams.publish(floor.model.tables.set_link(Link(connected=False, since="x"), 1001.0))
    rows = [each for name, each in await events_of(stream) if name == "row"]
    assert [each["fresh"]["is"] for each in rows] == ["no_broker"] * 3


@in_event_loop
async def test_faults_are_told_once_a_second_however_many_there_are() -> None:
    floor = OpenFloor(live_model())
    stream = floor.watch(PIT, heartbeat=0.01)
    await events_of(stream)
    for number in range(1000):
        floor.say("state", b"{", after=number)
    assert names(await events_of(stream)) == ["beat"]
    floor.streams.publish_delayed()
    found = dict(await events_of(stream))
    assert found["pit"]["faults"]["total"] == found["row"]["faults"] == 1000
    assert len(found["pit"]["faults"]["last"]) == 20


def test_tables_stand_in_the_order_of_their_numbers() -> None:
    model = live_model("table-10")
    for name in ("table-9", "vip", "table-9-b", "9"):
        model.feed("state", table=name)
    assert JsonViews(model.tables, ["vip"]).order() == [
        "house.vip",
        "house.table-9",
        "house.table-9-b",
        "house.table-10",
        "house.9",
    ]


def test_a_row_has_the_shoe_as_a_sequence_and_its_readers() -> None:
    model = live_model()
    model.feed("roads", roads("BpPTBbn"))
    model.feed("device/shoe", state="stale", noise=7)
    table = model.tables.get("house.table-1")
    assert table is not None
    row = json.loads(JsonViews(model.tables).table("row", table))
    assert row["outcomes"] == "BpPTBbn"
    assert [(each["id"], each["state"], each["noise"]) for each in row["devices"]] == [
        ("shoe", "stale", 7)
    ]
    assert row["status"] == "online"
