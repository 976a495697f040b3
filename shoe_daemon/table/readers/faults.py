"""
Reports of a reader about itself and its cards: device errors, unread cards, cards outside the
round, gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Slot
from shoe_daemon.table import attribute, ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import DECLARED, Doubt, Round
from shoe_daemon.table.observations import (
    Booted,
    Carried,
    Cause,
    DeviceError,
    DeviceErrorCleared,
    Gap,
    GapDetail,
    Lock,
    Unreadable,
    Withdrawn,
)
from shoe_daemon.table.readers import checker, replacement, status, tags
from shoe_daemon.table.rounds import boundaries, faces, lifecycle
from shoe_daemon.table.state import OpenAlert, ReaderState

_KIND_OF_CAUSE: Final = {
    Cause.UNREADABLE: IrregularityKind.UNREADABLE_CARD,
    Cause.OVERDRAW: IrregularityKind.EXCESS_CARD,
    Cause.CARD_RETURNED: IrregularityKind.CARD_RETURNED,
}
_EXCESS: Final = IrregularityKind.EXCESS_CARD
_MAX_FAULT_TEXT: Final = 200
"""Characters of a device's error text that are published."""

_ENDS_WITH_ERROR: Final = {IrregularityKind.DEVICE_FAULT, IrregularityKind.CARD_RETURNED}
_CARD_DEALT_REASON: Final = "the reader dealt a card"
_DETAIL_OF_KIND: Final = {
    IrregularityKind.UNREADABLE_CARD: make_detail("unread_by_reader"),
    IrregularityKind.EXCESS_CARD: make_detail("excess_by_reader"),
    IrregularityKind.CARD_RETURNED: make_detail("card_returned"),
}


def apply_device_error(context: TableContext, obs: DeviceError) -> None:
    """Apply a device error: evidence for the kind that it names, or else a `device_fault`."""
    reader = status.get_reader(context, obs.source)
    if obs.cause in reader.errors:
        return
    status.update_reader(context, obs.source, errors=[*reader.errors, obs.cause])
    if obs.cause is Cause.TIMEOUT and (
        Cause.OVERDRAW in reader.errors
        or ledger.find_open_alert(context, IrregularityKind.EXCESS_CARD)
    ):
        return
    if obs.cause is Cause.UNREADABLE and replacement.is_only_checking(context, obs.source):
        return
    kind = _KIND_OF_CAUSE.get(obs.cause, IrregularityKind.DEVICE_FAULT)
    if kind in _ENDS_WITH_ERROR:
        if _error_alert(context, obs.source, obs.cause) is None:
            detail = _DETAIL_OF_KIND.get(kind) or _fault_detail(obs)
            ledger.raise_alert(context, kind, detail, evidence=_error_key(obs.source, obs.cause))
        return
    round_ = lifecycle.in_progress(context)
    joined = ledger.join_alert(context, kind, "device")
    if joined is None:
        unread = kind is IrregularityKind.UNREADABLE_CARD
        slot = _due_slot(round_) if unread and round_ is not None else None
        ledger.raise_alert(context, kind, _DETAIL_OF_KIND[kind], slot=slot, evidence="device")
        if unread:
            reader.unread_at = _cards_out(context)
            (round_ or context.state).unread_pending = True


def _due_slot(round_: Round) -> Slot | None:
    spot = None if round_.doubts else round_.view.due.spot
    return None if spot is None else Slot(DEALING_ORDER[spot])


def _error_key(source: str | None, cause: str) -> str:
    return f"{source or ''}:{cause}"


def _error_alert(context: TableContext, source: str | None, cause: str) -> OpenAlert | None:
    # An error may last longer than the round that it began in.
    key = _error_key(source, cause)
    return next((alert for alert in context.state.alerts if key in alert.evidence), None)


def _fault_detail(obs: DeviceError) -> Detail:
    code = {
        Cause.BUTTON: "fault_button",
        Cause.CARD_CODE: "fault_card_code",
        Cause.TIMEOUT: "fault_timeout",
    }.get(obs.cause, "fault")
    text = obs.text[:_MAX_FAULT_TEXT] if obs.text else None
    return make_detail(code, code=obs.code, text=text)


