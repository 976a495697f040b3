"""
The winner and the pairs that the device, or the dealer's button, declared for a round:
compared with its cards at once, and again after every later change of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shoe_daemon.game import IrregularityKind, Outcome, banker_draws, is_natural, player_draws
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.rounds import next_card
from shoe_daemon.table.table_state import Declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shoe_daemon.table.events import RoundFinished
    from shoe_daemon.table.observations import Result
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState

_ANY: Final = frozenset(Outcome)
_MISMATCH: Final = IrregularityKind.RESULT_MISMATCH
_OUTCOMES: Final = {each.value: each for each in Outcome}
_WORDS: Final = {True: "yes", False: "no", None: None}


def record(fold: Fold, round_: RoundState, obs: Result) -> None:
    """
    Store what was declared for a round, and compare it with the cards.
    """
    round_.declared = True
    if fold.state.shoe is None or round_.torn:
        return  # its cards may be those of two rounds
    said = Declared(winner(obs), obs.player_pair, obs.banker_pair)
    fold.state.shoe.declared[round_.number] = said
    check_cards(fold, round_)


def winner(obs: Result) -> Outcome | None:
    """
    Return the winner that a result declares; None where it declares none.
    """
    return None if obs.outcome is None else _OUTCOMES[obs.outcome]


def outcome_of(fold: Fold, number: int) -> Outcome | None:
    """
    Return the winner that was declared for a round; None where none was.
    """
    said = _of(fold, number)
    return None if said is None else said.outcome


def check_cards(fold: Fold, round_: RoundState) -> None:
    """
    Compare what was declared with the cards of a round on the table.
    """
    said = _of(fold, round_.number)
    if said is None:
        return
    # A card whose place nobody knows may be either hand's third.
    unplaced = len(round_.cards) + round_.spots.count(None) > len(round_.spots)
    partial = unplaced or (round_.partial and not round_.unread_result)
    outcomes = _cached_outcomes(tuple(next_card.known_points(round_.spots)), partial)
    _compare(fold, round_.number, said, outcomes, (_pair(round_, 0), _pair(round_, 1)))


def check_result(fold: Fold, number: int, data: RoundFinished) -> None:
    """
    Compare what was declared with a result whose cards are on the table no more.
    """
    said = _of(fold, number)
    if said is None:
        return
    outcomes = _ANY if data.partial or data.outcome is None else frozenset({data.outcome})
    _compare(fold, number, said, outcomes, (data.player.pair, data.banker.pair))


def _of(fold: Fold, number: int) -> Declared | None:
    return None if fold.state.shoe is None else fold.state.shoe.declared.get(number)


def _compare(
    fold: Fold,
    number: int,
    said: Declared,
    outcomes: frozenset[Outcome],
    pairs: tuple[bool | None, bool | None],
) -> None:
    code, values = _winner_differs(said, outcomes)
    for name, declared, by_cards in (
        ("player_pair", said.player_pair, pairs[0]),
        ("banker_pair", said.banker_pair, pairs[1]),
    ):
        if declared is not None and by_cards is not None and declared is not by_cards:
            code = code or ("pair_mismatch" if name == "player_pair" else "banker_pair_mismatch")
            values |= {f"{name}_declared": _WORDS[declared], f"{name}_cards": _WORDS[by_cards]}
    is_new, said.differing = values != said.differing, values
    if code and is_new and not _is_open(fold, number):
        fold.raise_alert(_MISMATCH, detail(code, **values), evidence="device", number=number)


def _winner_differs(
    said: Declared, outcomes: frozenset[Outcome]
) -> tuple[str | None, dict[str, str | None]]:
    if said.outcome is None or said.outcome in outcomes:
        return None, {}
    if len(outcomes) > 1:
        return "impossible_winner", {"winner_declared": said.outcome.value}
    (by_cards,) = outcomes
    values = {"winner_declared": said.outcome.value, "winner_cards": by_cards.value}
    return "result_mismatch", dict(values)


def _is_open(fold: Fold, number: int) -> bool:
    alerts = fold.state.alerts
    return any(each.data.kind == _MISMATCH and each.round == number for each in alerts)


def _pair(round_: RoundState, side: int) -> bool | None:
    first, second = round_.spots[side], round_.spots[side + 2]
    if first is None or second is None or first.face is None or second.face is None:
        return None
    return first.face.rank == second.face.rank


@lru_cache(maxsize=4096)
def _cached_outcomes(
    points: tuple[int | None, ...],
    partial: bool,  # noqa: FBT001 - a cache key
) -> frozenset[Outcome]:
    return possible_outcomes(points, partial=partial)


def possible_outcomes(points: Sequence[int | None], *, partial: bool) -> frozenset[Outcome]:
    """
    Return the outcomes that the cards of a round can have come to.

    Args:
        points: As of `dealing.due`.
        partial: Cards may lie where none were seen.

    Returns:
        All outcomes where no lawful coup fits the cards.
    """
    return frozenset(_outcomes(points, partial=partial)) or _ANY


def _outcomes(points: Sequence[int | None], *, partial: bool) -> Iterator[Outcome]:
    player_third, banker_third = points[next_card.P3], points[next_card.B3]
    for player in _totals(points[0], points[2]):
        for banker in _totals(points[1], points[3]):
            natural = is_natural(player, banker)
            draws = not natural and player_draws(player)
            for third in _thirds(player_third, draws=draws, partial=partial):
                draws = not natural and banker_draws(banker, third)
                for last in _thirds(banker_third, draws=draws, partial=partial):
                    yield _winner((player + (third or 0)) % 10, (banker + (last or 0)) % 10)


def _totals(first: int | None, second: int | None) -> Iterable[int]:
    if first is None or second is None or next_card.HIDDEN in (first, second):
        return range(10)
    return ((first + second) % 10,)


def _thirds(points: int | None, *, draws: bool, partial: bool) -> Iterable[int | None]:
    if not draws:
        return (None,) if points is None else ()
    if points == next_card.HIDDEN or (points is None and partial):
        return range(10)
    return () if points is None else (points,)


def _winner(player: int, banker: int) -> Outcome:
    if player == banker:
        return Outcome.TIE
    return Outcome.PLAYER if player > banker else Outcome.BANKER
