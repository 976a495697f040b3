"""
Two accounts of the same shoes: the journal of the table, and its page in the pit as a person reads
it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from playwright.sync_api import Page

from shoe_daemon.journal import JournalReader

__all__ = ["JournalAccount", "Line", "PageAccount"]

DECISIONS = (
    *("card_corrected", "result_revised", "round_held", "round_released", "round_voided"),
    "ruling_given",
)
"""Events of a decision."""


_COMPARED = (*DECISIONS, "irregularity", "irregularity_closed", "round_finished", "round_aborted")

_LINES = """
() => [...document.querySelectorAll("#event-log > li")].map((line) => ({
  seq: Number(line.dataset.seq),
  type: line.dataset.type,
  round: line.dataset.round ? Number(line.dataset.round) : null,
  severity: line.dataset.severity ? Number(line.dataset.severity) : null,
  side: ["player", "banker", "tie"].find((side) => line.classList.contains(side)) || null,
  text: line.textContent,
}))
"""


class Line(NamedTuple):
    """An event in the list of a page; `side` is the outcome of a result."""

    seq: int
    type: str
    round: int | None
    severity: int | None
    side: str | None
    operator: str | None


class JournalAccount:
    """
    The account of a journal's public events.

    Attributes:
        seq: The last public event.
        events: All of them, as JSON.
        open: The open irregularities by id, as raised.
    """

    def __init__(self, journal: JournalReader) -> None:
        self._journal = journal
        self._read = 0
        self.seq = 0
        self.events: list[dict[str, Any]] = []
        self.open: dict[int, dict[str, Any]] = {}

    def bytes_read(self) -> int:
        """Return how many bytes of the reader it holds."""
        query = "SELECT coalesce(sum(length(bytes)), 0) FROM capture"
        return int(self._journal.connection.execute(query).fetchone()[0])

    def read_on(self) -> None:
        """Read what has come since."""
        while stored := self._journal.events(self._read):
            for each in stored:
                self._read = each.seq
                event = json.loads(each.body)
                if not event["type"].startswith("staff_"):
                    self._apply(event)

    def _apply(self, event: dict[str, Any]) -> None:
        self.seq, data = event["seq"], event["data"]
        self.events.append(event)
        if event["type"] == "irregularity":
            self.open[data["id"]] = event
        elif event["type"] == "irregularity_closed":
            del self.open[data["id"]]

    def lines(self) -> list[Line]:
        """Return what the list of a page has to show of it."""
        return [
            Line(
                event["seq"],
                event["type"],
                event["round"],
                event["data"].get("severity"),
                _side(event),
                event["data"].get("operator"),
            )
            for event in self.events
            if event["type"] in _COMPARED
        ]


def _side(event: dict[str, Any]) -> str | None:
    data = event["data"]
    result = data["after"] if event["type"] == "result_revised" else data
    return None if result is None else result.get("outcome")


class PageAccount:
    """All that the list of events of a page has shown, over its reloads."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._lines: dict[int, Line] = {}

    def read(self, page: Page, seq: int) -> None:
        """Read the list once it shows the event `seq`; no event may be shown twice."""
        page.wait_for_selector(f'#event-log > li[data-seq="{seq}"]')
        found = page.evaluate(_LINES)
        assert len({each["seq"] for each in found}) == len(found)
        for each in found:
            operator = self._operator if self._operator in each.pop("text") else None
            line = Line(**each, operator=operator)
            assert self._lines.setdefault(line.seq, line) == line

    def lines(self) -> list[Line]:
        """Return what is compared, in order."""
        return [line for _, line in sorted(self._lines.items()) if line.type in _COMPARED]
