"""A database that is behind is told after a minute, and no earlier."""

from __future__ import annotations

from shoe_daemon.floor.copies import LATE_S
from tests.floor.table_messages import ModelFeeder, at, live_model

KEY = "house.table-1"


def late(model: ModelFeeder, seconds: float, copied: dict[str, int]) -> list[tuple[str, int, str]]:
    model.tables.compare_copies(copied, at(seconds))
    return [(each.table, each.events, each.since) for each in model.tables.late_copies]


def test_a_copy_that_stands_still_for_a_minute_is_late() -> None:
    model = live_model()
    model.feed("state", seq=10, after=1)
    assert late(model, 1, {KEY: 10}) == []
    model.feed("state", seq=30, after=2)
    assert late(model, 2, {KEY: 10}) == []
    assert late(model, 2 + LATE_S - 0.1, {KEY: 10}) == []
    assert late(model, 2 + LATE_S, {KEY: 10}) == [(KEY, 20, at(2).wall)]
    # It goes on: what it lacks now it lacks since now.
    assert late(model, 63, {KEY: 20}) == []
    assert late(model, 63 + LATE_S, {KEY: 20}) == [(KEY, 10, at(63).wall)]
    assert late(model, 130, {KEY: 30}) == []


def test_a_table_that_is_not_copied_is_late() -> None:
    model = live_model()
    model.feed("state", seq=10, after=1)
    assert late(model, 1, {}) == []
    assert late(model, 1 + LATE_S, {"house.table-2": 99}) == [(KEY, 10, at(1).wall)]


def test_the_pit_is_told_once() -> None:
    model = live_model()
    model.feed("state", seq=10, after=1)
    changes = [
        [each.what for each in model.tables.compare_copies({}, at(seconds))]
        for seconds in (1, 1 + LATE_S, 2 + LATE_S)
    ]
    assert changes == [[], ["pit"], []]
