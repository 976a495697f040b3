"""
Recipients and times of notifications: never twice within the interval, again until the
irregularity is closed, little in quiet hours, and never more than the rate limit.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.notify.decisions import (
    LAST_RETRY_S,
    MAX_ALERTS,
    RATE_WINDOW_S,
    Decisions,
    Failure,
    Notification,
    OpenAlert,
    QuietHours,
    RecipientRules,
)
from tests.floor.table_messages import PATIENT
from tests.notify.open_alerts import open_alert

NOON = dt.datetime(2026, 11, 23, 12, 0, tzinfo=dt.UTC)
NIGHT = QuietHours(dt.time(22), dt.time(8))


def after(seconds: float, since: dt.datetime = NOON) -> dt.datetime:
    return since + dt.timedelta(seconds=seconds)


def sent(decisions: Decisions, now: dt.datetime, error: str | None = None) -> list[int]:
    """Take and finish one notification; return the ids of its irregularities."""
    notification = decisions.take("floor", now)
    if notification is None:
        return []
    decisions.finish(notification, now, None if error is None else Failure(error))
    return [due.open.alert.data.id for due in notification.alerts]


def deciding(*alerts: OpenAlert, **rules: object) -> Decisions:
    decisions = Decisions([RecipientRules(id="floor", **rules)])  # type: ignore[arg-type]
    decisions.set_alerts("casino", "table-7", alerts)
    return decisions


def test_the_most_severe_come_first_and_the_rest_follows() -> None:
    alerts = [open_alert(number, severity=1 + number % 5) for number in range(1, 31)]
    decisions = deciding(*alerts)
    first, second = sent(decisions, NOON), sent(decisions, after(1))
    assert len(first) == MAX_ALERTS
    assert {*first, *second} == set(range(1, 31))
    severities = [1 + number % 5 for number in (*first, *second)]
    assert severities == sorted(severities, reverse=True)


def test_severity_and_tables_select() -> None:
    alerts = [open_alert(1, severity=2), open_alert(2, severity=3)]
    assert sent(deciding(*alerts, severity=3), NOON) == [2]
    assert sent(deciding(*alerts, tables=("table-8",)), NOON) == []
    assert sent(deciding(*alerts, tables=("table-7",)), NOON) == [2, 1]
    assert sent(deciding(*alerts, tables=("casino.table-7",)), NOON) == [2, 1]
    assert sent(deciding(*alerts, tables=("other.table-7",)), NOON) == []


def test_quiet_hours_are_those_of_the_zone() -> None:
    decisions = deciding(open_alert(1), quiet_hours=(NIGHT,))
    assert sent(decisions, NOON.astimezone(ZoneInfo("Asia/Macau"))) == [1]
    assert sent(decisions, after(7 * 3600).astimezone(ZoneInfo("Asia/Macau"))) == []


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("22:00-08:00", (22, 0, 7), (8, 12, 21)), ("02:00-08:00", (2, 7), (1, 8, 22))],
)
def test_quiet_hours_may_include_midnight(
    text: str, inside: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    hours = QuietHours.parse(text)
    assert hours is not None
    assert all(hours.contains(dt.time(each)) for each in inside)
    assert not any(hours.contains(dt.time(each)) for each in outside)


def test_other_hours_are_invalid() -> None:
    for text in ("", "8-9", "24:00-08:00", "08:00-08:00", "08:60-09:00", "x"):
        assert QuietHours.parse(text) is None, text


def test_a_failed_attempt_is_repeated_with_longer_and_longer_waits() -> None:
    decisions = deciding(open_alert(1), at_most=1000)
    now, waits = NOON, []
    for _ in range(9):
        assert sent(decisions, now, "refused") == [1]
        last = now
        while decisions.take("floor", now) is None:
            now += dt.timedelta(seconds=1)
        waits.append((now - last).total_seconds())
    assert waits == [5, 10, 20, 40, 80, 160, LAST_RETRY_S, LAST_RETRY_S, LAST_RETRY_S]
    state = decisions.states["floor"]
    assert (state.failures, state.error, state.failing_since) == (9, "refused", NOON.timestamp())
    assert sent(decisions, now) == [1]
    assert (state.failures, state.error, state.failing_since) == (0, None, None)


def test_what_was_sent_is_remembered_over_a_restart_and_a_lost_broker() -> None:
    decisions = deciding(open_alert(1))
    assert sent(decisions, NOON) == [1]
    again = Decisions([RecipientRules(id="floor")], decisions.states)
    again.forget_open()
    assert sent(again, after(10)) == []
    again.set_alerts("casino", "table-7", [open_alert(1), open_alert(2)])
    assert sent(again, after(20)) == [2]


def test_an_incomplete_list_closes_nothing() -> None:
    decisions = deciding(open_alert(1), open_alert(2))
    assert sent(decisions, NOON) == [1, 2]
    decisions.set_alerts("casino", "table-7", [open_alert(2)], complete=False)
    decisions.set_alerts("casino", "table-7", [open_alert(1), open_alert(2)])
    assert sent(decisions, after(10)) == []


def test_a_removed_table_has_no_alerts() -> None:
    decisions = deciding(open_alert(1))
    decisions.keep_tables(frozenset({"casino.table-8"}))
    assert sent(decisions, NOON) == []


def test_a_clock_that_is_set_back_delays_a_repeat_by_one_interval_at_most() -> None:
    decisions = deciding(open_alert(1), repeat_every=300)
    assert sent(decisions, after(1e6)) == [1]
    assert sent(decisions, NOON) == []
    assert sent(decisions, after(300)) == [1]


class Step(NamedTuple):
    """Time passes, then alerts open or close, then an attempt succeeds or fails."""

    seconds: int
    flips: frozenset[int]
    fails: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from([0, 1, 4, 30, 61, 299, 300, 1800, 3600, 20_000]),
        st.frozensets(st.integers(0, 7), max_size=3),
        st.booleans(),
    ),
    max_size=60,
)
RULES = st.builds(
    RecipientRules,
    id=st.just("floor"),
    severity=st.integers(1, 5),
    quiet_hours=st.sampled_from([(), (NIGHT,), (QuietHours(dt.time(11), dt.time(13)),)]),
    quiet_severity=st.integers(1, 6),
    repeat_every=st.sampled_from([0.0, 60.0, 300.0]),
    at_most=st.integers(1, 5),
)


@PATIENT
@given(RULES, STEPS)
def test_the_promises_hold_for_any_day(rules: RecipientRules, steps: list[Step]) -> None:
    decisions, now, is_open = Decisions([rules]), NOON, set[int]()
    attempts: list[float] = []
    last_sent: dict[int, float] = {}
    repeats: Counter[int] = Counter()
    for step in steps:
        now += dt.timedelta(seconds=step.seconds)
        closed = is_open & step.flips
        is_open ^= step.flips
        for each in closed:
            last_sent.pop(each, None)
            repeats.pop(each, None)
        alerts = [open_alert(each, severity=1 + each % 5) for each in sorted(is_open)]
        decisions.set_alerts("casino", "table-7", alerts)
        state = decisions.states["floor"]
        blocked = now.timestamp() < state.retry_at
        recent = [each for each in attempts if each > now.timestamp() - RATE_WINDOW_S]
        quiet = any(hours.contains(now.time()) for hours in rules.quiet_hours)
        least = max(rules.severity, rules.quiet_severity) if quiet else rules.severity
        expected = {
            each
            for each in is_open
            if 1 + each % 5 >= least and _is_due(last_sent.get(each), rules, now)
        }
        notification = decisions.take("floor", now)
        if blocked or len(recent) >= rules.at_most or not expected:
            assert notification is None
            continue
        assert isinstance(notification, Notification)
        assert {due.open.alert.data.id for due in notification.alerts} == expected
        assert {due.open.alert.data.id: due.repeat for due in notification.alerts} == {
            each: repeats[each] for each in expected
        }
        attempts.append(now.timestamp())
        decisions.finish(notification, now, Failure("refused") if step.fails else None)
        if not step.fails:
            last_sent |= dict.fromkeys(expected, now.timestamp())
            repeats.update(expected)
    for end in attempts:
        assert sum(end - RATE_WINDOW_S < other <= end for other in attempts) <= rules.at_most


def _is_due(last: float | None, rules: RecipientRules, now: dt.datetime) -> bool:
    if last is None:
        return True
    return rules.repeat_every > 0 and now.timestamp() - last >= rules.repeat_every


def test_a_message_accepted_while_the_broker_is_away_is_not_sent_as_new() -> None:
    decisions = deciding(open_alert(1), repeat_every=300)
    notification = decisions.take("floor", NOON)
    assert notification is not None
    decisions.forget_open()
    decisions.finish(notification, after(5), None)
    decisions.set_alerts("casino", "table-7", [open_alert(1)])
    assert sent(decisions, after(6)) == []
    again = decisions.take("floor", after(305))
    assert again is not None
    assert again.alerts[0].repeat == 1


def test_a_message_accepted_after_the_end_is_forgotten() -> None:
    decisions = deciding(open_alert(1), repeat_every=300)
    notification = decisions.take("floor", NOON)
    assert notification is not None
    decisions.set_alerts("casino", "table-7", ())
    decisions.finish(notification, after(5), None)
    assert not decisions.states["floor"].sent
