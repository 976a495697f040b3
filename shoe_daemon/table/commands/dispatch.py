"""
An operator's orders: whether one fits the moment, and what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game import REPORTED, Action, IrregularityKind, Kind
from shoe_daemon.table.commands import card_entry, corrections, rulings, undo
from shoe_daemon.table.detail_texts import Detail, detail
from shoe_daemon.table.rounds import lifecycle, results, round_end
from shoe_daemon.table.shoes import shoe_holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoe_daemon.table.observations import Command
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import OpenAlert


class Order(NamedTuple):
    """
    One verb.

    Attributes:
        act: What it does.
        check: Why it does not fit now; None where it does.
        weighty: It changes what was said, or what people are paid by.
    """

    act: Callable[[Fold, Command], object]
    check: Callable[[Fold, Command], str | None] = lambda _fold, _order: None
    weighty: bool = False


def refusal(fold: Fold, order: Command) -> str | None:
    """
    Say why an order is refused at this moment; None where it fits.
    """
    known = ORDERS.get(order.name)
    if known is None:
        return f"there is no order {order.name!r}; there are: {', '.join(sorted(ORDERS))}"
    return known.check(fold, order)


def command(fold: Fold, order: Command) -> None:
    """
    Carry an order out; one that was refused, or does not fit, changes nothing.
    """
    if order.refused is not None or refusal(fold, order) is not None:
        return
    fold.operator, fold.reason = order.operator, order.reason
    try:
        undo.carry_out(fold, order, ORDERS[order.name].act)
        results.release(fold)
    finally:
        fold.operator = fold.reason = None


def _alert_of(fold: Fold, order: Command) -> OpenAlert | None:
    if order.irregularity is None:
        alerts = _public(fold)
        return alerts[-1] if len(alerts) == 1 else None
    return next((each for each in fold.state.alerts if each.data.id == order.irregularity), None)


def _public(fold: Fold) -> list[OpenAlert]:
    return [each for each in fold.state.alerts if not each.staff_only]


def _check_alert(fold: Fold, order: Command) -> str | None:
    if _alert_of(fold, order) is not None:
        return None
    if order.irregularity is not None:
        return f"irregularity {order.irregularity} is not open"
    return "no irregularity is open" if not _public(fold) else "which irregularity? give its id"


def _acknowledge(fold: Fold, order: Command) -> None:
    alert = _alert_of(fold, order)
    if alert is not None:
        fold.close_alert(alert, "continue", order.reason or "acknowledged")


def _check_rule(fold: Fold, order: Command) -> str | None:
    wrong = _check_alert(fold, order)
    if wrong is not None:
        return wrong
    if order.action not in set(Action):
        return f"no action {order.action!r}; there are: {', '.join(Action)}"
    alert = _alert_of(fold, order)
    return None if alert is None else rulings.misfit(fold, alert, Action(order.action))


def _rule(fold: Fold, order: Command) -> None:
    alert = _alert_of(fold, order)
    if alert is not None and order.action is not None:
        rulings.choose(fold, alert, Action(order.action))


def _check_reveal(fold: Fold, _order: Command) -> str | None:
    round_ = lifecycle.in_progress(fold)
    if round_ is None or not any(card.face and not card.public for card in round_.cards):
        return "no card lies face down whose face is known"
    return None


def _check_round(fold: Fold, _order: Command) -> str | None:
    round_ = fold.state.round
    cut_off = round_ is not None and round_.interrupted and fold.state.unsynced
    if round_ is not None and (cut_off or round_.owns_rest or not round_.ended):
        return None
    return "no round is in progress"


def _check_free_hand(fold: Fold, _order: Command) -> str | None:
    if fold.state.next_kind is Kind.NORMAL:
        return None
    return f"the next round is a {fold.state.next_kind} hand already"


def _free_hand(fold: Fold, _order: Command) -> None:
    fold.state.next_kind = Kind.FREE


def _check_hold(fold: Fold, order: Command) -> str | None:
    if order.kind is not None and order.kind not in REPORTED:
        return (
            f"a person cannot report {str(order.kind)!r}; there are: {', '.join(sorted(REPORTED))}"
        )
    return "the table is on hold already" if fold.state.on_hold and not order.kind else None


def _check_resume(fold: Fold, _order: Command) -> str | None:
    return None if fold.state.on_hold else "the table is not on hold"


def _hold(fold: Fold, order: Command) -> None:
    fold.state.on_hold = True
    if order.kind is not None:
        kind = IrregularityKind(order.kind)
        said = _by_person(order, f"reported_{kind}")
        fold.raise_alert(kind, said, slot=order.slot, evidence="person")


def _by_person(order: Command, code: str) -> Detail:
    return detail("said_by_person", text=order.reason) if order.reason else detail(code)


def _resume(fold: Fold, _order: Command) -> None:
    fold.state.on_hold = False


def _check_void(fold: Fold, order: Command) -> str | None:
    round_ = lifecycle.in_progress(fold)
    numbers = {held.number for held in fold.state.held}
    if round_ is not None and order.round in {None, round_.number} and not round_.finished:
        return None
    if order.round in numbers or (order.round is None and numbers):
        return None
    if results.find(fold, order.round) is not None:
        return None
    which = "no round" if order.round is None else f"no round {order.round}"
    return f"{which} of this shoe can be voided"


def _void(fold: Fold, order: Command) -> None:
    number = _number_to_void(fold, order)
    said = _by_person(order, "voided_by_person")
    fold.raise_alert(IrregularityKind.MANUAL_VOID, said, number=number)
    alert = fold.state.alerts[-1]
    rulings.void(fold, number)
    if alert in fold.state.alerts:
        fold.close_alert(alert, "void_round", order.reason or "a supervisor decided")


def _number_to_void(fold: Fold, order: Command) -> int:
    if order.round is not None:
        return order.round
    round_, played = lifecycle.in_progress(fold), results.find(fold, None)
    if round_ is not None and not round_.finished:
        return round_.number
    latest = [held.number for held in fold.state.held]
    return max([*latest, played.number if played is not None else 0])


def _check_seat(fold: Fold, order: Command) -> str | None:
    seats = fold.options.seats
    if not (fold.house.curator.on and seats):
        return "the dealer draws the cards at this table"
    if order.seat is not None and order.seat not in seats:
        return f"seat {order.seat} is not in play; there are: {', '.join(map(str, seats))}"
    return None


ORDERS: Final[dict[str, Order]] = {
    "new_shoe": Order(lambda fold, order: round_end.new_shoe(fold, order.left), weighty=True),
    "no_more_bets": Order(lambda fold, _: round_end.no_more_bets(fold)),
    "betting_open": Order(lambda fold, _: round_end.betting_open(fold)),
    "reveal": Order(lambda fold, _: round_end.reveal(fold), _check_reveal),
    "confirm_result": Order(lambda fold, _: round_end.confirm_result(fold), _check_round),
    "enter_result": Order(corrections.enter_result, corrections.check_result, weighty=True),
    "enter_card": Order(card_entry.enter_card, card_entry.check_entry, weighty=True),
    "correct_card": Order(corrections.correct_card, corrections.check_correction, weighty=True),
    "undo": Order(undo.undo, undo.check_undo, weighty=True),
    "void_round": Order(_void, _check_void, weighty=True),
    "acknowledge": Order(_acknowledge, _check_alert),
    "rule": Order(_rule, _check_rule, weighty=True),
    "pass_shoe": Order(lambda fold, order: shoe_holder.passed(fold, order.seat), _check_seat),
    "free_hand": Order(_free_hand, _check_free_hand),
    "hold": Order(_hold, _check_hold),
    "resume": Order(_resume, _check_resume),
    "replay": Order(lambda _fold, _order: None),
}
"""The closed list of orders; ``replay`` is carried out by who publishes."""
