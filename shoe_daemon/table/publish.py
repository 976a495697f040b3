"""
The publication of a round: the difference between its facts and what was published of it.

`commit` is the only function that publishes what follows from the cards of a round. It may be
called after any edit of the facts; a second call publishes nothing.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from shoe_daemon.game import CARDS_PER_DECK, IrregularityKind
from shoe_daemon.table import events, ledger
from shoe_daemon.table.checks import missing_draw, result_mismatch
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import RoundFinished
from shoe_daemon.table.facts import MISSING_AT_CORRECTION, VOID, Doubt, Round
from shoe_daemon.table.options import ResultOn
from shoe_daemon.table.readers import checker
from shoe_daemon.table.rounds import results
from shoe_daemon.table.shoes import copies, counts, shoe_lifecycle
from shoe_daemon.table.view import totals

# Constants: in Python 3.11 looking up an enumeration's member takes longer than a call.
_ON_COMPLETE: Final = ResultOn.COMPLETE
_MISSING: Final = IrregularityKind.MISSING_DRAW
_MISMATCH: Final = IrregularityKind.RESULT_MISMATCH


def commit(  # noqa: PLR0913 - the occasions differ in these
    context: TableContext,
    round_: Round,
    *,
    edited: DrawnCard | None = None,
    disclosed: bool = False,
    closing: bool = False,
    cards_only: bool = False,
) -> None:
    """
    Publish what is new: cards, faces, irregularities, the due card, the result, the end.

    `edited`: the card of which a person has said what it is. `disclosed`: the reader has, after
    the end of the round. `closing`: the round has just ended. `cards_only`: the due card and
    the result follow with another commit.
    """
    state = context.state
    if edited is not None:
        _publish_correction(context, round_, edited)
    fresh, moved, is_known = _publish_cards(context, round_)
    shown = is_known and _publish_faces(context, round_, disclosed=disclosed)
    if round_.cause is None:
        _publish_findings(context, round_, fresh, edited)
    if shown and state.alerts:
        publish_staff_alerts(context, round_)
    moved = moved and not round_.away
    if moved:
        _deal_moved_cards(context, round_)
    if cards_only:
        return
    _compare_declared_result(context, round_)
    is_new, finished = fresh is not None or moved, round_.finished
    if (
        is_new
        or not (round_.phase or finished)
        or (closing and round_.cause is None and round_.entered is None)
    ):
        _publish_due(context, round_, repeat=is_new)
    if is_new or shown or not finished or edited is not None:
        _publish_result(context, round_, closing=closing, edited=edited is not None)


# Cards


def _publish_cards(context: TableContext, round_: Round) -> tuple[DrawnCard | None, bool, bool]:
    """
    Publish the cards that are new, and return the one that is newly dealt.

    Return also whether cards moved from the excess ones into a hand, which are not published
    yet, and whether faces became known or public.
    """
    fresh, moved, is_known = None, False, False
    for card in round_.view.dealt:
        if card.told is None:
            if card.order < 0:
                _deal(context, round_, card)
                fresh = card
            else:
                moved = True
        elif card.face is not card.counted or (card.public and not card.told):
            is_known = True
    for card in round_.view.excess:
        if card.order < 0:
            _drop(context, round_, card)
        elif card.face is not card.counted:
            _count(context, card)
        card.told = None
    return fresh, moved, is_known


def _deal(context: TableContext, round_: Round, card: DrawnCard) -> None:
    face = card.face if card.public else None
    card.told = face or ""
    player, banker = totals(round_.view)
    context.emit(events.CardDealt(banker, face, player, card.slot), round_.number)
    if card.face is not None and face is None:
        _publish_for_staff(context, round_, card)
    if context.is_double_feed:
        counts.raise_double_feed(context)
    shoe = context.state.shoe
    card.order = 0 if shoe is None else max(shoe.out - card.seed, 0)
    if shoe is not None and not card.seed:
        shoe.out += 1
        if context.options.checkers:
            checker.compare_main_card(context, card.face, card)
    _count(context, card)


def _drop(context: TableContext, round_: Round, card: DrawnCard) -> None:
    """Publish a card of neither hand: staff see its face, the finding follows, it is counted."""
    shoe = context.state.shoe
    card.order = 0 if shoe is None else shoe.out
    publish_excess_face(context, card)
    if round_.ruled:
        round_.ruled -= 1
        round_.dismissed[card.key] = ""
    else:
        ledger.reconcile(context, round_, corrected=False)
    counts.raise_double_feed(context)
    count_loose_card(context, card)


def publish_excess_face(context: TableContext, card: DrawnCard) -> None:
    """Publish the face of a card of neither hand for staff, unless the players see it."""
    if card.face is not None and not card.public:
        card.told_staff = card.face
        context.emit(events.StaffCardDealt(card.face, None))


def count_loose_card(context: TableContext, card: DrawnCard) -> None:
    """Count a card that belongs to no hand."""
    shoe = context.state.shoe
    if shoe is not None:
        shoe.out += 1
        checker.compare_main_card(context, card.face, card)
        _count(context, card)


def _count(context: TableContext, card: DrawnCard) -> None:
    """Count in the shoe the difference between the face and the face that it has counted."""
    shoe, face, before = context.state.shoe, card.face, card.counted
    if shoe is None or (face is None and card.number is not None):
        return
    was_public, card.counted, card.counted_public = card.counted_public, face, card.public
    if before is None:
        copies.count_card(context, shoe, card)
    elif before is not face and face is not None:
        shoe.seen[before.index] -= 1
        shoe.unseen[before.index] -= not was_public
        copies.count_face(context, shoe, card, face)
        counts.correct_recent_card(context, shoe, card)
        copies.close_wrong_duplicates(context)
    elif card.public and not was_public:
        copies.mark_card_public(context, card)


# Faces


def _publish_faces(context: TableContext, round_: Round, *, disclosed: bool) -> bool:
    """Publish the faces that became known or public; return whether there were any."""
    found = False
    for card in round_.view.dealt:
        if card.told == "" and card.face is not None:
            if card.public:
                _disclose(context, round_, card, disclosed=disclosed)
                found = True
            elif card.told_staff is not card.face:
                _publish_for_staff(context, round_, card)
                found = True
        if card.face is not card.counted or card.public is not card.counted_public:
            _count(context, card)
            found = True
        if card.unread and card.face is not None:
            card.unread = False
            ledger.close_unread_card(context, card)
    if found and context.state.checks:
        checker.compare_disclosed_faces(context, round_)
    return found


def _disclose(context: TableContext, round_: Round, card: DrawnCard, *, disclosed: bool) -> None:
    card.told = card.face
    if round_.cause is not None:
        # The cards of an aborted round may never have been public.
        if disclosed:
            _publish_for_staff(context, round_, card)
    elif card.face is not None and (disclosed or not round_.finished):
        player, banker = totals(round_.view)
        context.emit(events.CardDisclosed(banker, card.face, player, card.slot), round_.number)
    # Else `card_corrected` has published it.


def _publish_for_staff(context: TableContext, round_: Round, card: DrawnCard) -> None:
    if card.face is not None:
        card.told_staff = card.face
        context.emit(events.StaffCardDealt(card.face, card.slot), round_.number)


def _publish_correction(context: TableContext, round_: Round, card: DrawnCard) -> None:
    """Publish what a person says: the same event whatever it was, if the card lies face down."""
    before, after = (card.counted if card.told else None), card.face
    is_public = card.public or round_.finished
    context.emit(
        events.CardCorrected(
            after if is_public else None, before, context.operator, context.reason, card.slot
        ),
        round_.number,
    )
    if card.told:
        card.told = after
    elif not (is_public or card.unread):
        _publish_for_staff(context, round_, card)
    if not card.unread:
        _count(context, card)


def _deal_moved_cards(context: TableContext, round_: Round) -> None:
    """Publish the cards that a correction has moved into a hand."""
    moved = [card for card in round_.view.dealt if card.told is None]
    hidden = [card for card in moved if card.face is not None and not card.public]
    if round_.finished and hidden:
        for card in hidden:
            card.public = True
            _count(context, card)
        round_.changed()
    for card in moved:
        face = card.face if card.public else None
        card.told = face or ""
        player, banker = totals(round_.view)
        context.emit(events.CardDealt(banker, face, player, card.slot), round_.number)


# Irregularities


def _publish_findings(
    context: TableContext, round_: Round, fresh: DrawnCard | None, edited: DrawnCard | None
) -> None:
    view, alerts = round_.view, context.state.alerts
    if view.odd or view.hidden or alerts:
        ledger.reconcile(context, round_, corrected=edited is not None)
    if fresh is not None:
        _check_fresh_card(context, round_, fresh)
    if round_.end is not None or alerts:
        _reconcile_missing_draw(context, round_, drawn=fresh is not None, edited=edited)


def _check_fresh_card(context: TableContext, round_: Round, card: DrawnCard) -> None:
    if len(round_.view.dealt) == 1:
        _check_first_card(context)
    if card.unread and card.laid is None:  # else the reader has reported it before
        _raise_unread_card(context, card)


def _raise_unread_card(context: TableContext, card: DrawnCard) -> None:
    """Raise an unread card, or join the device's report of it."""
    alert = ledger.join_alert(context, IrregularityKind.UNREADABLE_CARD, "card")
    if alert is None:
        detail = make_detail("unread_card", slot=card.slot)
        ledger.raise_alert(context, IrregularityKind.UNREADABLE_CARD, detail, slot=card.slot)
    elif card.slot is not None:
        alert.data = replace(alert.data, slot=card.slot)


