"""The figures of a table's last hour count what happened in it, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.floor.figures import Figures
from shoe_daemon.table import from_microseconds

HOUR = 3600
NOW = 1_800_000_000
KINDS = ("round_finished", "irregularity", "irregularity_closed", "card_dealt")


def at(seconds: float) -> str:
    return from_microseconds(round((NOW + seconds) * 1_000_000))


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-2 * HOUR, 0)), max_size=300))
def test_only_the_last_hour_counts(events: list[tuple[str, int]]) -> None:
    figures = Figures()
    for kind, seconds in events:
        figures.note(kind, at(seconds))
    counts = [sum(kind == each and when >= -HOUR for kind, when in events) for each in KINDS]
    found = figures.hour(at(0), at(-10 * HOUR))
    assert [found.pace, found.opened, found.decided] == counts[:3]


def test_a_pace_is_that_of_the_time_which_is_known() -> None:
    figures = Figures()
    for number in range(20):
        figures.note("round_finished", at(-60 * number))
    assert figures.hour(at(0), at(-1200)).pace == 60
    assert figures.hour(at(0), at(-599)).pace is None
