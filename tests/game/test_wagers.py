"""Every wager is settled as its sheet says, and paid in whole numbers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from shoe_daemon.game.coup import Coup, Outcome
from shoe_daemon.game.house_rules import DEFAULT_HOUSE, House
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from shoe_daemon.game.wagers import (
    CoupShape,
    Settlement,
    Settler,
    Wager,
    parse_odds,
    parse_share,
    settle_wagers,
)
from tests.each_case import each_case
from tests.game.card_notation import coup, lawful_coups
from tests.volume import volume

EVERY_WAGER = House(
    name="Every wager",
    sheet="none",
    commission="1/20",
    wagers={known.id: known.usual for known in WAGER_CATALOGUE.values()},
)


COMMISSION_FREE = msgspec.structs.replace(
    EVERY_WAGER,
    commission="0/1",
    wagers={"banker": {"win_with_6": "1:2", "win": "1:1", "tie": "push"}},
)
EZ_BACCARAT = msgspec.structs.replace(
    EVERY_WAGER,
    commission="0/1",
    wagers={"banker": {"win_with_three_card_7": "push", "win": "1:1", "tie": "push"}},
)


def by_hand(dealt: Coup) -> dict[str, tuple[str, str | None]]:
    """Settle every wager from the cards alone, without the mechanism; a new one belongs here."""
    player = [card.rank for card in dealt.player.cards]
    banker = [card.rank for card in dealt.banker.cards]
    at_player, at_banker = count(player), count(banker)
    lose, push = ("lose", None), ("push", None)
    results: dict[str, tuple[str, str | None]] = dict.fromkeys(WAGER_CATALOGUE, lose)
    if at_player > at_banker:
        results["player"] = ("win", "1:1")
    elif at_banker > at_player:
        results["banker"] = ("win", "19:20")
    else:
        results |= {"player": push, "banker": push, "tie": ("win", "8:1")}
    for side, mine, other, at_mine, at_other in (
        ("player", player, banker, at_player, at_banker),
        ("banker", banker, player, at_banker, at_player),
    ):
        results[f"dragon_bonus_{side}"] = dragon_bonus(mine, other, at_mine, at_other)
        if mine[0] == mine[1]:
            results[f"{side}_pair"] = ("win", "11:1")
            results["either_pair"] = ("win", "5:1")
    return (
        results | perfect_pair(dealt) | by_totals(at_player, len(player), at_banker, len(banker))
    )


def perfect_pair(dealt: Coup) -> dict[str, tuple[str, str | None]]:
    hands = (dealt.player.cards, dealt.banker.cards)
    twins = sum(str(first) == str(second) for first, second, *_ in hands)
    return {"perfect_pair": [("lose", None), ("win", "25:1"), ("win", "200:1")][twins]}


def by_totals(
    player: int, player_cards: int, banker: int, banker_cards: int
) -> dict[str, tuple[str, str | None]]:
    """Settle what asks for totals and numbers of cards alone."""
    won: dict[str, str] = (
        {"small": "3:2"} if player_cards + banker_cards == 4 else {"big": "27:50"}
    )
    match player, player_cards, banker, banker_cards:
        case 6, _, 6, _:
            won["tiger_tie"] = "35:1"
        case ((0 | 1 | 2 | 3 | 4 | 5), _, 6, 2):
            won |= {"super_6": "12:1", "lucky_6": "12:1", "small_tiger": "22:1"}
        case ((0 | 1 | 2 | 3 | 4 | 5), _, 6, 3):
            won |= {"super_6": "12:1", "lucky_6": "20:1", "big_tiger": "50:1"}
        case ((0 | 1 | 2 | 3 | 4 | 5 | 6), _, 7, 3):
            won["dragon_7"] = "40:1"
        case 8, 3, (0 | 1 | 2 | 3 | 4 | 5 | 6 | 7), _:
            won["panda_8"] = "25:1"
    return {wager: ("win", pays) for wager, pays in won.items()}


def count(ranks: list[str]) -> int:
    counts = {"A": 1, "10": 0, "J": 0, "Q": 0, "K": 0}
    return sum(counts[rank] if rank in counts else int(rank) for rank in ranks) % 10


def dragon_bonus(
    mine: list[str], other: list[str], at_mine: int, at_other: int
) -> tuple[str, str | None]:
    natural = len(mine) == 2 and at_mine in {8, 9}
    other_natural = len(other) == 2 and at_other in {8, 9}
    if natural and other_natural and at_mine == at_other:
        return "push", None
    if natural and at_mine > at_other:
        return "win", "1:1"
    pays = {4: "1:1", 5: "2:1", 6: "4:1", 7: "6:1", 8: "10:1", 9: "30:1"}.get(at_mine - at_other)
    return ("win", pays) if pays else ("lose", None)


@settings(max_examples=volume(400, 2000))
@given(lawful_coups)
def test_every_wager_is_settled_as_one_would_by_hand(dealt: Coup) -> None:
    wanted = tuple((wager, *found) for wager, found in by_hand(dealt).items())
    assert settle_wagers(EVERY_WAGER.offered, dealt) == wanted
    assert EVERY_WAGER.settle(dealt) == wanted


@settings(max_examples=volume(300, 1000))
@given(lawful_coups)
def test_a_banker_without_commission_differs_in_one_kind_of_win(dealt: Coup) -> None:
    total, cards = count([card.rank for card in dealt.banker.cards]), len(dealt.banker.cards)
    result, _ = by_hand(dealt)["banker"]
    usual = "1:1" if result == "win" else None
    half = ("win", "1:2") if result == "win" and total == 6 else (result, usual)
    assert COMMISSION_FREE.settle(dealt) == (("banker", *half),)
    barred = ("push", None) if (result, total, cards) == ("win", 7, 3) else (result, usual)
    assert EZ_BACCARAT.settle(dealt) == (("banker", *barred),)


TOTALS = {
    # Player's cards / Banker's cards: what wins of the wagers on totals and numbers of cards
    "2S 3D KC / KH 6C": "super_6 lucky_6 small_tiger big",
    "KS 7D / KH 6C": "small",
    "KS 4D KC / 2H AC 3C": "super_6 lucky_6 big_tiger big",
    "KS 6D / KH 6C": "tiger_tie small",
    "2S 3D AC / 2H 2C 2D": "tiger_tie big",
    "KS 6D / 2H 2C 3C": "dragon_7 big",
    "KS 7D / 2H 2C 3C": "big",
    "KS 6D / KH 7C": "small",
    "2S 3D 3C / KH 7C": "panda_8 big",
    "2S 3D 3C / 4H AC 2C": "panda_8 big",
    "KS 8D / KH 7C": "small",
    "2S 3D 3C / KH 8C": "big",
}
ON_TOTALS = {wager for won in TOTALS.values() for wager in won.split()}


@each_case("text", TOTALS)
def test_wagers_on_totals_and_numbers_of_cards(text: str) -> None:
    won = [each.wager for each in EVERY_WAGER.settle(coup(text)) if each.result == "win"]
    assert " ".join(wager for wager in won if wager in ON_TOTALS) == TOTALS[text]


DRAGON_BONUS_ON_THE_PLAYER = {
    "natural 9 over natural 8": ("9S KD / 8H KC", "win", "1:1"),
    "natural 8 over 7": ("8S KD / 7H KC", "win", "1:1"),
    "natural 9 over 0": ("9S KD / QH KC", "win", "1:1"),
    "natural 8 under natural 9": ("8S KD / 9H KC", "lose", None),
    "natural 9 tie": ("9S KD / 4H 5C", "push", None),
    "natural 8 tie": ("8S KD / 4H 4C", "push", None),
    "tie without naturals": ("7S KD / 7H KC", "lose", None),
    "tie at nine with three cards": ("2S 3D 4C / 2H 3C 4D", "lose", None),
    "nine of three cards over 0": ("2S 3D 4C / KH QC JD", "win", "30:1"),
    "eight of three cards over 0": ("2S 2D 4C / KH QC JD", "win", "10:1"),
    "eight of three cards over 1": ("2S 2D 4C / KH QC AD", "win", "6:1"),
    "by 6": ("6S KD / KH QC KS", "win", "4:1"),
    "by 5": ("6S KD / KH AC KS", "win", "2:1"),
    "by 4": ("7S KD / KH AC 2S", "win", "1:1"),
    "by 3": ("7S KD / KH 2C 2S", "lose", None),
    "by 1": ("7S KD / 6H KC", "lose", None),
    "lost": ("6S KD / 7H KC", "lose", None),
}


@each_case("case", DRAGON_BONUS_ON_THE_PLAYER)
def test_dragon_bonus(case: str) -> None:
    text, result, pays = DRAGON_BONUS_ON_THE_PLAYER[case]
    dealt = coup(text)
    mirrored = Coup.between(dealt.banker, dealt.player)
    settled = {each.wager: each[1:] for each in EVERY_WAGER.settle(dealt)}
    assert settled["dragon_bonus_player"] == (result, pays)
    settled = {each.wager: each[1:] for each in EVERY_WAGER.settle(mirrored)}
    assert settled["dragon_bonus_banker"] == (result, pays)


def test_wagers_come_in_the_catalogues_order_whatever_the_houses() -> None:
    """A log writes a house with its keys sorted, and must replay to the same bytes."""
    backwards = msgspec.structs.replace(
        EVERY_WAGER, wagers=dict(reversed(EVERY_WAGER.wagers.items()))
    )
    dealt = coup("9S KD / 8H KC")
    assert backwards.settle(dealt) == EVERY_WAGER.settle(dealt)
    assert [each.wager for each in backwards.settle(dealt)] == list(WAGER_CATALOGUE)


def test_rounds_of_one_shape_are_settled_once() -> None:
    settled = EVERY_WAGER.settle(coup("9S KD / 8H KC"))
    assert EVERY_WAGER.settle(coup("2H 7C / 3D 5S")) is settled
    # A pair, or a perfect one, is another shape.
    assert EVERY_WAGER.settle(coup("9S KD / 4H 4S")) is not settled


@given(lawful_coups)
def test_two_rounds_of_one_shape_settle_alike(dealt: Coup) -> None:
    shape = CoupShape.of(dealt)
    assert shape.outcome is dealt.outcome
    assert shape.player.natural == dealt.player.natural
    assert shape.banker.natural == dealt.banker.natural
    assert shape.cards == len(dealt.player.cards) + len(dealt.banker.cards)


PERFECT = {
    "KS KS 5C / 2C 3D AD": ("win", "25:1"),
    "KS KH 5C / 2C 2C AD": ("win", "25:1"),
    "KS KS 5C / 2C 2C AD": ("win", "200:1"),
    "KS KS 5C / 2C 2D AD": ("win", "25:1"),
    "KS KH 5C / 2C 2D AD": ("lose", None),
    "KS QS 5C / 2C 3D AD": ("lose", None),
    "KS KH 5C / KS 2C 3D": ("lose", None),
}


@pytest.mark.parametrize("text", PERFECT)
def test_the_most_special_prize_counts(text: str) -> None:
    settled = {each.wager: each[1:] for each in EVERY_WAGER.settle(coup(text))}
    assert settled["perfect_pair"] == PERFECT[text]


@pytest.mark.parametrize("text", PERFECT)
def test_a_prize_that_a_table_leaves_out_is_paid_as_the_next(text: str) -> None:
    known = WAGER_CATALOGUE["perfect_pair"]
    [settled] = settle_wagers([Wager.priced(known, {"one": "25:1"}, "0/1")], coup(text))
    result, _ = PERFECT[text]
    assert settled[1:] == (result, "25:1" if result == "win" else None)


def test_settling_by_shape_overlooks_nothing_that_any_definition_asks() -> None:
    """One settler for all cases, so that a shape that is too coarse mixes them up."""
    settler = Settler(EVERY_WAGER.offered)
    for text in [*PERFECT, *TOTALS]:
        assert settler(coup(text)) == settle_wagers(EVERY_WAGER.offered, coup(text))


@pytest.mark.parametrize(
    ("commission", "pays"),
    [("0/1", "1:1"), ("1/20", "19:20"), ("5/100", "19:20"), ("1/25", "24:25"), ("1/2", "1:2")],
)
def test_the_commission_is_taken_off_the_bankers_odds_only(commission: str, pays: str) -> None:
    house = msgspec.structs.replace(EVERY_WAGER, commission=commission)
    settled = {each.wager: each for each in house.settle(coup("KS KD 2C / 4H 5C"))}
    assert settled["banker"].pays == pays
    assert settled["dragon_bonus_banker"].pays == "1:1"


def test_odds_are_told_in_lowest_terms() -> None:
    table = {"tie": {"win": "16:2"}}
    house = msgspec.structs.replace(DEFAULT_HOUSE, wagers=table)
    assert house.settle(coup("7S KD / 7H KC")) == (Settlement("tie", "win", "8:1"),)


def test_a_pair_wager_looks_at_ranks_not_at_points_or_suits() -> None:
    jacks, jack_queen = coup("JS JH 2C / 4H 5C"), coup("JS QS 2C / 4H 5C")
    assert Settlement("player_pair", "win", "11:1") in EVERY_WAGER.settle(jacks)
    assert Settlement("player_pair", "lose", None) in EVERY_WAGER.settle(jack_queen)
    assert jacks.outcome is jack_queen.outcome is Outcome.BANKER


@pytest.mark.parametrize(
    "text", ["", "1", "1:0", "0:1", "-1:1", "1:1 ", "01:1", "0.95:1", "1:1:1", "8 to 1", "Push"]
)
def test_odds_are_two_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="no odds; expected to:for in whole numbers"):
        parse_odds(text)


@pytest.mark.parametrize("text", ["", "0.05", "5%", "1/1", "3/2", "1/0", "-1/20", "1", "1 / 20"])
def test_a_commission_is_a_fraction_below_one(text: str) -> None:
    with pytest.raises(ValueError, match="no share; expected a fraction below 1"):
        parse_share(text)
