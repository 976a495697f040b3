"""The model follows from the valid messages; an invalid message is counted and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.display.views import JsonViews
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.messages import MAX_PAYLOAD_BYTES, topic_filters
from shoe_daemon.floor.table import Limits, Link, Message, Table
from tests.each_case import each_case
from tests.floor.table_messages import (
    PATIENT,
    ModelFeeder,
    alert,
    at,
    document,
    event,
    live_model,
    payload,
    roads,
    topic,
)


def table_of(model: ModelFeeder, key: str = "house.table-1") -> Table:
    table = model.tables.get(key)
    assert table is not None
    return table


def kinds_of(changes: list[Any]) -> list[str]:
    return [each.what for each in changes]


def test_a_table_is_known_from_its_first_document_on() -> None:
    model = ModelFeeder()
    assert model.feed("event/round_started", event(1)) == []
    assert len(model.tables) == 0
    assert kinds_of(model.feed("state")) == ["new", "board", "row"]
    assert table_of(model).body("state").seq == 1
    assert model.tables.faults.total == 0


def test_a_heartbeat_that_says_nothing_new_is_told_nobody() -> None:
    model = live_model()
    assert model.feed("state", published=at(10).wall, after=10) == []
    assert kinds_of(model.feed("state", seq=2, after=11)) == ["board", "row"]


def test_every_document_has_its_audience() -> None:
    model = live_model()
    assert kinds_of(model.feed("roads", roads("BpPTBbn"))) == ["roads", "row"]
    assert kinds_of(model.feed("history")) == ["history"]
    assert kinds_of(model.feed("alert/active", alerts=[alert()])) == [
        "alerts",
        "public_alerts",
        "row",
    ]
    assert kinds_of(model.feed("device/shoe")) == ["device", "row"]
    assert kinds_of(model.feed("device/shoe", bytes=5)) == ["device"]
    assert kinds_of(model.feed("device/shoe", state="stale")) == ["device", "row"]
    assert kinds_of(model.feed("event/round_started", event(2))) == ["event"]
    assert model.feed("history") == []
    assert model.tables.faults.total == 0


# --- what is wrong ---


@each_case(
    "suffix, content, told_is",
    [
        ("state", b"{", "Input data was truncated"),
        ("state", b"\xff\xfe", "JSON"),
        ("state", b'{"name":"\xff"}', "invalid"),
        ("state", b"[]", "Expected `object`, got `array`"),
        ("state", b"{}", "missing required field"),
        ("state", payload("state", seq="1"), "Expected `int`, got `str` - at `$.seq`"),
        ("state", payload("state", seq=1.5), "Expected `int`, got `float`"),
        ("state", payload("state", site="other"), "differ from those of the topic"),
        ("state", payload("state", published="yesterday"), "no RFC 3339 moment"),
        ("state", payload("state", seq=2**53), "seq is 9007199254740992"),
        ("state", payload("state", seq=-1), "seq is -1"),
        ("state", payload("state", seq=10**400), "seq is 1000"),
        ("state", payload("state", name="@").replace(b"@", b"\\ud800"), "surrogate"),
        ("event/round_started", event(100_002), "far beyond that of the table, 1"),
        ("state", payload("state", heartbeat=10**12), "a heartbeat of"),
        ("state", payload("state", schema="2.0"), "schema '2.0'; this display knows version 1"),
        ("state", b" " * (MAX_PAYLOAD_BYTES + 1), "65537 bytes; expected at most 65536"),
        ("status", payload("status", state="asleep"), "Invalid enum value"),
        ("roads", b'{"bead":7}', "Expected `array`, got `int`"),
        ("event/round_started", event(1, "round_aborted"), "type differs from that of the topic"),
        ("event/draw_due", event(1, "draw_due", hand=7), "Expected `str`, got `int`"),
        (
            "event/staff_card_dealt",
            event(1, "staff_card_dealt"),
            "type differs from that of the topic",
        ),
        ("device/../x", b"{}", "no topic of a subscription"),
        ("device/SHOE", b"{}", "no topic of a subscription"),
        ("staff/event/x", b"{}", "no topic of a subscription"),
        ("staff/alert/active", payload("staff/alert/active"), "no topic of a subscription"),
        ("cmd/rule", b"{}", "no topic of a subscription"),
        ("event/round_started", b'{"a":' * 9000 + b"1" + b"}" * 9000, ""),
    ],
)
def test_what_is_wrong_is_counted_and_changes_nothing(
    suffix: str, content: bytes, told_is: str
) -> None:
    model = live_model()
    before = table_of(model).documents.copy()
    changes = model.feed(suffix, content, after=1)
    assert model.tables.faults.total == 1
    last = model.tables.faults.last[-1]
    assert told_is in last.what
    assert last.at == at(1).wall
    assert last.topic == topic(suffix)
    assert {each.what for each in changes} <= {"pit", "row"}
    assert table_of(model).documents == before
    assert table_of(model).freshness.state == "live"


@pytest.mark.parametrize("table", ["TABLE", "ta_ble", "", "a" * 41, "<b>", "..", "tisch-ä"])
def test_a_table_with_a_wrong_name_is_none(table: str) -> None:
    model = ModelFeeder()
    model.feed("state", table=table)
    assert len(model.tables) == 0
    assert model.tables.faults.total == 1


def test_a_long_topic_is_told_short() -> None:
    model = ModelFeeder()
    model.tables.receive(Message("shoe/v1/" + "x" * 60_000, b"{}"), at(0))
    assert len(model.tables.faults.last[-1].topic) < 200


def test_fields_and_events_of_a_later_version_are_no_fault() -> None:
    model = live_model()
    later = document("state", seq=2) | {"later_version": {"x": [1.5]}}
    model.feed("state", json.dumps(later).encode())
    assert model.tables.faults.total == 0
    assert table_of(model).body("state").seq == 2
    assert b"later_version" not in table_of(model).documents["state"].json
    assert kinds_of(model.feed("event/moon_phase", event(2, "moon_phase", full=True))) == ["event"]


def test_an_older_daemon_that_does_not_tell_its_heartbeat_is_understood() -> None:
    facts = document("state")
    del facts["heartbeat"]
    model = ModelFeeder()
    model.feed("state", json.dumps(facts).encode())
    assert table_of(model).contact.heartbeat == 10


@PATIENT
@given(st.binary(max_size=300))
def test_no_bytes_do_any_harm(content: bytes) -> None:
    model = live_model()
    for suffix in ("state", "status", "roads", "device/x", "event/cut_card", "alert/active"):
        model.feed(suffix, content)
        assert content == b"" or table_of(model).body("state").seq == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@PATIENT
@given(st.data())
def test_no_single_wrong_value_does_any_harm(data: st.DataObject) -> None:
    model = live_model()
    suffix = data.draw(st.sampled_from(["state", "alert/active", "device/x", "result/last"]))
    facts = document(suffix)
    facts[data.draw(st.sampled_from(sorted(facts)))] = data.draw(_JSON)
    model.feed(suffix, json.dumps(facts).encode())
    table = table_of(model)
    for stored in table.documents.values():
        json.loads(stored.json)


@PATIENT
@given(st.text(max_size=60), st.binary(max_size=20))
def test_no_topic_does_any_harm(name: str, content: bytes) -> None:
    model = live_model()
    model.tables.receive(Message(name, content), at(1))
    model.tables.receive(Message(f"shoe/v1/{name}", content), at(1))
    assert list(model.tables.keys()) == ["house.table-1"]


# --- sessions and numbers ---


def test_within_a_session_no_number_goes_back() -> None:
    model = live_model()
    model.feed("state", seq=10, name="new")
    changes = model.feed("state", seq=9, name="old")
    assert table_of(model).body("state").name == "new"
    assert model.tables.faults.last[-1].what == "seq went back from 10 to 9"
    assert "row" in kinds_of(changes)
    # The same number again is right, and an older copy that the broker kept is no news.
    model.feed("state", seq=10, on_hold=True)
    assert model.feed("state", seq=9, retained=True) == []
    assert table_of(model).body("state").on_hold
    assert model.tables.faults.total == 1


def test_a_number_that_was_too_high_does_not_keep_the_table_away_for_ever() -> None:
    model = live_model()
    model.feed("state", seq=10**15, after=1)
    model.feed("state", seq=11, after=20)
    assert table_of(model).body("state").seq == 10**15
    model.feed("state", seq=12, after=31)
    assert table_of(model).body("state").seq == 12
    assert table_of(model).freshness.state == "live"


def test_a_new_session_may_begin_to_count_anew() -> None:
    model = live_model()
    model.feed("state", seq=10)
    model.feed("event/round_started", event(9))
    model.feed("state", seq=1, session="s2")
    model.feed("status", session="s2")
    assert model.tables.faults.total == 0
    assert table_of(model).freshness.state == "live"
    assert len(table_of(model).events) == 0


def test_numbers_that_go_back_are_an_alarm_in_the_pit_until_they_are_new() -> None:
    model = live_model()
    views = JsonViews(model.tables)

    def alarm(view: str) -> object:
        state = json.loads(views.table(view, table_of(model)))["state"]
        return state["alarm"] and (state["detail_code"], state["detail_values"]["published"])

    model.feed("state", seq=40)
    model.feed("status")
    assert alarm("row") is None
    model.feed("state", seq=12, session="s2")
    model.feed("state", seq=39, session="s2")
    assert alarm("row") == ("journal_went_back", 40)
    assert alarm("board") is None
    model.feed("state", seq=13, session="s3")
    assert alarm("row") == ("journal_went_back", 40)
    model.feed("state", seq=10_040, session="s3")
    assert alarm("row") is None


@pytest.mark.parametrize("code", ["journal_went_back", "not_recorded"])
def test_boards_show_only_alarms_that_make_them_out_of_date(code: str) -> None:
    model = live_model()
    views = JsonViews(model.tables)
    model.feed("state", seq=2, alarm="Something.", detail_code=code)
    for view, is_shown in (("row", True), ("board", code == "not_recorded")):
        state = json.loads(views.table(view, table_of(model)))["state"]
        assert (state["alarm"] == "Something.") is is_shown


def test_events_of_another_journal_begin_when_it_began() -> None:
    model = live_model()
    model.feed("event/round_started", event(9))
    model.feed("state", seq=1, session="s2", after=50)
    assert table_of(model).events.json == []
    # By this a page knows that the events that it shows are those of the other journal.
    assert table_of(model).events_since == at(50).wall


def test_a_session_that_is_over_is_not_believed() -> None:
    model = live_model()
    model.feed("state", seq=2, session="s2")
    model.feed("status", session="s2")
    for suffix in ("state", "device/x", "alert/active"):
        model.feed(suffix, seq=99, session="s1")
    assert model.tables.faults.total == 3
    assert "is over: another one has replaced it" in model.tables.faults.last[-1].what
    assert table_of(model).body("state").session == "s2"
    assert table_of(model).freshness.state == "live"


def test_of_two_daemons_the_one_that_says_online_is_believed() -> None:
    model = live_model()
    model.feed("state", session="s2")
    model.feed("status", session="s2")
    model.feed("status", session="s1")
    model.feed("state", session="s1", seq=3)
    assert table_of(model).freshness.state == "live"
    assert table_of(model).body("state").session == "s1"


def test_readers_of_a_session_that_is_over_are_no_more() -> None:
    model = live_model()
    model.feed("device/old")
    model.feed("state", session="s2")
    model.feed("device/new", session="s2")
    assert [name for name, _ in table_of(model).devices] == ["new"]


# --- events ---


def test_the_latest_events_are_kept_in_their_order_and_once() -> None:
    model = live_model()
    for seq in (5, 7, 6, 7, 5):
        model.feed("event/round_started", event(seq))
    assert list(table_of(model).events) == [5, 6, 7]
    for seq in range(8, 500):
        model.feed("event/round_started", event(seq))
    assert list(table_of(model).events) == list(range(300, 500))
    assert model.feed("event/round_started", event(3)) == []


def test_long_events_are_fewer() -> None:
    model = live_model(model=ModelFeeder(Floor(limits=Limits(event_bytes=100_000))))
    for seq in range(1, 100):
        model.feed("event/cut_card2", event(seq, "cut_card2", x="y" * 20_000))
    assert list(table_of(model).events) == [96, 97, 98, 99]


# --- what can grow ---


def test_there_are_no_more_tables_than_allowed() -> None:
    model = ModelFeeder(Floor(limits=Limits(tables=3)))
    for number in range(10):
        model.feed("state", table=f"table-{number}")
    assert len(model.tables) == 3
    assert model.tables.faults.last[-1].what == "more than 3 tables"


def test_a_table_has_no_more_devices_than_allowed() -> None:
    model = live_model()
    for number in range(100):
        model.feed(f"device/shoe-{number}")
    assert sum(1 for _ in table_of(model).devices) == 16


def test_all_tables_together_are_not_larger_than_allowed() -> None:
    model = live_model(model=ModelFeeder(Floor(limits=Limits(bytes=20_000))))
    for number in range(100):
        model.feed("state", table=f"table-{number}", name="x" * 3000)
    assert len(model.tables) < 8
    assert "bytes for all tables together" in model.tables.faults.last[-1].what
    # What was there before is told on.
    model.feed("state", seq=2)
    assert table_of(model).body("state").seq == 2


def test_what_is_forgotten_makes_room() -> None:
    model = ModelFeeder(Floor(limits=Limits(bytes=20_000, tables=3)))
    for number in range(500):
        name = f"table-{number}"
        model.feed("state", table=name, name="x" * 3000)
        model.feed("event/cut_card2", event(1, "cut_card2"), table=name)
        assert model.feed("state", b"", table=name)
    assert model.tables.faults.total == 499  # all but one event name another table
    assert len(model.tables) == 0
    model.feed("state")
    assert len(model.tables) == 1


# --- what is cleared ---


def test_a_table_whose_state_was_cleared_is_gone() -> None:
    model = live_model()
    assert kinds_of(model.feed("state", b"")) == ["gone", "pit"]
    assert model.tables.get("house.table-1") is None
    assert model.tables.named("table-1") == []
    assert model.feed("roads", b"") == []
    assert kinds_of(model.feed("state"))[0] == "new"


def test_other_topics_may_be_cleared_alone() -> None:
    model = live_model()
    model.feed("device/shoe")
    assert "row" in kinds_of(model.feed("device/shoe", b""))
    assert list(table_of(model).devices) == []
    model.feed("status", b"")
    assert table_of(model).freshness.state == "stale"


# --- names ---


def test_a_bare_id_means_every_table_of_that_id() -> None:
    model = live_model()
    model.feed("state", site="other")
    assert [each.key for each in model.tables.named("table-1")] == [
        "house.table-1",
        "other.table-1",
    ]
    assert [each.key for each in model.tables.named("other.table-1")] == ["other.table-1"]
    assert model.tables.named("other.table-2") == []


def test_nothing_of_staff_and_no_order_is_asked_for() -> None:
    asked = topic_filters("shoe/v1", None)
    assert "shoe/v1/+/+/state" in asked
    assert "shoe/v1/+/+/roads" in asked
    assert "shoe/v1/+/+/history" in asked
    assert "shoe/v1/+/+/event/+" in asked
    assert not [each for each in asked if "#" in each or "staff" in each or "cmd" in each]
    assert topic_filters("a/b", "house")[0].startswith("a/b/house/+/")
    more = set(topic_filters("shoe/v1", None, staff_alerts=True)) - set(asked)
    assert more == {"shoe/v1/+/+/staff/alert/active"}
    more = set(topic_filters("shoe/v1", None, notifier_status=True)) - set(asked)
    assert more == {"shoe-notify/v1/+"}


def test_without_a_broker_nothing_is_fresh() -> None:
    model = live_model()
    lost = Link(connected=False, since=at(5).wall, detail="the line is closed")
    told_are = {"pit", "link", "board", "row"}
    assert set(kinds_of(model.tables.set_link(lost, at(5).monotonic))) == told_are
    assert (table_of(model).freshness.state, table_of(model).freshness.since) == (
        "no_broker",
        at(5).wall,
    )
    again = Link(connected=True, since=at(7).wall)
    assert set(kinds_of(model.tables.set_link(again, at(7).monotonic))) == {*told_are, "events"}
    assert table_of(model).events_since == at(7).wall
    assert table_of(model).freshness.state == "live"


# --- what the broker no longer has ---


def missed(*there: str) -> ModelFeeder:
    """Return two tables, after it was found out of which ones the broker has anything."""
    model = live_model("table-2", model=live_model())
    model.tables.expire_missing(frozenset(there), at(10).monotonic)
    return model


def left(model: ModelFeeder, after: float) -> set[str]:
    model.tables.advance_time(at(after).monotonic)
    return set(model.tables.keys())


def test_a_table_of_which_the_broker_has_nothing_is_no_more_after_half_a_minute() -> None:
    model = missed("house.table-2", "house.table-7")
    assert len(left(model, 39.9)) == 2
    assert {"gone", "pit"} <= set(kinds_of(model.tables.advance_time(at(40).monotonic)))
    assert left(model, 40) == {"house.table-2"}
    assert model.tables.named("table-1") == []
    assert kinds_of(model.feed("state", after=50)) == ["new", "board", "row"]
    assert left(model, 1000) == {"house.table-1", "house.table-2"}


@pytest.mark.parametrize(
    ("suffix", "content", "stays"),
    [("status", None, True), ("status", b"{", True), ("roads", b"", False), ("state", b"", False)],
)
def test_a_table_that_says_anything_meanwhile_stays(
    suffix: str, content: bytes | None, *, stays: bool
) -> None:
    """To clear a topic is to say nothing."""
    model = missed("house.table-2")
    model.feed(suffix, content, after=39)
    assert left(model, 40) == {"house.table-2", *(["house.table-1"] if stays else [])}


def test_without_a_broker_nothing_is_given_up() -> None:
    model = missed()
    model.tables.set_link(Link(connected=False, since="x"), at(39).monotonic)
    assert len(left(model, 1000)) == 2
