"""A log replays to the events of its observations; a wrong line is named by its number."""

from __future__ import annotations

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.table import Table, decode_log, encode_event, replay

CARD = '{"at":"2026-11-21T20:00:00Z","type":"card","card":"9S","slot":"P1"}'
LATER = '{"at":"2026-11-21T20:00:01Z","type":"card","card":"KH","slot":"B1"}'


def test_replay_gives_what_apply_gives() -> None:
    table = Table()
    expected = [
        encode_event(event)
        for observation in decode_log([CARD, LATER])
        for event in table.apply(observation)
    ]
    assert expected
    assert [encode_event(event) for event in replay([CARD, "", f"  {LATER}\n"])] == expected


def test_a_given_table_has_the_state_afterwards() -> None:
    table = Table()
    events = list(replay([CARD.encode()], table))
    assert table.state.seq == len(events)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([CARD, "", "{"], r"^line 3: "),
        ([CARD, LATER, CARD], r"^line 3: `at` goes back: 2026-11-21T20:00:00Z is before"),
        (['{"type":"card"}'], r"^line 1: `at` is missing"),
    ],
)
def test_a_wrong_line_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(replay(lines))
