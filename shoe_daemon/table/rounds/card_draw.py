"""
A card has left the shoe: which place is its own, and was it due at all.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, IrregularityKind, Slot
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import Detail, Value, detail
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import second_reader
from shoe_daemon.table.readers.reader_state import whole
from shoe_daemon.table.rounds import coup_rest, hidden_faces, lifecycle, next_card
from shoe_daemon.table.shoes import inventory, shoe_lifecycle
from shoe_daemon.table.table_state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState

# What every card is asked is looked up once: in Python 3.11 to find a member of an
# enumeration takes longer than to call a function.
_P1 = Slot.P1
_AUTO = RoundEnd.AUTO
_DEVICE = RoundEnd.DEVICE
_EXCESS = IrregularityKind.EXCESS_CARD

_SPOT = {slot: spot for spot, slot in enumerate(DEALING_ORDER)}
_MOST_EXCESS = 20


def play(fold: Fold, card: Drawn, *, carried: Drawn | bool = False, joined: bool = False) -> None:
    """
    Take a card that was drawn for play.

    Args:
        fold: The table.
        card: The card as it came.
        carried: It is an excess card of the round before (this one, where it was
            seen), and begins another.
        joined: It was drawn before anybody looked.
    """
    slot, shoe = card.declared, fold.state.shoe
    _settle_mode(fold, card)
    round_ = fold.state.round
    if round_ is not None and round_.owns_rest and not carried and coup_rest.owns(round_, card):
        coup_rest.take(fold, card)
        return
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        if _is_repeat(round_, card):
            return
        late = _is_late(fold, round_, card)
        if late:
            lifecycle.find_missing(fold, round_, "missing_before_late_card")
        if not carried and not _begins_another(fold, round_, card):
            add(fold, round_, card)
            return
        cut_off = round_.partial and not round_.over
        fold.state.unsynced |= late or cut_off or lifecycle.is_stuck(round_)
        lifecycle.leave(fold, round_)
        _settle_mode(fold, card)  # a new session may have come into force
    seed = _take_seed(fold, slot)
    at_start = seed is not None or (slot is _P1 and not joined)
    unsure = fold.state.unsynced or (fold.state.unread_pending and not card.unread)
    partial = not at_start and (slot is not None or unsure or joined)
    if at_start:
        whole(fold)
    elif partial and not fold.state.unsynced:
        second_reader.misses(fold, None)
    round_ = lifecycle.begin(fold, partial=partial)
    # In another shoe, or after a shuffle, a card that was counted counts anew.
    kept = fold.state.shoe is shoe and fold.house.reshuffle == "per_shoe"
    round_.seeded = seed is not None or isinstance(carried, Drawn)
    if round_.seeded and not kept:
        round_.out_before += 1
    if seed is not None:
        add(fold, round_, Drawn(seed.face, unread=seed.unread), seen=seed if kept else None)
    add(fold, round_, card, seen=carried if kept and isinstance(carried, Drawn) else None)


def _take_seed(fold: Fold, slot: Slot | None) -> Drawn | None:
    # A ruling had a card carried into this round. A reader that names its own
    # card the first one has not been told of that, and its word stands.
    seed, fold.state.seed = fold.state.seed, None
    shoe = fold.state.shoe
    if seed is None or fold.state.unsynced or shoe is None or shoe.finished:
        return None
    return seed if slot in {None, Slot.B1} else None


def _settle_mode(fold: Fold, card: Drawn) -> None:
    # The first card tells whether this reader names the places; one that passed unread
    # may have none although it does.
    names = card.declared is not None
    if fold.mode is _AUTO and (names or not card.unread):
        fold.settle_mode(slot=names)


def _begins_another(fold: Fold, round_: RoundState, card: Drawn) -> bool:
    if round_.over and (lifecycle.is_complete(round_) or lifecycle.is_stuck(round_)):
        return True
    if card.declared is _P1 and (round_.missing or fold.mode is _DEVICE):
        return True
    if card.declared is None and _is_given_up(round_):
        return True
    if round_.missing and card.declared is not None and round_.spots[_SPOT[card.declared]]:
        return True  # its own first cards were not seen
    if round_.partial and card.declared is not None:
        return any(round_.spots[_SPOT[card.declared] :])
    # No round has seven cards; an excess card is one before an end that is seen.
    is_full = len(round_.cards) >= len(DEALING_ORDER)
    return is_full and (round_.partial or fold.mode is RoundEnd.RULES)


def _is_given_up(round_: RoundState) -> bool:
    # The end of the round was declared while a draw was missing. Without a place named by
    # the reader, only an order to draw now makes the next card the missing one.
    return round_.missing and round_.over and not round_.draw_ordered


def _is_late(fold: Fold, round_: RoundState, card: Drawn) -> bool:
    # Where only silence ends rounds, a card that comes late may be the missing one, or the
    # first of the next round.
    if fold.mode is not RoundEnd.QUIET or card.declared is not None or round_.card_at is None:
        return False
    if round_.partial or round_.over or round_.unread_pending:
        return False
    if lifecycle.truth(round_).spot is None:
        return False
    return fold.microseconds() - round_.card_at > fold.draw_within


def _is_repeat(round_: RoundState, card: Drawn) -> bool:
    # The same card said twice of the same place is one card. A P1 later in the
    # round is not: the next round may well begin with an equal card.
    if card.declared is None or card.face is None:
        return False
    if card.declared is _P1 and len(round_.cards) > 1:
        return False
    for lies in round_.cards:  # noqa: SIM110 - `any` takes three times as long
        if lies.declared is card.declared and lies.face is card.face:
            return True
    return False


def add(fold: Fold, round_: RoundState, card: Drawn, *, seen: Drawn | None = None) -> None:
    """
    Lay a card into the round in progress, and say all that follows from it.
    """
    if round_.unread_pending:
        _fill_unread(fold, round_, card.declared)
    problem = _place(round_, card)
    if problem is _EXCESS:
        take_excess(fold, round_, card)
        return
    deal(fold, round_, card, seen=seen)
    if problem is not None:
        raise_misplaced(fold, card, problem)
    if len(round_.cards) == 1:
        lifecycle.first_card_checks(fold)
    if card.unread:
        raise_unread(fold, card)
    if round_.missing:
        _make_good(fold, round_)
    if round_.unchecked:
        hidden_faces.conclude(fold, round_)
    lifecycle.set_deadlines(fold, round_)
    lifecycle.go_on(fold, round_, repeat=True)


def deal(fold: Fold, round_: RoundState, card: Drawn, *, seen: Drawn | None = None) -> None:
    """
    Say that a card lies on its place, showing no more than the players see.

    Args:
        fold: The table.
        round_: The round in progress.
        card: The card, placed.
        seen: The same card as an excess card of the round before: what was
            counted of it then is not counted again.
    """
    face, shoe = card.face, fold.state.shoe
    card.public = face is not None and seen_at_once(fold, round_, card.slot)
    round_.cards.append(card)
    round_.hidden += not card.public
    player, banker = next_card.public_totals(round_.spots)
    fold.emit(events.CardDealt(banker, face if card.public else None, player, card.slot))
    if face is not None and not card.public:
        fold.emit(events.StaffCardDealt(face, card.slot))
    if fold.together:
        inventory.check_pace(fold)
    if shoe is None:
        return
    card.order = shoe.out
    shoe.out += seen is None
    if seen is None and fold.options.checkers:
        second_reader.drawn(fold, face, card)
    if seen is None or seen.face is None:
        shoe_lifecycle.count(fold, shoe, card)
    elif card.public and not seen.public:
        shoe_lifecycle.now_seen(fold, seen)


def seen_at_once(fold: Fold, round_: RoundState, slot: Slot | None) -> bool:
    """
    Tell whether the players see a card when it is drawn.
    """
    if fold.face_up:
        return True
    if slot is None and round_.partial:
        return False  # it may be one of the Banker's first two
    return fold.tucked and slot not in {Slot.B1, Slot.B2}


def _place(round_: RoundState, card: Drawn) -> IrregularityKind | None:
    if round_.partial:
        return _place_by_word(round_, card)
    verdict = lifecycle.told(round_)
    if not verdict.known:
        return _place_unchecked(round_, card)
    if verdict.spot is None:
        return _EXCESS
    put(round_, card, verdict.spot)
    return compare(round_, card)


def put(round_: RoundState, card: Drawn, spot: int) -> None:
    """
    Lay a card on a place, by its index in dealing order.
    """
    card.slot = DEALING_ORDER[spot]
    round_.spots[spot] = card


def compare(round_: RoundState, card: Drawn) -> IrregularityKind | None:
    """
    Compare the place of a card with the one that was named; one wrong card puts
    others wrong, and is said once.
    """
    if card.declared is None or card.declared is card.slot or round_.misplaced:
        return None
    if card.slot is Slot.B3 and card.declared is Slot.P3:
        return IrregularityKind.PLAYER_THIRD_UNAUTHORISED
    round_.misplaced = True
    return IrregularityKind.WRONG_HAND


def _place_by_word(round_: RoundState, card: Drawn) -> IrregularityKind | None:
    # Something is missing here, so only the reader's word says where a card is.
    verdict = lifecycle.told(round_)
    if verdict.known and verdict.spot is None:
        return _EXCESS
    if card.declared is None:
        return None
    if verdict.spot == next_card.B3:
        # The Player stands, so that no card of the Player's can be missing.
        put(round_, card, next_card.B3)
        return compare(round_, card)
    spot = _SPOT[card.declared]
    if round_.spots[spot] is None:
        put(round_, card, spot)
    return None


def _misplace(round_: RoundState) -> IrregularityKind:
    round_.misplaced = True
    return IrregularityKind.WRONG_HAND


def _place_unchecked(round_: RoundState, card: Drawn) -> IrregularityKind | None:
    # The faces that decide are not known: the reader's word stands until then.
    if len(round_.cards) >= len(DEALING_ORDER):
        return _EXCESS
    round_.unchecked = True
    if card.declared in {Slot.P3, Slot.B3}:
        spot = _SPOT[card.declared]
        if round_.spots[spot] is not None:
            return _EXCESS
        put(round_, card, spot)
        return None
    if round_.spots[next_card.P3] is not None and round_.spots[next_card.B3] is None:
        put(round_, card, next_card.B3)
    return None if card.declared is None or round_.misplaced else _misplace(round_)


def raise_misplaced(fold: Fold, card: Drawn, problem: IrregularityKind) -> None:
    """
    Say that a card lies with the wrong hand.
    """
    said = misplaced_detail(problem, card.declared, card.slot)
    _raise(fold, card, problem, said)


def misplaced_detail(
    problem: IrregularityKind, declared: Slot | None, slot: Slot | None
) -> Detail:
    """
    Return the sentence of a card that was laid on one place and is due on another.
    """
    if problem is IrregularityKind.PLAYER_THIRD_UNAUTHORISED:
        return detail("player_third_unauthorised")
    if slot is None or slot is declared:
        return detail("second_card_on_place", slot=declared)
    return detail("laid_on_another_place", laid=declared, slot=slot)


def _raise(fold: Fold, card: Drawn, kind: IrregularityKind, said: Detail) -> None:
    # Staff may have been told of it, and have closed it, before the players could know.
    shown, slot = card.face if card.public else None, card.slot or card.declared
    number = None if fold.state.round is None else fold.state.round.number
    known = hidden_faces.alert_of(fold, card)
    if known is not None and known.data.kind == kind:
        fold.publish_alert(known, said, slot=slot, card=shown)
    elif known is not None or card.alert is None:
        card.alert = fold.state.seq + 1
        fold.raise_alert(kind, said, slot=slot, card=shown, number=number)
    if known is not None and known.staff_only:
        fold.close_alert(known, "continue", "it is part of another irregularity")


def _fill_unread(fold: Fold, round_: RoundState, slot: Slot | None) -> None:
    if slot is None:
        # The card that passed unread, read again, or the one after it: nobody can tell.
        round_.partial, round_.unread_pending = True, False
        return
    # A card on a place after the one that is due shows where the card lies of
    # which the device said that it passed unread. While the faces are hidden,
    # a Banker's third card shows that it was the Player's.
    verdict, spots = lifecycle.told(round_), round_.spots
    if verdict.spot is not None and _SPOT[slot] > verdict.spot:
        lay_unread(fold, round_, verdict.spot)
    elif lifecycle.truth(round_).spot == next_card.B3:
        pass  # by the known faces the Player stands: the card was read on the second try
    elif not verdict.known and slot is Slot.B3 and spots[3] and not spots[next_card.P3]:
        lay_unread(fold, round_, next_card.P3)
        round_.unchecked = True
    round_.unread_pending = False


def lay_unread(fold: Fold, round_: RoundState, spot: int | None = None) -> None:
    """
    Lay the card of which the device said that it passed unread on its spot, or
    else on the one that is due.
    """
    if not round_.unread_pending or round_.partial:
        return
    place = lifecycle.truth(round_).spot if spot is None else spot
    if place is None:
        return
    round_.unread_pending = False
    card = Drawn(unread=True)
    put(round_, card, place)
    deal(fold, round_, card)
    lifecycle.say_due(fold, round_, repeat=True)


def raise_unread(fold: Fold, card: Drawn) -> None:
    """
    Say that a card passed unread, unless that is said already.
    """
    alert = fold.join_alert(IrregularityKind.UNREADABLE_CARD, "card")
    if alert is None:
        said = detail("unread_card", slot=card.slot)
        fold.raise_alert(IrregularityKind.UNREADABLE_CARD, said, slot=card.slot)
    elif card.slot is not None:
        alert.data = replace(alert.data, slot=card.slot)


def _make_good(fold: Fold, round_: RoundState) -> None:
    round_.missing = round_.draw_ordered = False
    alert = fold.open_alert(IrregularityKind.MISSING_DRAW)
    if alert is not None:
        fold.close_alert(alert, "draw_now", "the missing card was drawn")


def take_excess(
    fold: Fold, round_: RoundState | None, card: Drawn, *, moved: bool = False
) -> None:
    """
    Take a card that belongs to neither hand.

    Args:
        fold: The table.
        round_: The round that it was drawn in or after; None before the first.
        card: The card.
        moved: It was dealt before, and found out when the faces came.
    """
    if not moved and fold.state.shoe is not None:
        card.order = fold.state.shoe.out
    if round_ is not None and len(round_.excess) < _MOST_EXCESS:
        insort(round_.excess, card, key=lambda each: each.order)
    card.slot = None
    if not moved:
        card.public = card.face is not None and fold.face_up
    if card.face is not None and not (card.public or moved):
        fold.emit(events.StaffCardDealt(card.face, None))
    if round_ is not None and round_.excess_decided and not moved:
        round_.excess_decided = False  # the card that the reader spoke of before
    elif (alert := fold.join_alert(IrregularityKind.EXCESS_CARD, "card")) is not None:
        known = hidden_faces.alert_of(fold, card)
        if known is not None:
            fold.close_alert(known, "continue", "it is part of another irregularity")
        card.alert = alert.data.id
    else:
        verdict = None if round_ is None else lifecycle.told(round_)
        said = excess_detail(verdict, card.face if card.public else None)
        _raise(fold, card, IrregularityKind.EXCESS_CARD, said)
    inventory.check_pace(fold)
    if fold.state.shoe is not None and not moved:
        fold.state.shoe.out += 1
        second_reader.drawn(fold, card.face, card)
        shoe_lifecycle.count(fold, fold.state.shoe, card)


def excess_detail(verdict: next_card.Due | None, shown: Card | None) -> Detail:
    """
    Return the sentence of a card too many.

    Args:
        verdict: What was due in its round; None before the first round.
        shown: The card, where it may be named.
    """
    values: dict[str, Value] = {} if shown is None else {"card": shown}
    suffix = "_unseen" if shown is None else ""
    if verdict is None:
        return detail(f"excess_before_any_round{suffix}", **values)
    if verdict.known and verdict.spot is None:
        say = verdict.say
        values |= {"because": say.detail_code, **say.detail_values}
        return detail(f"excess_after_end{suffix}", **values)
    return detail(f"excess_out_of_order{suffix}", **values)
