"""
Three accounts of the same shoes: the journal of the table, the page of the table in the pit, and
the log of the pit. Each is read by itself, the pages as a person reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.request import urlopen

from playwright.sync_api import Page

from shoe_daemon.journal import JournalReader
from tests.brokers import PATIENCE

__all__ = [
    "Entry",
    "JournalAccount",
    "Line",
    "PageAccount",
    "RoundRow",
    "log_counts",
    "log_entries",
    "log_events",
    "log_rounds",
]

DECISIONS = (
    *("card_corrected", "result_revised", "round_held", "round_released", "round_voided"),
    "ruling_given",
)
"""Events that have a row of their own in the log."""

EQUIPMENT = "by the equipment"
"""The log's word where no person decided."""

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
_ENTRY_ROWS = """
() => [...document.querySelectorAll("#rows tbody tr")].map((row) => ({
  round: row.dataset.round ? Number(row.dataset.round) : null,
  kind: row.dataset.kind,
  severity: Number(row.dataset.severity),
  who: (row.querySelector(".operator") || {textContent: null}).textContent,
  open: row.dataset.open === "true",
}))
"""
_ROUND_ROWS = """
() => [...document.querySelectorAll("#rows tbody tr")].map((row) => ({
  round: Number(row.dataset.round),
  outcome: ["player", "banker", "tie"].find(
    (side) => row.querySelector(".outcome-word").classList.contains(side)) || null,
  cards: [...row.querySelectorAll(".small-card")].map((card) => card.textContent),
}))
"""
_SUITS = str.maketrans("♠♥♣♦", "SHCD")


class Line(NamedTuple):
    """An event in the list of a page; `side` is the outcome of a result."""

    seq: int
    type: str
    round: int | None
    severity: int | None
    side: str | None
    operator: str | None


class Entry(NamedTuple):
    """An irregularity with the decision about it; or a decision by itself, of severity 0."""

    shoe: int
    round: int | None
    kind: str
    severity: int
    slot: str | None
    card: str | None
    action: str | None
    operator: str | None


class RoundRow(NamedTuple):
    """A round; without an outcome where it has none."""

    shoe: int
    round: int
    outcome: str | None
    player: tuple[str, ...]
    banker: tuple[str, ...]


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

    def irregular_rounds(self) -> list[tuple[int, int]]:
        """Return shoe and number of the rounds with an irregularity, in order."""
        found = [each for each in self.events if each["type"] == "irregularity" and each["round"]]
        return list(dict.fromkeys((each["shoe"], each["round"]) for each in found))

    def events_of(self, number: tuple[int, int]) -> list[tuple[int, str]]:
        """Return number and type of the events of a round, given its shoe and number."""
        return [
            (each["seq"], each["type"])
            for each in self.events
            if (each["shoe"], each["round"]) == number
        ]

    def entries(self) -> list[Entry]:
        """Return all irregularities and decisions, sorted."""
        closed = {
            event["data"]["id"]: event["data"]
            for event in self.events
            if event["type"] == "irregularity_closed"
        }
        return sorted(self._entries(closed), key=str)

    def _entries(self, closed: dict[int, dict[str, Any]]) -> Iterator[Entry]:
        for event in self.events:
            data = event["data"]
            if event["type"] == "irregularity":
                end = closed.get(data["id"], {"action": None, "operator": None})
                yield Entry(
                    *(event["shoe"], event["round"], data["kind"], data["severity"]),
                    *(data["slot"], data["card"], end["action"], end["operator"]),
                )
            elif event["type"] in DECISIONS:
                yield Entry(
                    *(event["shoe"], event["round"], event["type"], 0),
                    *(data.get("slot"), None, data.get("action"), data["operator"]),
                )

    def rounds(self) -> list[RoundRow]:
        """Return every round with its result, sorted; of one without a result, no cards."""
        found: dict[tuple[int, int], dict[str, Any] | None] = {}
        for event in self.events:
            key, data = (event["shoe"], event["round"]), event["data"]
            if event["round"] is not None:
                found.setdefault(key, None)
            if event["type"] == "round_finished":
                found[key] = data
            elif event["type"] in {"result_revised", "round_voided"}:
                found[key] = data["after"]
        return sorted(
            RoundRow(*key, data["outcome"], _cards(data["player"]), _cards(data["banker"]))
            if data is not None
            else RoundRow(*key, None, (), ())
            for key, data in found.items()
        )


