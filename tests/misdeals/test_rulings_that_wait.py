"""
A ruling that waits until it is carried out is an event, and the irregularity shows it until its
end. Proposals on the board can be carried out, with the fields that they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from shoe_daemon.game.rulings import POLICY_IDS
from shoe_daemon.table import Table, decode_event, encode_event, is_staff
from shoe_daemon.table import observations as seen
from shoe_daemon.table.observations import Command
from tests.misdeals.irregularity_logs import DRAWS, LOGS
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    NATURAL,
    SQUEEZE,
    RoundEnd,
    Slot,
    card,
    house,
    one,
    refusal_text,
    types,
)
from tests.table.random_observations import RandomObservations
from tests.volume import volume

if TYPE_CHECKING:
    from shoe_daemon.table import Event


def ordered(table: Table) -> list[tuple[str, str | None] | None]:
    """Return what the board shows as ordered, for each open irregularity."""
    alerts = table.public().alerts
    return [
        (each.ordered.action, each.ordered.operator) if each.ordered else None for each in alerts
    ]


def missing_draw(**options: Any) -> SupervisedTable:  # noqa: ANN401 - of the table
    pit = SupervisedTable(**options)
    pit.deal(DRAWS)
    pit.result("banker")
    return pit


def test_it_is_published_without_its_reason_and_shown_until_the_end() -> None:
    pit = missing_draw()
    said = pit.rule("draw_now")
    given = one(said, "ruling_given")
    assert (given.id, given.action, given.operator) == (pit.id_of(None), "draw_now", "ann")
    assert b"as seen" not in b"".join(
        encode_event(each) for each in said if not is_staff(each.type)
    )
    assert one(said, "staff_ruling_given").reason == "as seen"
    (alert,) = pit.table.public().alerts
    assert alert.ordered
    assert alert.ordered.at == said[0].at
    pit.draw("9D", "B3")
    assert pit.table.public().alerts == ()


def test_the_same_ruling_again_changes_nothing_and_another_one_replaces_it() -> None:
    pit = SupervisedTable()
    pit.say(seen.Unreadable(slot=Slot.P1))
    pit.cmd("rule", action="rescan")
    shown = pit.table.public().alerts
    assert pit.cmd("rule", action="rescan", operator="bob") == []
    assert pit.table.public().alerts == shown
    said = pit.cmd("rule", action="manual_entry", operator="bob")
    assert types(said) == ["ruling_given", "staff_ruling_given"]
    assert ordered(pit.table) == [("manual_entry", "bob")]


def test_an_undone_void_gives_the_ruling_back() -> None:
    pit = missing_draw()
    pit.rule("draw_now")
    before = pit.table.public().alerts
    pit.rule("void_round")
    assert pit.table.public().alerts == ()
    said = pit.cmd("undo")
    assert types(said)[:2] == ["irregularity", "ruling_given"]
    assert pit.table.public().alerts == before


def test_it_outlives_a_restart() -> None:
    pit = missing_draw()
    pit.rule("draw_now")
    restored = Table.restore(pit.table.checkpoint())
    assert restored.public() == pit.table.public()
    pit.say(seen.Gap(detail=seen.GapDetail.RESTART))
    assert ordered(pit.table) == [("draw_now", "ann")]
    assert pit.replayed() == pit.said()


def test_on_what_only_staff_know_it_is_for_staff_too() -> None:
    pit = SupervisedTable(
        house(dealing_style=SQUEEZE), round_end=RoundEnd.BUTTON, checkers=("second",)
    )
    for face, other in (("9S", "9S"), ("2H", "2H"), ("6C", "7C")):
        if face == "6C":
            pit.cmd("void_round")
        pit.draw(face)
        pit.say(seen.CardDrawn(card=card(other), source="second"), 0.1)
    (alert,) = pit.table.staff_alerts()
    said = pit.cmd("rule", action="manual_entry", irregularity=alert.data.id)
    assert types(said) == ["staff_ruling_given"]
    assert pit.table.staff_alerts()[0].ordered


class Follower:
    """Someone who receives events alone, and what that follower takes for ordered."""

    def __init__(self) -> None:
        self.orders: dict[int, tuple[str, str | None] | None] = {}

    def take(self, event: Event) -> None:
        data: Any = decode_event(encode_event(event)).data
        if event.type == "irregularity":
            self.orders[data.id] = None
        elif event.type == "ruling_given":
            self.orders[data.id] = (data.action, data.operator)
        elif event.type == "irregularity_closed":
            del self.orders[data.id]


@pytest.mark.parametrize("seed", range(volume(3, 20)))
def test_events_alone_say_what_the_board_shows(seed: int) -> None:
    table, follower = Table(), Follower()
    for observation in RandomObservations(seed).generate(400):
        for event in table.apply(observation):
            follower.take(event)
        shown = {each.data.id: each.ordered for each in table.public().alerts}
        assert follower.orders == {
            number: (order.action, order.operator) if order else None
            for number, order in shown.items()
        }


def given(table: Table, alert: Any, proposal: Any) -> Command:  # noqa: ANN401 - of the board
    fields = {} if proposal.needs is UNSET else dict.fromkeys(proposal.needs, card("7H"))
    return Command(
        at=table.state.now,
        name="rule",
        operator="ann",
        irregularity=alert.data.id,
        action=proposal.action,
        **fields,
    )


def check_proposals(table: Table) -> int:
    """Carry out each proposal on the board, on a copy; return how many there were."""
    tried = 0
    for alert in (*table.public().alerts, *table.staff_alerts()):
        for proposal in alert.data.proposals:
            order = given(table, alert, proposal)
            assert refusal_text(table, order) is None, (alert.data.kind, proposal.action)
            assert table.preview(order).refusal is None
            copy = table.copy()
            copy.apply(order)
            now = {each.data.id: each for each in copy.state.alerts}.get(alert.data.id)
            assert now is None or now.ordered is not None
            if proposal.needs is not UNSET:
                assert refusal_text(table, replace(order, card=None)) is not None
                assert copy.state.burn_due >= table.state.burn_due + 7
            tried += 1
    return tried


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_each_proposal_on_the_board_can_be_carried_out(policy: str) -> None:
    tried = 0
    for log in LOGS:
        table = Table()
        for observation in log.observations(policy):
            table.apply(observation)
            tried += check_proposals(table)
    assert tried or policy == "management"


@pytest.mark.parametrize("seed", range(volume(2, 12)))
def test_so_it_can_at_each_moment_of_a_random_log(seed: int) -> None:
    table, policy = Table(), POLICY_IDS[seed % len(POLICY_IDS)]
    for observation in RandomObservations(seed).generate(120):
        if isinstance(observation, seen.Session):
            table.apply(replace(observation, policy=policy))
        else:
            table.apply(observation)
        table.apply(seen.Tick(at=observation.at))  # as before every order
        check_proposals(table)


def test_the_value_of_an_unread_card_is_asked_for() -> None:
    pit = SupervisedTable(policy="us_nj_pa")
    pit.deal(NATURAL)
    pit.error("overdraw")
    (alert,) = pit.table.public().alerts
    needs = {each.action: each.needs for each in alert.data.proposals}
    assert needs == {"burn_card_plus_value": ("card",)}
    value = pit.refused("rule", action="burn_card_plus_value")
    assert value == "the value of the card is not known"
    pit.cmd("rule", action="burn_card_plus_value", card="7H")
    assert pit.table.state.burn_due == 7
    assert pit.closed() == [("burn_card_plus_value", "ann")]


def test_a_card_that_lies_face_up_in_the_shoe_is_burned_with_its_value() -> None:
    pit = SupervisedTable(policy="us_nj_pa")
    pit.deal(NATURAL)
    pit.result("player")
    pit.cmd("hold", kind="face_up_in_shoe")
    pit.cmd("rule", action="burn_card_plus_value", card="KS")
    assert pit.table.state.burn_due == 1 + house().burn.face_value