def _check_first_card(context: TableContext) -> None:
    """Check betting, burn and cut card at the first card of a round."""
    state = context.state
    if state.betting == "open":
        ledger.raise_alert(
            context, IrregularityKind.PREMATURE_DRAW, make_detail("drawn_while_betting")
        )
    if state.betting != "unknown":
        state.betting = "closed"
    if state.shoe is not None and not state.shoe.burn_checked:
        state.shoe.burn_checked = True
        shoe_lifecycle.check_burn(context, state.shoe)
    shoe_lifecycle.check_ordered_burn(context)
    if state.shoe is not None:
        counts.check_cut_card_due(context, state.shoe)


def _reconcile_missing_draw(
    context: TableContext, round_: Round, *, drawn: bool, edited: DrawnCard | None
) -> None:
    key = missing_draw.key_of(round_)
    if round_.is_missing:
        found = missing_draw.find(round_)
        if found is not None and key not in round_.dismissed:
            round_.dismissed[key] = ""
            ledger.raise_alert(context, found.kind, found.detail, slot=found.slot)
        return
    round_.dismissed.pop(key, None)
    alert = ledger.find_alert_of(context, round_, _MISSING)
    if alert is None:
        return
    if drawn and not round_.phase:
        ledger.close_alert(context, alert, "draw_now", missing_draw.DRAWN)
    elif edited is not None and not round_.doubts and round_.may_end:
        ledger.close_alert(context, alert, "continue", missing_draw.CORRECTED)


