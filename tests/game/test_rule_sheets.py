"""
Every cell of the four rule sheets, each sheet in its own words.

A cell is named after the section and the cell: ``banker-3-third-8``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import CountedHand, Hand, hand_due
from shoe_daemon.game.house_rules import House, load_house
from tests.game.card_notation import cards, coup

ALL = range(10)
DRAWS, STANDS, NATURAL = "draws", "stands", "natural"


class Cell(NamedTuple):
    """A statement of a sheet: where it stands, what it says, and how we answer it."""

    name: str
    says: object
    ask: Callable[..., object]
    about: tuple[object, ...]


def cell(name: str, says: object, ask: Callable[..., object], *about: object) -> Cell:
    return Cell(name, says, ask, about)


def player(total: int, banker: int = 0) -> str:
    """Say what a Player does with a two-card total, against a Banker's."""
    return decision([total, banker, 0, 0], Hand.PLAYER)


def banker(total: int, third: int) -> str:
    """Say what a Banker does once the Player drew this card, whatever the Player had."""
    answers = {decision([at, total, 0, 0, third], Hand.BANKER) for at in range(6)}
    return answers.pop() if len(answers) == 1 else f"it depends: {answers}"


def banker_alone(total: int) -> str:
    """Say what a Banker does where the Player stood, on 6 or on 7."""
    answers = {decision([at, total, 0, 0], Hand.BANKER) for at in (6, 7)}
    return answers.pop() if len(answers) == 1 else f"it depends: {answers}"


def decision(points: list[int], hand: Hand) -> str:
    if max((points[0] + points[2]) % 10, (points[1] + points[3]) % 10) >= 8:
        return NATURAL if hand_due(points) is Hand.NONE else "draws on a natural"
    return DRAWS if hand_due(points) is hand else STANDS


def counts(rank: str) -> set[int]:
    """Say what the four cards of a rank count."""
    return {card.points for card in DECK if card.rank == rank}


def total(text: str) -> int:
    return CountedHand.of(cards(text)).total


def settled(house: House, wager: str, text: str) -> str | None:
    """Say what a wager comes to in a round: its odds, push or lose."""
    results = {each.wager: each for each in house.settle(coup(text))}
    return results[wager].pays or results[wager].result


def most_cards() -> set[Hand]:
    """Say who is due a seventh card."""
    return {hand_due([at, other, 0, 0, 0, 0]) for at in ALL for other in ALL}


def winner(text: str) -> str:
    return coup(text).outcome


def drawn_by(house: House) -> str:
    return "a player" if house.curator.on else "the dealer"


def values(worth: dict[str, int]) -> Iterator[Cell]:
    for rank, points in worth.items():
        yield cell(f"value-{rank}", {points}, counts, rank)


def players(row: Iterable[int], says: str) -> Iterator[Cell]:
    for at in row:
        yield cell(f"player-{at}", says, player, at)


def stood(row: Iterable[int], says: str) -> Iterator[Cell]:
    for at in row:
        yield cell(f"banker-{at}-player-stood", says, banker_alone, at)


def thirds(at: int, row: Iterable[int], says: str) -> Iterator[Cell]:
    for third in row:
        yield cell(f"banker-{at}-third-{third}", says, banker, at, third)


def naturals() -> Iterator[Cell]:
    """Either hand with 8 or 9 on two cards ends the round, whatever the other has."""
    for at in (8, 9):
        for other in ALL:
            yield cell(f"natural-player-{at}-against-{other}", NATURAL, player, at, other)
            yield cell(f"natural-banker-{at}-against-{other}", NATURAL, player, other, at)


PLAYER_WINS, BANKER_WINS, TIE = "7S KD / 6H KC", "6S KD / 7H KC", "7S KD / 7H KC"
WON = {PLAYER_WINS: "player", BANKER_WINS: "banker", TIE: "tie"}
FACE_VALUES = {"A": 1, **{str(points): points for points in range(2, 10)}}
NO_VALUE = {"10": 0, "J": 0, "Q": 0, "K": 0}


def main_wagers(house: House) -> Iterator[Cell]:
    """Player 1 to 1, Banker 1 to 1 less five per cent, Tie 8 to 1."""
    for wager, text, says in (
        ("player", PLAYER_WINS, "1:1"),
        ("banker", BANKER_WINS, "19:20"),
        ("tie", TIE, "8:1"),
        ("player", BANKER_WINS, "lose"),
        ("banker", PLAYER_WINS, "lose"),
        ("tie", PLAYER_WINS, "lose"),
        ("tie", BANKER_WINS, "lose"),
    ):
        yield cell(f"pays-{wager}-on-{WON[text]}", says, settled, house, wager, text)
    yield cell("pays-commission", "1/20", lambda: house.commission)
    yield cell("pays-banker-before", "1:1", lambda: house.wagers["banker"]["win"])


