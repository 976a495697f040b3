"""
A planted slug and a planted deck are found completely; shuffled shoes give no finding.

Seeds are fixed, so no test fails by chance. With other seeds, shuffled shoes give a finding with a
probability of at most 0.003 (0.001 each for faces, ranks and order).
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from drivers.simulators.angel_eye import Settings
from shoe_daemon.cli import main
from shoe_daemon.game.cards import DECK, RANKS, Card
from shoe_daemon.report.cards import DrawnCard
from shoe_daemon.report.integrity import (
    MAX_CHANCE,
    Integrity,
    PastShoe,
    chance,
    integrity_text,
    read_integrity,
    search,
)
from shoe_daemon.table.observations import CardDrawn, Command
from tests.report.report_shoes import Writer, shoe
from tests.volume import volume

AT = "2026-11-21T20:00:00.000Z"


def look(shoes: list[list[Card | None]], decks: int = 8) -> Integrity:
    """Search shoes given card by card, each card in its own round."""
    made = [
        PastShoe(
            number,
            decks,
            [DrawnCard(AT, face, "play", place // 5 + 1) for place, face in enumerate(cards)],
        )
        for number, cards in enumerate(shoes, start=1)
    ]
    return search("casino-north", "table-7", made)


def shuffled(dice: Random, decks: int = 8) -> list[Card | None]:
    cards: list[Card | None] = [*DECK] * decks
    dice.shuffle(cards)
    return cards[: len(cards) - 14]


@pytest.mark.parametrize("seed", range(volume(3, 10)))
def test_shuffled_shoes_give_no_finding(seed: int) -> None:
    dice = Random(seed)
    found = look([shuffled(dice) for _ in range(12)])
    assert found.clean
    assert Decimal(found.limit) == MAX_CHANCE == Decimal("0.001")


def test_a_slug_that_returns_in_another_shoe_is_found() -> None:
    dice = Random(1)
    shoes = [shuffled(dice) for _ in range(8)]
    slug = shoes[2][100:140]
    rest = [card for card in shoes[6] if card not in slug]
    shoes[6] = [*rest[:100], *slug, *rest[100:]]
    found = look(shoes)
    assert found.ranks.found == ()  # not reported a second time
    (finding,) = found.faces.found
    assert finding.cards == tuple(map(str, slug))
    assert [(place.shoe, place.first, place.last) for place in finding.places] == [
        (3, 101, 140),
        (7, 101, 140),
    ]
    assert (finding.places[0].from_round, finding.places[0].to_round) == (21, 28)
    assert Decimal(finding.chance) < Decimal("1e-50")


def test_a_slug_with_one_card_unread_is_found_in_two_parts() -> None:
    dice = Random(2)
    shoes = [shuffled(dice), shuffled(dice)]
    shoes[1][50:90] = shoes[0][200:240]
    shoes[1][70] = None
    found = look(shoes)
    assert sorted(each.length for each in found.faces.found) == [19, 20]


def test_a_slug_whose_suits_are_misread_is_found_by_its_ranks() -> None:
    dice = Random(3)
    shoes = [shuffled(dice), shuffled(dice)]
    slug = [card for card in shoes[0][200:240] if card is not None]
    shoes[1][50:90] = [Card(card.rank + dice.choice("SHDC")) for card in slug]
    found = look(shoes)
    assert [each.length for each in found.ranks.found] == [40]
    assert found.ranks.found[0].cards == tuple(card.rank for card in slug)


def test_a_slug_within_one_shoe_is_found() -> None:
    cards = shuffled(Random(4))
    cards[300:325] = cards[20:45]
    (finding,) = look([cards]).faces.found
    assert [(place.first, place.last) for place in finding.places] == [(21, 45), (301, 325)]


@pytest.mark.parametrize("cut", [0, 5, 30])
def test_a_deck_in_factory_order_is_found(cut: int) -> None:
    up = [Card(rank + suit) for suit in "SD" for rank in RANKS]
    down = [Card(rank + suit) for suit in "CH" for rank in reversed(RANKS)]
    deck = up + down
    deck = deck[cut:] + deck[:cut]
    cards = shuffled(Random(5))
    cards[100:152] = deck
    found = look([cards])
    lengths = sorted(each.length for each in found.factory.found)
    # The run continues from the last suit (downwards) to the first (upwards).
    assert max(lengths) >= 52
    assert Decimal(found.factory.found[0].chance) < Decimal("1e-60")


def test_a_shoe_that_is_dealt_again_is_one_finding_and_ends_with_1(tmp_path: Path) -> None:
    good = run(shoe(tmp_path / "good", shoes=2, seed=3))
    assert good.exit_code == 0, good.output
    assert "Nothing that chance does not do." in good.stdout
    with Writer(tmp_path / "bad") as writer:
        writer.session()
        for seed in (1, 2, 1):
            writer.deal(Settings(shoes=1, seed=seed))
    bad = run(tmp_path / "bad", "--json")
    assert bad.exit_code == 1
    answer = json.loads(bad.stdout)
    assert answer["clean"] is False
    (finding,) = answer["faces"]["found"]
    assert [place["shoe"] for place in finding["places"]] == [1, 3]
    assert finding["length"] > 390
    assert max(map(len, run(tmp_path / "bad").stdout.splitlines())) <= 80


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["journal", "integrity", *map(str, arguments)])


def test_only_shoes_that_are_over_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Writer(path) as writer:
        writer.session("single-deck")
        writer.say(Command(name="new_shoe", operator="ann"), CardDrawn(card=Card("AS")))
        writer.session()
        writer.deal(Settings(shoes=1, rounds=3))
    found = read_integrity(path)
    assert found.shoes == 0
    assert [(each.shoe, each.why) for each in found.skipped] == [
        (1, "cards went back into it"),
        (2, "it is still under way"),
    ]
    assert found.clean
    assert "Not looked at: shoe 2: it is still under way." in integrity_text(found)


def test_small_probabilities_are_written_for_people() -> None:
    assert chance("0.001") == "at most 1 in 1,000"
    assert chance("8.3e-5") == "at most 1 in 12,048"
    assert chance("3.1e-480") == "at most 1 in 10^479"
