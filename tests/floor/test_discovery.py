"""Tables without retained messages are found, and a late table is not among them."""

from __future__ import annotations

import pytest

from shoe_daemon.floor.feed import QUIET_S, TableDiscovery

NOW = 1000.0


class TimedDiscovery:
    """A discovery with a clock that tests advance."""

    def __init__(self) -> None:
        self.discovery = TableDiscovery("shoe/v1")
        self.now = NOW

    def receive(self, topic: str, *, after: float = 0.0, retained: bool = True) -> None:
        self.now += after
        self.discovery.add_message(f"shoe/v1/{topic}", b"{}", retained=retained, now=self.now)

    def confirm(self, after: float = 0.0) -> None:
        self.now += after
        self.discovery.confirm_subscriptions(self.now)

    def resubscribes(self, after: float = QUIET_S) -> bool:
        self.now += after
        return self.discovery.should_resubscribe(self.now)

    def result(self, after: float = QUIET_S) -> frozenset[str] | None:
        self.now += after
        return self.discovery.result(self.now)


def test_it_is_over_after_two_silences_with_an_answer_between_them() -> None:
    timed = TimedDiscovery()
    timed.receive("house/table-1/state")
    assert not timed.resubscribes()
    timed.confirm()
    timed.receive("house/table-1/status", after=QUIET_S / 2)
    timed.receive("house/table-2/device/shoe", after=QUIET_S / 2)
    assert not timed.resubscribes(QUIET_S - 0.1)
    assert timed.resubscribes(0.1)
    assert not timed.resubscribes()
    assert timed.result(1000.0) is None
    timed.confirm()
    timed.receive("house/table-3/status", after=QUIET_S - 0.1)
    assert timed.result(QUIET_S - 0.1) is None
    assert timed.result(0.1) == frozenset(f"house.table-{number}" for number in (1, 2, 3))
    assert timed.result() is None
    assert not timed.resubscribes()


def test_what_tables_say_of_themselves_counts_and_puts_nothing_off() -> None:
    timed = TimedDiscovery()
    timed.confirm()
    for _ in range(4):
        timed.receive("house/table-1/event/card_dealt", after=QUIET_S / 4, retained=False)
    assert timed.resubscribes(0)
    timed.confirm()
    for _ in range(4):
        timed.receive("house/table-2/state", after=QUIET_S / 4, retained=False)
    assert timed.result(0) == frozenset(("house.table-1", "house.table-2"))


def test_a_topic_that_is_cleared_is_no_sign_of_its_table() -> None:
    timed = TimedDiscovery()
    timed.confirm()
    timed.discovery.add_message("shoe/v1/house/table-1/status", b"", retained=False, now=timed.now)
    assert timed.resubscribes()
    timed.confirm()
    assert timed.result() == frozenset()


@pytest.mark.parametrize("early", [True, False])
def test_who_may_not_see_all_concludes_nothing(early: bool) -> None:  # noqa: FBT001 - a parameter
    timed = TimedDiscovery()
    if early:
        timed.discovery.abandon()
    timed.confirm()
    assert timed.resubscribes() == (not early)
    timed.confirm()
    timed.discovery.abandon()
    assert timed.result() is None


def test_tables_that_somebody_makes_up_do_not_fill_the_memory() -> None:
    timed = TimedDiscovery()
    timed.confirm()
    for number in range(100_001):
        timed.receive(f"house/{number}/state")
    assert not timed.resubscribes()
    assert not timed.discovery._keys  # noqa: SLF001 - what is not to grow has no other name