def tie_pushes(house: House) -> Iterator[Cell]:
    for wager in ("player", "banker"):
        yield cell(f"tie-pushes-{wager}", "push", settled, house, wager, TIE)


def outcomes() -> Iterator[Cell]:
    for text, says in WON.items():
        yield cell(f"wins-{says}", says, winner, text)


def dealing_order() -> Iterator[Cell]:
    """First and third card to the Player, second and fourth to the Banker."""
    for dealt, hand in enumerate((Hand.PLAYER, Hand.BANKER) * 2):
        yield cell(f"order-card-{dealt + 1}", hand, hand_due, [0] * dealt)


def chickasaw(house: House) -> Iterator[Cell]:
    yield from values(FACE_VALUES | NO_VALUE)  # letter l
    yield cell("three-cards-at-most", {Hand.NONE}, most_cards)
    yield cell("cards-standard-52", 52, lambda: len(set(DECK)))  # letter k
    yield from naturals()
    yield from players([0, 1, 2, 3, 4, 5], DRAWS)
    yield from players([6, 7], STANDS)
    yield from players([8, 9], NATURAL)
    for at in (0, 1, 2):
        yield from thirds(at, ALL, DRAWS)
    yield from thirds(3, [0, 1, 2, 3, 4, 5, 6, 7, 9], DRAWS)
    yield from thirds(3, [8], STANDS)
    yield from thirds(4, [2, 3, 4, 5, 6, 7], DRAWS)
    yield from thirds(4, [0, 1, 8, 9], STANDS)
    yield from thirds(5, [4, 5, 6, 7], DRAWS)
    yield from thirds(5, [0, 1, 2, 3, 8, 9], STANDS)
    yield from thirds(6, [6, 7], DRAWS)
    yield from thirds(6, [0, 1, 2, 3, 4, 5, 8, 9], STANDS)
    yield from thirds(7, ALL, STANDS)
    for at in (8, 9):  # "Player cannot draw"
        for mine in range(8):
            yield cell(f"banker-{at}-player-{mine}", NATURAL, player, mine, at)
    yield from main_wagers(house)
    yield from outcomes()
    yield cell("faces-banker-tucked", "banker_tucked", lambda: house.dealing_style)
    yield cell("patrons-touch-no-cards", "the dealer", drawn_by, house)  # letter c


def seven_feathers(house: House) -> Iterator[Cell]:
    yield from values(FACE_VALUES | NO_VALUE)
    yield cell("counting-7-and-10", 7, total, "7S 10H")
    yield cell("counting-exactly-ten", 0, total, "4S 6H")
    yield from naturals()
    for at in range(6):  # "unless Banker has a Natural"
        yield cell(f"player-{at}", DRAWS, player, at)
        for against in (8, 9):
            yield cell(f"player-{at}-against-natural-{against}", NATURAL, player, at, against)
    yield from players([6, 7], STANDS)
    yield from players([8, 9], NATURAL)
    yield from stood([0, 1, 2, 3, 4, 5], DRAWS)
    yield from stood([6, 7], STANDS)
    yield from stood([8, 9], NATURAL)
    draws = {
        0: ALL,
        1: ALL,
        2: ALL,
        3: [third for third in ALL if third != 8],
        4: range(2, 8),
        5: range(4, 8),
        6: (6, 7),
        7: (),
    }
    for at, row in draws.items():
        yield from thirds(at, row, DRAWS)
        yield from thirds(at, sorted(set(ALL) - set(row)), STANDS)
    for at in (8, 9):
        yield from thirds(at, ALL, NATURAL)
    yield from main_wagers(house)
    yield from tie_pushes(house)
    yield from outcomes()


def curator(house: House) -> Iterator[Cell]:
    yield from values(FACE_VALUES | NO_VALUE)
    yield cell("counting-9-and-5", 4, total, "9S 5H")
    yield cell("counting-jack-and-1", 1, total, "JS AH")
    yield cell("counting-ten-and-king", 0, total, "10S KH")
    yield from dealing_order()
    yield cell("one-additional-card-each", {Hand.NONE}, most_cards)
    yield from naturals()
    yield from players([1, 2, 3, 4, 5, 0], DRAWS)
    yield from players([6, 7], STANDS)
    yield from players([8, 9], NATURAL)
    yield from stood([0, 1, 2, 3, 4, 5], DRAWS)
    yield from stood([6, 7], STANDS)
    yield from stood([8, 9], NATURAL)
    for at in (0, 1, 2):
        yield from thirds(at, ALL, DRAWS)
    yield from thirds(3, [1, 2, 3, 4, 5, 6, 7, 9, 0], DRAWS)
    yield from thirds(3, [8], STANDS)
    yield from thirds(4, [2, 3, 4, 5, 6, 7], DRAWS)
    yield from thirds(4, [1, 8, 9, 0], STANDS)
    yield from thirds(5, [4, 5, 6, 7], DRAWS)
    yield from thirds(5, [1, 2, 3, 8, 9, 0], STANDS)
    yield from thirds(6, [6, 7], DRAWS)
    yield from thirds(6, [1, 2, 3, 4, 5, 8, 9, 0], STANDS)
    yield from thirds(7, ALL, STANDS)
    for at in (8, 9):
        yield from thirds(at, ALL, NATURAL)
    yield from main_wagers(house)
    yield from tie_pushes(house)
    yield from outcomes()
    yield from dragon_bonus(house)
    yield cell("faces-by-a-player", "squeeze", lambda: house.dealing_style)
    yield cell("curator", "a player", drawn_by, house)
    yield cell("curator-first-chair", 1, lambda: house.curator.first_seat)
    yield cell("curator-passes-to", "right", lambda: house.curator.passes_to)
    yield cell("curator-chairs", "counterclockwise", lambda: house.curator.seat_numbering)


