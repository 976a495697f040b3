"""The life cycle of a shoe: start, burn, cut card, end, and the copies seen of each card."""

from __future__ import annotations

from msgspec import UNSET

from shoe_daemon.game import DECK, Card, IrregularityKind, Kind
from shoe_daemon.table import events, ledger, public_documents
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.readers import checker
from shoe_daemon.table.rounds import results
from shoe_daemon.table.shoe_state import ShoeState
from shoe_daemon.table.shoes import copies, counts, holder


def start_shoe(
    context: TableContext, *, announced: bool, overrun: bool = False, left: int | None = None
) -> ShoeState:
    """
    Put a new shoe on the table; no round may be in progress.

    `announced`: a signal announced it; False if a bare card implies it. `overrun`: the bare card
    came after the last permitted round. `left`: the cards that a person counted in the previous
    shoe; None if not counted.
    """
    state = context.state
    latest = context.latest_round
    for alert in list(state.alerts):
        # An alert raised after the last round belongs to the first round of the new shoe.
        late = alert.shoe is None or alert.after == latest
        if alert.round is not None or alert.staff_only or not late:
            ledger.close_alert(context, alert, "continue", "a new shoe was begun")
    results.release_results(context, at_once=True)
    checker.reset_for_new_shoe(context)
    if state.shoe is not None and (left is not None or not state.shoe.finished):
        counts.check_card_count(context, state.shoe, left)
    public_documents.store_past_shoe(state)
    state.shoes += 1
    shoe = ShoeState(state.shoes, context.decks, context.at, announced, overrun)
    shoe.burn_left = _burn_cards_due(context)
    state.shoe, state.round, state.last_result = shoe, None, None
    state.past_rounds = []
    context.in_round = False
    state.held, state.changes, state.burn_due = [], [], 0
    state.seed = None
    if state.next_kind is Kind.DUMMY:
        state.next_kind = Kind.NORMAL
    for alert in state.alerts:
        alert.shoe, alert.after = shoe.number, 0
    session = state.session
    simulated = session.options.simulated or UNSET
    context.emit(events.ShoeStarted(shoe.decks, context.house.id, session.policy, simulated))
    holder.offer_new_shoe(context)
    if state.cut_card and not announced:
        shoe.cut_card = True
        _limit_rounds(context, shoe, mid_round=False)
    state.cut_card = False
    return shoe


def _burn_cards_due(context: TableContext) -> int | None:
    burn = context.house.burn
    if burn.mode == "fixed":
        return burn.fixed
    if burn.mode == "per_deck":
        return context.decks
    return 0 if burn.mode == "none" else None


def burn_card(
    context: TableContext,
    shoe: ShoeState,
    card: Card | None,
    *,
    first: bool,
    declared: bool = True,
) -> None:
    """
    Apply a burned card, or the `first` card, whose value sets the number of burned cards.

    `card` is None if its face is unknown. `declared`: the reader reports it as burned; else a
    ruling expects it.
    """
    burn, ordered = context.house.burn, context.state.burn_due > 0
    fresh = not (shoe.burn_checked or ordered)
    if ordered:
        context.state.burn_due -= 1
    elif first and card is not None and burn.mode in {"first_card", "unchecked"}:
        shoe.burn_left = (card.points or burn.face_value) - burn.indicator_counts
    elif fresh and shoe.burn_left is not None:
        shoe.burn_left -= 1
    shoe.burned += 1
    shoe.out += 1
    left = context.state.burn_due if ordered else shoe.burn_left
    # A card that the reader does not report as burned may have to stay hidden.
    hides = not declared and not context.face_up
    unseen = (burn.face_down or hides) and not first
    context.emit(
        events.CardBurned(None if unseen else card, None if left is None else max(left, 0))
    )
    if unseen and card is not None:
        context.emit(events.StaffCardDealt(card, None))
    counts.raise_double_feed(context)
    checker.compare_main_card(context, card)
    copies.count_card(context, shoe, DrawnCard(card, public=not unseen))
    if fresh and left is not None and left < 0 and burn.mode != "unchecked":
        _raise_burn_error(context, shoe, make_detail("burned_too_many", due=shoe.burned - 1))