def _side(event: dict[str, Any]) -> str | None:
    data = event["data"]
    result = data["after"] if event["type"] == "result_revised" else data
    return None if result is None else result.get("outcome")


def _cards(hand: dict[str, Any]) -> tuple[str, ...]:
    return tuple(card or "?" for card in hand["cards"])


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


def _pages(page: Page, address: str) -> Iterator[None]:
    """Open a search, then each of its further pages."""
    page.goto(address)
    yield
    while page.locator("#pages a[rel=next]").count():
        further = page.locator("#pages a[rel=next]").get_attribute("href")
        page.click("#pages a[rel=next]")
        page.wait_for_url(f"**{further}")
        yield


def _exported(page: Page) -> list[dict[str, Any]]:
    """Download the search on the page as JSON Lines."""
    with page.expect_download() as download:
        page.click('#exports [data-format="jsonl"]')
    return list(map(json.loads, download.value.path().read_text("utf-8").splitlines()))


def log_entries(page: Page, url: str, table: str) -> list[Entry]:
    """Read all irregularities and decisions of a table; the pages and the export are the same."""
    rows: list[dict[str, Any]] = []
    exported: list[dict[str, Any]] = []
    for _ in _pages(page, f"{url}/pit/log?table={table}"):
        exported = exported or _exported(page)
        rows += page.evaluate(_ENTRY_ROWS)
    for each in exported:
        each["open"] = each["closed"] is None
        each["who"] = None if each["open"] else each["operator"] or EQUIPMENT
    shown = ("round", "kind", "severity", "who", "open")
    assert [[each[name] for name in shown] for each in exported] == [
        [each[name] for name in shown] for each in rows
    ]
    return sorted((Entry(*(each[name] for name in Entry._fields)) for each in exported), key=str)


def log_rounds(page: Page, url: str, table: str) -> list[RoundRow]:
    """Read all rounds of a table; the pages and the export are the same."""
    rows: list[dict[str, Any]] = []
    exported: list[dict[str, Any]] = []
    for _ in _pages(page, f"{url}/pit/log?view=rounds&table={table}"):
        exported = exported or _exported(page)
        rows += page.evaluate(_ROUND_ROWS)
    assert [
        (each["round"], each["outcome"], [*each["player"], *each["banker"]]) for each in exported
    ] == [
        (each["round"], each["outcome"], [card.translate(_SUITS) for card in each["cards"]])
        for each in rows
    ]
    return sorted(
        RoundRow(
            *(each["shoe"], each["round"], each["outcome"]),
            *(tuple(each[side] if _has_result(each) else ()) for side in ("player", "banker")),
        )
        for each in exported
    )


def _has_result(row: dict[str, Any]) -> bool:
    return bool(row["ended"]) and not {"void", "aborted"} & set(row["marks"])


def log_events(page: Page, url: str, table: str, number: tuple[int, int]) -> list[tuple[int, str]]:
    """Read number and type of the events on the page of a round, given its shoe and number."""
    page.goto(f"{url}/pit/round/{table}/{number[0]}/{number[1]}")
    rows = page.locator("#log-events tbody tr")
    found = rows.evaluate_all("(all) => all.map((row) => [row.dataset.seq, row.dataset.type])")
    return [(int(seq), type_) for seq, type_ in found]


def log_counts(url: str, table: str) -> tuple[int, int, int]:
    """Return how many entries, decisions about irregularities and results the log has so far."""
    found = []
    for view in ("irregularities", "rounds"):
        address = f"{url}/pit/log?view={view}&table={table}&format=jsonl"
        with urlopen(address, timeout=PATIENCE) as answer:  # noqa: S310 - loopback
            found.append([json.loads(line) for line in answer.read().splitlines()])
    entries, rounds = found
    decided = sum(each["action"] is not None for each in entries)
    return len(entries), decided, sum(each["outcome"] is not None for each in rounds)
