"""
The rotation of the shoe among the players, where players draw the cards.

Sources: the curator's rule sheet (offered to seat 1 after the shuffle, moves on
counterclockwise where refused, kept until the Banker loses), and for its gaps the French order
of 14 May 2007, article 55-14: the holder keeps the shoe on a tie and may pass it; where all
refuse, the dealer draws until the Banker loses; a false draw costs the holder the shoe.

A table keeps a `Rotation` in its state; every function returns a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.house_rules import Curator


class Rotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    The holder of the shoe, and the seats that may receive it.

    Attributes:
        seats: The numbers of the seats in play, from the lowest.
        holder: The seat that has the shoe; None if the dealer draws.
        declined: The seats that passed or refused it since a round was last dealt.
        must_pass: It passes after this round, whoever wins.
    """

    seats: tuple[int, ...] = ()
    holder: int | None = None
    declined: tuple[int, ...] = ()
    must_pass: bool = False


def offer_new_shoe(rotation: Rotation, rules: Curator) -> Rotation:
    """Offer a new shoe to the first seat, or to the next seat if that is empty."""
    turn = _seats_in_turn(rotation.seats, rules.first_seat, _seat_step(rules))
    first = [seat for seat in rotation.seats if seat == rules.first_seat]
    return _pass_to(rotation, next(iter([*first, *turn]), None), declined=())


def pass_after_round(rotation: Rotation, rules: Curator, outcome: Outcome | None) -> Rotation:
    """
    Pass the shoe if the Banker has lost; it stays on a tie and on a Banker win.

    Call it for every round, with `outcome` None for an aborted or void one: then only a false
    draw passes the shoe.
    """
    if outcome is Outcome.PLAYER or rotation.must_pass:
        return _pass_to_next_seat(replace(rotation, declined=()), rules)
    return replace(rotation, declined=())


def pass_shoe(rotation: Rotation, rules: Curator) -> Rotation:
    """
    Pass the shoe from the holder to the next seat.

    If all have refused it since the last round, the dealer draws. The dealer may offer it again
    at any time: all are asked anew.
    """
    if rotation.holder is None:
        rotation = replace(rotation, declined=())
    return _pass_to_next_seat(rotation, rules)


def record_false_draw(rotation: Rotation) -> Rotation:
    """
    Record a false draw of the holder, if the policy takes the shoe for it.

    The holder completes the coup; the shoe passes after it. A dealer keeps it.
    """
    return replace(rotation, must_pass=rotation.holder is not None)


def give_shoe(rotation: Rotation, seat: int | None) -> Rotation:
    """
    Give the shoe to a seat, or to the dealer (None), out of turn.

    Raises:
        ValueError: The seat is not in play.
    """
    if seat is not None and seat not in rotation.seats:
        msg = f"seat {seat} is not in play; expected one of {rotation.seats}"
        raise ValueError(msg)
    return _pass_to(rotation, seat, declined=())


def update_seats(rotation: Rotation, rules: Curator, seats: Iterable[int]) -> Rotation:
    """
    Set the seats in play; if the holder's seat is no longer among them, the shoe passes.

    A player who sits down while the dealer draws is offered it when the Banker loses.
    """
    seated = tuple(sorted(set(seats)))
    declined = tuple(seat for seat in rotation.declined if seat in seated)
    now = replace(rotation, seats=seated, declined=declined)
    if rotation.holder is None or rotation.holder in seated:
        return now
    return _pass_to_next_seat(now, rules)


def _pass_to_next_seat(rotation: Rotation, rules: Curator) -> Rotation:
    """Pass the shoe to the next seat that has not declined it, or else to the dealer."""
    declined = rotation.declined
    if rotation.holder in rotation.seats:
        declined = (*declined, rotation.holder)
    turn = _seats_in_turn(rotation.seats, rotation.holder, _seat_step(rules))
    willing = (seat for seat in turn if seat not in declined)
    return _pass_to(rotation, next(willing, None), declined=declined)


def _pass_to(rotation: Rotation, holder: int | None, *, declined: tuple[int, ...]) -> Rotation:
    return replace(rotation, holder=holder, declined=declined, must_pass=False)


def _seat_step(rules: Curator) -> int:
    """
    Return the difference to the number of the next seat, 1 or -1.

    For a seated player, counterclockwise, seen from above, is to the right.
    """
    to_the_right = rules.passes_to == "right"
    return 1 if to_the_right == (rules.seat_numbering == "counterclockwise") else -1


def _seats_in_turn(seats: Sequence[int], after: int | None, direction: int) -> list[int]:
    """
    Return all other seats in the order in which the shoe reaches them.

    The dealer (None) sits between the highest number and the lowest.
    """
    ordered = sorted(seats, reverse=direction < 0)
    if after is None:
        return ordered
    beyond = [seat for seat in ordered if (seat - after) * direction > 0]
    return beyond + [seat for seat in ordered if (seat - after) * direction < 0]
