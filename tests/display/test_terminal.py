"""A terminal shows the table as it is: every cell of every road, at any width."""

from __future__ import annotations

import random
import sys
from io import StringIO
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from shoe_daemon.display.terminal.appearance import (
    ASCII,
    LETTERS,
    MARKS,
    ON_PAPER,
    OUTCOMES,
    PAPER_SHADE,
    Symbols,
    chinese,
    grey,
    plain,
)
from shoe_daemon.display.terminal.road_layout import scoreboard
from shoe_daemon.display.terminal.screen import (
    Rows,
    has_colours,
    print_rows,
    render_rows,
    text_of,
)
from shoe_daemon.display.terminal.text import centred, clean, line, line_with_end
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.result_notation import Result, parse_sequence
from shoe_daemon.game.roads import LeadingTies, Mark, Roads, Tail, build_roads
from tests.display.road_reader import NAMES, expected, read_road
from tests.volume import sample, volume

SIGNS = {"letters": plain(LETTERS), "chinese": plain(chinese()), "ascii": ASCII}


def drawn(made: Roads, ties: LeadingTies, symbols: Symbols, width: int) -> Rows:
    """Draw a scoreboard, where it takes no more columns than it may."""
    picture, taken = scoreboard(made, ties, symbols, width)
    assert taken <= width
    return render_rows(picture, taken)


def text_in(rows: Rows) -> str:
    return "".join(f"{text_of(row).rstrip()}\n" for row in rows)


def shoe(seed: int) -> list[Result]:
    chance = random.Random(seed)
    return [
        Result(
            chance.choices(list(Outcome), [44, 46, 10])[0],
            chance.random() < 0.1,
            chance.random() < 0.1,
            chance.random() < 0.3,
        )
        for _ in range(chance.randrange(110))
    ]


@pytest.mark.parametrize(
    ("width", "name_of_signs"), sample(product([40, 60, 80, 100, 200], SIGNS), 4)
)
def test_every_cell_that_has_room_is_drawn_and_nothing_else(
    width: int, name_of_signs: str
) -> None:
    signs = SIGNS[name_of_signs]
    for seed in range(6):
        ties, tail = random.Random(seed).choice(
            [(ties, tail) for ties in LeadingTies for tail in Tail]
        )
        made = build_roads(shoe(seed), leading_ties=ties, tail=tail)
        rows = drawn(made, ties, signs, width)
        for name in NAMES:
            read = read_road(rows, name, signs)
            cells = expected(made, ties, signs, name, read.pitch)
            shown = {place: text for place, text in cells.items() if place[0] >= read.hidden}
            assert read.cells == shown, name


@settings(max_examples=volume(15, 60), deadline=None)
@given(st.text("PBTpbn", max_size=200), st.integers(1, 200))
def test_any_sequence_in_any_width_is_drawn(letters: str, width: int) -> None:
    text = "".join(
        letter
        for n, letter in enumerate(letters)
        if letter.isupper() or (n and letters[n - 1].isupper() and letters[0].isupper())
    )
    made = build_roads(parse_sequence(text))
    for signs in (LETTERS, chinese(), ASCII):
        rows = drawn(made, LeadingTies.MERGE, signs, width)
        assert len({Segment.get_line_length(row) for row in rows}) == 1


def test_whole_columns_go_at_the_left_and_it_is_said() -> None:
    made = build_roads(parse_sequence("PB" * 60))
    rows = drawn(made, LeadingTies.MERGE, LETTERS, 80)
    assert "Big road  ← 81 earlier columns" in text_in(rows)
    read = read_road(rows, "Big road", LETTERS)
    assert min(read.cells)[0] == read.hidden == 81
    assert max(read.cells)[0] == 119, "one column is free beside it"
    beads = read_road(rows, "Bead plate", plain(LETTERS))
    assert beads.hidden == 4
    assert {row for column, row in beads.cells if column == 4} == set(range(6))
    one = build_roads(parse_sequence("PB" * 20))
    assert "← 1 earlier column\n" in text_in(drawn(one, LeadingTies.MERGE, LETTERS, 80))


def test_the_next_round_and_the_counts_are_there() -> None:
    made = build_roads(parse_sequence("BBPPBTpbn"))
    text = text_in(drawn(made, LeadingTies.MERGE, ASCII, 80))
    signs = [
        "-" if found is None else ASCII.marks[road][found.mark]
        for side in (made.ask.banker, made.ask.player)
        for road in ("big_eye", "small", "cockroach")
        for found in [getattr(side, road)]
    ]
    assert "Next round   B  {} {} {}    P  {} {} {}".format(*signs) in text
    for words in ("Rounds   6", "Banker   3", "Player   2", "Tie      1", "Naturals 1"):
        assert words in text
    assert "Pairs: Banker 1, Player 1" in text


def test_colour_is_never_all_that_tells_them_apart() -> None:
    for signs in (LETTERS, chinese(), ASCII):
        assert len(set(signs.outcomes.values())) == 3
        for marks in signs.marks.values():
            assert marks[Mark.RED] != marks[Mark.BLUE]
        assert len(set(signs.pairs)) == len(set(signs.corners)) == 4
    assert ASCII.bar.isascii()


def test_what_stands_on_paper_can_be_read() -> None:
    written = (*MARKS.values(), *ON_PAPER.values())
    for style in (*OUTCOMES.values(), *(PAPER_SHADE + each for each in written)):
        assert _contrast(style) > 4.5


class TestLines:
    def test_names_cannot_speak_to_the_terminal(self) -> None:
        name = "\x1b]0;pwned\x07\x9b31m\u202ea\u0301\n\u2028"
        assert line(name).plain == "�]0;pwned��31m�a��"
        assert clean("Table 7") == "Table 7"

    @pytest.mark.parametrize(
        ("text", "width", "shown"),
        [("莊莊莊", 5, "莊莊…"), ("莊莊莊", 6, "莊莊莊"), ("莊莊莊", 4, "莊 …"), ("abc", 1, "…")],
    )
    def test_what_is_too_long_is_shortened_by_columns(
        self, text: str, width: int, shown: str
    ) -> None:
        assert text_of(render_rows(line(text), width)[0]) == shown

    @settings(max_examples=volume(15, 60), deadline=None)
    @given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 30))
    def test_rows_are_always_as_wide_as_the_terminal(
        self, left: str, right: str, width: int
    ) -> None:
        for picture in (centred(left), line_with_end(line(left), line(right), width)):
            (row,) = render_rows(picture, width)
            assert Segment.get_line_length(row) == width
            assert text_of(row) == clean(text_of(row))


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "linux"}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, True),
    ],
)
def test_which_output_has_colours(
    environment: dict[str, str], *, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "COLORTERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    row = [Segment("x", Style(bold=True))]
    for output in (Terminal(), StringIO()):
        monkeypatch.setattr(sys, "stdout", output)
        assert has_colours() == (coloured and output.isatty())
        print_rows([row])
        assert output.getvalue() == ("\x1b[1mx\x1b[0m\n" if has_colours() else "x\n")


def test_what_is_not_fresh_has_no_colour() -> None:
    faded = grey(Style(color="#b3202c", bgcolor="#fbfaf5", bold=True))
    for colour in (faded.color, faded.bgcolor):
        assert colour is not None
        assert colour.triplet is not None
        assert len(set(colour.triplet)) == 1
    assert _contrast(faded) > 3


def _contrast(style: Style) -> float:
    assert style.color is not None
    assert style.bgcolor is not None
    low, high = sorted((_luminance(style.color.name), _luminance(style.bgcolor.name)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
