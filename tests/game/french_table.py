"""
The drawing rules once more, as the French table of 14 May 2007 states them
(article 55-14): T for "tirer", R for "rester".
"""

from __future__ import annotations

from collections.abc import Sequence

PLAYER = "TTTTTTRR"
"""By the Player's first two cards; 8 and 9 end the round."""

BANKER = {
    # the Player's third card:
    #   0123456789    "Refus": the Player stood
    0: ("TTTTTTTTTT", "T"),
    1: ("TTTTTTTTTT", "T"),
    2: ("TTTTTTTTTT", "T"),
    3: ("TTTTTTTTRT", "T"),
    4: ("RRTTTTTTRR", "T"),
    5: ("RRRRTTTTRR", "T"),
    6: ("RRRRRRTTRR", "R"),
    7: ("RRRRRRRRRR", "R"),
}


def hands(points: Sequence[int]) -> tuple[list[int], list[int]]:
    """Deal a round from the points of six cards, as a French dealer would."""
    shoe = iter(points)
    p1, b1, p2, b2 = (next(shoe) for _ in range(4))
    player, banker = [p1, p2], [b1, b2]
    at_player, at_banker = (p1 + p2) % 10, (b1 + b2) % 10
    if {at_player, at_banker} & {8, 9}:
        return player, banker
    thirds, refused = BANKER[at_banker]
    answer = refused
    if PLAYER[at_player] == "T":
        player.append(next(shoe))
        answer = thirds[player[-1]]
    if answer == "T":
        banker.append(next(shoe))
    return player, banker


def winner(points: Sequence[int]) -> str:
    """Name the winner of the round that these six cards give."""
    player, banker = (sum(hand) % 10 for hand in hands(points))
    return "tie" if player == banker else "player" if player > banker else "banker"
