"""
The shoe goes round: offered after the shuffle, kept until the Banker loses,
passed on by a refusal or a false draw, and with the dealer where all refuse.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.house_rules import Curator, load_house
from shoe_daemon.game.passing_the_shoe import (
    Rotation,
    give_shoe,
    offer_new_shoe,
    pass_after_round,
    pass_shoe,
    record_false_draw,
    update_seats,
)

SHEET = load_house("curator").curator
CLOCKWISE = Curator(on=True, seat_numbering="clockwise")
TO_THE_LEFT = Curator(on=True, passes_to="left")
BOTH_TURNED = Curator(on=True, passes_to="left", seat_numbering="clockwise")

TABLE = Rotation(seats=(1, 2, 3, 5, 6))

rules_of_any_house = st.builds(
    Curator,
    on=st.just(value=True),
    passes_to=st.sampled_from(["right", "left"]),
    seat_numbering=st.sampled_from(["counterclockwise", "clockwise"]),
    first_seat=st.integers(1, 15),
)
some_seats = st.sets(st.integers(1, 15)).map(lambda seats: tuple(sorted(seats)))
Move = Callable[[Rotation, Curator], Rotation]


def held(seat: int | None, seats: tuple[int, ...] = TABLE.seats) -> Rotation:
    return Rotation(seats=seats, holder=seat)


@pytest.mark.parametrize(
    ("rules", "first", "holder"),
    [
        (SHEET, 1, 1),
        (SHEET, 4, 5),
        (SHEET, 7, 1),
        (CLOCKWISE, 4, 3),
        (CLOCKWISE, 1, 1),
        (CLOCKWISE, 7, 6),
        (TO_THE_LEFT, 4, 3),
        (BOTH_TURNED, 4, 5),
    ],
)
def test_a_new_shoe_is_offered_to_the_first_seat_or_else_to_the_next(
    rules: Curator, first: int, holder: int
) -> None:
    rules = msgspec.structs.replace(rules, first_seat=first)
    assert offer_new_shoe(TABLE, rules).holder == holder
    assert offer_new_shoe(held(3), rules) == held(holder)


@pytest.mark.parametrize("outcome", [Outcome.BANKER, Outcome.TIE, None])
@pytest.mark.parametrize("holder", [1, 6, None])
def test_the_holder_keeps_the_shoe_unless_the_banker_loses(
    outcome: Outcome | None, holder: int | None
) -> None:
    assert pass_after_round(held(holder), SHEET, outcome) == held(holder)


@pytest.mark.parametrize(
    ("rules", "holders"),
    [
        (SHEET, [1, 2, 3, 5, 6, 1, 2]),
        (CLOCKWISE, [1, 6, 5, 3, 2, 1, 6]),
        (TO_THE_LEFT, [1, 6, 5, 3, 2, 1, 6]),
        (BOTH_TURNED, [1, 2, 3, 5, 6, 1, 2]),
    ],
)
def test_a_banker_who_loses_passes_the_shoe_in_the_direction_of_the_house(
    rules: Curator, holders: list[int]
) -> None:
    rotation = held(1)
    for holder in holders[1:]:
        rotation = pass_after_round(rotation, rules, Outcome.PLAYER)
        assert rotation.holder == holder
        rotation = pass_after_round(rotation, rules, Outcome.TIE)


def test_where_all_refuse_the_dealer_draws_until_the_banker_loses() -> None:
    rotation = offer_new_shoe(TABLE, SHEET)
    for holder in (2, 3, 5, 6, None):
        rotation = pass_shoe(rotation, SHEET)
        assert rotation.holder == holder
    for outcome in (Outcome.BANKER, Outcome.TIE, None):
        assert pass_after_round(rotation, SHEET, outcome).holder is None
    # The player at the dealer's right has the lowest number, or the highest.
    assert pass_after_round(rotation, SHEET, Outcome.PLAYER).holder == 1
    assert pass_after_round(rotation, CLOCKWISE, Outcome.PLAYER).holder == 6


def test_a_dealer_may_offer_the_shoe_again_before_the_banker_loses() -> None:
    rotation = offer_new_shoe(held(None, (3, 4)), SHEET)
    rotation = pass_shoe(pass_shoe(rotation, SHEET), SHEET)
    assert rotation.holder is None
    assert pass_shoe(rotation, SHEET) == held(3, (3, 4))


@pytest.mark.parametrize("outcome", [*Outcome, None])
def test_a_false_draw_lets_the_shoe_pass_after_the_coup_and_once(outcome: Outcome | None) -> None:
    rotation = record_false_draw(held(2))
    assert rotation.holder == 2
    rotation = pass_after_round(rotation, SHEET, outcome)
    assert rotation.holder == 3
    assert pass_after_round(rotation, SHEET, Outcome.BANKER) == held(3)


@pytest.mark.parametrize(
    "move",
    [pass_shoe, offer_new_shoe, lambda rotation, rules: update_seats(rotation, rules, (1, 3))],
)
def test_a_false_draw_does_not_follow_the_shoe_to_the_next_holder(move: Move) -> None:
    assert not move(record_false_draw(held(2)), SHEET).must_pass


def test_it_may_be_given_to_a_seat_out_of_turn() -> None:
    assert give_shoe(held(2), 6) == held(6)
    assert give_shoe(held(2), None) == held(None)
    assert give_shoe(held(2), 2) == held(2)
    with pytest.raises(ValueError, match=r"^seat 4 is not in play; expected one of \(1, 2,"):
        give_shoe(TABLE, 4)


def test_who_leaves_the_table_leaves_the_shoe_to_the_next() -> None:
    assert update_seats(held(3), SHEET, (1, 2, 6)) == held(6, (1, 2, 6))
    assert update_seats(held(3), CLOCKWISE, (1, 2, 6)) == held(2, (1, 2, 6))
    assert update_seats(held(3), SHEET, (3, 9)) == held(3, (3, 9))
    assert update_seats(held(3), SHEET, ()) == held(None, ())
    assert update_seats(held(None, ()), SHEET, (2, 1)) == held(None, (1, 2))


def test_a_table_without_players_leaves_the_shoe_to_the_dealer() -> None:
    empty = Rotation()
    for rotation in (
        offer_new_shoe(empty, SHEET),
        pass_shoe(empty, SHEET),
        pass_after_round(empty, SHEET, Outcome.PLAYER),
    ):
        assert rotation == empty


def ending(outcome: Outcome | None) -> Move:
    return lambda rotation, rules: pass_after_round(rotation, rules, outcome)


MOVES: dict[str, Move] = {
    "shuffle": offer_new_shoe,
    "pass": pass_shoe,
    "false draw": lambda rotation, _: record_false_draw(rotation),
    "void": ending(None),
    **{outcome.value: ending(outcome) for outcome in Outcome},
}
any_moves = st.lists(st.one_of(st.sampled_from(list(MOVES)), some_seats), max_size=40)


def played(seats: tuple[int, ...], rules: Curator, moves: list[str | tuple[int, ...]]) -> Rotation:
    """Make these moves; after each, the shoe is somewhere where it may be."""
    rotation = Rotation(seats=seats)
    for move in moves:
        if isinstance(move, tuple):
            rotation = update_seats(rotation, rules, move)
            assert rotation.seats == move
        else:
            rotation = MOVES[move](rotation, rules)
        assert rotation.holder is None or rotation.holder in rotation.seats
        assert rotation.holder not in rotation.declined
        assert set(rotation.declined) <= set(rotation.seats)
        assert len(set(rotation.declined)) == len(rotation.declined)
        assert not rotation.must_pass or rotation.holder is not None
    return rotation


@given(some_seats, rules_of_any_house, any_moves)
def test_the_shoe_is_always_with_a_seat_in_play_or_with_the_dealer(
    seats: tuple[int, ...], rules: Curator, moves: list[str | tuple[int, ...]]
) -> None:
    rotation = played(seats, rules, moves)
    text = msgspec.json.encode(rotation)
    assert msgspec.json.decode(text, type=Rotation) == rotation


@given(some_seats, rules_of_any_house, any_moves)
def test_from_wherever_it_is_every_seat_is_offered_it_once_before_the_dealer_draws(
    seats: tuple[int, ...], rules: Curator, moves: list[str | tuple[int, ...]]
) -> None:
    rotation = played(seats, rules, moves)
    rotation = give_shoe(rotation, rotation.holder)  # nobody has declined it yet
    asked = [] if rotation.holder is None else [rotation.holder]
    while (rotation := pass_shoe(rotation, rules)).holder is not None:
        asked.append(rotation.holder)
    assert sorted(asked) == list(rotation.seats)


@given(some_seats, rules_of_any_house, any_moves)
def test_the_other_side_and_the_other_numbering_together_change_nothing(
    seats: tuple[int, ...], rules: Curator, moves: list[str | tuple[int, ...]]
) -> None:
    turned = msgspec.structs.replace(
        rules,
        passes_to={"right": "left", "left": "right"}[rules.passes_to],
        seat_numbering={"clockwise": "counterclockwise", "counterclockwise": "clockwise"}[
            rules.seat_numbering
        ],
    )
    assert played(seats, turned, moves) == played(seats, rules, moves)


@given(some_seats, rules_of_any_house, any_moves)
def test_numbering_the_seats_the_other_way_round_changes_names_only(
    seats: tuple[int, ...], rules: Curator, moves: list[str | tuple[int, ...]]
) -> None:
    """The same chairs with other numbers: seat n is seat 16 - n, the table passes as before."""

    def other(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(16 - number for number in numbers))

    turned = msgspec.structs.replace(
        rules,
        first_seat=16 - rules.first_seat,
        passes_to={"right": "left", "left": "right"}[rules.passes_to],
    )
    mirrored = [other(move) if isinstance(move, tuple) else move for move in moves]
    one, two = played(seats, rules, moves), played(other(seats), turned, mirrored)
    assert two.holder == (None if one.holder is None else 16 - one.holder)
    assert set(other(two.declined)) == set(one.declined)


@given(st.lists(st.sampled_from(list(Outcome)), max_size=60), some_seats.filter(bool))
def test_so_many_losses_so_many_steps(outcomes: list[Outcome], seats: tuple[int, ...]) -> None:
    """Nobody refuses: the n-th loss of the Banker brings the shoe n seats on."""
    rotation = offer_new_shoe(Rotation(seats=seats), Curator(on=True, first_seat=seats[0]))
    for outcome in outcomes:
        rotation = pass_after_round(rotation, SHEET, outcome)
    losses = outcomes.count(Outcome.PLAYER)
    if len(seats) > 1:
        assert rotation.holder == seats[losses % len(seats)]
    else:
        assert rotation.holder == (None if losses % 2 else seats[0])
