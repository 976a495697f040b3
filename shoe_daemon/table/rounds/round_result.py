"""The result of a round: computed from its cards, or as declared."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from shoe_daemon.game import CountedHand, Coup, Kind, Outcome
from shoe_daemon.table import events

if TYPE_CHECKING:
    from shoe_daemon.game import Card, Settlement
    from shoe_daemon.table.shoe_state import RoundState
    from shoe_daemon.table.table_context import TableContext

# A constant: in Python 3.11 looking up a member of an enumeration is slow.
_NORMAL_KIND = Kind.NORMAL


def hand_faces(round_: RoundState, side: int) -> tuple[Card, ...]:
    """Return the known faces of one hand: side 0 is the Player, 1 the Banker."""
    return tuple(
        card.face for card in round_.spots[side::2] if card is not None and card.face is not None
    )


def result_from_cards(context: TableContext, round_: RoundState) -> events.RoundFinished:
    """Return the result of a complete round from its cards."""
    coup = Coup.of(hand_faces(round_, 0), hand_faces(round_, 1))
    return result_of_coup(context, coup, kind=round_.kind, partial=round_.partial)


def result_of_coup(
    context: TableContext, coup: Coup, *, kind: Kind, partial: bool
) -> events.RoundFinished:
    """Return the result of a coup; a hand without wagers settles none."""
    return events.RoundFinished(
        banker=hand_result(coup.banker),
        kind=kind,
        outcome=coup.outcome,
        partial=partial,
        player=hand_result(coup.player),
        wagers=_wager_results(context.house.settle(coup)) if kind is _NORMAL_KIND else (),
    )


def hand_result(hand: CountedHand) -> events.HandResult:
    """Return the result of one hand whose cards are all known."""
    return events.HandResult(hand.cards, hand.natural, hand.pair, hand.total)


@lru_cache(maxsize=4096)
def _wager_results(settled: tuple[Settlement, ...]) -> tuple[events.WagerResult, ...]:
    return tuple(events.WagerResult(each.pays, each.result, each.wager) for each in settled)


def result_as_declared(round_: RoundState, declared: Outcome | None) -> events.RoundFinished:
    """Return the declared result of a round whose cards are not all known."""
    return events.RoundFinished(
        banker=_partial_hand_result(round_, 1),
        kind=round_.kind,
        outcome=declared,
        partial=True,
        player=_partial_hand_result(round_, 0),
        wagers=(),
    )


def _partial_hand_result(round_: RoundState, side: int) -> events.HandResult:
    cards = [card for card in round_.spots[side::2] if card is not None]
    shown = tuple(card.face if card.public else None for card in cards)
    known = tuple(face for face in shown if face is not None)
    if not round_.partial and known == shown:
        # Only the other hand holds an unread card: this hand is known.
        return hand_result(CountedHand.of(known))
    pair = known[0].rank == known[1].rank if known[:2] == shown[:2] and known[1:] else None
    return events.HandResult(shown, None, None if round_.partial else pair, None)
