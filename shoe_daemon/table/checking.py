"""
Two readers on one table: the second only checks what the first has read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.irregularities import IrregularityKind

if TYPE_CHECKING:
    from shoe_daemon.game.cards import Card
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.state import RoundState

_MOST: Final = 20


def only_checks(fold: Fold, source: str | None) -> bool:
    """
    Tell whether a reader's card is no draw of its own: it is one while the
    reader that it checks is away.
    """
    if source is None or source not in fold.options.checkers:
        return False
    dealing = [
        reader
        for name, reader in fold.state.readers.items()
        if name not in fold.options.checkers and name
    ]
    return not dealing or any(reader.link != "down" for reader in dealing)


def check(fold: Fold, source: str, card: Card | None) -> None:
    """
    Take what the second reader has read, and compare.
    """
    read = fold.state.checks.setdefault(source, [])
    if card is not None and len(read) < _MOST:
        read.append(card)
    round_ = fold.state.round
    if round_ is not None and not round_.ended:
        compare(fold, round_)


def compare(fold: Fold, round_: RoundState) -> None:
    """
    Compare, card by card in the order out of the shoe, what both have read.
    """
    for source, read in fold.state.checks.items():
        for card, other in zip(round_.cards, read, strict=False):
            if card.face is not None and card.face is not other:
                _conflict(fold, round_, f"{source} read another card on {card.slot}")
                return


def finish(fold: Fold, round_: RoundState) -> None:
    """
    At the end of a round, say if the second reader saw more cards of it.
    """
    for source, read in fold.state.checks.items():
        if len(read) > len(round_.cards) + len(round_.excess) and not round_.partial:
            _conflict(fold, round_, f"{source} read more cards than were dealt")
    fold.state.checks.clear()


def _conflict(fold: Fold, round_: RoundState, what: str) -> None:
    if round_.conflict:
        return
    round_.conflict = True
    fold.raise_alert(
        IrregularityKind.SOURCE_CONFLICT,
        f"Two readers differ: {what}; the first reading stands until a person decides.",
    )
