"""A table restored from a checkpoint behaves like the original."""

from __future__ import annotations

from msgspec.structs import replace

from shoe_daemon.game.rulings import Action
from shoe_daemon.table import encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import LOGS, IrregularityLog
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, SQUEEZE, card, house, of_type
from tests.volume import sample


@each_case("action", sample(Action, 4))
@each_case("log", LOGS)
def test_a_ruling(log: IrregularityLog, action: Action) -> None:
    told = Table()
    for observation in log.observations("us_nj_pa"):
        told.apply(observation)
    read = Table.restore(told.checkpoint())
    number = told.state.alerts[-1].data.id if told.state.alerts else None
    order = seen.Command(name="rule", action=action, irregularity=number, operator="ann")
    then = [order, seen.Withdrawn(card=card("4C")), seen.CardDrawn(card=card("7D")), order]
    for each_then in then:
        stamped = replace(each_then, at=told.state.now)
        said = [list(map(encode_event, each.apply(stamped))) for each in (told, read)]
        assert said[0] == said[1]
        assert told.checkpoint() == read.checkpoint()
        read = Table.restore(told.checkpoint())


def test_a_card_that_is_entered_in_a_torn_round_stays_hidden() -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE))
    pit.deal(NATURAL, slots=False)
    pit.gap()
    pit.say(seen.Unreadable())
    said = pit.cmd("enter_card", card="7D")
    assert [each.after for each in of_type(said, "card_corrected")] == [None]
    assert of_type(said, "card_disclosed") == []
    assert "7D" not in repr(pit.table.public())
    assert [each.card for each in of_type(said, "staff_card_dealt")] == ["7D"]
