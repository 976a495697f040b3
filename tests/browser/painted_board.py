"""
What a board shows, read from the painted page.

A cell's place is its position on the page, and its colour the painted one: neither is read from
the attributes that the script sets.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from tests.browser.chrome import PATIENCE, Watched
from tests.browser.expected_roads import Ledger

__all__ = ["assert_shows", "cards", "roads_of", "see", "show_of", "wait_shows"]

ROADS = ("bead", "big", "big_eye", "small", "cockroach")

_SEE = r"""
() => {
  // Which of red, blue and green a shape is painted in.
  const named = (shape) => {
    const style = getComputedStyle(shape);
    const paint = style.stroke !== "none" ? style.stroke : style.fill;
    const [r, g, b] = paint.match(/\d+/g).map(Number);
    return r > g && r > b ? "red" : b > r && b > g ? "blue" : "green";
  };
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const roads = {};
  document.querySelectorAll("svg.road").forEach((road) => {
    const paper = road.getBoundingClientRect();
    const columns = Number(road.dataset.columns);
    const first = Number(road.dataset.first);
    const cells = [...road.querySelectorAll("g.cell")].map((cell) => {
      const shape = cell.querySelector("circle, path");
      const [x, y] = middle(shape.getBoundingClientRect());
      return {
        col: first + (x - paper.left) / (paper.width / columns) - 0.5,
        row: (y - paper.top) / (paper.height / 6) - 0.5,
        colour: named(shape),
        text: cell.textContent.trim(),
        says: {...cell.dataset},
      };
    });
    roads[road.dataset.road] = {first, columns, cells};
  });
  const asks = {};
  document.querySelectorAll("svg.ask").forEach((ask) => {
    asks[ask.dataset.ask] = {...ask.dataset};
  });
  const counts = {};
  document.querySelectorAll("[data-count]").forEach((count) => {
    counts[count.dataset.count] = count.textContent.trim();
  });
  const slots = {};
  document.querySelectorAll("[data-slot]").forEach((slot) => {
    slots[slot.dataset.slot] = slot.hasAttribute("data-card") ? slot.dataset.card : null;
  });
  const total = (side) => document.getElementById(side + "-total").textContent.trim();
  return {
    roads, asks, counts, slots,
    totals: {player: total("player"), banker: total("banker")},
    say: document.getElementById("centre").dataset.say,
    outcome: document.getElementById("centre").dataset.outcome || null,
    chips: [...document.querySelectorAll("#chips li")].map((chip) => chip.dataset.chip),
    body: {...document.body.dataset},
  };
}
"""
_NEAR = 0.08
_COLOURS = {"player": "blue", "banker": "red", "tie": "green"}


def see(watched: Watched) -> dict[str, Any]:
    """Return all that the board shows at this moment."""
    seen: dict[str, Any] = watched.page.evaluate(_SEE)
    return seen


def cards(seen: dict[str, Any]) -> dict[str, str]:
    """Return the cards on the table by their places."""
    return {slot: card for slot, card in seen["slots"].items() if card is not None}


def show_of(data: dict[str, Any]) -> dict[str, str]:
    """Return the cards of a result by their places."""
    slots = {"player": ("P1", "P2", "P3"), "banker": ("B1", "B2", "B3")}
    return {
        slot: card or "?"
        for side, places in slots.items()
        for slot, card in zip(places, data[side]["cards"], strict=False)
    }


def roads_of(seen: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the cells of all roads as plain data, by their painted places and colours."""
    return {name: sorted(map(_cell, seen["roads"][name]["cells"]), key=_place) for name in ROADS}


def assert_shows(watched: Watched, ledger: Ledger) -> dict[str, Any]:
    """Hold all that the board shows of the shoe against the journal, cell by cell."""
    seen = see(watched)
    wanted = ledger.roads()
    found = roads_of(seen)
    for name in ROADS:
        first = seen["roads"][name]["first"]
        cells = [_wanted(name, cell) for cell in wanted[name] if cell["col"] >= first]
        assert found[name] == sorted(cells, key=_place), (name, ledger.sequence)
        assert not wanted[name] or cells, f"{name}: all of it scrolled away"
    assert seen["counts"] == {name: str(count) for name, count in wanted["counts"].items()}
    for side in ("banker", "player"):
        assert _ask(seen["asks"][side]) == _wanted_ask(wanted["ask"][side]), ledger.sequence
    return seen


def wait_shows(
    watched: Watched,
    ledger: Ledger,
    and_that: Callable[[dict[str, Any]], bool] = lambda _seen: True,
) -> dict[str, Any]:
    """
    Wait until the board shows what the journal holds, and return all that it shows.

    Args:
        watched: The board.
        ledger: The journal's roads and counts.
        and_that: What else holds then, of cards and results: they are a document of their own.
    """
    rounds = str(len(ledger.on_roads))
    watched.until(_COUNTED, rounds)
    until = monotonic() + PATIENCE / 1000
    while True:
        try:
            seen = assert_shows(watched, ledger)
            assert and_that(seen), seen
        except AssertionError:
            # Of the documents any may be behind the others.
            if monotonic() > until:
                raise
            watched.page.wait_for_timeout(20)
        else:
            return seen


_COUNTED = """
(rounds) => {
  const count = document.querySelector("[data-count=rounds]");
  return count && count.textContent.trim() === rounds;
}
"""


def _place(cell: dict[str, Any]) -> tuple[int, int]:
    return cell["col"], cell["row"]


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Turn a painted cell into plain data; it lies in the middle of its square."""
    col, row = round(cell["col"]), round(cell["row"])
    assert abs(cell["col"] - col) < _NEAR, cell
    assert abs(cell["row"] - row) < _NEAR, cell
    says = cell["says"]
    assert (says["col"], says["row"]) == (str(col), str(row)), cell
    pairs = tuple(f"{side}Pair" in says for side in ("player", "banker"))
    return {
        "col": col,
        "row": row,
        "colour": cell["colour"],
        "pairs": pairs,
        "natural": "natural" in says,
        "ties": int(says.get("ties", 0)),
        "text": cell["text"],
    }


_LETTERS = {"player": "P", "banker": "B", "tie": "T"}


def _wanted(road: str, cell: dict[str, Any]) -> dict[str, Any]:
    outcome = cell.get("outcome") or cell.get("side")
    ties = cell.get("ties", 0)
    text = _LETTERS[cell["outcome"]] if road == "bead" else str(ties) if ties > 1 else ""
    return {
        "col": cell["col"],
        "row": cell["row"],
        "colour": _COLOURS[outcome] if outcome else cell["mark"],
        "pairs": (cell.get("player_pair", False), cell.get("banker_pair", False)),
        "natural": cell.get("natural", False),
        "ties": ties,
        "text": text,
    }


def _ask(says: dict[str, str]) -> dict[str, str]:
    return {road: says[key] for road, key in _ASKED.items()}


def _wanted_ask(ask: dict[str, Any]) -> dict[str, str]:
    return {road: ask[road]["mark"] if ask[road] else "" for road in _ASKED}


_ASKED = {"big_eye": "bigEye", "small": "small", "cockroach": "cockroach"}
