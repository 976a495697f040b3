"""
The ledger of open irregularities: raise, join, publish, close, make room.

`reconcile` opens and closes what the checks find in the views of a round. An irregularity that
follows from faces which the players have not seen is for staff only: a `staff_irregularity`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from shoe_daemon.game import Card, IrregularityKind, Slot
from shoe_daemon.table.checks import excess_card, wrong_hand
from shoe_daemon.table.checks.finding import Finding
from shoe_daemon.table.checks.of_cards import CHECKS
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import (
    Irregularity,
    IrregularityClosed,
    Proposal,
    RulingGiven,
    StaffIrregularity,
    StaffIrregularityClosed,
    StaffRulingGiven,
)
from shoe_daemon.table.facts import PastRound, Round
from shoe_daemon.table.shoes import holder
from shoe_daemon.table.state import OpenAlert
from shoe_daemon.table.view import Odd

_EXCESS: Final = IrregularityKind.EXCESS_CARD
_PART_OF_ANOTHER: Final = "it is part of another irregularity"

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
        holder.apply_false_draw(context, kind)
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
    numbers.add(latest + 1 if state.round is None or state.round.is_settled else latest)
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
    holder.apply_false_draw(context, kind)


def order_ruling(context: TableContext, alert: OpenAlert, action: str) -> None:
    """Store and publish a ruling that waits until it is carried out; a repeat changes nothing."""
    if alert.ordered is not None and alert.chosen == action:
        return
    alert.chosen, alert.operator, alert.ordered_at = action, context.operator, context.at
    if not alert.staff_only:
        context.emit(RulingGiven(action, alert.data.id, alert.operator), alert.round)
    reason = StaffRulingGiven(action, alert.data.id, alert.operator, context.reason)
    context.emit(reason, alert.round)


def close_alert(
    context: TableContext, alert: OpenAlert, action: str, reason: str, *, vanished: bool = False
) -> None:
    """
    Close an irregularity: by the equipment, by the game, or by the current command.

    Unless its finding has `vanished`, it stays dismissed: the same finding is not raised again.
    """
    if alert not in context.state.alerts:
        return  # it gave way to a newer one
    context.state.alerts.remove(alert)
    round_ = None if vanished else find_round(context, _round_of(alert))
    if round_ is not None:
        if alert.key:
            round_.dismissed[alert.key] = "" if alert.staff_only else alert.data.kind
            keep_round(context, round_)
        elif context.operator and alert.data.kind == _EXCESS and "card" not in alert.evidence:
            round_.ruled += 1
    operator = context.operator or alert.operator
    context.emit(alert_closed_type(alert)(action, alert.data.id, operator, reason))


def put_aside(context: TableContext, alert: OpenAlert) -> None:
    """Keep the card of an excess card out of both hands from now on, whatever the faces say."""
    round_ = find_round(context, _round_of(alert))
    if alert.data.kind != _EXCESS or round_ is None:
        return
    for card in round_.drawn:
        if card.key == alert.key:
            card.out = True
            round_.dismissed[card.key] = ""
    round_.changed()
    keep_round(context, round_)


def _round_of(alert: OpenAlert) -> int | None:
    # The reader may have reported an excess card after the end of its round.
    return alert.after if alert.key and alert.round is None else alert.round


def find_round(context: TableContext, number: int | None) -> Round | None:
    """Return a round of this shoe; one that is not on the table is changed by `keep_round`."""
    round_ = context.state.round
    if round_ is not None and round_.number == number:
        return round_
    past = (each for each in context.state.past_rounds if each.number == number)
    return next((each.round() for each in past), None)


def keep_round(context: TableContext, round_: Round) -> None:
    """Store the facts of a round that is not on the table, after they were edited."""
    rounds = context.state.past_rounds
    for place, each in enumerate(rounds):
        if each.number == round_.number:
            rounds[place] = PastRound.of(round_)


def find_alert_of(
    context: TableContext, round_: Round, kind: IrregularityKind
) -> OpenAlert | None:
    """Return the open irregularity of a kind in a round; None if there is none."""
    for alert in context.state.alerts:
        if alert.round == round_.number and alert.data.kind == kind:
            return alert
    return None


def close_unread_card(context: TableContext, card: DrawnCard) -> None:
    """Close the irregularity of an unread card whose face is known now."""
    kind = IrregularityKind.UNREADABLE_CARD
    alert = find_open_alert(context, kind, card.slot) or find_open_alert(context, kind, None)
    if alert is not None:
        by_hand = context.reason or "a person said what it is"
        reason = by_hand if context.operator else "the card was read after all"
        close_alert(context, alert, alert.chosen or "rescan", reason)


# Findings


def reconcile(context: TableContext, round_: Round, *, corrected: bool) -> None:
    """
    Open, publish and close what the checks find in the cards of a round.

    Public is what the public view shows; what only the known faces show is for staff.
    `corrected`: a person has just changed a face, which may disprove what was published.
    """
    known = round_.view if round_.doubts else round_.known
    shown = _findings(round_, [each._replace(card=_masked(each.card)) for each in round_.view.odd])
    found = shown
    if known is not round_.view:
        found = {**_findings(round_, known.odd), **shown}
    mine = {
        alert.key: alert
        for alert in context.state.alerts
        if alert.key and _round_of(alert) == round_.number
    }
    for key, finding in found.items():
        _reconcile_finding(
            context,
            round_,
            finding,
            mine.pop(key, None),
            public=key in shown,
            corrected=corrected,
        )
    dealt = {card.key for card in round_.view.dealt} if mine else set()
    for alert in mine.values():
        # An excess card that is due after all was made so by a correction, now or before.
        is_due = alert.data.kind == _EXCESS and alert.key in dealt
        if alert.staff_only or corrected or is_due:
            close_alert(context, alert, "continue", _why_vanished(alert), vanished=True)


def _masked(card: DrawnCard) -> DrawnCard:
    """Return a card as the players know it, so that no check can publish a hidden face."""
    return card if card.public or card.face is None else structs.replace(card, face=None)


def _findings(round_: Round, odd: Sequence[Odd]) -> dict[str, Finding]:
    if not odd:
        return {}
    return {each.key: each for check in CHECKS for each in check(round_, odd)}


def _reconcile_finding(  # noqa: PLR0913 - one finding in all its aspects
    context: TableContext,
    round_: Round,
    finding: Finding,
    alert: OpenAlert | None,
    *,
    public: bool,
    corrected: bool,
) -> None:
    if alert is not None and alert.data.kind == finding.kind:
        if alert.staff_only and public:
            _publish_finding(context, finding, alert)
        return
    if alert is None and _is_known(context, round_, finding):
        return
    if alert is not None and not public:
        close_alert(context, alert, "continue", _why_vanished(alert), vanished=True)
        alert = None
    elif alert is not None and corrected and not alert.staff_only and finding.kind is _EXCESS:
        why = "by the corrected cards the card belongs to no hand"
        close_alert(context, alert, "continue", why, vanished=True)
        alert = None
    _open(context, round_, finding, public=public)
    if alert is not None:
        close_alert(context, alert, "continue", _PART_OF_ANOTHER, vanished=True)


def _publish_finding(context: TableContext, finding: Finding, alert: OpenAlert) -> None:
    is_excess = finding.kind is _EXCESS
    reported = join_alert(context, _EXCESS, "card") if is_excess else None
    if reported is None:
        face = _face_of(finding)
        publish_alert(context, alert, finding.detail, slot=finding.slot, card=face)
        return
    reported.key = finding.key
    close_alert(context, alert, "continue", _PART_OF_ANOTHER, vanished=True)


def _face_of(finding: Finding) -> Card | None:
    return None if finding.card is None else finding.card.face


def _is_known(context: TableContext, round_: Round, finding: Finding) -> bool:
    """Return whether a finding was dismissed, or is one of several of a correction long after."""
    if round_.dismissed.get(finding.key, "-") in {"", finding.kind}:
        return True
    is_excess = finding.kind is _EXCESS
    return round_.away and is_excess and find_alert_of(context, round_, _EXCESS) is not None


def _open(context: TableContext, round_: Round, finding: Finding, *, public: bool) -> None:
    alert = None
    if public and finding.kind is _EXCESS:
        alert = join_alert(context, _EXCESS, "card")
    if alert is None:
        alert = raise_alert(
            context,
            finding.kind,
            finding.detail,
            slot=finding.slot,
            card=_face_of(finding),
            number=round_.number,
            staff_only=not public,
        )
    if alert.round is None:
        alert.after = round_.number  # after an undo, numbers were used that no round has
    alert.key = finding.key


def _why_vanished(alert: OpenAlert) -> str:
    if alert.staff_only:
        return "by the faces as they are known nothing is wrong"
    is_excess = alert.data.kind == _EXCESS
    return excess_card.CORRECTED if is_excess else wrong_hand.CORRECTED


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
