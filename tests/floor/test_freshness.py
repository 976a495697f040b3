"""A stale table is never shown as live, and a live table never as stale."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Deadlines, Freshness, LastContact, Link, freshness_of
from tests.floor.table_messages import PATIENT, ModelFeeder, at, live_model

HERE = Link(connected=True, since="x")
LIVE: dict[str, Any] = {
    "status": "online",
    "status_session": "s1",
    "session": "s1",
    "published": "p",
    "at": 100.0,
    "heartbeat": 10,
}


def judged(now: float = 101.0, link: Link = HERE, **more: Any) -> Freshness:  # noqa: ANN401
    return freshness_of(LastContact(**{**LIVE, **more}), link, now)


def test_a_table_is_live_only_where_everything_agrees() -> None:
    assert judged() == Freshness("live")
    assert judged(129.9) == Freshness("live")
    assert judged(130.0) == Freshness("stale", "p")
    assert judged(status_session="s2") == Freshness("stale", "p")
    assert judged(status=None, status_session=None) == Freshness("stale", "p")
    assert judged(session=None, published=None) == Freshness("stale", None)
    assert judged(status="offline", status_since="t") == Freshness("offline", "t")
    assert judged(status="offline", status_since=None) == Freshness("offline", "p")
    assert judged(status="stopping") == Freshness("stopping", "p")
    assert judged(link=Link()) == Freshness("no_broker", None)
    assert freshness_of(None, HERE, 0.0) == Freshness("unknown")


def test_the_heartbeat_is_the_tables_own() -> None:
    assert judged(189.9, heartbeat=30) == Freshness("live")
    assert judged(190.0, heartbeat=30).state == "stale"
    assert judged(102.0, heartbeat=1) == Freshness("live")
    assert judged(103.0, heartbeat=1).state == "stale"
    assert freshness_of(LastContact(**LIVE), HERE, 105.0, stale_after=5.0).state == "stale"


def test_time_alone_makes_a_table_stale_once() -> None:
    model = live_model()
    for second in range(1, 30):
        assert model.tables.advance_time(at(second).monotonic) == []
    changes = model.tables.advance_time(at(30).monotonic)
    assert [each.what for each in changes] == ["board", "row"]
    assert model.tables.advance_time(at(31).monotonic) == []
    assert [each.what for each in model.feed("state", after=40)] == ["board", "row"]
    assert model.tables.advance_time(at(69).monotonic) == []
    assert model.tables.advance_time(at(70).monotonic) != []


def test_a_copy_that_the_broker_kept_is_as_old_as_it_says() -> None:
    model = ModelFeeder(Floor())
    model.tables.set_link(HERE, at(100).monotonic)
    model.feed("state", after=100, retained=True, published=at(95).wall)
    model.feed("status", after=100, retained=True)
    table = model.tables.get("house.table-1")
    assert table is not None
    assert table.freshness == Freshness("live")
    model.tables.advance_time(at(106).monotonic)
    assert table.freshness == Freshness("live")
    model.tables.advance_time(at(107).monotonic)
    assert table.freshness == Freshness("stale", at(95).wall)


def test_a_copy_is_good_for_one_heartbeat_and_what_is_heard_for_three() -> None:
    assert judged(111.9, is_copy=True) == Freshness("live")
    assert judged(112.0, is_copy=True) == Freshness("stale", "p")
    assert judged(102.9, is_copy=True, heartbeat=1) == Freshness("live")
    assert judged(103.0, is_copy=True, heartbeat=1).state == "stale"
    quick = LastContact(**LIVE, is_copy=True)
    assert freshness_of(quick, HERE, 104.9, stale_after=5.0) == Freshness("live")
    assert freshness_of(quick, HERE, 105.0, stale_after=5.0).state == "stale"


def reconnected(lost: float, back: float, **copy: Any) -> ModelFeeder:  # noqa: ANN401
    """Return tables that lost their broker and have it again, with the copy that it had kept."""
    model = live_model()
    model.tables.set_link(Link(connected=False, since="x"), at(lost).monotonic)
    model.tables.set_link(HERE, at(back).monotonic)
    model.feed("state", after=back, retained=True, **copy)
    model.feed("status", after=back, retained=True)
    return model


def states(model: ModelFeeder, *seconds: float) -> list[str]:
    """Let time pass, and say how fresh the table was at each of these moments."""
    found: list[str] = []
    for second in seconds:
        model.tables.advance_time(at(second).monotonic)
        (table,) = model.tables
        found.append(table.freshness.state)
    return found


def test_after_the_broker_was_away_the_next_heartbeat_is_waited_for_and_no_more() -> None:
    assert states(reconnected(3, 5), 5, 11.9, 12) == ["live", "live", "stale"]
    assert states(reconnected(3, 13), 13) == ["stale"]
    model = reconnected(3, 5)
    model.feed("state", after=10)
    assert states(model, 12, 39.9, 40) == ["live", "live", "stale"]


def test_a_broker_that_has_lost_its_memory_makes_nobody_live_for_longer() -> None:
    model = live_model()
    model.tables.set_link(Link(connected=False, since="x"), at(3).monotonic)
    model.tables.set_link(HERE, at(5).monotonic)
    assert states(model, 11.9, 12) == ["live", "stale"]


@pytest.mark.parametrize("ahead", [-300.0, 0.0, 300.0])
def test_a_clock_that_goes_wrong_is_reckoned_with_once_it_was_heard(ahead: float) -> None:
    model = live_model()
    model.feed("state", published=at(ahead).wall)
    model.tables.set_link(Link(connected=False, since="x"), at(3).monotonic)
    model.tables.set_link(HERE, at(20).monotonic)
    model.feed("state", after=20, retained=True, published=at(15 + ahead).wall, seq=2)
    assert states(model, 20, 26.9, 27) == ["live", "live", "stale"]


@pytest.mark.parametrize("ahead", [0.0, 300.0])
def test_of_a_clock_that_nobody_has_heard_no_copy_is_good_for_longer(ahead: float) -> None:
    model = ModelFeeder()
    model.tables.set_link(HERE, at(0).monotonic)
    model.feed("state", retained=True, published=at(ahead).wall)
    model.feed("status", retained=True)
    assert states(model, 11.9, 12) == ["live", "stale"]


def test_a_copy_of_what_was_heard_itself_is_as_old_as_that() -> None:
    """The two clocks may differ: what came over the line itself is the better measure."""
    model = live_model()
    model.feed("state", after=20, published=at(-300).wall)
    model.feed("state", after=22, retained=True, published=at(-300).wall)
    table = model.tables.get("house.table-1")
    assert table is not None
    assert table.freshness == Freshness("live")


@pytest.mark.parametrize("state", ["offline", "stopping"])
def test_what_a_table_says_of_itself_is_told_at_once(state: str) -> None:
    model = live_model()
    changes = model.feed("status", state=state, after=3)
    assert [each.what for each in changes] == ["board", "row"]
    table = model.tables.get("house.table-1")
    assert table is not None
    assert table.freshness == Freshness(state, at(3).wall)  # type: ignore[arg-type]


def test_a_table_whose_state_has_expired_is_known_by_its_status() -> None:
    model = ModelFeeder()
    model.tables.set_link(HERE, at(0).monotonic)
    assert [each.what for each in model.feed("status", state="offline", retained=True)] == [
        "new",
        "board",
        "row",
    ]
    table = model.tables.get("house.table-1")
    assert table is not None
    assert table.freshness == Freshness("offline", None)


@PATIENT
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 50)), max_size=60))
def test_every_deadline_is_met_and_none_before_its_time(notes: list[tuple[str, int]]) -> None:
    deadlines = Deadlines()
    due: dict[str, float] = {}
    for name, moment in notes:
        deadlines.schedule(name, moment)
        due[name] = min(moment, due.get(name, moment))
    for now in range(51):
        for name in deadlines.due(now):
            assert due.pop(name) == now
    assert due == {}