def publish_staff_alerts(context: TableContext, round_: Round) -> None:
    """Publish every irregularity whose faces are public now."""
    for alert in [each for each in context.state.alerts if each.staff_only]:
        cards = [card for card in round_.drawn if alert.data.id in card.unsaid]
        if not cards or not all(card.public for card in cards):
            continue
        if alert.data.kind == IrregularityKind.DUPLICATE_CARD:
            copies.publish_duplicate(context, alert, cards[0].slot)
        else:
            ledger.publish_alert(context, alert)
    counts.publish_suspect_sequences(context)


def _compare_declared_result(context: TableContext, round_: Round) -> None:
    """Raise or close the difference between the declared result and the cards."""
    shoe = context.state.shoe
    if shoe is None or round_.number not in shoe.declared:
        return
    if (
        round_.is_missing
        or round_.doubts & Doubt.TORN
        or round_.cause is not None
        or round_.hides_faces
    ):
        return
    declared = shoe.declared[round_.number]
    code, values = result_mismatch.differences(round_, declared)
    is_new, declared.differing = values != declared.differing, values
    alert = ledger.find_alert_of(context, round_, _MISMATCH)
    if alert is not None:
        # A second declaration is not a correction: it closes nothing.
        if not values and context.operator is not None:
            ledger.close_alert(context, alert, "continue", result_mismatch.CORRECTED)
    elif code and is_new:
        detail = make_detail(code, **values)
        ledger.raise_alert(context, _MISMATCH, detail, evidence="device", number=round_.number)


