"""Corrections of the past are shown at once, on every part of the board."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

from shoe_daemon.game.coup import Outcome
from tests.brokers import wait_for
from tests.browser.chrome import Watched
from tests.browser.live_tables import Stage, Table
from tests.browser.painted_board import cards, show_of, wait_shows

pytestmark = pytest.mark.mosquitto

# Ranks of a round's first four cards; all are naturals, and the suits go on from round to round,
# so that no card leaves the shoe too often: five, against the four cards of a round.
_DEALS = {
    "P": (("9", "2", "K", "J"), Outcome.PLAYER),
    "B": (("2", "9", "Q", "K"), Outcome.BANKER),
    "T": (("8", "8", "J", "Q"), Outcome.TIE),
}
_suits = cycle("SHDCH")


def round_of(letter: str) -> tuple[str, ...]:
    """Return the cards of a round with this outcome, such as ``P1:9S``."""
    places = ("P1", "B1", "P2", "B2")
    return tuple(
        f"{place}:{rank}{next(_suits)}"
        for place, rank in zip(places, _DEALS[letter][0], strict=True)
    )


def play(table: Table, sequence: str) -> None:
    """Deal rounds with these outcomes, and wait until the journal has them."""
    for letter in sequence:
        before = len(table.ledger().rounds)
        table.deal(*round_of(letter))
        table.shoe.call(_DEALS[letter][1])
        wait_for(lambda: len(table.ledger().rounds) > before, letter)  # noqa: B023 - now


@pytest.fixture
def board(stage: Stage, table: Table, kiosk: Watched) -> Watched:
    """A board after some rounds, with a tail and ties on it."""
    play(table, "TPPPPPPPPBBTPB")
    kiosk.page.goto(stage.display.url + table.path)
    wait_shows(kiosk, table.ledger())
    return kiosk


def order(table: Table, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
    """Give an order that is carried out."""
    answer = table.order(verb, reason="as seen", **fields)
    assert answer["ok"], answer
    return answer


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
    play(table, "BT")
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
