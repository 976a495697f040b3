"""
The board and the history of a shoe show what the journal holds, also after a correction; and no
part of a board moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from shoe_daemon.game.coup import Outcome
from shoe_daemon.table import observations as seen
from tests.browser.chrome import SIZES, SharedPage, Watched
from tests.browser.expected_roads import Ledger
from tests.browser.live_tables import Stage, Table, order, play_rounds, round_of, simulated
from tests.browser.painted_board import cards, see, show_of, wait_shows
from tests.browser.published_table import FoldedTable
from tests.display.display_process import first_of
from tests.volume import sample, volume
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

# Two ties lead this shoe, later come a dragon's tail of eight, two ties on one win, and pairs.
SEED = 135
ROUNDS = 84
_INTO_THE_NEXT = 3
_PAPER = re.compile(r"(road-box|pair|sheet|road |figcaption|covered|FIGCAPTION)\b")
_COMPARED = volume(12, 1)


# A slow and loaded machine may need a second or two for each round.
@pytest.mark.timeout(600)
def test_every_round_of_a_shoe_and_the_change_of_shoes(
    stage: Stage, table: Table, kiosk: Watched
) -> None:
    kiosk.page.emulate_media(reduced_motion="no-preference")
    kiosk.page.goto(stage.display.url + table.path)
    dealt = 0
    for scene in simulated(table.shoe, seed=SEED, rounds=ROUNDS + _INTO_THE_NEXT):
        if scene.round is not None:
            dealt += 1
            if dealt % _COMPARED and dealt < ROUNDS:
                continue
            _compare(kiosk, _journaled(table, (scene.round.shoe, scene.round.number)))
    assert dealt == ROUNDS + _INTO_THE_NEXT
    assert table.ledger().shoe == 2
    kiosk.assert_clean()
    # Twice the papers of the roads change their heights: when the Big Road becomes long, and for
    # the next shoe. Nothing else moves.
    moved = {each for entry in kiosk.notes.layout for each in entry.split("; ")}
    assert [each for each in moved if not _PAPER.match(each)] == []
    assert len(kiosk.notes.layout) <= 2


def _journaled(table: Table, wanted: tuple[int, int]) -> Ledger:
    """Wait until the journal has this round of this shoe."""

    def there() -> bool:
        ledger = table.ledger()
        return (ledger.shoe or 0, max(ledger.rounds, default=0)) >= wanted

    wait_for(there, f"round {wanted}")
    return table.ledger()


def _compare(kiosk: Watched, ledger: Ledger) -> None:
    """Hold roads, counts and asks, and the last round as it lies there, against the journal."""
    last = show_of(ledger.last), ledger.last["outcome"]
    seen = wait_shows(kiosk, ledger, lambda seen: (cards(seen), seen["outcome"]) == last)
    for side in ("player", "banker"):
        assert seen["totals"][side] == str(ledger.last[side]["total"])
    assert seen["body"]["fresh"] == "live"


@pytest.fixture
def board(stage: Stage, table: Table, kiosk: Watched) -> Watched:
    """A board after some rounds, with a tail and ties on it."""
    play_rounds(table, "TPPPPPPPPBBTPB")
    kiosk.page.goto(stage.display.url + table.path)
    wait_shows(kiosk, table.ledger())
    return kiosk


def test_a_corrected_card_turns_the_round_over(table: Table, board: Watched) -> None:
    """The Banker's 9 was an ace: the round on the table and all roads are another's."""
    before = table.ledger().sequence
    order(table, "correct-card", slot="B1", card="AD")
    ledger = table.ledger()
    assert ledger.sequence != before
    wait_shows(board, ledger)
    board.until("() => document.querySelector('[data-slot=B1]').dataset.card === 'AD'")
    board.assert_clean()


def test_a_void_takes_the_round_off_every_road_and_its_undo_puts_it_back(
    table: Table, board: Watched
) -> None:
    before = table.ledger()
    order(table, "void-round", round=9)
    ledger = table.ledger()
    assert len(ledger.on_roads) == len(before.on_roads) - 1
    wait_shows(board, ledger)
    order(table, "undo")
    assert table.ledger().sequence == before.sequence
    wait_shows(board, table.ledger())
    board.assert_clean()


def test_a_change_of_shoe_clears_the_roads(table: Table, board: Watched) -> None:
    order(table, "new-shoe")
    ledger = table.ledger()
    assert (ledger.shoe, ledger.on_roads) == (2, [])
    wait_shows(board, ledger, lambda seen: cards(seen) == {})
    play_rounds(table, "BT")
    ledger = table.ledger()
    wait_shows(board, ledger, lambda seen: cards(seen) == show_of(ledger.last))
    board.assert_clean()


def test_a_held_result_is_on_no_road_until_it_is_released(table: Table, board: Watched) -> None:
    order(table, "hold")
    board.until("() => document.getElementById('centre').dataset.say === 'hold'")
    before = table.ledger().sequence
    table.deal(*round_of("P"))
    table.shoe.call(Outcome.PLAYER)
    board.until("() => document.querySelectorAll('[data-slot][data-card]').length === 4")
    assert wait_shows(board, table.ledger())["outcome"] is None
    assert table.ledger().sequence == before
    order(table, "resume")
    wait_for(lambda: table.ledger().sequence != before, "the result")
    wait_shows(board, table.ledger(), lambda seen: seen["outcome"] == "player")
    board.assert_clean()


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
    play_rounds(table, "TPPB")
    kiosk.page.goto(f"{stage.display.url}/table/{table.name}/history?lang=en")
    wait_rounds(kiosk, 4)
    return kiosk


def test_every_round_stands_there_as_the_journal_has_it(table: Table, past: Watched) -> None:
    assert wait_rounds(past, 4) == wanted(table.ledger())
    play_rounds(table, "BT")
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
    play_rounds(table, "B")
    assert wait_rounds(past, 1) == wanted(table.ledger())
    past.assert_clean()


def test_players_read_nothing_of_alerts(stage: Stage, table: Table, past: Watched) -> None:
    order(table, "hold", kind="card_off_table", slot="B1")
    past.page.goto(f"{stage.display.url}/table/{table.name}/history?lang=en")
    text = past.page.content()
    assert "as seen" not in text
    assert '"kind":"card_off_table"' not in text
    past.assert_clean()


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