# The due card


def _publish_due(context: TableContext, round_: Round, *, repeat: bool) -> None:
    """Publish the due card by the public faces; `repeat` it even if unchanged, after a deal."""
    due, shoe = round_.view.due, context.state.shoe
    if due.needs_card and shoe is not None and shoe.out >= CARDS_PER_DECK:
        counts.check_shoe_empty(context, round_)
    if repeat or ((due.known or due.choice) and due.event != round_.due):
        context.emit(due.event, round_.number)
    round_.due = due.event


# The result


def _publish_result(context: TableContext, round_: Round, *, closing: bool, edited: bool) -> None:
    if round_.cause is not None:
        if closing:
            _publish_stop(context, round_, round_.cause)
        return
    due = round_.view.due
    if not (round_.finished or round_.phase or (due.spot is None and due.known)):
        return
    data = _derive_result(context, round_)
    if round_.finished:
        _revise_result(context, round_, data, edited=edited)
    elif data is not None:
        round_.finished = True
        is_entered = round_.entered is not None
        results.publish_or_hold(context, round_.number, data, entered=is_entered)


def _revise_result(
    context: TableContext, round_: Round, data: RoundFinished | None, *, edited: bool
) -> None:
    if round_.phase and not edited and any(card.face is None for card in round_.view.dealt):
        return  # faces that come one by one revise it once
    if results.find_voided_round(context, round_.number) is not None:
        return
    record = results.find_result(context, round_.number)
    if record is None:
        if data is not None:
            results.publish_or_hold(context, round_.number, data)
    elif data != record.data or getattr(record, "lost", False):
        results.replace_result(context, record, data)
    if data is None:
        _lack_card(context, round_)


def _publish_stop(context: TableContext, round_: Round, cause: str) -> None:
    """The round ends without a result."""
    if cause == VOID:
        context.emit(
            events.RoundVoided(None, None, context.operator, context.reason), round_.number
        )
        results.store_unfinished_round(context, round_.number, None)
    else:
        context.emit(events.RoundAborted(cause), round_.number)  # type: ignore[arg-type]
        results.store_unfinished_round(context, round_.number, cause)  # type: ignore[arg-type]


def _derive_result(context: TableContext, round_: Round) -> RoundFinished | None:
    """
    Return the result that the facts give now; None if they give none.

    In a partial round the cards before and after the gap may belong to two rounds: they count
    only if the declared outcome agrees.
    """
    view = round_.view
    if round_.entered is not None:
        winner, player_pair, banker_pair = round_.entered
        data = results.as_declared(view, round_.kind, winner, partial=True)
        return replace(
            data,
            player=replace(data.player, pair=player_pair),
            banker=replace(data.banker, pair=banker_pair),
        )
    is_over = round_.finished or round_.phase != 0
    is_partial = round_.doubts != 0
    if view.complete and not view.hidden:
        if not is_partial:
            wanted = is_over or context.options.result_on is _ON_COMPLETE
            return results.from_cards(context, round_) if wanted else None
        data = results.from_cards(context, round_)
        if is_over and data.outcome is round_.winner:
            return data
    if not is_over or not (is_partial or view.hidden):
        return None
    return results.as_declared(view, round_.kind, round_.winner, partial=is_partial)


def _lack_card(context: TableContext, round_: Round) -> None:
    """By the corrected cards a draw is missing."""
    if round_.phase:
        if ledger.find_alert_of(context, round_, _MISSING) is None:
            detail = make_detail("missing_by_correction", round=round_.number)
            ledger.raise_alert(context, _MISSING, detail, number=round_.number)
        return
    round_.finished = False
    if not round_.is_missing and round_.known.due.needs_card:
        round_.end = MISSING_AT_CORRECTION
        _reconcile_missing_draw(context, round_, drawn=False, edited=None)
    _publish_due(context, round_, repeat=False)
