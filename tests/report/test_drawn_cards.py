"""Each card of a shoe is counted once in a report, however often its events name it."""

from __future__ import annotations

from collections import Counter

import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.report.cards import CardFold, CausedEvent
from shoe_daemon.table import fold
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import SQUEEZE, house
from tests.table.test_known_faults import AFTER_GAP, COUPS


def counted(log: list[seen.Observation]) -> Counter[str]:
    """Count the cards of a log by their events."""
    cards = CardFold()
    for number, (observation, events) in enumerate(fold(Table(), log)):
        kind = str(type(observation).__struct_config__.tag)
        for event in events:
            cards.take(CausedEvent(event, number, kind, None))
    drawn = [card.face for card in cards.finish() if not card.is_repeat]
    return Counter(str(face) for face in drawn)


def in_table(table: Table) -> Counter[str]:
    """Count the cards as the table does."""
    shoe = table.state.shoe
    assert shoe is not None
    found = Counter({str(face): shoe.seen[face.index] for face in DECK if shoe.seen[face.index]})
    return found + Counter({"None": shoe.out - found.total()})


@pytest.mark.parametrize(("style", "before"), AFTER_GAP)
def test_after_a_gap(style: DealingStyle, before: str) -> None:
    pit = SupervisedTable(house(dealing_style=style), round_end=RoundEnd.RULES)
    pit.deal(before, slots=False)
    pit.gap("lost_frames")
    for coup in COUPS.values():
        pit.wait(30)
        pit.deal(coup, slots=False)
        pit.disclose(coup)
    assert counted(pit.log) == in_table(pit.table)


@pytest.mark.parametrize("reshuffle", ["per_shoe", "per_hand"])
def test_cards_that_belong_to_another_round_are_counted_once(reshuffle: str) -> None:
    rules = house(dealing_style=SQUEEZE, reshuffle=reshuffle)
    pit = SupervisedTable(rules, round_end=RoundEnd.RULES, checkers=["second"])
    pit.deal("P1 4S", slots=False)
    pit.gap("lost_frames")
    pit.deal(COUPS["player"], slots=False)
    pit.outside("QH")
    excess = pit.kinds()
    pit.disclose(COUPS["player"])
    assert pit.kinds() == excess
    (finished,) = pit.finished()
    assert (finished.partial, finished.outcome) == (False, "player")
    if reshuffle == "per_shoe":
        assert pit.out() == 6
        assert counted(pit.log) == in_table(pit.table)
    else:
        assert in_table(pit.table) == Counter(["9S", "2H", "KD", "5C"])
