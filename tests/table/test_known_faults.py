"""
Faults that the second audit found in the table, each with its kind, from observations to events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.table import observations as seen
from tests.each_case import each_case
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import (
    SQUEEZE,
    TUCKED,
    DealingStyle,
    RoundEnd,
    Slot,
    house,
    kinds,
    of_type,
    types,
)
from tests.table.test_hidden_faces import board, without_numbers

HIDING = (TUCKED, SQUEEZE)

Log = Callable[[SupervisedTable, str], object]


def public(log: Log, face: str, style: DealingStyle, **options: Any) -> list[Any]:  # noqa: ANN401
    """Play a log with one hidden face, and return everything public."""
    pit = SupervisedTable(house(dealing_style=style), reveal_after=None, **options)
    log(pit, face)
    said = [without_numbers(event) for event in pit.events if not event.type.startswith("staff")]
    return [*said, *board(pit.table), pit.open_kinds()]


def assert_hidden(log: Log, faces: tuple[str, str], style: DealingStyle, **options: Any) -> None:  # noqa: ANN401
    """Check that a log gives equal public events and documents with both faces."""
    one, other = (public(log, face, style, **options) for face in faces)
    assert one == other


# (a) Irregularities that name a card: one more copy than the shoe holds.


def open_copies(pit: SupervisedTable, *, acknowledged: bool) -> None:
    """Show both copies of 8C, in a shoe of one deck, in a round that ends."""
    pit.deal("P1 8C, B1 2D, P2 8C, B2 5D")
    pit.cmd("reveal")
    assert pit.open_kinds() == ["duplicate_card"]
    if acknowledged:
        pit.cmd("acknowledge")
    pit.result("banker")


def third_copy(pit: SupervisedTable, face: str, *, acknowledged: bool = True) -> None:
    """Draw one more 8C face down after two that were seen."""
    open_copies(pit, acknowledged=acknowledged)
    pit.deal(f"P1 3S, B1 {face}, P2 4H")


def copy_before_public_one(pit: SupervisedTable, face: str) -> None:
    """Draw a copy face down before the public one that is already too many."""
    pit.deal(f"P1 8C, B1 {face}, P2 8C, B2 5S")
    pit.disclose("B2 5S")


def two_hidden_copies(pit: SupervisedTable, face: str) -> None:
    """Draw two copies face down, and turn over only the second."""
    pit.deal(f"P1 8C, B1 {face}, P2 2D, B2 8C")
    pit.disclose("B2 8C")


def turned_backwards(pit: SupervisedTable, face: str) -> None:
    """Turn over all cards but the second."""
    pit.deal(f"P1 8C, B1 {face}, P2 8C, B2 KS")
    pit.disclose("B2 KS, P2 8C, P1 8C")


def burned_copy(pit: SupervisedTable, face: str) -> None:
    """Draw a copy of a burned card that was drawn again."""
    pit.burn("8C")
    pit.deal(f"P1 8C, B1 {face}")


def corrected_to_copy(pit: SupervisedTable, face: str) -> None:
    """Correct a card that lies face down."""
    open_copies(pit, acknowledged=True)
    pit.deal("P1 3S, B1 2H, P2 4H")
    pit.cmd("correct_card", slot=Slot.B1, card=face)


def entered_copy(pit: SupervisedTable, face: str) -> None:
    """Enter a card that passed unread, and lies face down."""
    open_copies(pit, acknowledged=True)
    pit.deal("P1 3S")
    pit.say(seen.Unreadable(slot=Slot.B1))
    pit.cmd("enter_card", card=face)


def rest_of_void_coup(pit: SupervisedTable, face: str) -> None:
    """Draw a copy after the round was voided."""
    open_copies(pit, acknowledged=True)
    pit.deal("P1 3S")
    pit.cmd("void_round")
    pit.draw(face, "B1")


def excess_copy(pit: SupervisedTable, face: str) -> None:
    """Draw a copy face down that belongs to neither hand."""
    pit.deal("P1 8C, B1 2D, P2 8C, B2 5D")
    pit.cmd("reveal")
    pit.draw(face)


def after_gap(pit: SupervisedTable, face: str) -> None:
    """Draw a copy where cards may have been missed."""
    open_copies(pit, acknowledged=True)
    pit.gap("restart")
    pit.deal(f"P1 3S, B1 {face}")


COPIES: list[Log] = [
    third_copy,
    lambda pit, face: third_copy(pit, face, acknowledged=False),
    copy_before_public_one,
    two_hidden_copies,
    turned_backwards,
    burned_copy,
    corrected_to_copy,
    entered_copy,
    rest_of_void_coup,
    excess_copy,
    after_gap,
]


@each_case("style", HIDING)
@each_case("log", COPIES)
def test_a_copy_too_many_is_not_named_before_it_is_seen(log: Log, style: DealingStyle) -> None:
    assert_hidden(log, ("8C", "9H"), style, decks=1)


@each_case("style", HIDING)
def test_a_hidden_run_is_not_named_before_it_is_seen(style: DealingStyle) -> None:
    assert_hidden(
        lambda pit, face: pit.deal(f"P1 3S, B1 {face}, P2 5C"), ("4H", "KD"), style, suspect_run=3
    )


@each_case("acknowledged", [True, False])
def test_a_third_copy_is_named_when_it_is_turned_over(*, acknowledged: bool) -> None:
    pit = SupervisedTable(house(dealing_style=TUCKED), decks=1, reveal_after=None)
    third_copy(pit, "8C", acknowledged=acknowledged)
    assert len(of_type(pit.events, "staff_irregularity")) == 1
    said = pit.disclose("B1 8C")
    (named,) = of_type(said, "irregularity")
    assert (named.kind, named.card, named.slot) == ("duplicate_card", "8C", "B1")
    assert named.detail_values["times"] == 3


@each_case("order", ["P1 B1 P2 B2", "B2 P2 B1 P1", "B1 P1 B2 P2"])
def test_each_copy_too_many_is_named_once_in_whatever_order_they_are_turned(order: str) -> None:
    pit = SupervisedTable(house(dealing_style=SQUEEZE), decks=1, reveal_after=None)
    pit.deal("P1 8C, B1 8C, P2 8C, B2 8C")
    for copies, slot in enumerate(order.split(), 1):
        pit.disclose(f"{slot} 8C")
        assert len(of_type(pit.events, "irregularity")) == max(0, copies - 1)
        assert {each.slot for each in of_type(pit.events, "irregularity")} <= set(order.split())
    assert pit.table.staff_alerts() == ()


# (b) Cards that the reader places on a tucked place, against the order out of the shoe.


def placed(pit: SupervisedTable, cards: str) -> None:
    """Let a camera that is alone deal cards, ``P1 8S, B1 3H``."""
    for each in cards.split(", "):
        slot, face = each.split()
        pit.say(seen.Placed(slot=Slot(slot), card=Card(face), source="camera"))


def entered_on_b2(pit: SupervisedTable, face: str) -> None:
    """Enter a card that passed unread onto the Banker's second place."""
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.B2))
    pit.cmd("enter_card", card=face)


