"""Retry delays, and log lines of a failure that lasts."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from shoe_daemon.limits import (
    Budget,
    LoggedFailure,
    LogRateLimit,
    RetryDelay,
    exponential_delay,
)


def test_delays_double_up_to_the_limit() -> None:
    delays = [exponential_delay(0.5, 10.0, doublings) for doublings in range(7)]
    assert delays == [0.5, 1, 2, 4, 8, 10, 10]
    assert exponential_delay(1.0, 1e9, 1000) == 2.0**16


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_retry_delays_double_up_to_the_limit_and_differ_by_a_fifth(chance: float) -> None:
    delay = RetryDelay(0.5, 10.0, lambda: chance)
    delays = [delay.next() for _ in range(20)]
    assert delays[:6] == pytest.approx(
        [each * (0.8 + 0.4 * chance) for each in (0.5, 1, 2, 4, 8, 10)]
    )
    assert delays[5:] == [delays[5]] * 15
    delay.failed(100.0)
    assert delay.retry_at == 100.0 + delays[-1]
    delay.reset()
    assert delay.retry_at == 0
    assert delay.next() == delays[0]


def test_log_lines_are_limited_to_one_per_minute_which_counts_the_others() -> None:
    may_log = LogRateLimit()
    assert [may_log("a", now) for now in (0, 1, 59, 60, 61, 121)] == [1, 0, 0, 3, 0, 2]
    assert may_log("b", 1)
    may_log.reset("a")
    assert may_log("a", 122)


def test_a_budget_is_renewed_a_span_after_its_first_use() -> None:
    budget = Budget(2, 1.0)
    taken = [budget.take(now) for now in (5.0, 5.9, 5.9, 5.99, 6.0, 6.1, 6.2, 60, 60, 60)]
    assert taken == [True, True, False, False, True, True, False, True, True, False]


def test_a_line_that_fails_and_recovers_often_is_one_failure() -> None:
    with capture_logs() as lines:
        failure = LoggedFailure(structlog.get_logger(), "link_lost", "link_up")
        for half_second in range(239):
            failure.failed(half_second / 2, detail="unplugged")
            failure.succeeded()
    assert [line["event"] for line in lines] == ["link_lost", "link_up"] * 2
