"""
Two readers on one table: the second only checks what the first has read, and
deals the cards while that is away.

Both see the cards leave the shoe in one order, and one of them a little
earlier: what is compared is that order, counted from the first card of a round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.table import readers
from shoe_daemon.table.details import Detail, detail

if TYPE_CHECKING:
    from shoe_daemon.game.cards import Card
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.state import ReaderState, RoundState

_MOST: Final = 100


def only_checks(fold: Fold, source: str | None, card: Card | None) -> bool:
    """
    Take what a checking reader has read, None for a card that it could not read.

    Returns:
        Whether that is all: it is a draw of its own only while the reader that
        it checks is away, and has not read the card before.
    """
    if source is None or source not in fold.options.checkers:
        return False
    read = fold.state.checks.setdefault(source, [])
    is_new = len(read) >= _drawn(fold)
    if len(read) < _MOST:
        read.append(card)
    if is_new and source == _stand_in(fold):
        return False
    if fold.state.round is not None:
        compare(fold, fold.state.round)
    return True


def lost(fold: Fold, source: str | None) -> bool:
    """
    A checking reader has missed something: it checks nothing more of this round.

    Returns:
        Whether it is one that only checks.
    """
    if source is None or source not in fold.options.checkers or source == _stand_in(fold):
        return False
    fold.state.checks[source] = [None] * _MOST
    readers.change(fold, source, lambda reader: setattr(reader, "partial", True))
    return True


def undealt(fold: Fold) -> list[Card | None]:
    """
    Return what the reader that stands in had read before the other went away,
    and that one had not.
    """
    source, round_ = _stand_in(fold), fold.state.round
    if source is None or (round_ is not None and round_.conflict):
        return []
    read = fold.state.checks.get(source, [])
    return [] if len(read) >= _MOST else read[_drawn(fold) :]


def _stand_in(fold: Fold) -> str | None:
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


def _drawn(fold: Fold) -> int:
    """
    Return how many cards have left the shoe since the round on the table began.
    """
    shoe, round_ = fold.state.shoe, fold.state.round
    if shoe is None:
        return 0
    return shoe.out - (0 if round_ is None else round_.out_before)


def compare(fold: Fold, round_: RoundState) -> None:
    """
    Compare, card by card in the order out of the shoe, what both have read.
    """
    if round_.partial or round_.excess:
        return
    own = round_.cards[1:] if round_.seeded else round_.cards
    for source, read in fold.state.checks.items():
        for card, other in zip(own, read, strict=False):
            if None not in {card.face, other} and card.face is not other:
                _conflict(fold, round_, detail("readers_differ", source=source, slot=card.slot))
                return


def new_shoe(fold: Fold) -> None:
    """
    Another shoe is put on the table: what was read of the one before is past.
    """
    drawn = _drawn(fold)
    fold.state.checks = {source: read[drawn:] for source, read in fold.state.checks.items()}


def turn(fold: Fold, first: Card | None) -> None:
    """
    Another round begins, with this card out of the shoe: a checking reader may
    have read that already, and whatever else is left over was never dealt.
    """
    drawn = _drawn(fold)
    for source, read in fold.state.checks.items():
        left = read[drawn:]
        ahead = next((n for n, card in enumerate(left) if first in {None, card}), len(left))
        fold.state.checks[source] = left[ahead:]
        _check_more(fold, fold.state.round, source, left[:ahead])


def finish(fold: Fold, round_: RoundState) -> None:
    """
    At the end of a round, say if the second reader saw more cards of it.
    """
    for source, read in fold.state.checks.items():
        _check_more(fold, round_, source, read[_drawn(fold) :])


def _check_more(
    fold: Fold, round_: RoundState | None, source: str, more: list[Card | None]
) -> None:
    if round_ is not None and not round_.partial and any(more):
        _conflict(fold, round_, detail("reader_read_more", source=source))


def _conflict(fold: Fold, round_: RoundState, said: Detail) -> None:
    if round_.conflict:
        return
    round_.conflict = True
    fold.raise_alert(IrregularityKind.SOURCE_CONFLICT, said, number=round_.number)