def read_again_on_b2(pit: SupervisedTable, face: str) -> None:
    """Let the reader read a card on the Banker's second place at the second attempt."""
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.B2))
    pit.draw(face, "B2")


def aborted_then_entered(pit: SupervisedTable, face: str) -> None:
    """Enter such a card after its round was aborted."""
    pit.deal("P1 9S, B1 2H")
    pit.say(seen.Unreadable(slot=Slot.B2))
    pit.say(seen.Booted())
    pit.cmd("enter_card", card=face)


def after_lost_frame(pit: SupervisedTable, face: str) -> None:
    """Lose a card before the Banker's second."""
    pit.deal("P1 9S, B1 2H")
    pit.gap()
    pit.draw(face, "B2")


LAID: list[Log] = [
    lambda pit, face: pit.deal(f"P1 9S, B1 2H, B2 {face}"),
    lambda pit, face: pit.deal(f"P1 9S, B1 2H, B1 {face}"),
    lambda pit, face: pit.deal(f"P1 9S, B1 2H, B2 {face}, P2 3D"),
    lambda pit, face: pit.deal(f"P1 9S, B2 {face}, P2 3D"),
    lambda pit, face: pit.deal(f"B1 {face}, P1 9S"),
    lambda pit, face: pit.deal(f"P1 9S, B2 {face}, B1 2H"),
    lambda pit, face: placed(pit, f"P1 9S, B1 2H, B2 {face}"),
    lambda pit, face: placed(pit, f"P1 9S, B2 {face}"),
    entered_on_b2,
    read_again_on_b2,
    aborted_then_entered,
    after_lost_frame,
]


