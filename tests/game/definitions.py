"""
The wagers that houses offer beside the usual ones, as definitions only.

They are here to show that a new wager needs nothing else; published numbers
are beside each.
"""

from __future__ import annotations

from collections.abc import Callable

from shoe_daemon.game.round import Outcome
from shoe_daemon.game.wagers import PUSH, Definition, Prize, Shape


def one(name: str, pays: str, falls: Callable[[Shape], bool]) -> Definition:
    """
    Define a wager with a single prize.
    """
    return Definition(name, name, (Prize("win", name, falls, pays),))


def banker_wins(shape: Shape, total: int, cards: int | None = None) -> bool:
    """
    Tell whether the Banker wins with this total, in so many cards if said.
    """
    return (
        shape.outcome is Outcome.BANKER
        and shape.banker.total == total
        and cards in {None, shape.banker.cards}
    )


def won(shape: Shape) -> bool:
    return shape.outcome is Outcome.BANKER


def tied(shape: Shape) -> bool:
    return shape.outcome is Outcome.TIE


DEFINITIONS = (
    one("either_pair", "5:1", lambda s: s.player.pair or s.banker.pair),
    Definition(
        "perfect_pair",
        "perfect_pair",
        (
            Prize(
                "both", "both", lambda s: s.player.perfect_pair and s.banker.perfect_pair, "200:1"
            ),
            Prize("one", "one", lambda s: s.player.perfect_pair or s.banker.perfect_pair, "25:1"),
        ),
    ),
    one("dragon_7", "40:1", lambda s: banker_wins(s, 7, 3)),
    one(
        "panda_8",
        "25:1",
        lambda s: s.outcome is Outcome.PLAYER and (s.player.total, s.player.cards) == (8, 3),
    ),
    one("super_6", "12:1", lambda s: banker_wins(s, 6)),
    Definition(
        "lucky_6",
        "lucky_6",
        (
            Prize("two_cards", "two_cards", lambda s: banker_wins(s, 6, 2), "12:1"),
            Prize("three_cards", "three_cards", lambda s: banker_wins(s, 6, 3), "20:1"),
        ),
    ),
    one("small_tiger", "22:1", lambda s: banker_wins(s, 6, 2)),
    one("big_tiger", "50:1", lambda s: banker_wins(s, 6, 3)),
    one("tiger_tie", "35:1", lambda s: tied(s) and s.player.total == 6),
    one("small", "3:2", lambda s: s.cards == 4),
    one("big", "27:50", lambda s: s.cards > 4),
    Definition(
        "ez_banker",
        "ez_banker",
        (
            Prize("three_card_7", "three_card_7", lambda s: banker_wins(s, 7, 3), PUSH),
            Prize("win", "win", won, "1:1"),
            Prize("tie", "tie", tied, PUSH),
        ),
    ),
    Definition(
        "commission_free_banker",
        "commission_free_banker",
        (
            Prize("six", "six", lambda s: banker_wins(s, 6), "1:2"),
            Prize("win", "win", won, "1:1"),
            Prize("tie", "tie", tied, PUSH),
        ),
    ),
)

EDGES = {
    "either_pair": "13.709877",
    "perfect_pair": "8.047",
    "dragon_7": "7.611334",
    "panda_8": "10.187632",
    "super_6": "29.977",
    "lucky_6": "16.683572",
    "small_tiger": "14.3325",
    "big_tiger": "15.253317",
    "tiger_tie": "30.735410",
    "small": "5.282877",
    "big": "4.345748",
    "ez_banker": "1.018301",
    "commission_free_banker": "1.458104",
}
"""The house's edge with eight decks, per cent, as it is published."""
