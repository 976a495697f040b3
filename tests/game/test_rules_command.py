"""
`shoe-daemon rules` shows the rules that the code applies, and exact counts for programs.
"""

from __future__ import annotations

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