@each_case("style", HIDING)
@each_case("log", LAID)
def test_a_card_on_a_tucked_place_is_hidden_until_the_reveal(
    log: Log, style: DealingStyle
) -> None:
    assert_hidden(log, ("KD", "4H"), style)


# (c) A new shoe's first card after a round that was left unfinished.


def unfinished(pit: SupervisedTable, coup: str, mode: RoundEnd) -> None:
    """Burn, deal a whole round and one that lacks a draw."""
    slots = mode is RoundEnd.DEVICE
    pit.burn("AS --")
    pit.deal("P1 9S, B1 2H, P2 KD, B2 5C", slots=slots)
    if mode in {RoundEnd.DEVICE, RoundEnd.BUTTON}:
        pit.result("player")
    pit.wait(30)
    pit.deal(coup, slots=slots)


UNFINISHED = ["P1 6S, B1 2H, P2 KD, B2 3C", "P1 2S, B1 7H, P2 3D, B2 QC", "P1 6S, B1 2H"]
MODES = [RoundEnd.QUIET, RoundEnd.RULES, RoundEnd.BUTTON, RoundEnd.DEVICE]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("coup", UNFINISHED)
def test_a_first_card_long_after_an_unfinished_round_starts_a_shoe(
    coup: str, mode: RoundEnd
) -> None:
    pit = SupervisedTable("seven-feathers", round_end=mode)
    unfinished(pit, coup, mode)
    pit.wait(300)
    said = pit.burn("3S -- -- --")
    assert {"round_aborted", "shoe_started"} <= set(types(said))
    assert pit.out() == 4
    assert [event.shoe for event in said if event.type == "card_burned"] == [2] * 4
    assert "missing_draw" in kinds(said) or coup.count(",") < 3
    pit.wait(30)
    said = pit.deal("P1 4S, B1 2D, P2 3D, B2 4C", slots=mode is RoundEnd.DEVICE)
    assert {event.shoe for event in said} == {2}
    assert all(not data.partial for data in pit.finished())


# (d) More irregularities than a table lists.


def test_each_irregularity_is_on_the_list_or_counted() -> None:
    pit = SupervisedTable(hold_from=1)
    for _ in range(105):
        pit.cmd("hold", kind="card_off_table")
        raised = {data.id for data in of_type(pit.events, "irregularity")}
        closed = {data.id for data in of_type(pit.events, "irregularity_closed")}
        board_ = pit.table.public()
        assert {alert.data.id for alert in board_.alerts} <= raised - closed
        assert len(board_.alerts) + board_.alerts_omitted == len(raised - closed)
    assert pit.table.public().on_hold
    pit.cmd("resume")
    assert pit.table.public().alerts_omitted == 0
    assert pit.said() == pit.replayed()


# (e) `rules` mode after a gap: slots come from disclosures only.


COUPS = {
    "player": "P1 9S, B1 2H, P2 KD, B2 5C",
    "tie": "P1 4S, B1 2D, P2 3D, B2 5C",
    "banker": "P1 6S, B1 2H, P2 KD, B2 3C, B3 4D",
}


AFTER_GAP = [
    (style, before)
    for style in DealingStyle
    for before in ("P1 4S", "P1 4S, B1 2D", "P1 4S, B1 2D, P2 3S", COUPS["player"])
]


