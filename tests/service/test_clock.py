"""Times never go back and advance with the monotonic clock, whatever the wall clock does."""

from __future__ import annotations

import pytest

from shoe_daemon.service.clock import Clock
from shoe_daemon.table.times import to_microseconds

NOON = to_microseconds("2026-11-21T12:00:00Z")
SECOND = 1_000_000
HOUR = 3600 * SECOND


class Times:
    """Both clocks, turned by hand."""

    def __init__(self) -> None:
        self.wall = NOON
        self.monotonic = 1000.0

    def pass_by(self, seconds: float) -> None:
        self.wall += int(seconds * SECOND)
        self.monotonic += seconds

    def clock(self, after: str = "") -> Clock:
        return Clock(after, wall=lambda: self.wall, monotonic=lambda: self.monotonic)


@pytest.fixture
def times() -> Times:
    return Times()


def test_a_moment_is_that_of_the_last_byte_not_of_its_handling(times: Times) -> None:
    clock, received = times.clock(), times.monotonic
    times.pass_by(2)
    assert clock.at(received) == "2026-11-21T12:00:00.000Z"


def test_frames_that_overtake_one_another_do_not_turn_time_back(times: Times) -> None:
    clock = times.clock()
    times.pass_by(1)
    late = clock.at()
    assert clock.at(1000.5) == late


def test_put_back_it_waits_until_the_wall_clock_has_caught_up(times: Times) -> None:
    clock = times.clock()
    before = to_microseconds(clock.at())
    times.wall -= 60 * SECOND
    for _ in range(59):
        times.pass_by(1)
        clock.set()
    assert to_microseconds(clock.at()) - before == 5 * SECOND
    for _ in range(11):
        times.pass_by(1)
        clock.set()
    assert abs(to_microseconds(clock.at()) - times.wall) <= SECOND


@pytest.mark.parametrize("after", ["", "2026-11-21T13:00:00Z"])
def test_a_short_span_is_exact_while_the_wall_clock_is_behind(times: Times, after: str) -> None:
    clock = times.clock(after)
    before = to_microseconds(clock.at())
    times.wall -= HOUR
    for seconds in (3, 1, 4):
        for _ in range(seconds):
            times.pass_by(1)
            clock.set()
        now = to_microseconds(clock.at())
        assert now - before == seconds * SECOND
        before = now


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_span_is_not_changed_by_the_wall_clock(times: Times, jump: int) -> None:
    clock = times.clock()
    due = to_microseconds(clock.at()) + 3 * SECOND
    times.wall += jump
    times.pass_by(1)
    assert clock.until(due) == pytest.approx(2)
    times.pass_by(5)
    assert clock.until(due) == 0


def test_a_restart_goes_on_after_the_last_moment(times: Times) -> None:
    last = times.clock().at()
    times.wall -= HOUR
    assert times.clock(last).at() == last
    times.wall += 2 * HOUR
    assert times.clock(last).at() == "2026-11-21T13:00:00.000Z"


@pytest.mark.parametrize(
    ("wall", "at"), [(-HOUR, "1970-01-01T00:00:00.000Z"), (10**18, "9999-12-31T23:59:59.999999Z")]
)
def test_it_gives_a_time_that_can_be_journaled_whatever_the_wall_clock_says(
    times: Times, wall: int, at: str
) -> None:
    times.wall = wall
    assert times.clock().at() == at
    assert times.clock(after=at).at() == at


def test_a_time_that_has_passed_does_not_return(times: Times) -> None:
    """Else a card that comes too late would not be late any more."""
    clock = times.clock()
    due = to_microseconds(clock.at()) + 20 * SECOND
    times.wall -= HOUR
    times.pass_by(21)
    clock.set(due)
    times.pass_by(0.25)
    clock.set(due)
    assert to_microseconds(clock.at()) > due
