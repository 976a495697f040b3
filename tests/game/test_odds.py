"""Odds are exact: whole numbers out of all ordered draws of six cards."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import perm, prod
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.exact_odds import count_odds, count_shapes
from shoe_daemon.game.house_rules import HOUSE_IDS, load_house
from shoe_daemon.game.wagers import CoupShape
from tests.game import french_table
from tests.volume import sample

ALL_DECKS = sample(range(1, 13), 4)
EXACT: dict[str, dict[str, int]] = json.loads(
    Path(__file__).with_name("exact_counts.json").read_text(encoding="utf-8")
)
"""Counts that were made elsewhere, by number of decks and by what happens."""


def natural_any(shape: CoupShape) -> bool:
    return shape.player.natural or shape.banker.natural


def side_events(side: Outcome) -> dict[str, Callable[[CoupShape], bool]]:
    """Name what one side may win with."""

    def won(shape: CoupShape) -> bool:
        return shape.outcome is side

    def hand(shape: CoupShape) -> tuple[int, int]:
        mine = shape.player if side is Outcome.PLAYER else shape.banker
        return mine.total, mine.cards

    def by(margin: int) -> Callable[[CoupShape], bool]:
        return lambda s: won(s) and s.margin == margin and not natural_any(s)

    def with_hand(total: int, cards: int) -> Callable[[CoupShape], bool]:
        return lambda s: won(s) and hand(s) == (total, cards)

    return {
        side.value: won,
        f"{side}_natural_win": lambda s: won(s) and natural_any(s),
        **{f"{side}_win_by_{margin}": by(margin) for margin in range(1, 10)},
        f"{side}_wins_with_6_of_2": with_hand(6, 2),
        f"{side}_wins_with_6_of_3": with_hand(6, 3),
        f"{side}_wins_with_7_of_3": with_hand(7, 3),
        f"{side}_wins_with_8_of_3": with_hand(8, 3),
    }


def tie_events() -> dict[str, Callable[[CoupShape], bool]]:
    """Name the ways in which the hands may tie."""

    def tied(shape: CoupShape) -> bool:
        return shape.outcome is Outcome.TIE

    def at(total: int) -> Callable[[CoupShape], bool]:
        return lambda s: tied(s) and s.player.total == total

    return {
        "tie": tied,
        "natural_tie": lambda s: tied(s) and natural_any(s),
        "other_tie": lambda s: tied(s) and not natural_any(s),
        **{f"tie_{total}": at(total) for total in range(10)},
        "tie_7_with_as_many_cards": lambda s: at(7)(s) and s.player.cards == s.banker.cards,
    }


def card_events() -> dict[str, Callable[[CoupShape], bool]]:
    """Name the ways in which the cards may fall."""

    def cards(player: int, banker: int) -> Callable[[CoupShape], bool]:
        return lambda s: (s.player.cards, s.banker.cards) == (player, banker)

    return {
        "total": lambda _: True,
        "natural_any": natural_any,
        "natural_player": lambda s: s.player.natural,
        "natural_9_over_8": lambda s: (
            s.player.natural and s.banker.natural and s.outcome is not Outcome.TIE
        ),
        "cards_4": cards(2, 2),
        "cards_5": lambda s: s.cards == 5,
        "cards_6": cards(3, 3),
        "player_2_banker_3_cards": cards(2, 3),
        "player_3_banker_2_cards": cards(3, 2),
        "player_stands_no_natural": lambda s: s.player.cards == 2 and not natural_any(s),
        "player_stands_banker_draws": cards(2, 3),
        "player_stands_banker_stands": lambda s: cards(2, 2)(s) and not natural_any(s),
        "player_draws_banker_draws": cards(3, 3),
        "player_draws_banker_stands": cards(3, 2),
    }


EVENTS = {
    **card_events(),
    **tie_events(),
    **side_events(Outcome.PLAYER),
    **side_events(Outcome.BANKER),
}


@pytest.mark.parametrize("decks", EXACT)
def test_counts_agree_to_the_last_card(decks: str) -> None:
    shapes = count_shapes(int(decks)).items()
    for event, expected in EXACT[decks].items():
        happens = EVENTS[event]
        assert sum(count for shape, count in shapes if happens(shape)) == expected, event


@pytest.mark.parametrize("decks", ALL_DECKS)
def test_every_draw_is_counted_once(decks: int) -> None:
    shapes = count_shapes(decks)
    assert sum(shapes.values()) == perm(52 * decks, 6)
    assert all(count > 0 for count in shapes.values())


def counted_rank_by_rank(decks: int) -> Counter[tuple[str, bool, bool]]:
    """Count outcomes and pairs once more: over thirteen ranks, and the French table."""
    copies, points = 4 * decks, [*range(1, 10), 0, 0, 0, 0]
    counts: Counter[tuple[str, bool, bool]] = Counter()
    memo: dict[tuple[int, ...], dict[str, int]] = {}
    for four in product(range(13), repeat=4):
        used = Counter(four)
        ways = prod(perm(copies, count) for count in used.values())
        p1, b1, p2, b2 = (points[rank] for rank in four)
        # The two cards of a hand may change places.
        key = (min(p1, p2), min(b1, b2), max(p1, p2), max(b1, b2))
        if key not in memo:
            memo[key] = outcomes_after(key, decks)
        pairs = four[0] == four[2], four[1] == four[3]
        for outcome, count in memo[key].items():
            counts[(outcome, *pairs)] += ways * count
    return counts


def outcomes_after(four: tuple[int, ...], decks: int) -> dict[str, int]:
    """Count the outcomes of two more cards, drawn by their points."""
    left = [16 * decks, *[4 * decks] * 9]
    for point in four:
        left[point] -= 1
    counts: defaultdict[str, int] = defaultdict(int)
    for fifth in range(10):
        for sixth in range(10):
            ways = left[fifth] * (left[sixth] - (fifth == sixth))
            counts[french_table.winner([*four, fifth, sixth])] += ways
    return counts


@pytest.mark.parametrize("decks", sample([8, 1], 2))
def test_outcomes_and_pairs_together_agree_with_a_count_rank_by_rank(decks: int) -> None:
    shapes: Counter[tuple[str, bool, bool]] = Counter()
    for shape, count in count_shapes(decks).items():
        shapes[shape.outcome.value, shape.player.pair, shape.banker.pair] += count
    assert shapes == +counted_rank_by_rank(decks)


def share(decks: int, happens: Callable[[CoupShape], bool]) -> Fraction:
    counted = sum(count for shape, count in count_shapes(decks).items() if happens(shape))
    return Fraction(counted, perm(52 * decks, 6))


@pytest.mark.parametrize("decks", ALL_DECKS)
def test_pairs_fall_as_two_cards_of_the_shoe_pair(decks: int) -> None:
    """Given any first card, so many of the others make a pair of it."""
    others = 52 * decks - 1
    both_perfect = Fraction(
        52 * perm(decks, 4) + 52 * 51 * perm(decks, 2) ** 2, perm(52 * decks, 4)
    )
    assert share(decks, lambda s: s.player.pair) == Fraction(4 * decks - 1, others)
    assert share(decks, lambda s: s.banker.pair) == Fraction(4 * decks - 1, others)
    assert share(decks, lambda s: s.player.perfect_pair) == Fraction(decks - 1, others)
    assert share(decks, lambda s: s.banker.perfect_pair) == Fraction(decks - 1, others)
    assert share(decks, lambda s: s.player.perfect_pair and s.banker.perfect_pair) == both_perfect


@pytest.mark.parametrize("house", HOUSE_IDS)
def test_a_house_may_ask_for_all_its_wagers_with_its_own_decks(house: str) -> None:
    rules = load_house(house)
    odds = count_odds(rules.offered, rules.decks)
    assert list(odds.wagers) == [wager.id for wager in rules.offered]
    for wager in odds.wagers.values():
        assert wager.win + wager.push + wager.lose == odds.total
        assert sum(wager.prizes.values()) == wager.win + wager.push


@pytest.mark.parametrize("decks", [0, -1, 13])
def test_a_shoe_has_one_to_twelve_decks(decks: int) -> None:
    with pytest.raises(UserError, match=rf"^decks: {decks}; expected 1 to 12$"):
        count_shapes(decks)
