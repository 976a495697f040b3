"""
Who draws the cards, where players do: the shoe goes round the table.

Sources: the curator's rule sheet (offered to seat 1 after the shuffle, moves
on counterclockwise where refused, kept until the Banker loses), and for what
that leaves open the French order of 14 May 2007, article 55-14: a tie does not
take the shoe away, the holder may pass it, where everybody refuses the dealer
draws until the Banker loses, and who makes a false draw has to pass.

A table keeps a `Rotation` in its state and asks here what becomes of it; every
answer is a new one, and whether the shoe changed hands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.game.coup import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shoe_daemon.game.house import Curator


class Rotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Where the shoe is.

    Attributes:
        seats: The numbers of the seats in play, from the lowest.
        holder: The seat that has the shoe; None where the dealer draws.
        declined: The seats that passed or refused it since a round was last dealt.
        must_pass: Whether it passes after this round, whoever wins.
    """

    seats: tuple[int, ...] = ()
    holder: int | None = None
    declined: tuple[int, ...] = ()
    must_pass: bool = False


class RotationStep(NamedTuple):
    """What became of the shoe: the new state, and whether it changed hands."""

    rotation: Rotation
    changed: bool

    @property
    def holder(self) -> int | None:
        """The seat that has the shoe now; None where the dealer draws."""
        return self.rotation.holder


def offer_new_shoe(rotation: Rotation, rules: Curator) -> RotationStep:
    """Offer a new shoe to the first seat, or, where nobody sits there, to the next."""
    turn = _seats_in_turn(rotation.seats, rules.first_seat, _seat_step(rules))
    first = [seat for seat in rotation.seats if seat == rules.first_seat]
    return _pass_to(rotation, next(iter([*first, *turn]), None), declined=())


def pass_after_round(rotation: Rotation, rules: Curator, outcome: Outcome | None) -> RotationStep:
    """
    Let the shoe pass where the Banker has lost; it stays on a tie and on a Banker win.

    Ask for every round that was begun, also for one that came to nothing:
    `outcome` is None then, and only a false draw lets the shoe pass.
    """
    if outcome is Outcome.PLAYER or rotation.must_pass:
        return _pass_to_next_seat(replace(rotation, declined=()), rules)
    return RotationStep(replace(rotation, declined=()), changed=False)


def pass_shoe(rotation: Rotation, rules: Curator) -> RotationStep:
    """
    Let the holder pass the shoe, or refuse it: the next seat is offered it.

    Where all have refused it since the last round, the dealer draws. The
    dealer may offer it again at any time: all are asked anew.
    """
    if rotation.holder is None:
        rotation = replace(rotation, declined=())
    return _pass_to_next_seat(rotation, rules)


def record_false_draw(rotation: Rotation) -> Rotation:
    """
    Remember that the holder made a false draw, where the policy takes the shoe for it.

    The coup is still the holder's to deal: the shoe passes after it. A dealer keeps it.
    """
    return replace(rotation, must_pass=rotation.holder is not None)


def give_shoe(rotation: Rotation, seat: int | None) -> RotationStep:
    """
    Give the shoe to a seat, or to the dealer (None), out of turn.

    Raises:
        ValueError: The seat is not in play.
    """
    if seat is not None and seat not in rotation.seats:
        msg = f"seat {seat} is not in play; expected one of {rotation.seats}"
        raise ValueError(msg)
    return _pass_to(rotation, seat, declined=())


def update_seats(rotation: Rotation, rules: Curator, seats: Iterable[int]) -> RotationStep:
    """
    Say which seats are in play now: where the holder's is no more, the shoe passes.

    Who sits down while the dealer draws is offered it when the Banker loses.
    """
    seated = tuple(sorted(set(seats)))
    declined = tuple(seat for seat in rotation.declined if seat in seated)
    now = replace(rotation, seats=seated, declined=declined)
    if rotation.holder is None or rotation.holder in seated:
        return RotationStep(now, changed=False)
    return _pass_to_next_seat(now, rules)


def _pass_to_next_seat(rotation: Rotation, rules: Curator) -> RotationStep:
    """Pass the shoe to the next seat that has not declined it, or else to the dealer."""
    declined = rotation.declined
    if rotation.holder in rotation.seats:
        declined = (*declined, rotation.holder)
    turn = _seats_in_turn(rotation.seats, rotation.holder, _seat_step(rules))
    willing = (seat for seat in turn if seat not in declined)
    return _pass_to(rotation, next(willing, None), declined=declined)


def _pass_to(rotation: Rotation, holder: int | None, *, declined: tuple[int, ...]) -> RotationStep:
    now = replace(rotation, holder=holder, declined=declined, must_pass=False)
    return RotationStep(now, changed=holder != rotation.holder)


def _seat_step(rules: Curator) -> int:
    """
    Say by how much the number of the next seat differs, 1 or -1.

    Who sits at a table has counterclockwise, seen from above, to the right.
    """
    to_the_right = rules.passes_to == "right"
    return 1 if to_the_right == (rules.seat_numbering == "counterclockwise") else -1


def _seats_in_turn(seats: Sequence[int], after: int | None, direction: int) -> list[int]:
    """
    List all other seats in the order in which the shoe reaches them from one.

    The dealer (None) sits between the highest number and the lowest.
    """
    ordered = sorted(seats, reverse=direction < 0)
    if after is None:
        return ordered
    beyond = [seat for seat in ordered if (seat - after) * direction > 0]
    return beyond + [seat for seat in ordered if (seat - after) * direction < 0]
