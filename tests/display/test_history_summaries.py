"""The log's entry of a round whose void or abortion was undone."""

from __future__ import annotations

from typing import Any

import msgspec

from shoe_daemon.display.log.derived import stored_events
from shoe_daemon.display.log.summaries import RoundMark, summarise_round
from shoe_daemon.report.cards import CausedEvent

HAND = {"natural": False, "pair": False}
RESULT = {
    "outcome": "player",
    "player": {"cards": ["8D", "KD"], "total": 8, **HAND},
    "banker": {"cards": ["QD", "7C"], "total": 7, **HAND},
    "kind": "normal",
    "partial": False,
    "wagers": [],
}
BY = {"operator": "ann", "reason": None}


def events(*told: tuple[str, dict[str, Any]]) -> list[CausedEvent]:
    rows = [
        (number, number * 1000, 1, 2, kind, msgspec.json.encode(data))
        for number, (kind, data) in enumerate(told, 1)
    ]
    found = list(stored_events(rows))
    assert len(found) == len(rows)
    return found


def test_an_undone_abortion_does_not_hide_the_result() -> None:
    found = summarise_round(
        events(
            ("round_started", {}),
            ("round_aborted", {"cause": "new_round"}),
            ("result_revised", {"before": None, "after": RESULT, **BY}),
        )
    )
    assert found is not None
    assert found.outcome == "player"
    assert not found.marks & RoundMark.ABORTED


def test_a_round_that_goes_on_is_not_void() -> None:
    card = {"slot": "B1", "card": "QD", "player_total": None, "banker_total": None}
    held: dict[str, Any] = {"irregularities": [], **BY}
    for follows in (("card_dealt", card), ("round_held", held)):
        void = {"before": None, "after": None, **BY}
        found = summarise_round(events(("round_started", {}), ("round_voided", void), follows))
        assert found is not None
        assert not found.marks & RoundMark.VOID