@pytest.mark.parametrize(("style", "before"), AFTER_GAP)
@each_case("detail", ["lost_frames", "reconnect", "restart"])
def test_in_rules_mode_the_coups_after_a_gap_are_rounds_again(
    style: DealingStyle, before: str, detail: str
) -> None:
    pit = SupervisedTable(house(dealing_style=style), round_end=RoundEnd.RULES)
    pit.deal(before, slots=False)
    pit.gap(detail)
    for number in range(9):
        coup = COUPS[("player", "tie", "banker")[number % 3]]
        pit.wait(30)
        pit.deal(coup, slots=False)
        pit.disclose(coup)
    assert pit.kinds() == []
    whole = [data.outcome for data in pit.finished() if not data.partial]
    assert whole[-6:] == ["player", "tie", "banker"] * 2
    assert pit.said() == pit.replayed()


# (f) The totals of a reveal.


# (g) Undo: what is public on the table was published as dealt.


def void(pit: SupervisedTable) -> None:
    """Void the round in progress."""
    pit.cmd("void_round")


def void_by_ruling(pit: SupervisedTable) -> None:
    """Void the round in progress by the ruling on an irregularity."""
    pit.cmd("hold", kind="card_off_table")
    pit.rule("void_round")


def enter(pit: SupervisedTable) -> None:
    """Enter the result of the round in progress."""
    pit.cmd("enter_result", outcome="banker")


def void_then_enter(pit: SupervisedTable) -> None:
    """Enter the result, and void the round that it is of."""
    enter(pit)
    pit.cmd("void_round", round=1)


def dealt_twice_or_never(pit: SupervisedTable) -> Counter[str | None]:
    """Return the slots of the round on the table that were not dealt exactly once."""
    shown = pit.table.public().round
    assert shown is not None
    events = [event for event in pit.events if event.round == shown.number]
    dealt = Counter(each.slot for each in of_type(events, "card_dealt"))
    dealt.subtract(each.slot for each in shown.cards)
    return Counter({slot: n for slot, n in dealt.items() if n})


@each_case("order", [void, void_by_ruling, enter, void_then_enter])
@each_case("rest", ["P2 3D", "P2 3D, B2 QC", "P2 3D, B2 QC, P3 4D", "P2 7D, B2 2C"])
@each_case("mode", MODES)
@each_case("style", list(DealingStyle))
def test_what_an_undo_puts_on_the_table_is_dealt(
    order: Callable[[SupervisedTable], None], rest: str, mode: RoundEnd, style: DealingStyle
) -> None:
    slots = mode is RoundEnd.DEVICE
    pit = SupervisedTable(house(dealing_style=style), round_end=mode, reveal_after=None)
    pit.deal("P1 2S, B1 2H", slots=slots)
    order(pit)
    pit.deal(rest, slots=slots)
    pit.cmd("undo")
    if order is void_then_enter:
        pit.cmd("undo")
    assert dealt_twice_or_never(pit) == {}
    shown = pit.table.public().round
    assert shown is not None
    public_faces = {each.card for each in shown.cards if each.card is not None}
    said = of_type(pit.events, "card_dealt") + of_type(pit.events, "card_disclosed")
    assert public_faces <= {each.card for each in said}
    assert len(shown.cards) == 3 + rest.count(",")
    assert pit.said() == pit.replayed()


@each_case("style", HIDING)
@each_case("mode", MODES)
@each_case("order", [void, enter])
def test_an_undo_names_no_hidden_face(
    order: Callable[[SupervisedTable], None], mode: RoundEnd, style: DealingStyle
) -> None:
    def log(pit: SupervisedTable, face: str) -> None:
        slots = mode is RoundEnd.DEVICE
        pit.deal("P1 2S, B1 2H", slots=slots)
        order(pit)
        pit.deal(f"P2 3D, B2 {face}", slots=slots)
        pit.cmd("undo")

    assert_hidden(log, ("QC", "KC"), style, round_end=mode)
