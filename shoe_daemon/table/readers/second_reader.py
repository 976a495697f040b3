"""
Two readers on one table: a checking reader confirms what the main reader has
read, and deals the cards while the main reader is away.

Both readers see the cards leave the shoe in one order, and either may be some
cards ahead of the other. The two sequences are compared card by card. After a
difference the readers are out of step until a boundary that both can see, or
until four cards in a row match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import IrregularityKind
from shoe_daemon.table.detail_texts import Detail, detail
from shoe_daemon.table.table_state import Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shoe_daemon.game import Card
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import Drawn, ReaderState, RoundState

_MOST_CARDS: Final = 12
"""Cards by which one reader may be ahead of the other."""
_RUN: Final = 4
"""Cards in a row that must match to put the readers in step again."""
_LATE_US: Final = 1_000_000
"""Microseconds for which a card of a round that has ended may still come."""


def only_checks(fold: Fold, source: str | None, face: Card | None) -> bool:
    """
    Compare a card of a checking reader, None for a card that it could not read.

    Returns:
        Whether that is all. Otherwise the card is to be dealt: the reader is no
        checking reader, or it replaces the main reader.
    """
    if source is None or source not in fold.options.checkers:
        return False
    check = fold.state.checks.setdefault(source, Check())
    replaces = source == _replacement(fold)
    if replaces and check.in_step:
        _settle(fold, check, face)
    _read(fold, source, check, face)
    return not (replaces and (check.ahead or not check.in_step))


def was_dealt(fold: Fold, source: str | None, face: Card | None) -> bool:
    """
    Tell whether the reader that replaces the main reader, and is out of step, has read a
    card that the main reader had read before it went away.
    """
    check = fold.state.checks.get(source or "")
    if check is None or check.in_step or face is None or face not in check.behind:
        return False
    del check.behind[: check.behind.index(face) + 1]
    check.ahead.clear()
    return True


def _settle(fold: Fold, check: Check, face: Card | None) -> None:
    # Before it deals: right after a boundary its card may be a late one of the round
    # that has ended, or the first of the next.
    check.ahead.clear()
    _drop_late(fold, check)
    place = _place_of(fold, check, face)
    if place is None:
        check.in_step = not check.unproven or fold.microseconds() >= check.late_until
    else:
        check.in_step = place >= check.optional


def is_replaced_out_of_step(fold: Fold, source: str | None) -> bool:
    """
    Tell whether a main reader that has gone away is replaced by one that is out of step.
    """
    check = fold.state.checks.get(_replacement(fold) or "")
    return check is not None and not check.in_step and source not in fold.options.checkers


def take_over(fold: Fold, source: str | None, face: Card | None) -> bool:
    """
    Let the reader that replaces the main reader deal this card.

    Returns:
        Whether it was out of step: cards may be missing before this one.
    """
    if source is None or source not in fold.options.checkers:
        return False
    if fold.state.checks[source].in_step:
        return False
    hidden = fold.state.checks[source].hidden
    fold.state.checks[source] = Check(ahead=[face], hidden=hidden)
    return True


def undealt(fold: Fold) -> list[Card | None]:
    """
    Return the cards that only the reader has read which now replaces the main reader.
    """
    check = fold.state.checks.get(_replacement(fold) or "")
    if check is None:
        return []
    if check.ahead and (check.unproven or fold.microseconds() < check.late_until):
        check.in_step = False  # they may be late cards of a round that has ended
    return list(check.ahead) if check.in_step else []


def confirms(fold: Fold, source: str | None) -> bool:
    """
    Tell whether a reader is a checking reader, and replaces no other one now.
    """
    return source in fold.options.checkers and source != _replacement(fold)


def misses(fold: Fold, source: str | None) -> bool:
    """
    Take it that a reader has missed cards: a checking reader is out of step
    then, and after the main reader all of them are.

    Returns:
        Whether it is a reader that only checks.
    """
    only = confirms(fold, source)
    for name, check in _checks(fold):
        if not only or name == source:
            check.in_step, check.unproven = False, True
    return only


def _replacement(fold: Fold) -> str | None:
    checkers, known = fold.options.checkers, fold.state.readers
    dealing = [
        reader
        for name, reader in known.items()
        if name not in checkers and not reader.places and (name or reader.link != "unknown")
    ]
    if not dealing or not all(map(_is_down, dealing)):
        return None
    up = (name for name in checkers if name not in known or not _is_down(known[name]))
    return next(up, None)


def _is_down(reader: ReaderState) -> bool:
    return reader.link == "down"


def stands_alone(fold: Fold, source: str | None) -> bool:
    """
    Tell whether all readers but a camera are away.
    """
    others = [each for name, each in fold.state.readers.items() if name != (source or "")]
    return bool(others) and all(map(_is_down, others))


def _checks(fold: Fold) -> Iterator[tuple[str, Check]]:
    for source in fold.options.checkers:
        yield source, fold.state.checks.setdefault(source, Check())


def drawn(fold: Fold, face: Card | None, card: Drawn | None = None) -> None:
    """
    Compare a card that the main reader has read.

    Args:
        fold: The table.
        face: Its face; None where it is not known yet.
        card: The card in its round; None where it belongs to no hand: a
            checking reader may never see it.
    """
    if not fold.options.checkers:
        return
    if card is not None and not _is_of_hand(fold, card):
        _keep_hidden(fold, [card])
    for source, check in _checks(fold):
        if card is not None and check.in_step and _opens_shoe(fold):
            _skip_burn(check, face)
        if check.in_step and check.ahead:
            _pair(fold, source, check, face, card)
            continue
        _keep(check, check.behind, face)
        if card is None:
            _may_skip(fold, check)


def _is_of_hand(fold: Fold, card: Drawn) -> bool:
    round_ = fold.state.round
    return round_ is not None and any(each is card for each in round_.cards)


def round_left(fold: Fold, round_: RoundState) -> None:
    """
    Remember that cards of a round were compared that the players have not seen at its end.
    """
    if fold.options.checkers:
        _keep_hidden(fold, [*round_.cards, *round_.excess])


def _keep_hidden(fold: Fold, cards: Iterable[Drawn]) -> None:
    if fold.face_up or not _known_hidden(cards):
        return
    for _, check in _checks(fold):
        check.hidden = _latest_round(fold)


def _known_hidden(cards: Iterable[Drawn]) -> list[Drawn]:
    return [card for card in cards if card.face is not None and not card.public]


def _latest_round(fold: Fold) -> int:
    return 0 if fold.state.round is None else fold.state.round.number


def _opens_shoe(fold: Fold) -> bool:
    shoe = fold.state.shoe
    return shoe is not None and not shoe.burn_checked


def _skip_burn(check: Check, face: Card | None) -> None:
    # What only the checking reader has read before the first round was burned.
    while check.ahead and None not in {face, check.ahead[0]} and check.ahead[0] is not face:
        del check.ahead[0]


def _pair(fold: Fold, source: str, check: Check, face: Card | None, card: Drawn | None) -> None:
    own = check.ahead[0]
    if None not in {own, face} and own is not face:
        check.behind = [face]
        _diverge(fold, source, check, card)
        return
    del check.ahead[0]
    _match(check, own, face, card)


def _match(check: Check, own: Card | None, face: Card | None, card: Drawn | None) -> None:
    if face is None and card is not None:
        card.checked = card.checked or own
    elif own is not None:
        check.unproven = False


def _read(fold: Fold, source: str, check: Check, own: Card | None) -> None:
    _drop_late(fold, check)
    place = _place_of(fold, check, own) if check.in_step else None
    if place is not None:
        _catch_up(fold, check, own, place)
    elif check.in_step and check.behind and not _all_burned(fold, check):
        card = _lying(fold, check, 0)
        check.ahead = [own]
        _diverge(fold, source, check, card)
    else:
        _run_ahead(fold, source, check, own)


def _catch_up(fold: Fold, check: Check, own: Card | None, place: int) -> None:
    # The first card of a round may be equal to a burned card that was not read.
    burned = check.optional > 1 and _all_burned(fold, check)
    doubtful = place < check.optional and (check.unproven or burned)
    _match(check, own, _face(fold, check, place), _lying(fold, check, place))
    check.unproven |= doubtful
    del check.behind[: place + 1]
    check.optional = max(check.optional - place - 1, 0)


def _drop_late(fold: Fold, check: Check) -> None:
    if check.optional and fold.microseconds() >= check.late_until:
        del check.behind[: check.optional]
        check.optional = 0


def _may_skip(fold: Fold, check: Check) -> None:
    # Up to here the checking reader may have missed cards, or read them late.
    check.optional = len(check.behind)
    check.late_until = fold.microseconds() + _LATE_US


def _all_burned(fold: Fold, check: Check) -> bool:
    # Only cards that the checking reader need not see, and the latest is of no round.
    last = len(check.behind) - 1
    return check.optional > last and _lying(fold, check, last) is None


def _run_ahead(fold: Fold, source: str, check: Check, own: Card | None) -> None:
    if check.in_step:
        check.behind.clear()
        check.optional = 0
    too_far = check.in_step and len(check.ahead) >= _MOST_CARDS
    _keep(check, check.ahead, own)
    if too_far:
        _conflict(fold, check, detail("reader_read_more", source=source))


def _place_of(fold: Fold, check: Check, own: Card | None) -> int | None:
    # Which of the cards that the main reader has read is this one? The first that
    # must be read comes first; before it, any that may be skipped.
    places: tuple[int, ...] = (check.optional, *range(check.optional))
    for place in places:
        face = _face(fold, check, place) if place < len(check.behind) else None
        if own is not None and own is face:
            return place
    return 0 if check.behind and None in {own, _face(fold, check, 0)} else None


def _face(fold: Fold, check: Check, place: int) -> Card | None:
    card = _lying(fold, check, place)
    return check.behind[place] if card is None else card.face


def _lying(fold: Fold, check: Check, place: int) -> Drawn | None:
    # `behind` ends with the latest card of the round on the table, unless cards
    # that belong to no hand have left the shoe since that began.
    round_, shoe = fold.state.round, fold.state.shoe
    if round_ is None or shoe is None:
        return None
    dealt, back = len(round_.cards) - round_.seeded, len(check.behind) - place
    return round_.cards[-back] if back <= dealt == shoe.out - round_.out_before else None


def _keep(check: Check, cards: list[Card | None], face: Card | None) -> None:
    cards.append(face)
    if len(cards) > _MOST_CARDS:
        del cards[0]
        check.optional = max(check.optional - 1, 0)
        check.in_step = False
    if not check.in_step:
        _find_step(check)


def _find_step(check: Check) -> None:
    # The latest cards of one reader, if they occur among the other's, put them in step.
    for here, there in ((check.ahead, check.behind), (check.behind, check.ahead)):
        run = here[-_RUN:]
        for end in range(len(there), _RUN - 1, -1):
            if None not in run and there[end - _RUN : end] == run:
                here.clear()
                del there[:end]
                check.optional, check.in_step, check.unproven = 0, True, False
                return


def _diverge(fold: Fold, source: str, check: Check, card: Drawn | None) -> None:
    check.in_step = False
    slot = None if card is None else card.slot
    _conflict(fold, check, detail("readers_differ", source=source, slot=slot), card)


def boundary(fold: Fold, *, drawing: bool = False) -> None:
    """
    Take a moment between two rounds that all readers can see: they are in step.

    Args:
        fold: The table.
        drawing: The first card of the next round may have left the shoe already.
    """
    for source, check in _checks(fold):
        if check.hidden is not None and check.hidden < _latest_round(fold):
            # Nothing of the comparison so far may decide what the players are told.
            fold.state.checks[source] = Check(unproven=True)
            continue
        if not check.in_step:
            check.unproven |= not _is_one_card(check)
            del check.behind[: len(check.ahead)]
            check.ahead.clear()
            check.in_step = True
        elif check.ahead and not drawing:
            if any(check.ahead):
                _conflict(fold, check, detail("reader_read_more", source=source))
            check.ahead.clear()
        _may_skip(fold, check)


def _is_one_card(check: Check) -> bool:
    # Both read the same number of cards, and only the first of them differs.
    return len(check.ahead) > 1 and check.ahead[1:] == check.behind[1:]


def new_shoe(fold: Fold) -> None:
    """
    Forget what the checking readers have not read of the shoe before.
    """
    for _, check in _checks(fold):
        check.behind.clear()
        check.optional = 0
        check.hidden = None if check.hidden is None else 0


def compare(fold: Fold, round_: RoundState) -> None:
    """
    Compare the faces that have become known with what was read of them.
    """
    names = ", ".join(fold.options.checkers)
    for card in round_.cards:
        if card.checked is not None and card.face not in {None, card.checked}:
            _raise(fold, detail("readers_differ", source=names, slot=card.slot), card)
            card.checked = None


def _conflict(fold: Fold, check: Check, said: Detail, card: Drawn | None = None) -> None:
    if not check.unproven:
        _raise(fold, said, card)


def _raise(fold: Fold, said: Detail, card: Drawn | None = None) -> None:
    kind, round_ = IrregularityKind.SOURCE_CONFLICT, fold.state.round
    number = None if round_ is None else round_.number
    # What two readers have read alike depends on every face, those too that lie hidden.
    never = any(check.hidden is not None for _, check in _checks(fold))
    hidden = [] if never else _hidden(fold, card)
    if never or hidden:
        fold.raise_alert(kind, said, number=number, unseen=hidden, staff_only=never)
        return
    if round_ is not None:
        if round_.conflict:
            return
        round_.conflict = True
    fold.raise_alert(kind, said, number=number)


def _hidden(fold: Fold, card: Drawn | None) -> list[Drawn]:
    round_ = fold.state.round
    lying = [] if round_ is None or round_.ended else round_.cards
    hidden = _known_hidden(lying)
    if card is not None and not card.public and all(each is not card for each in hidden):
        hidden.append(card)
    return hidden
