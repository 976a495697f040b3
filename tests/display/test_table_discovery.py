"""
What the broker no longer has is found out, and nothing is taken for gone that is merely late.
"""

from __future__ import annotations

import pytest

from shoe_daemon.display.mqtt_feed import QUIET_S, TableDiscovery

NOW = 1000.0


class Asked:
    """
    A discovery, and a clock that only goes when it is told to.
    """

    def __init__(self) -> None:
        self.discovery = TableDiscovery("shoe/v1")
        self.now = NOW

    def hear(self, topic: str, *, after: float = 0.0, retained: bool = True) -> None:
        self.now += after
        self.discovery.add_message(f"shoe/v1/{topic}", b"{}", retained=retained, now=self.now)

    def answer(self, after: float = 0.0) -> None:
        self.now += after
        self.discovery.confirm_subscriptions(self.now)

    def asks(self, after: float = QUIET_S) -> bool:
        self.now += after
        return self.discovery.should_resubscribe(self.now)

    def result(self, after: float = QUIET_S) -> frozenset[str] | None:
        self.now += after
        return self.discovery.result(self.now)


def test_it_is_over_after_two_silences_with_an_answer_between_them() -> None:
    asked = Asked()
    asked.hear("house/table-1/state")
    assert not asked.asks()
    asked.answer()
    asked.hear("house/table-1/status", after=QUIET_S / 2)
    asked.hear("house/table-2/device/shoe", after=QUIET_S / 2)
    assert not asked.asks(QUIET_S - 0.1)
    assert asked.asks(0.1)
    assert not asked.asks()
    assert asked.result(1000.0) is None
    asked.answer()
    asked.hear("house/table-3/status", after=QUIET_S - 0.1)
    assert asked.result(QUIET_S - 0.1) is None
    assert asked.result(0.1) == frozenset(f"house.table-{number}" for number in (1, 2, 3))
    assert asked.result() is None
    assert not asked.asks()


def test_what_tables_say_of_themselves_counts_and_puts_nothing_off() -> None:
    asked = Asked()
    asked.answer()
    for _ in range(4):
        asked.hear("house/table-1/event/card_dealt", after=QUIET_S / 4, retained=False)
    assert asked.asks(0)
    asked.answer()
    for _ in range(4):
        asked.hear("house/table-2/state", after=QUIET_S / 4, retained=False)
    assert asked.result(0) == frozenset(("house.table-1", "house.table-2"))


def test_a_topic_that_is_cleared_is_no_sign_of_its_table() -> None:
    asked = Asked()
    asked.answer()
    asked.discovery.add_message("shoe/v1/house/table-1/status", b"", retained=False, now=asked.now)
    assert asked.asks()
    asked.answer()
    assert asked.result() == frozenset()


@pytest.mark.parametrize("early", [True, False])
def test_who_may_not_see_all_concludes_nothing(early: bool) -> None:  # noqa: FBT001 - a parameter
    asked = Asked()
    if early:
        asked.discovery.abandon()
    asked.answer()
    assert asked.asks() == (not early)
    asked.answer()
    asked.discovery.abandon()
    assert asked.result() is None


def test_tables_that_somebody_makes_up_do_not_fill_the_memory() -> None:
    asked = Asked()
    asked.answer()
    for number in range(100_001):
        asked.hear(f"house/{number}/state")
    assert not asked.asks()
    assert not asked.discovery._keys  # noqa: SLF001 - what is not to grow has no other name
