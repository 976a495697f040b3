"""
What each wager wins, pushes and keeps for the house, against counts and edges
that were made and published elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from shoe_daemon.game.exact_odds import count_odds
from shoe_daemon.game.house_rules import load_house
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from shoe_daemon.game.wagers import CoupShape, Prize, Wager, WagerDefinition
from tests.each_case import each_case
from tests.game.test_odds import EXACT

DRAGON_BONUS = {
    "player": (1448970808385536, 89325908267520, 3460101558850304),
    "banker": (1413520711081984, 89325908267520, 3495551656153856),
}


@pytest.mark.parametrize("side", DRAGON_BONUS)
def test_dragon_bonus_of_eight_decks(side: str) -> None:
    odds = count_odds(load_house("curator").offered, 8).wagers[f"dragon_bonus_{side}"]
    assert (odds.win, odds.push, odds.lose) == DRAGON_BONUS[side]
    exact = EXACT["8"]
    assert odds.prizes == {
        "natural_win": exact[f"{side}_natural_win"],
        "natural_tie": exact["natural_tie"],
        **{f"win_by_{margin}": exact[f"{side}_win_by_{margin}"] for margin in range(4, 10)},
    }


COUNTED_ELSEWHERE = {
    # wager: its prizes, and the counts of the file that add up to each
    "player": {"win": ["player"], "tie": ["tie"]},
    "banker": {"win": ["banker"], "tie": ["tie"]},
    "tie": {"win": ["tie"]},
    "dragon_7": {"win": ["banker_wins_with_7_of_3"]},
    "panda_8": {"win": ["player_wins_with_8_of_3"]},
    "super_6": {"win": ["banker_wins_with_6_of_2", "banker_wins_with_6_of_3"]},
    "lucky_6": {
        "two_cards": ["banker_wins_with_6_of_2"],
        "three_cards": ["banker_wins_with_6_of_3"],
    },
    "small_tiger": {"win": ["banker_wins_with_6_of_2"]},
    "big_tiger": {"win": ["banker_wins_with_6_of_3"]},
    "tiger_tie": {"win": ["tie_6"]},
    "small": {"win": ["cards_4"]},
    "big": {"win": ["cards_5", "cards_6"]},
}


@each_case("decks", EXACT)
@each_case("wager", COUNTED_ELSEWHERE)
def test_a_wager_wins_as_often_as_was_counted_elsewhere(wager: str, decks: str) -> None:
    known, exact = WAGER_CATALOGUE[wager], EXACT[decks]
    odds = count_odds([Wager.priced(known, known.usual, "1/20")], int(decks)).wagers[wager]
    assert odds.prizes == {
        prize: sum(exact[event] for event in events)
        for prize, events in COUNTED_ELSEWHERE[wager].items()
    }
    assert odds.push == (exact["tie"] if "tie" in odds.prizes else 0)
    assert odds.win + odds.push + odds.lose == exact["total"]


@pytest.mark.parametrize(
    ("wager", "wins"),
    [
        ("dragon_7", 112633011329024),
        ("panda_8", 172660763262976),
        ("super_6", 186173936904192 + 83058367551488),
        ("small_tiger", 186173936904192),
        ("big_tiger", 83058367551488),
        ("tiger_tie", 96170001308416),
        ("small", 1893735611458560),
        ("big", 1516734808780800 + 1587927855264000),
        ("either_pair", 4998398275503360 * 340163 // 2365251),
    ],
)
def test_integers_of_eight_decks(wager: str, wins: int) -> None:
    known = WAGER_CATALOGUE[wager]
    odds = count_odds([Wager.priced(known, known.usual, "0/1")], 8)
    assert odds.total == 4998398275503360
    assert odds.wagers[wager].win == wins


def test_perfect_pairs_of_eight_decks() -> None:
    known = WAGER_CATALOGUE["perfect_pair"]
    odds = count_odds([Wager.priced(known, known.usual, "0/1")], 8)
    prizes = odds.wagers["perfect_pair"].prizes
    published = {"one": "0.03316553", "both": "0.00028471"}
    for prize, probability in published.items():
        assert round(Fraction(prizes[prize], odds.total), 8) == Fraction(probability)
    assert round(Fraction(sum(prizes.values()), odds.total), 8) == Fraction("0.03345023")


def test_one_deck_has_no_perfect_pair() -> None:
    known = WAGER_CATALOGUE["perfect_pair"]
    odds = count_odds([Wager.priced(known, known.usual, "0/1")], 1).wagers["perfect_pair"]
    assert odds.win == 0
    assert odds.edge == 1


PUBLISHED_EDGES = [
    # wager, decks, per cent
    ("banker", 8, "1.057906"),
    ("banker", 6, "1.055849"),
    ("banker", 1, "1.011748"),
    ("player", 8, "1.235081"),
    ("player", 6, "1.237415"),
    ("player", 1, "1.286372"),
    ("tie", 8, "14.359629"),
    ("tie", 6, "14.438160"),
    ("tie", 1, "15.746127"),
    ("dragon_bonus_player", 8, "2.651675"),
    ("dragon_bonus_player", 6, "2.6675"),
    ("dragon_bonus_player", 1, "3.0306"),
    ("dragon_bonus_banker", 8, "9.373074"),
    ("dragon_bonus_banker", 6, "9.3889"),
    ("dragon_bonus_banker", 1, "9.7441"),
    ("player_pair", 8, "10.361446"),
    ("player_pair", 1, "29.41"),
    ("banker_pair", 8, "10.361446"),
    ("banker_pair", 1, "29.41"),
    ("either_pair", 8, "13.709877"),
    ("perfect_pair", 8, "8.047"),
    ("dragon_7", 8, "7.611334"),
    ("panda_8", 8, "10.187632"),
    ("super_6", 8, "29.977"),
    ("lucky_6", 8, "16.683572"),
    ("small_tiger", 8, "14.3325"),
    ("big_tiger", 8, "15.253317"),
    ("tiger_tie", 8, "30.735410"),
    ("small", 8, "5.282877"),
    ("big", 8, "4.345748"),
]


def priced(
    *, decks: int, wager: str, table: dict[str, str] | None = None, commission: str = "1/20"
) -> Fraction:
    known = WAGER_CATALOGUE[wager]
    offered = [Wager.priced(known, table or known.usual, commission)]
    return count_odds(offered, decks).wagers[wager].edge


def same(edge: Fraction, percent: str) -> bool:
    return round(100 * edge, len(percent.partition(".")[2])) == Fraction(percent)


@each_case("wager, decks, percent", PUBLISHED_EDGES)
def test_the_house_keeps_what_is_published(wager: str, decks: int, percent: str) -> None:
    assert same(priced(decks=decks, wager=wager), percent)


EZ_BACCARAT = {"win_with_three_card_7": "push", "win": "1:1", "tie": "push"}
COMMISSION_FREE = {"win_with_6": "1:2", "win": "1:1", "tie": "push"}
CYPRESS_BAYOU = {
    "natural_win": "1:1",
    "natural_tie": "push",
    "win_by_9": "30:1",
    "win_by_8": "10:1",
    "win_by_7": "4:1",
    "win_by_6": "4:1",
    "win_by_5": "2:1",
    "win_by_4": "2:1",
}

OTHER_TABLES = [
    ("banker", EZ_BACCARAT, 8, "1.018301"),
    ("banker", COMMISSION_FREE, 8, "1.458104"),
    ("tie", {"win": "9:1"}, 8, "4.844032"),
    ("tie", {"win": "9:1"}, 6, "4.931289"),
    ("tie", {"win": "9:1"}, 1, "6.384585"),
    ("dragon_bonus_player", CYPRESS_BAYOU, 8, "2.499629"),
    ("dragon_bonus_banker", CYPRESS_BAYOU, 8, "8.530545"),
    ("super_6", {"win": "13:1"}, 8, "24.591"),
    ("super_6", {"win": "14:1"}, 8, "19.204"),
    ("super_6", {"win": "15:1"}, 8, "13.818"),
    ("perfect_pair", {"one": "25:1"}, 8, "13.029391"),
    ("big", {"win": "1:2"}, 8, "6.830"),
]


@each_case("wager, table, decks, percent", OTHER_TABLES)
def test_other_pay_tables_of_the_same_wager(
    wager: str, table: dict[str, str], decks: int, percent: str
) -> None:
    assert same(priced(decks=decks, wager=wager, table=table, commission="0/1"), percent)


def test_a_banker_without_commission_wins_and_pushes_by_its_table() -> None:
    exact = EXACT["8"]
    ez = count_odds([Wager.priced(WAGER_CATALOGUE["banker"], EZ_BACCARAT, "0/1")], 8).wagers[
        "banker"
    ]
    assert ez.prizes["win_with_three_card_7"] == exact["banker_wins_with_7_of_3"]
    assert ez.push == exact["tie"] + exact["banker_wins_with_7_of_3"]
    assert (ez.win + ez.push, ez.lose) == (exact["banker"] + exact["tie"], exact["player"])
    free = count_odds([Wager.priced(WAGER_CATALOGUE["banker"], COMMISSION_FREE, "0/1")], 8)
    six = exact["banker_wins_with_6_of_2"] + exact["banker_wins_with_6_of_3"]
    assert free.wagers["banker"].prizes["win_with_6"] == six
    assert free.wagers["banker"].win == exact["banker"]


def dealt_in(cards: int) -> Callable[[CoupShape], bool]:
    return lambda shape: shape.cards == cards


NUMBER_OF_CARDS = WagerDefinition(
    "4_5_6",
    "Four, five, six",
    (
        Prize("4", "four cards", dealt_in(4), "3:2"),
        Prize("5", "five cards", dealt_in(5), "2:1"),
        Prize("6", "six cards", dealt_in(6), "2:1"),
    ),
)


@pytest.mark.parametrize(("cards", "percent"), [("4", "5.283"), ("5", "8.967"), ("6", "4.694")])
def test_a_new_wager_needs_a_definition_and_nothing_else(cards: str, percent: str) -> None:
    table = {cards: NUMBER_OF_CARDS.usual[cards]}
    odds = count_odds([Wager.priced(NUMBER_OF_CARDS, table, "0/1")], 8)
    assert same(odds.wagers["4_5_6"].edge, percent)
