"""Corrections by a person: a card that was read wrongly, and the result that follows."""

from __future__ import annotations

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, Card, IrregularityKind, Outcome, Slot
from shoe_daemon.table import alerts, events
from shoe_daemon.table.commands import past_corrections
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.events import RoundFinished
from shoe_daemon.table.observations import Command
from shoe_daemon.table.rounds import (
    checks_under_hidden_faces,
    lifecycle,
    next_card,
    placement,
    result_publication,
    round_result,
)
from shoe_daemon.table.shoe_state import DrawnCard, HeldResult, PlayedRound, RoundState
from shoe_daemon.table.shoes import card_count_and_order_checks, shoe_lifecycle
from shoe_daemon.table.table_context import TableContext


def round_on_table(context: TableContext, number: int | None) -> RoundState | None:
    """Return the round of this number, or any, if its cards are still on the table."""
    round_ = context.state.round
    return round_ if round_ is not None and number in {None, round_.number} else None


def publish_correction(
    context: TableContext,
    round_: RoundState,
    card: DrawnCard,
    before: Card | None,
    after: Card | None,
) -> None:
    """Publish a correction, with public faces only."""
    public_face = (
        round_.finished or card.public or placement.is_public_at_draw(context, round_, card)
    )
    context.emit(
        events.CardCorrected(
            after if public_face else None,
            before if card.public else None,
            context.operator,
            context.reason,
            card.slot,
        ),
        round_.number,
    )


def correction_refusal(context: TableContext, command: Command) -> Detail | None:
    """Return the reason why a card cannot be corrected; None if it can."""
    if command.card is None or command.slot is None:
        return make_detail("refused_which_place")
    before = known_face(context, command.round, command.slot)
    if before is None:
        return make_detail("refused_no_card_there", slot=command.slot)
    # The answer must not reveal whether a hidden face is this card.
    round_ = round_on_table(context, command.round)
    card = None if round_ is None else round_.spots[DEALING_ORDER.index(command.slot)]
    known = before is command.card and (card is None or card.public)
    return make_detail("refused_same_card") if known else None


def known_face(context: TableContext, number: int | None, slot: Slot) -> Card | None:
    """Return the known face of the card on a slot of a round."""
    round_ = round_on_table(context, number)
    if round_ is not None:
        card = round_.spots[DEALING_ORDER.index(slot)]
        return None if card is None else card.face
    record = past_corrections.find_record(context, number)
    return None if record is None else past_corrections.face_on_slot(record, slot)


def correct_card(context: TableContext, command: Command) -> None:
    """Replace a card that was read wrongly; the result follows."""
    if command.slot is None or command.card is None:
        return
    found = round_on_table(context, command.round) or past_corrections.find_record(
        context, command.round
    )
    number = 0 if found is None else found.number
    replace_face(context, number, command.slot, command.card)
    _close_conflict(context, number, command.slot)


def _close_conflict(context: TableContext, number: int, slot: Slot) -> None:
    # Readers differed, and a person was to name the card: that is done.
    for alert in list(context.state.alerts):
        conflict = alert.data.kind == IrregularityKind.SOURCE_CONFLICT
        conflict = conflict and alert.data.slot in {None, slot}
        if conflict and alert.chosen is not None and alert.after == number:
            alerts.close_alert(
                context, alert, alert.chosen, context.reason or "a person said what it is"
            )


def replace_face(context: TableContext, number: int, slot: Slot, after: Card) -> None:
    """Replace the face on a slot, and update all that follows from it."""
    round_ = round_on_table(context, number)
    before = known_face(context, number, slot)
    if before is None:
        return
    card = None if round_ is None else round_.spots[DEALING_ORDER.index(slot)]
    if round_ is not None and card is not None:
        publish_correction(context, round_, card, before, after)
        if not card.public:
            context.emit(events.StaffCardDealt(after, card.slot), round_.number)
        card.face = after
        _recount(context, before, after, card)
        _update_round(context, round_)
        return
    context.emit(
        events.CardCorrected(after, before, context.operator, context.reason, slot), number
    )
    if context.house.reshuffle == "per_shoe":  # else the card has been shuffled back
        _recount(context, before, after, DrawnCard(after, public=True))
    record = past_corrections.find_record(context, number)
    if record is not None:
        past_corrections.correct_face(context, record, slot, after)


def _recount(context: TableContext, before: Card, after: Card, card: DrawnCard) -> None:
    shoe = context.state.shoe
    if shoe is not None and after is not before:
        shoe.seen[before.index] -= 1
        shoe.unseen[before.index] -= not card.public
        shoe_lifecycle.count_face(context, shoe, card, after)
        card_count_and_order_checks.correct_recent_card(context, shoe, card)
        checks_under_hidden_faces.close_wrong_duplicates(context)


