"""
A card too many that passed unread turns out to be due: the round has no result until
somebody says what card it is.
"""

from __future__ import annotations

import pytest

from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.misdeals.supervised_table import SupervisedTable


def corrected(mode: RoundEnd, *drawn: str) -> SupervisedTable:
    """Deal a natural and cards too many, the last of them unread; the natural was none."""
    pit = SupervisedTable(round_end=mode)
    pit.deal("P1 7C, B1 10S, P2 2H, B2 AD")
    for face in drawn:
        pit.draw(face, "P3")
    pit.say(seen.Unreadable(slot=Slot.B3 if drawn else Slot.P3))
    assert pit.last().data.outcome == "player"
    pit.cmd("correct_card", slot=Slot.P2, card="5C")
    return pit


MODES = pytest.mark.parametrize("mode", [RoundEnd.QUIET, RoundEnd.BUTTON])


@MODES
@pytest.mark.parametrize("drawn", [(), ("6C",)])
def test_no_result_is_said_without_its_face(mode: RoundEnd, drawn: tuple[str, ...]) -> None:
    data = corrected(mode, *drawn).last().data
    assert (data.partial, data.outcome, data.wagers) == (True, None, ())
    assert None in (*data.player.cards, *data.banker.cards)


@MODES
def test_the_card_entered_gives_the_result(mode: RoundEnd) -> None:
    pit = corrected(mode, "6C")
    pit.cmd("enter_card", card="8D")
    data = pit.last().data
    assert (data.partial, data.outcome) == (False, "banker")
    assert (data.player.cards, data.banker.cards) == (("7C", "5C", "6C"), ("10S", "AD", "8D"))
    assert pit.replayed() == pit.said()


@MODES
@pytest.mark.parametrize("drawn", [(), ("6C",)])
def test_undone_it_is_the_natural_again(mode: RoundEnd, drawn: tuple[str, ...]) -> None:
    pit = corrected(mode, *drawn)
    pit.cmd("undo")
    data = pit.last().data
    assert (data.partial, data.outcome, data.player.natural) == (False, "player", True)
    assert pit.counts() == {"natural": 1, "player": 1, "rounds": 1}
