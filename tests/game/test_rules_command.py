"""
`shoe-daemon rules` shows the rules that the code applies, and exact counts for programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.game.house_rules import HOUSE_IDS
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


@pytest.mark.parametrize("words", [("list",), ("odds",), *(("show", h) for h in HOUSE_IDS)])
def test_a_person_needs_eighty_columns(rules: Run, words: tuple[str, ...]) -> None:
    lines = rules(*words).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line != line.rstrip() for line in lines)


def test_a_house_may_be_a_file(rules: Run) -> None:
    assert rules("show", str(FILES / "curator.toml")) == rules("show", "curator")


def test_a_house_without_commission_has_no_line_about_it(rules: Run, tmp_path: Path) -> None:
    file, text = tmp_path / "house.toml", (FILES / "curator.toml").read_text(encoding="utf-8")
    file.write_text(text.replace('commission = "1/20"', 'commission = "0/1"'), encoding="utf-8")
    assert "commission, 1/20, is taken" in rules("show", "curator")
    assert "is taken off already" not in rules("show", str(file))


def test_a_house_that_lets_the_player_choose_says_so(rules: Run, tmp_path: Path) -> None:
    file, text = tmp_path / "house.toml", (FILES / "curator.toml").read_text(encoding="utf-8")
    file.write_text(f'player_on_5 = "chooses"\n{text}', encoding="utf-8")
    said = "  The Player draws on 0 1 2 3 4, draws or stands on 5, and stands on 6 7."
    assert said in rules("show", str(file)).splitlines()
    tableau = json.loads(rules("show", str(file), "--json"))["tableau"]
    assert (tableau["player_draws"], tableau["player_may_draw"]) == ([0, 1, 2, 3, 4], [5])
    odds = rules("odds", "--house", str(file))
    assert odds.startswith(rules("odds", "--house", "curator").rstrip())
    assert odds.splitlines()[-1].startswith("The Player may choose on 5;")
    assert max(map(len, odds.splitlines())) <= 80


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