def check_burn(context: TableContext, shoe: ShoeState) -> None:
    """Check the burn at the first card of a shoe's first round."""
    if shoe.overrun:
        shoe.overrun = False
        if shoe.burned == 0 and context.house.burn.mode not in {"none", "unchecked"}:
            ledger.raise_alert(
                context, IrregularityKind.CUT_CARD_OVERRUN, make_detail("cut_card_overrun")
            )
        return
    if not shoe.announced or shoe.burn_wrong or context.house.burn.mode == "unchecked":
        return
    if shoe.burned == 0 and shoe.burn_left != 0:
        _raise_burn_error(context, shoe, make_detail("nothing_burned"))
    elif shoe.burn_left is not None and shoe.burn_left > 0:
        _raise_burn_error(context, shoe, make_detail("burn_incomplete", cards=shoe.burn_left))


def is_last_round(shoe: ShoeState) -> bool:
    """Return whether no further round of this shoe is permitted."""
    return shoe.finished or shoe.rounds_left == 0


def awaits_ordered_burn(context: TableContext) -> bool:
    """Return whether a ruling expects further burned cards of this shoe."""
    shoe = context.state.shoe
    return context.state.burn_due > 0 and shoe is not None and not shoe.finished


def check_ordered_burn(context: TableContext) -> None:
    """Raise, at the first card of a round, the cards that a ruling expected to be burned."""
    left, context.state.burn_due = context.state.burn_due, 0
    if left:
        detail = make_detail("ordered_burn_incomplete", cards=left)
        ledger.raise_alert(context, IrregularityKind.BURN_ERROR, detail)


def _raise_burn_error(context: TableContext, shoe: ShoeState, detail: Detail) -> None:
    if not shoe.burn_wrong:
        shoe.burn_wrong = True
        ledger.raise_alert(context, IrregularityKind.BURN_ERROR, detail)


def apply_cut_card(context: TableContext, shoe: ShoeState, *, mid_round: bool) -> None:
    """Apply the cut card, which limits the rounds of the shoe."""
    if not shoe.cut_card:
        shoe.cut_card = True
        context.emit(events.CutCard(*_round_counts(shoe)))
        _limit_rounds(context, shoe, mid_round=mid_round)


def _limit_rounds(context: TableContext, shoe: ShoeState, *, mid_round: bool) -> None:
    rule = context.house.cut_card
    if rule.mode != "checked":
        return
    left = rule.hands_after
    if not mid_round:
        left = 1 if rule.as_first_card == "last_hand" else 1 + rule.hands_after
    # A person may have stopped the shoe already.
    shoe.rounds_left = left if shoe.rounds_left is None else min(left, shoe.rounds_left)
    if shoe.rounds_left == (0 if mid_round else 1):
        _publish_last_round(context, shoe)


def check_last_round(context: TableContext, shoe: ShoeState) -> None:
    """Publish, after a round, that the next round is the last, or that the shoe is finished."""
    if shoe.rounds_left is None or shoe.finished:
        return
    if shoe.rounds_left == 1:
        _publish_last_round(context, shoe)
    elif shoe.rounds_left == 0:
        shoe.finished = True
        counts.check_card_count(context, shoe, None)
        banker, player, rounds, tie = _round_counts(shoe)
        context.emit(
            events.ShoeFinished(
                banker=banker, head=context.chain_head, player=player, rounds=rounds, tie=tie
            )
        )
        read: dict[str, int] = {card: shoe.seen[card.index] for card in sorted(DECK)}
        context.emit(events.StaffComposition(read, shoe.out - sum(shoe.seen)))


def _publish_last_round(context: TableContext, shoe: ShoeState) -> None:
    if not shoe.last_announced:
        shoe.last_announced = True
        context.emit(events.LastRound(*_round_counts(shoe)))


def _round_counts(shoe: ShoeState) -> tuple[int, int, int, int]:
    return shoe.banker, shoe.player, shoe.rounds, shoe.tie


def register_round(context: TableContext, shoe: ShoeState, round_: Round) -> None:
    """Record in the shoe that a round has begun."""
    shoe.begun = round_.number
    if shoe.rounds_left is not None:
        shoe.rounds_left -= 1
    if context.house.reshuffle != "per_shoe":
        shoe.seen, shoe.unseen, shoe.out = [0] * 52, [0] * 52, 0
