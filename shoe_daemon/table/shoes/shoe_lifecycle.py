"""
The life of a shoe: its start, its burn, its cut card, its end, and how often
each card has been seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.game import DECK, IrregularityKind, Kind
from shoe_daemon.table import events, history
from shoe_daemon.table.detail_texts import Detail, detail
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.rounds import results
from shoe_daemon.table.shoes import inventory, shoe_holder
from shoe_daemon.table.table_state import Drawn, ShoeState

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState


def start(
    fold: Fold, *, announced: bool, overrun: bool = False, left: int | None = None
) -> ShoeState:
    """
    Put a new shoe on the table; no round may be in progress.

    Args:
        fold: The table.
        announced: A signal said so; False where a bare card implies it.
        overrun: The bare card came after the last permitted round.
        left: The cards that a person counted in the shoe before; None where
            nobody did.
    """
    state = fold.state
    latest = 0 if state.round is None else state.round.number
    for alert in list(state.alerts):
        # One that arose after the last round belongs to the first of the new shoe.
        late = alert.shoe is None or alert.after == latest
        if alert.round is not None or alert.staff_only or not late:
            fold.close_alert(alert, "continue", "a new shoe was begun")
    results.release(fold, at_once=True)
    second_reader.new_shoe(fold)
    if state.shoe is not None and (left is not None or not state.shoe.finished):
        inventory.check_count(fold, state.shoe, left)
    history.remember(state)
    state.shoes += 1
    shoe = ShoeState(state.shoes, fold.decks, fold.at, announced, overrun)
    shoe.burn_left = _burn_due(fold)
    state.shoe, state.round, state.last_result = shoe, None, None
    fold.in_round = False
    state.held, state.changes, state.burn_due = [], [], 0
    state.seed = None
    if state.next_kind is Kind.DUMMY:
        state.next_kind = Kind.NORMAL
    for alert in state.alerts:
        alert.shoe, alert.after = shoe.number, 0
    fold.emit(events.ShoeStarted(shoe.decks, fold.house.id, state.session.policy))
    shoe_holder.after_shuffle(fold)
    if state.cut_card and not announced:
        shoe.cut_card = True
        _limit(fold, shoe, mid_round=False)
    state.cut_card = False
    return shoe


def _burn_due(fold: Fold) -> int | None:
    burn = fold.house.burn
    if burn.mode == "fixed":
        return burn.fixed
    if burn.mode == "per_deck":
        return fold.decks
    return 0 if burn.mode == "none" else None


def burned(
    fold: Fold, shoe: ShoeState, card: Card | None, *, first: bool, said: bool = True
) -> None:
    """
    Take a burned card, or the first card, whose value says how many follow.

    Args:
        fold: The table.
        shoe: Its shoe.
        card: The card; None where its face is not known.
        first: It is the first card.
        said: The reader says that it is burned; else a ruling does.
    """
    burn, ordered = fold.house.burn, fold.state.burn_due > 0
    fresh = not (shoe.burn_checked or ordered)
    if ordered:
        fold.state.burn_due -= 1
    elif first and card is not None and burn.mode in {"first_card", "unchecked"}:
        shoe.burn_left = (card.points or burn.face_value) - burn.indicator_counts
    elif fresh and shoe.burn_left is not None:
        shoe.burn_left -= 1
    shoe.burned += 1
    shoe.out += 1
    left = fold.state.burn_due if ordered else shoe.burn_left
    # A card that the reader calls none of these may be one that is to stay hidden.
    hides = not said and not fold.face_up
    unseen = (burn.face_down or hides) and not first
    fold.emit(events.CardBurned(None if unseen else card, None if left is None else max(left, 0)))
    if unseen and card is not None:
        fold.emit(events.StaffCardDealt(card, None))
    inventory.check_pace(fold)
    second_reader.drawn(fold, card)
    count(fold, shoe, Drawn(card, public=not unseen))
    if fresh and left is not None and left < 0 and burn.mode != "unchecked":
        _burn_error(fold, shoe, detail("burned_too_many", due=shoe.burned - 1))


def check_burn(fold: Fold, shoe: ShoeState) -> None:
    """
    Say, at the first card of a shoe's first round, if its burn is not as due.
    """
    if shoe.overrun:
        shoe.overrun = False
        if shoe.burned == 0 and fold.house.burn.mode not in {"none", "unchecked"}:
            fold.raise_alert(IrregularityKind.CUT_CARD_OVERRUN, detail("cut_card_overrun"))
        return
    if not shoe.announced or shoe.burn_wrong or fold.house.burn.mode == "unchecked":
        return
    if shoe.burned == 0 and shoe.burn_left != 0:
        _burn_error(fold, shoe, detail("nothing_burned"))
    elif shoe.burn_left is not None and shoe.burn_left > 0:
        _burn_error(fold, shoe, detail("burn_incomplete", cards=shoe.burn_left))


def is_last(shoe: ShoeState) -> bool:
    """
    Tell whether no round is permitted after the one in progress, or the last.
    """
    return shoe.finished or shoe.rounds_left == 0


def awaits_burn(fold: Fold) -> bool:
    """
    Tell whether a ruling wants further cards of this shoe burned.
    """
    shoe = fold.state.shoe
    return fold.state.burn_due > 0 and shoe is not None and not shoe.finished


def check_ordered_burn(fold: Fold) -> None:
    """
    Say, at the first card of a round, if cards that a ruling wants burned were not.
    """
    left, fold.state.burn_due = fold.state.burn_due, 0
    if left:
        said = detail("ordered_burn_incomplete", cards=left)
        fold.raise_alert(IrregularityKind.BURN_ERROR, said)


def _burn_error(fold: Fold, shoe: ShoeState, said: Detail) -> None:
    if not shoe.burn_wrong:
        shoe.burn_wrong = True
        fold.raise_alert(IrregularityKind.BURN_ERROR, said)


def count(fold: Fold, shoe: ShoeState, card: Drawn) -> None:
    """
    Count a card that has been drawn, or whose face has become known.
    """
    if fold.options.suspect_run is not None:
        inventory.watch_sequence(fold, shoe, card)
    if card.face is not None:
        count_copy(fold, shoe, card, card.face)


def count_copy(fold: Fold, shoe: ShoeState, card: Drawn, face: Card) -> None:
    """
    Count a face among those that have been seen.

    One copy more than the shoe holds is a `duplicate_card`; for staff alone until the
    players have seen as many. After a time without observations the likely cause is
    another shoe, and the first such card is the only one raised.
    """
    shoe.seen[face.index] += 1
    shoe.unseen[face.index] += not card.public
    copies = shoe.seen[face.index]
    if copies <= shoe.decks or shoe.mixed:
        return
    shown = shown_copies(shoe, face)
    kind, staff_only = IrregularityKind.DUPLICATE_CARD, shown <= shoe.decks
    if staff_only and shoe.unwatched and _staff_know(fold, kind):
        return
    shoe.mixed = shoe.unwatched and not staff_only
    said = duplicate_detail(shoe, copies if staff_only else shown, face)
    fold.raise_alert(kind, said, slot=card.slot, card=face, staff_only=staff_only)


def _staff_know(fold: Fold, kind: IrregularityKind) -> bool:
    return any(each.staff_only and each.data.kind == kind for each in fold.state.alerts)


def shown_copies(shoe: ShoeState, face: Card) -> int:
    """
    Return how many copies of a face the players have seen.
    """
    return shoe.seen[face.index] - shoe.unseen[face.index]


def now_seen(fold: Fold, seen: Drawn) -> None:
    """
    Remember that the players have seen a card that was counted before.
    """
    shoe, face = fold.state.shoe, seen.face
    if shoe is None or face is None:
        return
    shoe.unseen[face.index] = max(0, shoe.unseen[face.index] - 1)
    for card in reversed(shoe.recent):
        if card.number == seen.number:
            card.seen = True
            return


def duplicate_detail(shoe: ShoeState, copies: int, face: Card) -> Detail:
    """
    Return the sentence of a card that came too often.
    """
    decks = shoe.decks
    if shoe.unwatched:
        return detail("duplicate_card_after_gap", card=face, times=copies)
    if decks == 1:
        return detail("duplicate_card_one_deck", card=face, times=copies)
    return detail("duplicate_card", card=face, times=copies, decks=decks)


def cut_card(fold: Fold, shoe: ShoeState, *, mid_round: bool) -> None:
    """
    Take the cut card: it says how many rounds are still permitted.
    """
    if not shoe.cut_card:
        shoe.cut_card = True
        fold.emit(events.CutCard(*_counts(shoe)))
        _limit(fold, shoe, mid_round=mid_round)


def _limit(fold: Fold, shoe: ShoeState, *, mid_round: bool) -> None:
    rule = fold.house.cut_card
    if rule.mode != "checked":
        return
    left = rule.hands_after
    if not mid_round:
        left = 1 if rule.as_first_card == "last_hand" else 1 + rule.hands_after
    # A person may have stopped the shoe before.
    shoe.rounds_left = left if shoe.rounds_left is None else min(left, shoe.rounds_left)
    if shoe.rounds_left == (0 if mid_round else 1):
        _say_last(fold, shoe)


def round_ended(fold: Fold, shoe: ShoeState) -> None:
    """
    See after a round whether the next is the last, or whether it was.
    """
    if shoe.rounds_left is None or shoe.finished:
        return
    if shoe.rounds_left == 1:
        _say_last(fold, shoe)
    elif shoe.rounds_left == 0:
        shoe.finished = True
        inventory.check_count(fold, shoe, None)
        banker, player, rounds, tie = _counts(shoe)
        fold.emit(
            events.ShoeFinished(
                banker=banker, head=fold.chain_head, player=player, rounds=rounds, tie=tie
            )
        )
        fold.emit(events.StaffComposition(_read(shoe), shoe.out - sum(shoe.seen)))


def _read(shoe: ShoeState) -> dict[str, int]:
    return {card: shoe.seen[card.index] for card in sorted(DECK)}


def _say_last(fold: Fold, shoe: ShoeState) -> None:
    if not shoe.last_announced:
        shoe.last_announced = True
        fold.emit(events.LastRound(*_counts(shoe)))


def _counts(shoe: ShoeState) -> tuple[int, int, int, int]:
    return shoe.banker, shoe.player, shoe.rounds, shoe.tie


def begin_round(fold: Fold, shoe: ShoeState, round_: RoundState) -> None:
    """
    Enter a round that has begun into the shoe.
    """
    shoe.begun = round_.number
    if shoe.rounds_left is not None:
        shoe.rounds_left -= 1
    if fold.house.reshuffle != "per_shoe":
        shoe.seen, shoe.unseen, shoe.out = [0] * 52, [0] * 52, 0
