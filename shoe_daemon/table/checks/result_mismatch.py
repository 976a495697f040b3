"""
The declared winner or pairs differ from the cards.

**Sees** a declared winner or pair that differs from the cards, also when a card is corrected or
entered later; in a round with missing cards, a winner that no missing card could give. *It needs*
a result: the shoe's, or the dealer's button.
**Says** “winner: declared banker, the cards give player.”
**You** compare the cards on the table with those on the screen. If a card was misread:
`correct-card`; once the cards give the declared result, the irregularity is closed and the result
is published. If the result was called wrongly, correct nothing and `acknowledge`: the result of
the cards is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from shoe_daemon.game import (
    PLAYER_CHOICE,
    IrregularityKind,
    Outcome,
    banker_draws,
    is_natural,
    player_draws,
)
from shoe_daemon.table.checks.irregularity import Irregularity
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.next_card import B3_SPOT, HIDDEN_POINTS, P3_SPOT
from shoe_daemon.table.shoe_state import DeclaredResult
from shoe_daemon.table.view import points_of

IRREGULARITY: Final = Irregularity(
    kind="result_mismatch",
    name="Declared result is not that of the cards",
    severity=3,
    evidence=("boundary",),
    text="The declared result is not the one that the cards give.",
    requires=("result_signal",),
    sentences={
        "result_mismatch": (
            "winner: declared {winner_declared}, the cards give {winner_cards}[; Player pair:"
            " declared {player_pair_declared}, the cards give {player_pair_cards}][; Banker "
            "pair: declared {banker_pair_declared}, the cards give {banker_pair_cards}]."
        ),
        "impossible_winner": (
            "winner: declared {winner_declared}, which the cards that were seen do not "
            "allow[; Player pair: declared {player_pair_declared}, the cards give "
            "{player_pair_cards}][; Banker pair: declared {banker_pair_declared}, the cards "
            "give {banker_pair_cards}]."
        ),
        "pair_mismatch": (
            "Player pair: declared {player_pair_declared}, the cards give "
            "{player_pair_cards}[; Banker pair: declared {banker_pair_declared}, the cards "
            "give {banker_pair_cards}]."
        ),
        "banker_pair_mismatch": (
            "Banker pair: declared {banker_pair_declared}, the cards give {banker_pair_cards}."
        ),
        "forced_after_result": (
            "The reader ended the round by force after its result was published."
        ),
    },
    raised_by=("publish", "rounds.boundaries"),
)

KIND: Final = IrregularityKind.RESULT_MISMATCH
CORRECTED: Final = "by the corrected cards nothing is wrong"

_ALL_OUTCOMES: Final = frozenset(Outcome)
_YES_NO: Final = {True: "yes", False: "no", None: None}


def differences(
    round_: Round, declared: DeclaredResult
) -> tuple[str | None, dict[str, str | None]]:
    """Return the code of the sentence, and the values in which cards and declaration differ."""
    spots = round_.view.spots
    # A card without a known slot may be the third card of either hand.
    unplaced = len(round_.view.dealt) + spots.count(None) > len(spots)
    points = tuple(points_of(spots, masked=False))
    outcomes = possible_outcomes(points, unplaced or round_.partial, round_.chooses)
    code, values = _winner_difference(declared, outcomes)
    for name, said, by_cards in (
        ("player_pair", declared.player_pair, _is_pair(spots, 0)),
        ("banker_pair", declared.banker_pair, _is_pair(spots, 1)),
    ):
        if said is not None and by_cards is not None and said is not by_cards:
            code = code or ("pair_mismatch" if name == "player_pair" else "banker_pair_mismatch")
            values |= {f"{name}_declared": _YES_NO[said], f"{name}_cards": _YES_NO[by_cards]}
    return code, values


def _winner_difference(
    declared: DeclaredResult, outcomes: frozenset[Outcome]
) -> tuple[str | None, dict[str, str | None]]:
    if declared.outcome is None or declared.outcome in outcomes:
        return None, {}
    if len(outcomes) > 1:
        return "impossible_winner", {"winner_declared": declared.outcome.value}
    (by_cards,) = outcomes
    values = {"winner_declared": declared.outcome.value, "winner_cards": by_cards.value}
    return "result_mismatch", dict(values)


def _is_pair(spots: Sequence[DrawnCard | None], side: int) -> bool | None:
    first, second = (
        None if card is None else card.face for card in (spots[side], spots[side + 2])
    )
    return None if first is None or second is None else first.rank == second.rank


@lru_cache(maxsize=4096)
def possible_outcomes(
    points: tuple[int | None, ...],
    partial: bool,  # noqa: FBT001 - a cache key
    chooses: bool = False,  # noqa: FBT001, FBT002 - a cache key
) -> frozenset[Outcome]:
    """
    Return the outcomes that the cards of a round permit; all if no lawful coup fits the cards.

    `points` and `partial` are as in `card_due`; `chooses`: the Player may draw or stand on 5.
    """
    return frozenset(_lawful_outcomes(points, partial=partial, chooses=chooses)) or _ALL_OUTCOMES


def _lawful_outcomes(
    points: Sequence[int | None], *, partial: bool, chooses: bool
) -> Iterator[Outcome]:
    player_third, banker_third = points[P3_SPOT], points[B3_SPOT]
    for player in _two_card_totals(points[0], points[2]):
        for banker in _two_card_totals(points[1], points[3]):
            natural = is_natural(player, banker)
            draws = not natural and player_draws(player)
            thirds = list(_third_card_points(player_third, draws=draws, partial=partial))
            if draws and chooses and player == PLAYER_CHOICE and player_third is None:
                thirds.append(None)
            for third in thirds:
                draws = not natural and banker_draws(banker, third)
                for last in _third_card_points(banker_third, draws=draws, partial=partial):
                    yield Outcome.of_totals(
                        (player + (third or 0)) % 10, (banker + (last or 0)) % 10
                    )


def _two_card_totals(first: int | None, second: int | None) -> Iterable[int]:
    if first is None or second is None or HIDDEN_POINTS in (first, second):
        return range(10)
    return ((first + second) % 10,)


def _third_card_points(points: int | None, *, draws: bool, partial: bool) -> Iterable[int | None]:
    if not draws:
        return (None,) if points is None else ()
    if points == HIDDEN_POINTS or (points is None and partial):
        return range(10)
    return () if points is None else (points,)
