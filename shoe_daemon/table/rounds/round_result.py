"""
The result of a round: computed from its cards, or as the device or the dealer's button declares.

A declared winner and declared pairs are compared with the cards at once, and again after every
change of the cards: a person's correction closes a difference that it removes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from shoe_daemon.game import (
    FIRST_CARDS,
    Card,
    CountedHand,
    Coup,
    IrregularityKind,
    Kind,
    Outcome,
    Settlement,
    banker_draws,
    is_natural,
    player_draws,
)
from shoe_daemon.table import alerts, events
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.observations import Result
from shoe_daemon.table.rounds import next_card
from shoe_daemon.table.shoe_state import DeclaredResult, DrawnCard, RoundState
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.table_state import OpenAlert

_ALL_OUTCOMES: Final = frozenset(Outcome)
_MISMATCH: Final = IrregularityKind.RESULT_MISMATCH
_OUTCOME_OF_TEXT: Final = {each.value: each for each in Outcome}
_YES_NO: Final = {True: "yes", False: "no", None: None}
# A constant: in Python 3.11 looking up a member of an enumeration is slow.
_NORMAL_KIND = Kind.NORMAL


def result_from_cards(context: TableContext, round_: RoundState) -> events.RoundFinished:
    """Return the result of a complete round from its cards."""
    coup = Coup.of(_known_faces(round_.spots[::2]), _known_faces(round_.spots[1::2]))
    return result_of_coup(context, coup, kind=round_.kind, partial=round_.partial)


def _known_faces(cards: Iterable[DrawnCard | None]) -> tuple[Card, ...]:
    return tuple([card.face for card in cards if card is not None and card.face is not None])


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
    return events.HandResult(shown, None, None if round_.partial else is_pair(shown), None)


def is_pair(cards: Sequence[Card | None]) -> bool | None:
    """Return whether the first two cards of a hand are a pair; None if one is not known."""
    first, second = (*cards[:FIRST_CARDS], None, None)[:FIRST_CARDS]
    return None if first is None or second is None else first.rank == second.rank


def record_declared_result(context: TableContext, round_: RoundState, obs: Result) -> None:
    """Store the declared result of a round, and compare it with the cards."""
    round_.declared = True
    store_declared_result(context, round_, obs)
    if not round_.torn:
        compare_with_cards(context, round_)


def store_declared_result(context: TableContext, round_: RoundState, obs: Result) -> None:
    """Store the declared result of a round; not if its cards may be those of two rounds."""
    if context.state.shoe is not None and not round_.torn:
        said = DeclaredResult(declared_winner(obs), obs.player_pair, obs.banker_pair)
        context.state.shoe.declared[round_.number] = said


def forget_early_result(context: TableContext, round_: RoundState) -> None:
    """Forget a result that was declared while a draw was missing."""
    if context.state.shoe is not None and not round_.declared:
        context.state.shoe.declared.pop(round_.number, None)


def declared_winner(obs: Result) -> Outcome | None:
    """Return the winner of a `result` observation; None if it names none."""
    return None if obs.outcome is None else _OUTCOME_OF_TEXT[obs.outcome]


def declared_outcome(context: TableContext, number: int) -> Outcome | None:
    """Return the winner declared for a round; None if none was declared."""
    said = _declared_for(context, number)
    return None if said is None else said.outcome


def compare_with_cards(context: TableContext, round_: RoundState) -> None:
    """Compare the declared result with the cards of a round on the table."""
    said = _declared_for(context, round_.number)
    if said is None:
        return
    # A card without a known slot may be the third card of either hand.
    unplaced = len(round_.cards) + round_.spots.count(None) > len(round_.spots)
    partial = unplaced or (round_.partial and not round_.unread_result)
    outcomes = possible_outcomes(tuple(next_card.known_points(round_.spots)), partial)
    _update_mismatch(
        context, round_.number, said, outcomes, (_has_pair(round_, 0), _has_pair(round_, 1))
    )


def compare_with_result(context: TableContext, number: int, data: events.RoundFinished) -> None:
    """Compare the declared result with the result of a past round."""
    said = _declared_for(context, number)
    if said is None:
        return
    outcomes = _ALL_OUTCOMES if data.partial or data.outcome is None else frozenset({data.outcome})
    _update_mismatch(context, number, said, outcomes, (data.player.pair, data.banker.pair))


def _declared_for(context: TableContext, number: int) -> DeclaredResult | None:
    return None if context.state.shoe is None else context.state.shoe.declared.get(number)


def _update_mismatch(
    context: TableContext,
    number: int,
    said: DeclaredResult,
    outcomes: frozenset[Outcome],
    pairs: tuple[bool | None, bool | None],
) -> None:
    code, values = _winner_mismatch(said, outcomes)
    for name, declared, by_cards in (
        ("player_pair", said.player_pair, pairs[0]),
        ("banker_pair", said.banker_pair, pairs[1]),
    ):
        if declared is not None and by_cards is not None and declared is not by_cards:
            code = code or ("pair_mismatch" if name == "player_pair" else "banker_pair_mismatch")
            values |= {f"{name}_declared": _YES_NO[declared], f"{name}_cards": _YES_NO[by_cards]}
    is_new, said.differing = values != said.differing, values
    alert = _open_mismatch(context, number)
    if alert is not None:
        # A second declaration is no correction: it closes nothing.
        if not values and context.operator is not None:
            alerts.close_as_corrected(context, alert)
    elif code and is_new:
        alerts.raise_alert(
            context, _MISMATCH, make_detail(code, **values), evidence="device", number=number
        )


def _winner_mismatch(
    said: DeclaredResult, outcomes: frozenset[Outcome]
) -> tuple[str | None, dict[str, str | None]]:
    if said.outcome is None or said.outcome in outcomes:
        return None, {}
    if len(outcomes) > 1:
        return "impossible_winner", {"winner_declared": said.outcome.value}
    (by_cards,) = outcomes
    values = {"winner_declared": said.outcome.value, "winner_cards": by_cards.value}
    return "result_mismatch", dict(values)


def _open_mismatch(context: TableContext, number: int) -> OpenAlert | None:
    for alert in context.state.alerts:
        if alert.round == number and alert.data.kind == _MISMATCH:
            return alert
    return None


def _has_pair(round_: RoundState, side: int) -> bool | None:
    spots = round_.spots[side : side + 2 * FIRST_CARDS : 2]
    return is_pair([None if card is None else card.face for card in spots])


@lru_cache(maxsize=4096)
def possible_outcomes(
    points: tuple[int | None, ...],
    partial: bool,  # noqa: FBT001 - a cache key
) -> frozenset[Outcome]:
    """
    Return the outcomes that the cards of a round permit; all if no lawful coup fits the cards.

    `points` and `partial` are as in `next_card.card_due`.
    """
    return frozenset(_lawful_outcomes(points, partial=partial)) or _ALL_OUTCOMES


def _lawful_outcomes(points: Sequence[int | None], *, partial: bool) -> Iterator[Outcome]:
    player_third, banker_third = points[next_card.P3_SPOT], points[next_card.B3_SPOT]
    for player in _two_card_totals(points[0], points[2]):
        for banker in _two_card_totals(points[1], points[3]):
            natural = is_natural(player, banker)
            draws = not natural and player_draws(player)
            for third in _third_card_points(player_third, draws=draws, partial=partial):
                draws = not natural and banker_draws(banker, third)
                for last in _third_card_points(banker_third, draws=draws, partial=partial):
                    yield Outcome.of_totals(
                        (player + (third or 0)) % 10, (banker + (last or 0)) % 10
                    )


def _two_card_totals(first: int | None, second: int | None) -> Iterable[int]:
    if first is None or second is None or next_card.HIDDEN_POINTS in (first, second):
        return range(10)
    return ((first + second) % 10,)


def _third_card_points(points: int | None, *, draws: bool, partial: bool) -> Iterable[int | None]:
    if not draws:
        return (None,) if points is None else ()
    if points == next_card.HIDDEN_POINTS or (points is None and partial):
        return range(10)
    return () if points is None else (points,)
