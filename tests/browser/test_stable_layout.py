"""
Nothing on a board jumps: what stands at a place stands there before, during and after a round.
"""

from __future__ import annotations

from typing import Any

import pytest

from shoe_daemon.game.coup import Outcome
from tests.browser.chrome import SIZES, SharedPage, Watched
from tests.browser.live_tables import Stage, Table
from tests.browser.painted_board import see
from tests.volume import sample

pytestmark = pytest.mark.mosquitto

# What may change inside them is text, cards and marks.
PARTS = (
    "#head, #name, #limits, #hands, #centre, [data-slot], #player-total, #banker-total, h2 .side,"
    "figure, svg.road, #counts, #counts li, .ask-box, #foot"
)
_BOXES = """
(parts) => [...document.querySelectorAll(parts)].map((part) => {
  const {left, top, width, height} = part.getBoundingClientRect();
  const name = part.id || part.dataset.slot || part.className.baseVal || part.className;
  return [name, left, top, width, height].join(" ");
})
"""


def boxes(watched: Watched) -> list[str]:
    found: list[str] = watched.page.evaluate(_BOXES, PARTS)
    return found


def wait_for_cards(watched: Watched, count: int) -> None:
    watched.until("(n) => document.querySelectorAll('[data-slot][data-card]').length === n", count)


def play_round(table: Table, watched: Watched, number: int) -> list[list[str]]:
    """Deal a round of six cards, and return where everything was after every step."""
    found = []
    deal = ("P1:2S", "B1:3S", "P2:3H", "B2:2H", "P3:6D", "B3:9C")
    for dealt, card in enumerate(deal, start=1):
        table.shoe.draw(card)
        wait_for_cards(watched, dealt)
        found.append(boxes(watched))
    table.shoe.call(Outcome.BANKER)
    wanted: Any = str(number)
    watched.until("(n) => document.querySelector('[data-count=rounds]').textContent === n", wanted)
    found.append(boxes(watched))
    return found


@pytest.mark.parametrize("size", sample(SIZES, 3))
def test_nothing_moves_over_rounds(
    stage: Stage, table: Table, shared_page: SharedPage, size: str
) -> None:
    with shared_page.use(size) as watched:
        table.deal("P1:AS", "B1:5S", "P2:7H", "B2:2C")
        table.shoe.call(Outcome.PLAYER)
        watched.page.goto(stage.display.url + table.path)
        wait_for_cards(watched, 4)
        first, shifts = boxes(watched), watched.notes.shifts
        for number in (2, 3):
            for step in play_round(table, watched, number):
                assert set(step) ^ set(first) == set()
        assert see(watched)["say"] == "result"
        watched.assert_clean()
        assert watched.notes.shifts == shifts, watched.notes.layout