def _update_round(context: TableContext, round_: RoundState) -> None:
    # Another face may make a card due, or in excess; not in a round
    # that was aborted.
    if round_.ended and not round_.finished:
        return
    if round_.unread_result:
        round_.partial = False  # no card is missing; one was not read
    was_missing = round_.missing
    checks_under_hidden_faces.correct_third_cards(context, round_)
    if round_.finished:
        update_result(context, round_)
        if not round_.ended:
            _update_quiet_end(context, round_)
    elif not round_.ended:
        hides = next_card.has_known_hidden_face(round_)
        if was_missing and not round_.missing and not hides:
            round_result.compare_with_cards(context, round_)
        _update_quiet_end(context, round_)
        lifecycle.advance_round(context, round_, repeat=False)


def _update_quiet_end(context: TableContext, round_: RoundState) -> None:
    """Decide again, by the faces known now, whether the quiet gap ends the round."""
    if next_card.has_known_hidden_face(round_):
        round_.over, context.state.quiet_at = False, None
        lifecycle.await_quiet_end(context, round_)
    elif context.state.quiet_at is None or not (round_.partial or next_card.is_complete(round_)):
        lifecycle.await_quiet_end(context, round_)


def update_result(context: TableContext, round_: RoundState) -> None:
    """Compute the result of a finished round again from its cards."""
    if result_publication.find_voided_round(context, round_.number) is not None:
        return
    result = result_publication.find_result(context, round_.number)
    if round_.unread_result:
        round_.partial = any(card.face is None for card in round_.cards)
        round_.unread_result = round_.partial
        if not round_.partial:
            # Its third cards were placed on the reported slots.
            checks_under_hidden_faces.correct_third_cards(context, round_)
    outcome = None if result is None else result.data.outcome
    if not round_.partial and any(card.face is None for card in round_.cards):
        # An unread excess card is one of its cards now.
        round_.partial = round_.unread_result = True
        outcome = round_result.declared_outcome(context, round_.number)
    round_result.compare_with_cards(context, round_)
    if round_.partial:
        if result is not None:
            result_publication.replace_result(
                context, result, _partial_result(context, round_, result, outcome)
            )
    elif not next_card.is_complete(round_):
        if result is not None:
            result_publication.replace_result(context, result, None)
        _store_lost_cards(context, round_)
        _raise_missing_card(context, round_)
    else:
        own = round_result.result_from_cards(context, round_)
        if result is not None:
            result_publication.replace_result(context, result, own)
        else:
            result_publication.publish_or_hold(context, round_.number, own)


def _store_lost_cards(context: TableContext, round_: RoundState) -> None:
    # Its result still has the cards of before; a later correction counts from these.
    number = round_.number
    record = result_publication.find_result(context, number)
    record = record or result_publication.find_lost_round(context, number)
    if record is not None and all(card.public for card in round_.cards):
        cards = round_result.result_as_declared(round_, None)
        record.data = replace(cards, partial=False)


def _partial_result(
    context: TableContext,
    round_: RoundState,
    result: PlayedRound | HeldResult,
    outcome: Outcome | None,
) -> RoundFinished:
    # All its cards may be known although others were missed: see `finish_round`.
    if not (round_.hidden or result.entered) and next_card.is_complete(round_):
        own = round_result.result_from_cards(context, round_)
        if own.outcome is outcome:
            return own
    # The known cards, and the declared outcome.
    round_.partial = not round_.unread_result
    after = round_result.result_as_declared(round_, outcome)
    round_.partial = True
    before = result.data
    return with_pairs(after, (before.player.pair, before.banker.pair)) if result.entered else after


def with_pairs(data: RoundFinished, pairs: tuple[bool | None, bool | None]) -> RoundFinished:
    """Return a result with these pairs: of the Player and of the Banker."""
    player, banker = pairs
    return replace(
        data,
        player=replace(data.player, pair=player),
        banker=replace(data.banker, pair=banker),
    )


def _raise_missing_card(context: TableContext, round_: RoundState) -> None:
    # By the corrected cards a draw is missing.
    if round_.ended:
        if alerts.find_open_alert(context, IrregularityKind.MISSING_DRAW) is None:
            alerts.raise_alert(
                context,
                IrregularityKind.MISSING_DRAW,
                make_detail("missing_by_correction", round=round_.number),
                number=round_.number,
            )
    else:
        round_.finished, over = False, round_.over
        lifecycle.raise_missing_draw(context, round_, "missing_at_correction")
        round_.over = over  # no boundary has ended the round
        placement.publish_due(context, round_, repeat=False)
