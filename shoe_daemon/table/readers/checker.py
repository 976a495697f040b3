"""
The comparison of a checking reader with the main reader, card by card.

Both readers see the cards leave the shoe in one order, and either may be some cards ahead of
the other. After a difference the readers are out of step until a boundary that both can see, or
until four cards in a row match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.game import Card, IrregularityKind
from shoe_daemon.table import ledger
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.readers import replacement
from shoe_daemon.table.state import CheckerState

_MAX_CARDS_APART: Final = 12
"""Cards by which one reader may be ahead of the other."""
_RESYNC_CARDS: Final = 4
"""Cards in a row that must match to put the readers in step again."""
_CONFLICT: Final = "readers differ"
"""The key of a difference in `Round.dismissed`: it is raised once in a round."""
_LATE_CARD_US: Final = 1_000_000
"""Microseconds for which a card of a round that has ended may still come."""


def compare_checker_card(context: TableContext, source: str | None, face: Card | None) -> bool:
    """
    Compare a card of a checking reader; None for a card that it could not read.

    Return False if the card is to be dealt: the reader is no checking reader, or it replaces the
    main reader.
    """
    if source is None or source not in context.options.checkers:
        return False
    check = context.state.checks.setdefault(source, CheckerState())
    replaces = source == replacement.replacement_reader(context)
    if replaces and check.in_step:
        _align_replacement(context, check, face)
    _read_checker_card(context, source, check, face)
    return not (replaces and (check.ahead or not check.in_step))


def _align_replacement(context: TableContext, check: CheckerState, face: Card | None) -> None:
    # Before it deals: right after a boundary its card may be a late card of the round
    # that has ended, or the first of the next.
    check.ahead.clear()
    _drop_late_cards(context, check)
    place = _behind_index(context, check, face)
    if place is None:
        check.in_step = not check.unproven or context.now_us() >= check.late_until
    else:
        check.in_step = place >= check.optional


def mark_cards_missed(context: TableContext, source: str | None) -> bool:
    """
    Record that a reader has missed cards; return whether it is only checking.

    A checking reader is out of step then; after the main reader, all of them are.
    """
    only = replacement.is_only_checking(context, source)
    for name, check in _checkers(context):
        if not only or name == source:
            check.in_step, check.unproven = False, True
    return only


def _checkers(context: TableContext) -> Iterator[tuple[str, CheckerState]]:
    for source in context.options.checkers:
        yield source, context.state.checks.setdefault(source, CheckerState())


def compare_main_card(
    context: TableContext, face: Card | None, card: DrawnCard | None = None
) -> None:
    """
    Compare a card that the main reader has read.

    `face` is None while unknown. `card` is the card in its round, or None if it belongs to no
    hand: a checking reader may never see it.
    """
    if not context.options.checkers:
        return
    if card is not None and not _is_of_hand(context, card):
        _mark_hidden_comparison(context, [card])
    for source, check in _checkers(context):
        if card is not None and check.in_step and _is_before_first_round(context):
            _skip_burned_cards(check, face)
        if check.in_step and check.ahead:
            _match_ahead(context, source, check, face, card)
            continue
        _append_card(check, check.behind, face)
        if card is None:
            _mark_optional(context, check)


def _is_of_hand(context: TableContext, card: DrawnCard) -> bool:
    round_ = context.state.round
    return round_ is not None and any(each is card for each in round_.cards)


def record_hidden_cards(context: TableContext, round_: Round) -> None:
    """Record that hidden cards of this round were compared."""
    if context.options.checkers:
        _mark_hidden_comparison(context, round_.drawn)


def _mark_hidden_comparison(context: TableContext, cards: Iterable[DrawnCard]) -> None:
    if context.face_up or not _known_hidden_cards(cards):
        return
    for _, check in _checkers(context):
        check.hidden = _latest_round_number(context)


def _known_hidden_cards(cards: Iterable[DrawnCard]) -> list[DrawnCard]:
    return [card for card in cards if card.face is not None and not card.public]


def _latest_round_number(context: TableContext) -> int:
    return 0 if context.state.round is None else context.state.round.number


def _is_before_first_round(context: TableContext) -> bool:
    shoe = context.state.shoe
    return shoe is not None and not shoe.burn_checked


def _skip_burned_cards(check: CheckerState, face: Card | None) -> None:
    # Cards that only the checking reader has read before the first round were burned.
    while check.ahead and None not in {face, check.ahead[0]} and check.ahead[0] is not face:
        del check.ahead[0]


def _match_ahead(
    context: TableContext,
    source: str,
    check: CheckerState,
    face: Card | None,
    card: DrawnCard | None,
) -> None:
    own = check.ahead[0]
    if None not in {own, face} and own is not face:
        check.behind = [face]
        _raise_divergence(context, source, check, card)
        return
    del check.ahead[0]
    _record_match(check, own, face, card)


def _record_match(
    check: CheckerState, own: Card | None, face: Card | None, card: DrawnCard | None
) -> None:
    if face is None and card is not None:
        card.checked = card.checked or own
    elif own is not None:
        check.unproven = False


def _read_checker_card(
    context: TableContext, source: str, check: CheckerState, own: Card | None
) -> None:
    _drop_late_cards(context, check)
    place = _behind_index(context, check, own) if check.in_step else None
    if place is not None:
        _catch_up(context, check, own, place)
    elif check.in_step and check.behind and not _all_burned(context, check):
        card = _behind_card(context, check, 0)
        check.ahead = [own]
        _raise_divergence(context, source, check, card)
    else:
        _record_ahead(context, source, check, own)


def _catch_up(context: TableContext, check: CheckerState, own: Card | None, place: int) -> None:
    # The first card of a round may be equal to a burned card that was not read.
    burned = check.optional > 1 and _all_burned(context, check)
    doubtful = place < check.optional and (check.unproven or burned)
    _record_match(
        check, own, _behind_face(context, check, place), _behind_card(context, check, place)
    )
    check.unproven |= doubtful
    del check.behind[: place + 1]
    check.optional = max(check.optional - place - 1, 0)


def _drop_late_cards(context: TableContext, check: CheckerState) -> None:
    if check.optional and context.now_us() >= check.late_until:
        del check.behind[: check.optional]
        check.optional = 0


def _mark_optional(context: TableContext, check: CheckerState) -> None:
    # The checking reader may have missed these cards, or may read them late.
    check.optional = len(check.behind)
    check.late_until = context.now_us() + _LATE_CARD_US


def _all_burned(context: TableContext, check: CheckerState) -> bool:
    # All cards are optional for the checking reader, and the latest belongs to no round.
    last = len(check.behind) - 1
    return check.optional > last and _behind_card(context, check, last) is None


def _record_ahead(
    context: TableContext, source: str, check: CheckerState, own: Card | None
) -> None:
    if check.in_step:
        check.behind.clear()
        check.optional = 0
    too_far = check.in_step and len(check.ahead) >= _MAX_CARDS_APART
    _append_card(check, check.ahead, own)
    if too_far:
        _raise_unless_unproven(context, check, make_detail("reader_read_more", source=source))


def _behind_index(context: TableContext, check: CheckerState, own: Card | None) -> int | None:
    # Find this card among those of the main reader. The first that
    # must be read comes first; before it, any that may be skipped.
    places: tuple[int, ...] = (check.optional, *range(check.optional))
    for place in places:
        face = _behind_face(context, check, place) if place < len(check.behind) else None
        if own is not None and own is face:
            return place
    return 0 if check.behind and None in {own, _behind_face(context, check, 0)} else None


def _behind_face(context: TableContext, check: CheckerState, place: int) -> Card | None:
    card = _behind_card(context, check, place)
    return check.behind[place] if card is None else card.face


def _behind_card(context: TableContext, check: CheckerState, place: int) -> DrawnCard | None:
    # `behind` ends with the latest card of the round on the table, unless cards
    # of no hand have left the shoe since the round began.
    round_, shoe = context.state.round, context.state.shoe
    if round_ is None or shoe is None:
        return None
    seeds = sum(card.seed for card in round_.cards)
    dealt, back = len(round_.cards) - seeds, len(check.behind) - place
    return round_.cards[-back] if back <= dealt == shoe.out - round_.out_before else None


def _append_card(check: CheckerState, cards: list[Card | None], face: Card | None) -> None:
    cards.append(face)
    if len(cards) > _MAX_CARDS_APART:
        del cards[0]
        check.optional = max(check.optional - 1, 0)
        check.in_step = False
    if not check.in_step:
        _find_common_run(check)


def _find_common_run(check: CheckerState) -> None:
    # The readers are in step if the latest cards of one occur among the cards of the other.
    for here, there in ((check.ahead, check.behind), (check.behind, check.ahead)):
        run = here[-_RESYNC_CARDS:]
        for end in range(len(there), _RESYNC_CARDS - 1, -1):
            if None not in run and there[end - _RESYNC_CARDS : end] == run:
                here.clear()
                del there[:end]
                check.optional, check.in_step, check.unproven = 0, True, False
                return


def _raise_divergence(
    context: TableContext, source: str, check: CheckerState, card: DrawnCard | None
) -> None:
    check.in_step = False
    slot = None if card is None else card.slot
    _raise_unless_unproven(
        context, check, make_detail("readers_differ", source=source, slot=slot), card
    )


def resync_at_boundary(context: TableContext, *, drawing: bool = False) -> None:
    """
    Put the readers in step at a boundary that all of them can see; `drawing` if the first card
    of the next round may have left the shoe already.
    """
    for source, check in _checkers(context):
        if check.hidden is not None and check.hidden < _latest_round_number(context):
            # The comparison so far may not influence public events.
            context.state.checks[source] = CheckerState(unproven=True)
            continue
        if not check.in_step:
            # A single misread: both read as many cards, and only the first of them differs.
            is_misread = len(check.ahead) > 1 and check.ahead[1:] == check.behind[1:]
            check.unproven |= not is_misread
            del check.behind[: len(check.ahead)]
            check.ahead.clear()
            check.in_step = True
        elif check.ahead and not drawing:
            if any(check.ahead):
                _raise_unless_unproven(
                    context, check, make_detail("reader_read_more", source=source)
                )
            check.ahead.clear()
        _mark_optional(context, check)


def reset_for_new_shoe(context: TableContext) -> None:
    """Discard the cards of the previous shoe that the checking readers have not read."""
    for _, check in _checkers(context):
        check.behind.clear()
        check.optional = 0
        check.hidden = None if check.hidden is None else 0


def compare_disclosed_faces(context: TableContext, round_: Round) -> None:
    """Compare disclosed faces with the faces that the checking readers read."""
    names = ", ".join(context.options.checkers)
    for card in round_.cards:
        if card.checked is not None and card.face not in {None, card.checked}:
            _raise_source_conflict(
                context, make_detail("readers_differ", source=names, slot=card.slot), card
            )
            card.checked = None


def _raise_unless_unproven(
    context: TableContext, check: CheckerState, detail: Detail, card: DrawnCard | None = None
) -> None:
    if not check.unproven:
        _raise_source_conflict(context, detail, card)


def _raise_source_conflict(
    context: TableContext, detail: Detail, card: DrawnCard | None = None
) -> None:
    kind, round_ = IrregularityKind.SOURCE_CONFLICT, context.state.round
    number = None if round_ is None else round_.number
    # A match depends on every face, including hidden ones.
    never = any(check.hidden is not None for _, check in _checkers(context))
    hidden = [] if never else _hidden_cards(context, card)
    if never or hidden:
        ledger.raise_alert(
            context, kind, detail, number=number, hidden_cards=hidden, staff_only=never
        )
        return
    if round_ is not None:
        if _CONFLICT in round_.dismissed:
            return
        round_.dismissed[_CONFLICT] = ""
    ledger.raise_alert(context, kind, detail, number=number)


def _hidden_cards(context: TableContext, card: DrawnCard | None) -> list[DrawnCard]:
    round_ = context.state.round
    lying = [] if round_ is None or round_.phase else round_.cards
    hidden = _known_hidden_cards(lying)
    if card is not None and not card.public and all(each is not card for each in hidden):
        hidden.append(card)
    return hidden