def dragon_bonus(house: House) -> Iterator[Cell]:
    for row, text, says in (
        ("win-by-9", "2S 3D 4C {} KH QC JD", "30:1"),
        ("win-by-8", "2S 2D 4C {} KH QC JD", "10:1"),
        ("win-by-7", "7S KD {} KH QC JD", "6:1"),
        ("win-by-6", "6S KD {} KH QC JD", "4:1"),
        ("win-by-5", "6S KD {} KH QC AD", "2:1"),
        ("win-by-4", "6S KD {} KH QC 2D", "1:1"),
        ("natural-winner", "9S KD {} 3H 4C", "1:1"),
        ("natural-tie", "9S KD {} 4H 5C", "push"),
    ):
        mine, other = text.split("{}")
        for side, round_ in (("player", f"{mine}/{other}"), ("banker", f"{other}/{mine}")):
            wager = f"dragon_bonus_{side}"
            yield cell(f"dragon-bonus-{side}-{row}", says, settled, house, wager, round_)


# Banker's score down, Player's third card across, as the sheet prints them.
SINGLE_DECK_TABLE = {
    7: "SSSSSSSSSS",
    6: "SSSSSSDDSS",
    5: "SSSSDDDDSS",
    4: "SSDDDDDDSS",
    3: "DDDDDDDDSD",
    2: "DDDDDDDDDD",
    1: "DDDDDDDDDD",
    0: "DDDDDDDDDD",
}


def single_deck(house: House) -> Iterator[Cell]:
    yield cell("three-cards-at-most", {Hand.NONE}, most_cards)
    yield cell("cards-one-deck", 1, lambda: house.decks)
    yield cell("cards-shuffled-after-each-hand", "per_hand", lambda: house.reshuffle)
    yield cell("faces-up", "face_up", lambda: house.dealing_style)
    yield from dealing_order()
    yield from values(NO_VALUE)
    yield cell("counting-8-and-9", 7, total, "8S 9H")
    yield cell("counting-0-to-9", {*ALL}, lambda: {total(f"{a} {b}") for a in DECK for b in DECK})
    yield from naturals()
    yield cell("natural-9-beats-8", "player", winner, "9S KD / 8H KC")
    yield cell("natural-8-beats-7", "banker", winner, "7S KD / 8H KC")
    yield cell("natural-8-ties-8", "tie", winner, "3S 5D / 8H KC")
    yield from players([0, 1, 2, 3, 4, 5], DRAWS)
    yield from players([6, 7], STANDS)
    yield from players([8, 9], NATURAL)
    yield from stood([0, 1, 2, 3, 4, 5], DRAWS)
    yield from stood([6, 7], STANDS)
    yield from stood([8, 9], NATURAL)
    for at, row in SINGLE_DECK_TABLE.items():
        for third, letter in enumerate(row):
            yield from thirds(at, [third], {"S": STANDS, "D": DRAWS}[letter])
    yield cell("third-card-not-hand", Hand.BANKER, lambda: hand_due([5, 6, 0, 0, 6]))
    yield from main_wagers(house)
    yield from tie_pushes(house)
    yield from outcomes()


SHEETS = {
    "chickasaw": chickasaw,
    "seven-feathers": seven_feathers,
    "curator": curator,
    "single-deck": single_deck,
}


@pytest.mark.parametrize("sheet", SHEETS)
def test_every_cell_of_a_rule_sheet(sheet: str) -> None:
    for each in SHEETS[sheet](load_house(sheet)):
        assert each.ask(*each.about) == each.says, each.name


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_cell_is_left_out(sheet: str) -> None:
    """Eight Banker totals against ten third cards, ten Player totals."""
    names = [each.name for each in SHEETS[sheet](load_house(sheet))]
    assert len(names) == len(set(names))
    wanted = {f"banker-{at}-third-{third}" for at in range(8) for third in ALL}
    wanted |= {f"player-{at}" for at in ALL}
    if sheet != "chickasaw":  # the one sheet that has no row for a Player who stood
        wanted |= {f"banker-{at}-player-stood" for at in ALL}
    assert wanted <= set(names)
