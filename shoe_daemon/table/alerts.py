"""
The life cycle of an open irregularity: raise, join, publish, close, make room.

An alert that follows from faces which the players have not seen is for staff only: a
`staff_irregularity`. `publish_alert` emits the public event when those faces are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from shoe_daemon.game import Card, IrregularityKind, Slot
from shoe_daemon.table.detail_texts import Detail
from shoe_daemon.table.events import (
    Irregularity,
    IrregularityClosed,
    Proposal,
    RulingGiven,
    StaffIrregularity,
    StaffIrregularityClosed,
    StaffRulingGiven,
)
from shoe_daemon.table.shoe_state import DrawnCard
from shoe_daemon.table.shoes import player_holding_shoe
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.table_state import OpenAlert

MAX_ALERTS: Final = 20
"""Open irregularities of a table; beyond it, the oldest that holds no result is closed."""

MAX_HOLDING_ALERTS: Final = 100
"""Open irregularities of a table where each holds a result; more are only counted."""


def raise_alert(  # noqa: PLR0913 - the fields of an irregularity
    context: TableContext,
    kind: IrregularityKind,
    detail: Detail,
    *,
    slot: Slot | None = None,
    card: Card | None = None,
    evidence: str = "card",
    number: int | None = None,
    hidden_cards: Sequence[DrawnCard] = (),
    staff_only: bool = False,
) -> OpenAlert:
    """
    Raise an irregularity and return it; too many others may have closed it at once.

    `detail` names public faces only unless the alert is for staff; `card` is given only if its
    face is public. `evidence` is ``card``, ``device``, or the error of a device. `number` is the
    round concerned, if it is not the round in progress. The faces of `hidden_cards` show the
    irregularity: until all are public the alert is for staff only. With `staff_only` it is so
    until `publish_alert`.
    """
    state = context.state
    data = _irregularity(context, kind, detail, state.seq + 1, slot, card, evidence)
    hidden_cards = [each for each in hidden_cards if not each.public]
    staff_only = staff_only or bool(hidden_cards)
    for each in hidden_cards:
        each.unsaid.append(data.id)
    alert = OpenAlert(context.at, None, None, context.latest_round, data, [evidence])
    alert.staff_only = staff_only
    context.emit(alert_raised_event(alert), number)
    alert.shoe, alert.round = context.events[-1].shoe, context.events[-1].round
    state.alerts.append(alert)
    if not staff_only:
        player_holding_shoe.apply_false_draw(context, kind)
    # Alerts for staff are counted apart: they take no room from the public ones.
    _make_room(context, [each for each in state.alerts if each.staff_only is staff_only])
    return alert


def _irregularity(  # noqa: PLR0913, PLR0917 - the fields of an irregularity
    context: TableContext,
    kind: IrregularityKind,
    detail: Detail,
    number: int,
    slot: Slot | None,
    card: Card | None,
    evidence: str,
) -> Irregularity:
    # The report of a device does not show who has seen the card.
    exposed = card is not None if evidence == "card" else None
    return Irregularity(
        card=card,
        detail=detail.text,
        detail_code=detail.code,
        detail_values=detail.values,
        id=number,
        kind=kind,
        proposals=tuple(
            Proposal(
                action=ruling.action,
                authority=ruling.authority,
                detail_code=code,
                section=ruling.section,
                text=ruling.text,
                verified=ruling.verified,
            )
            for code, ruling in context.policy.coded_rulings(kind, exposed=exposed)
        ),
        severity=context.policy.severity(kind),
        slot=slot,
    )


def _make_room(context: TableContext, alerts: list[OpenAlert]) -> None:
    if len(alerts) <= MAX_ALERTS:
        return
    oldest = next((each for each in alerts if not _may_hold_result(context, each)), None)
    if oldest is not None:
        close_alert(context, oldest, "continue", "too many are open: the oldest gave way")
    elif len(alerts) > MAX_HOLDING_ALERTS:
        # The table goes on hold: a person has to resume it before a result is published.
        if not alerts[-1].staff_only:
            context.state.on_hold, context.state.on_hold_by = True, None
            context.state.alerts_omitted += 1
        context.state.alerts.pop()


def _may_hold_result(context: TableContext, alert: OpenAlert) -> bool:
    threshold, state = context.options.hold_from, context.state
    if threshold is None or alert.data.severity < threshold:
        return False
    numbers = {each.number for each in state.held}
    latest = context.latest_round
    numbers.add(latest + 1 if state.round is None or state.round.ended else latest)
    return any(concerns_round(alert, number) for number in numbers)


def concerns_round(alert: OpenAlert, number: int) -> bool:
    """
    Return whether an irregularity concerns a round of this shoe.

    An irregularity raised between two rounds belongs to the next round, unless it concerns
    a card of the previous one.
    """
    return number == (alert.after + 1 if alert.round is None else alert.round)


def join_alert(context: TableContext, kind: IrregularityKind, evidence: str) -> OpenAlert | None:
    """Add evidence to its open irregularity and return that; None if it shows a new one."""
    alert = find_open_alert(context, kind)
    if alert is None or evidence in alert.evidence:
        return None
    alert.evidence.append(evidence)
    return alert


def find_open_alert(
    context: TableContext, kind: IrregularityKind, *slots: Slot | None
) -> OpenAlert | None:
    """
    Return the latest public alert of a kind, on one of these slots if any are given, in the
    round on the table or just before it.

    An alert that a correction raised for an earlier round is none of these.
    """
    number, round_ = context.latest_round, context.state.round
    own = {None, number, None if round_ is None else round_.number}
    for alert in reversed(context.state.alerts):
        if alert.staff_only or alert.data.kind != kind or alert.round not in own:
            continue
        is_just_before = alert.round is None and alert.after == number - 1
        if (alert.after == number or is_just_before) and (not slots or alert.data.slot in slots):
            return alert
    return None


def find_staff_alert(context: TableContext, card: DrawnCard) -> OpenAlert | None:
    """Return the open irregularity of a card that is for staff only."""
    staff_alerts = (each for each in context.state.alerts if each.staff_only)
    return next((each for each in staff_alerts if each.data.id == card.alert), None)


def publish_alert(
    context: TableContext,
    alert: OpenAlert,
    detail: Detail | None = None,
    *,
    slot: Slot | None = None,
    card: Card | None = None,
) -> None:
    """
    Publish an irregularity that was for staff only.

    `detail` is the public sentence, with `slot` and `card` as in `raise_alert`; None if the
    sentence for staff may be published.
    """
    kind = IrregularityKind(alert.data.kind)
    if detail is not None:
        evidence = alert.evidence[0]
        alert.data = _irregularity(context, kind, detail, alert.data.id, slot, card, evidence)
    alert.staff_only, alert.at = False, context.at
    context.state.alerts.remove(alert)
    context.state.alerts.append(alert)
    context.emit(alert.data, alert.round)
    if (ordered := ruling_event(alert)) is not None:
        context.emit(ordered, alert.round)
    player_holding_shoe.apply_false_draw(context, kind)


def order_ruling(context: TableContext, alert: OpenAlert, action: str) -> None:
    """Store and publish a ruling that waits until it is carried out; a repeat changes nothing."""
    if alert.ordered is not None and alert.chosen == action:
        return
    alert.chosen, alert.operator, alert.ordered_at = action, context.operator, context.at
    if not alert.staff_only:
        context.emit(RulingGiven(action, alert.data.id, alert.operator), alert.round)
    reason = StaffRulingGiven(action, alert.data.id, alert.operator, context.reason)
    context.emit(reason, alert.round)


def close_alert(context: TableContext, alert: OpenAlert, action: str, reason: str) -> None:
    """Close an irregularity: by the equipment, by the game, or by the current command."""
    context.state.alerts.remove(alert)
    round_ = context.state.round
    if (
        alert.data.kind == IrregularityKind.EXCESS_CARD
        and "card" not in alert.evidence
        and context.operator
        and round_ is not None
        and alert.round == round_.number
    ):
        round_.excess_decided = True
    operator = context.operator or alert.operator
    context.emit(alert_closed_type(alert)(action, alert.data.id, operator, reason))


def close_as_corrected(
    context: TableContext, alert: OpenAlert, why: str = "nothing is wrong"
) -> None:
    """Close an irregularity that a correction of cards has disproved."""
    close_alert(context, alert, "continue", f"by the corrected cards {why}")


def alert_raised_event(alert: OpenAlert) -> Irregularity | StaffIrregularity:
    """Return the event that raises an irregularity, public or for staff."""
    if not alert.staff_only:
        return alert.data
    return StaffIrregularity(**structs.asdict(alert.data))


def ruling_event(alert: OpenAlert) -> RulingGiven | StaffRulingGiven | None:
    """Return the event of the ruling that waits on an irregularity; None if there is none."""
    ordered, number = alert.ordered, alert.data.id
    if ordered is None:
        return None
    if alert.staff_only:
        return StaffRulingGiven(ordered.action, number, ordered.operator, None)
    return RulingGiven(ordered.action, number, ordered.operator)


def alert_closed_type(alert: OpenAlert) -> type[IrregularityClosed | StaffIrregularityClosed]:
    """Return the type of the event that closes an irregularity, public or for staff."""
    return StaffIrregularityClosed if alert.staff_only else IrregularityClosed
