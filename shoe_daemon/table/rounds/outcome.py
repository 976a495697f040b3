"""The result of a round: from its cards, or as the device or the dealer's button declares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from shoe_daemon.game import (
    FIRST_CARDS,
    Card,
    CountedHand,
    Coup,
    Kind,
    Outcome,
    Settlement,
)
from shoe_daemon.table import events
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.observations import Result
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.view import View

_OUTCOME_OF_TEXT: Final = {each.value: each for each in Outcome}
# A constant: in Python 3.11 looking up a member of an enumeration is slow.
_NORMAL_KIND = Kind.NORMAL


def from_cards(context: TableContext, round_: Round) -> events.RoundFinished:
    """Return the result of a complete round from its cards."""
    spots = round_.view.spots
    coup = Coup.of(_faces(spots[::2]), _faces(spots[1::2]))
    return events.RoundFinished(
        banker=_hand_result(coup.banker),
        kind=round_.kind,
        outcome=coup.outcome,
        partial=round_.doubts != 0,
        player=_hand_result(coup.player),
        wagers=(_wager_results(context.house.settle(coup)) if round_.kind is _NORMAL_KIND else ()),
    )


def _faces(cards: Sequence[DrawnCard | None]) -> tuple[Card, ...]:
    return tuple([card.face for card in cards if card is not None and card.face is not None])


def _hand_result(hand: CountedHand) -> events.HandResult:
    return events.HandResult(hand.cards, hand.natural, hand.pair, hand.total)


@lru_cache(maxsize=4096)
def _wager_results(settled: tuple[Settlement, ...]) -> tuple[events.WagerResult, ...]:
    return tuple(events.WagerResult(each.pays, each.result, each.wager) for each in settled)


def as_declared(
    view: View, kind: Kind, declared: Outcome | None, *, partial: bool
) -> events.RoundFinished:
    """
    Return the declared result of a round whose cards are not all known.

    `partial`: cards were missed; else one was not read, and the other hand may be known.
    """
    return events.RoundFinished(
        banker=_partial_hand_result(view, 1, partial=partial),
        kind=kind,
        outcome=declared,
        partial=True,
        player=_partial_hand_result(view, 0, partial=partial),
        wagers=(),
    )


def _partial_hand_result(view: View, side: int, *, partial: bool) -> events.HandResult:
    cards = [card for card in view.spots[side::2] if card is not None]
    shown = tuple(card.face if card.public else None for card in cards)
    known = tuple(face for face in shown if face is not None)
    if not partial and known == shown:
        # Only the other hand holds an unread card: this hand is known.
        return _hand_result(CountedHand.of(known))
    return events.HandResult(shown, None, None if partial else _is_pair(shown), None)


def _is_pair(cards: Sequence[Card | None]) -> bool | None:
    first, second = (*cards[:FIRST_CARDS], None, None)[:FIRST_CARDS]
    return None if first is None or second is None else first.rank == second.rank


def declared_winner(obs: Result) -> Outcome | None:
    """Return the winner of a `result` observation; None if it names none."""
    return None if obs.outcome is None else _OUTCOME_OF_TEXT[obs.outcome]