def clear_device_error(context: TableContext, obs: DeviceErrorCleared) -> None:
    """Apply the reader's report that an error has ended."""
    errors = status.get_reader(context, obs.source).errors
    over = errors if obs.cause is None else [obs.cause]
    _end_errors(context, obs.source, over, "the reader's error was cleared")


def _end_errors(
    context: TableContext, source: str | None, over: Sequence[str], reason: str
) -> None:
    """
    End errors of a reader.

    A device fault, or a returned card, ends with its error; an excess card, or an unread one,
    does not.
    """
    errors = status.get_reader(context, source).errors
    left = [each for each in errors if each not in over]
    status.update_reader(context, source, errors=left)
    for cause in over:
        alert = _error_alert(context, source, cause)
        if alert is not None:
            ledger.close_alert(context, alert, alert.chosen or "continue", reason)


def apply_lock(context: TableContext, obs: Lock) -> None:
    """Apply a turn of a reader's key: locking ends all errors."""
    status.update_reader(context, obs.source, locked=obs.locked)
    if obs.locked:
        _end_all_errors(context, obs.source, "the reader was locked")


def apply_boot(context: TableContext, obs: Booted) -> None:
    """Apply the start of a reader: its errors end. After a checking reader the round goes on."""
    _end_all_errors(context, obs.source, "the reader was started")
    if not checker.mark_cards_missed(context, obs.source):
        boundaries.apply_boot(context)


def _end_all_errors(context: TableContext, source: str | None, reason: str) -> None:
    errors = status.get_reader(context, source).errors
    if errors:
        _end_errors(context, source, errors, reason)


def apply_card_after_errors(
    context: TableContext, card: DrawnCard, source: str | None, reader: ReaderState
) -> None:
    """Apply a card from a reader with errors; when dealt, all but an error about it end."""
    out = _cards_out(context)
    attribute.apply_drawn_card(context, card)
    round_ = context.state.round
    if round_ is None or not any(each is card for each in (*round_.cards, *round_.rest)):
        return
    is_about = reader.unread_at == out and _cards_out(context) == out + 1
    over = [cause for cause in reader.errors if not (is_about and cause == Cause.UNREADABLE)]
    _end_errors(context, source, over, _CARD_DEALT_REASON)


def _cards_out(context: TableContext) -> int:
    return 0 if context.state.shoe is None else context.state.shoe.out


def apply_unreadable_card(context: TableContext, obs: Unreadable) -> None:
    """Apply an unread card: it lies on its slot, its face unknown."""
    round_ = lifecycle.in_progress(context)
    if compare_checker_card(context, obs.source, None) or _is_camera_confirmation(
        context, obs.source
    ):
        return
    if round_ is not None:
        if faces.unread_card_on(round_, obs.slot) is not None:
            return
        round_.unread_pending = False
    attribute.apply_drawn_card(
        context, DrawnCard(declared=obs.slot, unread=True, tag=tags.tag_key(obs))
    )


def compare_checker_card(context: TableContext, source: str | None, face: Card | None) -> bool:
    """
    Compare a card of a checking reader; None for a card that it could not read.

    Return whether it is only compared; otherwise it is to be dealt.
    """
    if not context.options.checkers:
        return False
    if checker.compare_checker_card(context, source, face):
        _end_all_errors(context, source, _CARD_DEALT_REASON)
        return True
    dealt = replacement.skip_dealt_card(context, source, face)
    if dealt or replacement.replace_main_reader(context, source, face):
        _mark_round_torn(context)
        context.state.unsynced = True
    return dealt


def apply_link(context: TableContext, source: str | None, *, up: bool) -> None:
    """Apply a change of the connection to a reader; a replacement may be out of step."""
    status.update_reader(context, source, link="up" if up else "down")
    if not up:
        status.get_reader(context, source).sees_cards = False  # it cannot say when they go
    if not up and replacement.is_replacement_out_of_step(context, source):
        _mark_round_torn(context)
        context.state.unsynced = True


def _is_camera_confirmation(context: TableContext, source: str | None) -> bool:
    # A camera fails to read a card that another reader has drawn: no new card.
    if source is None or not status.get_reader(context, source).places:
        return False
    alone = replacement.is_only_reader_up(context, source)
    return not (context.state.placing or alone)


