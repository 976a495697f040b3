"""The history of a shoe is the journal's, card by card, and nothing of an alert is in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from shoe_daemon.table import observations as seen
from tests.brokers import wait_for
from tests.browser.chrome import Watched
from tests.browser.expected_roads import Ledger
from tests.browser.live_tables import Stage, Table
from tests.browser.published_table import FoldedTable
from tests.browser.test_corrections import order, play
from tests.demo.test_board_server import first_of

pytestmark = pytest.mark.mosquitto

_ROWS = """
() => [...document.querySelectorAll("#rounds > tr")].map((row) => {
  const side = (name) => row.querySelector(`[data-side=${name}]`);
  const cards = (name) =>
    [...side(name).querySelectorAll(".small-card")].map((each) => each.dataset.card);
  const total = (name) => side(name).querySelector(".total").textContent.trim();
  return {
    round: Number(row.dataset.round),
    outcome: row.dataset.outcome,
    void: row.dataset.void === "true",
    player: [cards("player"), total("player")],
    banker: [cards("banker"), total("banker")],
  };
})
"""


def wait_rounds(watched: Watched, count: int) -> list[dict[str, Any]]:
    """Wait until so many rounds are shown, and return what stands there."""
    watched.until("(count) => document.body.dataset.rounds === String(count)", count)
    watched.until("(count) => document.querySelectorAll('#rounds > tr').length === count", count)
    rows: list[dict[str, Any]] = watched.page.evaluate(_ROWS)
    return rows


def wanted(ledger: Ledger) -> list[dict[str, Any]]:
    """Return what has to stand there, the newest first."""
    return [
        {
            "round": number,
            "outcome": data["outcome"],
            "void": False,
            **{
                side: [data[side]["cards"], str(data[side]["total"])]
                for side in ("player", "banker")
            },
        }
        for number, data in sorted(ledger.rounds.items(), reverse=True)
    ]


@pytest.fixture
def past(stage: Stage, table: Table, kiosk: Watched) -> Watched:
    """The history of a table after some rounds."""
    play(table, "TPPB")
    kiosk.page.goto(f"{stage.display.url}/table/{table.name}/history?lang=en")
    wait_rounds(kiosk, 4)
    return kiosk


def test_every_round_stands_there_as_the_journal_has_it(table: Table, past: Watched) -> None:
    assert wait_rounds(past, 4) == wanted(table.ledger())
    play(table, "BT")
    assert wait_rounds(past, 6) == wanted(table.ledger())
    past.assert_clean()


def test_a_void_round_stays_and_says_so_and_a_correction_is_in_it_at_once(
    table: Table, past: Watched
) -> None:
    order(table, "void-round", round=2)
    past.page.wait_for_selector('#rounds > [data-round="2"][data-void="true"]')
    order(table, "correct-card", round=4, slot="B1", card="8D")
    past.page.wait_for_selector('#rounds > [data-round="4"] [data-side="banker"] [data-card="8D"]')
    rows = wait_rounds(past, 4)
    assert [each for each in rows if not each["void"]] == wanted(table.ledger())
    past.assert_clean()


def test_every_round_has_a_line_also_an_aborted_and_a_held_one(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded()
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C")
    table.result("player")
    table.deal("P1 6S, B1 2H")
    table.say(seen.Booted())
    table.order("hold")
    table.deal("P1 9C, B1 2D, P2 KS, B2 3D")
    table.result("player")
    table.publish()
    wait_for(lambda: _has_history(stage, table), "the history at the display")
    kiosk.page.goto(f"{stage.display.url}{table.path}/history?lang=en")
    kiosk.until("() => document.querySelectorAll('#rounds > tr').length === 3")
    held, aborted, finished = (
        each.inner_text() for each in kiosk.page.locator("#rounds tr").all()
    )
    assert "Result to follow" in held
    assert "The result waits for the supervisor" in held
    assert "Aborted" in aborted
    assert "the reader was reset" in aborted
    assert "Player wins" in finished
    for line in (held, aborted, finished):
        assert re.search(r"\b\d\d:\d\d:\d\d\b", line), "a time without seconds"
    kiosk.assert_clean()


def _has_history(stage: Stage, table: FoldedTable) -> bool:
    return bool(first_of(f"{stage.display.url}{table.path}/history").get("history"))


def test_a_shoe_that_is_over_stands_among_the_last_ones(table: Table, past: Watched) -> None:
    sequence = table.ledger().sequence
    order(table, "new-shoe")
    shoe = past.page.locator("#shoes > li").first
    past.until("() => document.querySelector('#shoes > li')")
    assert shoe.get_attribute("data-sequence") == sequence
    assert wait_rounds(past, 0) == []
    play(table, "B")
    assert wait_rounds(past, 1) == wanted(table.ledger())
    past.assert_clean()


def test_players_read_nothing_of_alerts(stage: Stage, table: Table, past: Watched) -> None:
    order(table, "hold", kind="card_off_table", slot="B1")
    past.page.goto(f"{stage.display.url}/table/{table.name}/history?lang=en")
    text = past.page.content()
    assert "as seen" not in text
    assert '"kind":"card_off_table"' not in text
    past.assert_clean()
