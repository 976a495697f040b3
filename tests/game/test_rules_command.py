"""
`shoe-daemon rules` shows the rules that the code applies, and exact counts for programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.game.house_rules import HOUSE_IDS, house_from_mapping, load_house
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from tests.game.test_house import FILES

Run = Callable[..., str]


@pytest.fixture
def rules() -> Run:
    """Run `rules` with these words; the answer is what it prints."""

    def run(*words: str, status: int = 0) -> str:
        result = CliRunner().invoke(main, ["rules", *words])
        assert result.exit_code == status, result.output
        return result.stdout if status == 0 else result.stderr

    return run


def test_list_names_every_house(rules: Run) -> None:
    assert [line.split()[0] for line in rules("list").splitlines()] == list(HOUSE_IDS)
    assert [each["id"] for each in json.loads(rules("list", "--json"))] == list(HOUSE_IDS)


@pytest.mark.parametrize("words", [("list",), ("odds",), *(("show", h) for h in HOUSE_IDS)])
def test_a_person_needs_eighty_columns(rules: Run, words: tuple[str, ...]) -> None:
    lines = rules(*words).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line != line.rstrip() for line in lines)


TABLE = """\
     3        D   D   D   D   D   D   D   D   -   D       D
     4        -   -   D   D   D   D   D   D   -   -       D
     5        -   -   -   -   D   D   D   D   -   -       D
     6        -   -   -   -   -   -   D   D   -   -       -
     7        -   -   -   -   -   -   -   -   -   -       -
"""


@pytest.mark.parametrize("house", HOUSE_IDS)
def test_show_prints_drawing_pay_tables_and_what_was_open(rules: Run, house: str) -> None:
    text = rules("show", house)
    assert TABLE in text
    assert "The Player draws on 0 1 2 3 4 5 and stands on 6 7." in text
    known = load_house(house)
    shown = text.partition("\nWAGERS\n")[2].partition("What is not listed loses.")[0]
    pays = [line.pays for wager in known.offered for line in wager.lines]
    assert [row.split()[-1] for row in shown.strip().splitlines()] == pays
    squeezed = re.sub(r"\s+", " ", text)
    for each in known.resolutions:
        assert f": {each.gap} -> {each.resolved} by {each.authority}" in squeezed


@pytest.mark.parametrize(
    ("house", "said"),
    [
        ("chickasaw", "8 decks, shuffled for each shoe"),
        ("chickasaw", "tucked under the shoe, until the dealer turns them"),
        ("chickasaw", "as many cards as the first card counts, itself not among them, face down"),
        ("chickasaw", "16 cards from the back; after the round in which it appears one more"),
        ("chickasaw", "Drawn by the dealer"),
        ("curator", "a new shoe is offered to seat 1, and passes to the right"),
        ("curator", "Dragon Bonus, Player natural winner 1:1"),
        ("single-deck", "1 deck, shuffled before every round"),
        ("single-deck", "Burn none Cut card none"),
        ("seven-feathers", "all face up, at the draw"),
    ],
)
def test_show_says_the_procedure(rules: Run, house: str, said: str) -> None:
    assert said in re.sub(r"\s+", " ", rules("show", house))


def test_show_writes_the_house_the_odds_paid_and_the_tableau_for_programs(rules: Run) -> None:
    shown: dict[str, Any] = json.loads(rules("show", "curator", "--json"))
    assert house_from_mapping(shown["house"]) == load_house("curator")
    assert shown["pays"]["banker"] == {"win": "19:20", "tie": "push"}
    assert shown["tableau"]["player_draws"] == [0, 1, 2, 3, 4, 5]
    assert shown["tableau"]["banker_draws_if_player_stood"] == [0, 1, 2, 3, 4, 5]
    against = shown["tableau"]["banker_draws_against"]
    assert against["3"] == [0, 1, 2, 3, 4, 5, 6, 7, 9]
    assert against["6"] == [6, 7]


def test_a_house_may_be_a_file(rules: Run) -> None:
    assert rules("show", str(FILES / "curator.toml")) == rules("show", "curator")


def test_a_house_without_commission_has_no_line_about_it(rules: Run, tmp_path: Path) -> None:
    file, text = tmp_path / "house.toml", (FILES / "curator.toml").read_text(encoding="utf-8")
    file.write_text(text.replace('commission = "1/20"', 'commission = "0/1"'), encoding="utf-8")
    assert "commission, 1/20, is taken" in rules("show", "curator")
    assert "is taken off already" not in rules("show", str(file))


def test_odds_without_a_house_are_those_of_every_wager_and_eight_decks(rules: Run) -> None:
    odds = json.loads(rules("odds", "--json"))
    assert set(odds) == {"total", "banker", "player", "tie", "wagers"}
    assert (odds["total"], odds["banker"]) == (4998398275503360, 2292252566437888)
    assert set(odds["wagers"]) == set(WAGER_CATALOGUE)
    pair = odds["wagers"]["player_pair"]
    assert set(pair) == {"win", "push", "lose", "edge"}
    assert Fraction(pair["win"], odds["total"]) == Fraction(31, 415)


def test_odds_of_a_house_have_its_decks_unless_told(rules: Run) -> None:
    assert json.loads(rules("odds", "--house", "single-deck", "--json"))["total"] == 14658134400
    six = json.loads(rules("odds", "--house", "single-deck", "--decks", "6", "--json"))
    assert six["total"] == 878869206895680
    assert list(six["wagers"]) == ["banker", "player", "tie"]


def test_odds_for_people(rules: Run) -> None:
    text = rules("odds", "--house", "curator")
    assert "4,998,398,275,503,360 ordered draws of six cards" in text
    rows = {line.strip().split("  ")[0]: line.split() for line in text.splitlines() if line}
    assert rows["Banker"][-2:] == ["1.057906", "%"]
    assert rows["Tie"][1:] == ["8:1", "9.5156", "%", "90.4844", "%", "14.359629", "%"]
    assert rows["Dragon Bonus, Banker"][-2:] == ["9.373074", "%"]
    assert rows["win by 4 points"][-3:] == ["1:1", "4.0242", "%"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "monaco"), "monaco: no such house; expected one of "),
        (("odds", "--house", "monaco"), "monaco: no such house; expected one of "),
        (("odds", "--decks", "13"), "decks: 13; expected 1 to 12"),
        (("odds", "--decks", "0"), "decks: 0; expected 1 to 12"),
        (("odds", "--decks", "-8"), "decks: -8; expected 1 to 12"),
        (("odds", "--decks", "six"), "--decks: 'six'; expected a whole number"),
        (("show", "/no/such.toml"), "/no/such.toml: cannot be read: No such file or directory;"),
    ],
)
def test_bad_usage_is_told_in_one_line(rules: Run, words: tuple[str, ...], said: str) -> None:
    text = rules(*words, status=2)
    assert text.startswith(f"shoe-daemon: {said}")
    assert text.count("\n") == 1
