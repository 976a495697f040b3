"""
The channels that are lit: never dark while an irregularity of the rule's severity is open and
nobody has ruled, except for the pauses of a blinking light.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.lamps.pattern import LampAlert, LampPattern, Rule, TableView

BLINK = (0.5, 0.25)
RED = Rule("red", 3, blink=BLINK)
AMBER = Rule("amber", 1, up_to=2)
FAULT = Rule("white", None)


def alerts(*severities: int) -> TableView:
    return TableView(tuple(LampAlert(n + 1, each) for n, each in enumerate(severities)))


def shown(pattern: LampPattern, now: float) -> set[str]:
    return {str(channel) for channel, lit in pattern.states(now).items() if lit}


@pytest.mark.parametrize(
    ("severities", "lit"),
    [
        ((), set()),
        ((1,), {"amber"}),
        ((2,), {"amber"}),
        ((3,), {"red"}),
        ((5,), {"red"}),
        ((5, 1), {"red", "amber"}),
    ],
)
def test_a_severity_lights_its_channel(severities: tuple[int, ...], lit: set[str]) -> None:
    pattern = LampPattern([RED, AMBER])
    pattern.show(alerts(*severities), 10.0)
    assert shown(pattern, 10.0) == lit


def test_it_blinks_from_the_irregularity_on() -> None:
    pattern = LampPattern([RED])
    pattern.show(alerts(3), 7.0)
    lit = [shown(pattern, 7.0 + step / 8) == {"red"} for step in range(12)]
    assert lit == [True] * 4 + [False] * 2 + [True] * 4 + [False] * 2
    assert pattern.seconds_until_change(7.0) == 0.5
    assert pattern.seconds_until_change(7.5) == 0.25
    assert pattern.seconds_until_change(7.625) == 0.125


def test_a_new_irregularity_lights_a_lamp_that_is_in_a_pause() -> None:
    pattern = LampPattern([RED])
    pattern.show(alerts(3), 0.0)
    assert shown(pattern, 0.6) == set()
    pattern.show(alerts(3, 4), 0.6)
    assert shown(pattern, 0.6) == {"red"}
    # One that does not concern the channel changes nothing.
    pattern.show(alerts(3, 4, 1), 1.2)
    assert shown(pattern, 1.2) == set()


def test_a_lamp_is_steady_while_a_ruling_waits_for_its_card_and_dark_once_it_is_closed() -> None:
    pattern = LampPattern([RED])
    pattern.show(TableView((LampAlert(1, 3, ruled=True),)), 0.0)
    assert [shown(pattern, now) for now in (0.0, 0.6)] == [{"red"}, {"red"}]
    assert pattern.seconds_until_change(0.0) is None
    # Another that nobody has ruled upon blinks again.
    pattern.show(TableView((LampAlert(1, 3, ruled=True), LampAlert(2, 3))), 1.0)
    assert [shown(pattern, now) for now in (1.0, 1.6)] == [{"red"}, set()]
    pattern.show(alerts(), 2.0)
    assert shown(pattern, 2.0) == set()


def test_the_first_rule_of_a_channel_that_applies_counts() -> None:
    pattern = LampPattern([Rule(1, 4, blink=BLINK), Rule(1, 2)])
    pattern.show(alerts(2), 0.0)
    assert pattern.states(0.6) == {1: True}
    pattern.show(alerts(2, 4), 1.0)
    assert pattern.states(1.6) == {1: False}


def test_a_table_on_hold_blinks_like_a_severity_of_3_until_it_is_resumed() -> None:
    pattern = LampPattern([RED, AMBER, FAULT])
    pattern.show(TableView((LampAlert(1, 3, ruled=True),), on_hold=True), 0.0)
    assert [shown(pattern, now) for now in (0.0, 0.6)] == [{"red"}, set()]
    pattern.show(TableView(), 1.0)
    assert shown(pattern, 1.0) == set()


def test_all_channels_are_steady_while_nothing_can_be_recorded() -> None:
    pattern = LampPattern([RED, AMBER, FAULT])
    pattern.show(alerts(3)._replace(recording=False, fault=True), 0.0)
    for now in (0.0, 0.6):
        assert shown(pattern, now) == {"red", "amber", "white"}
    assert pattern.seconds_until_change(0.0) is None


VIEWS = st.lists(
    st.tuples(
        st.floats(0.001, 3.0),
        st.lists(st.builds(LampAlert, st.integers(1, 30), st.integers(1, 5), st.booleans())),
        st.booleans(),
        st.booleans(),
    ),
    max_size=8,
)
RULES = st.lists(
    st.builds(
        Rule,
        st.integers(1, 3),
        st.one_of(st.none(), st.integers(1, 5)),
        st.just(5),
        st.one_of(st.none(), st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0))),
    ),
    min_size=1,
    max_size=5,
)


@given(RULES, VIEWS)
def test_a_channel_changes_only_when_it_says_so_and_is_lit_after_each_new_irregularity(
    rules: list[Rule], views: list[tuple[float, list[LampAlert], bool, bool]]
) -> None:
    pattern, now, before = LampPattern(rules), 0.0, TableView()
    for later, listed, recording, on_hold in views:
        now += later
        alerts = tuple({each.id: each for each in listed}.values())
        view = TableView(alerts, recording, on_hold=on_hold)
        pattern.show(view, now)
        for channel, lit in pattern.states(now).items():
            first = next(
                (each for each in rules if each.channel == channel and each.matching(view)), None
            )
            if not recording:
                assert lit
            elif first is None:
                assert not lit
            elif first.blink is None or first.matching(view) - first.matching(before):
                assert lit
        wait = pattern.seconds_until_change(now)
        assert wait is None or 0 < wait <= 10.0
        states = pattern.states(now)
        assert pattern.states(now + (1000.0 if wait is None else 0.99 * wait)) == states
        before = view
