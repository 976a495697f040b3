"""
The drawing rules of punto banco, the same in every house.

Sources: 58 Pa. Code 631a.11; French arrêté of 14 May 2007, article 55-14; and
the four rule sheets, which agree wherever they speak.
Two places of them need a word: the Chickasaw sheet has no row for a Banker
whose opponent stood (the other three have: draw on 0-5), and its "0-1-2 always
draws" yields to its note that a natural ends the hand.
"""

from __future__ import annotations

from typing import Final

NATURAL: Final = 8
"""The lowest two-card total after which nobody draws."""

# One row for each Banker total; the digits are the Player's third cards that
# make the Banker draw.
_BANKER_DRAWS_AGAINST: Final = (
    "0123456789",
    "0123456789",
    "0123456789",
    "012345679",
    "234567",
    "4567",
    "67",
    "",
    "",
    "",
)
_BANKER_DRAWS: Final = tuple(
    tuple(str(third) in row for third in range(10)) for row in _BANKER_DRAWS_AGAINST
)
_STANDS_FROM: Final = 6


def is_natural(player: int, banker: int) -> bool:
    """Return whether either two-card total, 0 to 9, ends the round at once."""
    return player >= NATURAL or banker >= NATURAL


def player_draws(player: int) -> bool:
    """
    Return whether the Player draws a third card on a two-card total of 0 to 9.

    Call `is_natural` first: naturals of the Banker are not considered here.
    """
    return player < _STANDS_FROM


def banker_draws(banker: int, player_third: int | None) -> bool:
    """
    Return whether the Banker draws a third card on a two-card total of 0 to 9.

    Args:
        banker: The Banker's two-card total.
        player_third:
            The points, 0 to 9, of the Player's third *card* (not of the hand),
            or None if the Player stood.
    """
    if player_third is None:
        return banker < _STANDS_FROM
    return _BANKER_DRAWS[banker][player_third]