def apply_withdrawn_card(context: TableContext, obs: Withdrawn) -> None:
    """Apply the removal of an excess card."""
    _expel_hidden_excess(context)
    alert, round_ = ledger.find_open_alert(context, _EXCESS), context.state.round
    # A person may have ruled on the card before the reader saw its removal.
    decided = (
        alert is None
        and round_ is not None
        and any(obs.card is None or card.face in {None, obs.card} for card in round_.view.excess)
    )
    if not (decided or (alert is not None and "card" in alert.evidence)):
        attribute.add_outside_card(context, DrawnCard(obs.card))
    elif obs.card is not None and round_ is not None:
        _set_excess_face(context, round_, obs.card)
    tags.withdraw_excess_cards(context, obs.card)
    alert = ledger.find_open_alert(context, _EXCESS)
    if alert is not None:
        ledger.close_alert(context, alert, "burn_card", "the reader saw the card withdrawn")
        ledger.put_aside(context, alert)


def _expel_hidden_excess(context: TableContext) -> None:
    """Put aside the excess card that only staff know of: the reader reports its removal."""
    round_ = lifecycle.in_progress(context)
    if round_ is None or round_.known is round_.view:
        return
    hidden = {each.key for each in context.state.alerts if each.staff_only}
    for card in round_.known.excess:
        if card.key in hidden and any(each is card for each in round_.cards):
            card.out = True
            round_.changed()
            ledger.reconcile(context, round_, corrected=False)
            return


def _set_excess_face(context: TableContext, round_: Round, face: Card) -> None:
    for card in round_.view.excess:
        if card.face is None:
            faces.set_excess_face(context, round_, face, card.declared)
            return


def apply_carried_card(context: TableContext, obs: Carried) -> None:
    """Apply an excess card that became the first card of the next round."""
    _expel_hidden_excess(context)
    alert, round_ = ledger.find_open_alert(context, _EXCESS), context.state.round
    card, context.state.seed = context.state.seed, None
    if card is None and round_ is not None and round_.view.excess:
        card = round_.view.excess[-1]
        round_.take_away(card)
    if card is not None:
        tags.carry_card(context, card)
    face = obs.card or (None if card is None else card.face)
    attribute.apply_drawn_card(context, DrawnCard(face, obs.slot), carried=card or True)
    if alert is not None and alert in context.state.alerts:
        ledger.close_alert(context, alert, "carry_to_next_hand", "the card begins the next round")


def apply_gap(context: TableContext, obs: Gap) -> None:
    """Apply a gap: all is partial from the round in progress to the next clean boundary."""
    restart = obs.detail in {GapDetail.RESTART, GapDetail.RESTORED}
    if checker.mark_cards_missed(context, None if restart else obs.source):
        status.update_reader(context, obs.source, partial=True)
        return
    away = obs.detail not in {GapDetail.LOST_FRAMES, GapDetail.FLOOD}
    _mark_round_torn(
        context, (Doubt.TORN if away else Doubt.LOST) | (Doubt.RESTART if restart else Doubt.LOST)
    )
    if away and context.state.shoe is not None and context.house.reshuffle == "per_shoe":
        context.state.shoe.unwatched = True
    if restart:
        context.state.betting = "unknown"
        status.mark_readers_restarted(context)
        context.state.unsynced |= obs.detail is GapDetail.RESTORED
    else:
        status.update_reader(context, obs.source, partial=True)
        context.state.unsynced = True
    # A quiet gap that began before this one proves nothing: cards may have been dealt in it.
    status.start_quiet_timer(context)


def _mark_round_torn(context: TableContext, why: Doubt = Doubt.TORN) -> None:
    round_ = lifecycle.in_progress(context)
    if round_ is not None and round_.is_complete and not round_.over:
        round_.end = DECLARED  # its end may have been missed: the next card may be of another
    if round_ is not None and not round_.finished:
        round_.doubt(Doubt.LOST | why)
        ledger.reconcile(context, round_, corrected=False)
        lifecycle.await_quiet_end(context, round_)
