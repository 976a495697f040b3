"""The log's entry of a round whose void or abortion was undone."""

from __future__ import annotations

from typing import Any

from shoe_daemon.display.history_summaries import LoggedEvent, RoundMark, summarise_round

RESULT = {
    "outcome": "player",
    "player": {"cards": ["8D", "KD"], "total": 8},
    "banker": {"cards": ["QD", "7C"], "total": 7},
}


def events(*told: tuple[str, dict[str, Any]]) -> list[LoggedEvent]:
    return [LoggedEvent(n, n * 1000, 1, 2, kind, data) for n, (kind, data) in enumerate(told, 1)]


def test_an_undone_abortion_does_not_hide_the_result() -> None:
    found = summarise_round(
        events(
            ("round_started", {}),
            ("round_aborted", {"cause": "new_round"}),
            ("result_revised", {"before": None, "after": RESULT}),
        )
    )
    assert found is not None
    assert found.outcome == "player"
    assert not found.marks & RoundMark.ABORTED


def test_a_round_that_goes_on_is_not_void() -> None:
    card = {"slot": "B1", "card": "QD"}
    for follows in (("card_dealt", card), ("round_held", {})):
        void = {"before": None, "after": None}
        found = summarise_round(events(("round_started", {}), ("round_voided", void), follows))
        assert found is not None
        assert not found.marks & RoundMark.VOID
