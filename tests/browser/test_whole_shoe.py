"""
The board shows what the journal holds, cell by cell, after the rounds of a simulated shoe: after
every round at full volume, after every twelfth one otherwise.
"""

from __future__ import annotations

import pytest

from tests.brokers import wait_for
from tests.browser.chrome import Watched
from tests.browser.expected_roads import Ledger
from tests.browser.live_tables import Stage, Table, simulated
from tests.browser.painted_board import cards, show_of, wait_shows
from tests.volume import volume

pytestmark = pytest.mark.mosquitto

# Two ties lead this shoe, later come a dragon's tail of eight, two ties on one win, and pairs.
SEED = 135
ROUNDS = 84
_INTO_THE_NEXT = 3
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
    assert kiosk.notes.shifts == 0, kiosk.notes.layout


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
