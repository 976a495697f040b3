"""
What is drawn into a terminal is what is so: every cell of every road, at any width.
"""

from __future__ import annotations

import random
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.display.terminal.canvas import Canvas, clean, fit, width_of
from shoe_daemon.display.terminal.palette import MARKS, ON_PAPER, OUTCOMES, PAPER_SHADE
from shoe_daemon.display.terminal.scoreboard import scoreboard
from shoe_daemon.display.terminal.shell import colours_of, lines
from shoe_daemon.display.terminal.styles import Style, grey
from shoe_daemon.display.terminal.symbols import ASCII, CHINESE, LETTERS, Signs, plain
from shoe_daemon.game.coup import Outcome
from shoe_daemon.game.result_sequence import parse_sequence
from shoe_daemon.game.roads import LeadingTies, Mark, Result, Tail, build_roads
from tests.display.road_reader import NAMES, expected, read_road
from tests.volume import volume

DRAGON = "B" * 31 + "PBPPPPPPPPPBT"
SIGNS = {"letters": plain(LETTERS), "chinese": plain(CHINESE), "ascii": ASCII}


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


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_every_cell_that_has_room_is_drawn_and_nothing_else(signs: Signs, width: int) -> None:
    for seed in range(12):
        ties, tail = random.Random(seed).choice(
            [(ties, tail) for ties in LeadingTies for tail in Tail]
        )
        made = build_roads(shoe(seed), leading_ties=ties, tail=tail)
        canvas = scoreboard(made, ties, signs, width)
        assert canvas.width <= width
        for name in NAMES:
            read = read_road(canvas, name, signs)
            cells = expected(made, ties, signs, name, read.pitch)
            shown = {place: text for place, text in cells.items() if place[0] >= read.hidden}
            assert read.cells == shown, name


@settings(max_examples=volume(30, 60), deadline=None)
@given(st.text("PBTpbn", max_size=200), st.integers(1, 200))
def test_any_sequence_in_any_width_is_drawn(letters: str, width: int) -> None:
    text = "".join(
        letter
        for n, letter in enumerate(letters)
        if letter.isupper() or (n and letters[n - 1].isupper() and letters[0].isupper())
    )
    made = build_roads(parse_sequence(text))
    for signs in (LETTERS, CHINESE, ASCII):
        canvas = scoreboard(made, LeadingTies.MERGE, signs, width)
        assert all(width_of(row) <= width for row in lines(canvas, "none"))


def test_whole_columns_go_at_the_left_and_it_is_said() -> None:
    made = build_roads(parse_sequence("PB" * 60))
    canvas = scoreboard(made, LeadingTies.MERGE, LETTERS, 80)
    assert "Big road  ← 81 earlier columns" in canvas.text
    read = read_road(canvas, "Big road", LETTERS)
    assert min(read.cells)[0] == read.hidden == 81
    assert max(read.cells)[0] == 119, "one column is free beside it"
    beads = read_road(canvas, "Bead plate", plain(LETTERS))
    assert beads.hidden == 4
    assert {row for column, row in beads.cells if column == 4} == set(range(6))
    one = build_roads(parse_sequence("PB" * 20))
    assert "← 1 earlier column\n" in _text(scoreboard(one, LeadingTies.MERGE, LETTERS, 80))


def test_a_dragon_turns_at_the_lowest_row() -> None:
    canvas = scoreboard(build_roads(parse_sequence(DRAGON)), LeadingTies.MERGE, ASCII, 80)
    read = read_road(canvas, "Big road", ASCII)
    assert [(0, row) in read.cells for row in range(6)] == [True] * 6
    assert all((column, 5) in read.cells for column in range(1, 26))
    assert (1, 0) in read.cells


def test_leading_ties_by_either_convention() -> None:
    for ties, shown in (
        (LeadingTies.MERGE, {(0, 0): "T/"}),
        (LeadingTies.OWN_COLUMN, {(0, 0): "T/"}),
    ):
        made = build_roads(parse_sequence("TT"), leading_ties=ties)
        assert read_road(scoreboard(made, ties, ASCII, 80), "Big road", ASCII).cells == shown
    made = build_roads(parse_sequence("TTB"))
    assert read_road(scoreboard(made, LeadingTies.MERGE, ASCII, 80), "Big road", ASCII).cells == {
        (0, 0): "B2"
    }


def test_the_next_round_and_the_counts_are_there() -> None:
    made = build_roads(parse_sequence("BBPPBTpbn"))
    text = scoreboard(made, LeadingTies.MERGE, ASCII, 80).text
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
    for signs in (LETTERS, CHINESE, ASCII):
        assert len(set(signs.outcomes.values())) == 3
        for marks in signs.marks.values():
            assert marks[Mark.RED] != marks[Mark.BLUE]
        assert len(set(signs.pairs)) == len(set(signs.corners)) == 4
    assert ASCII.bar.isascii()


def test_what_stands_on_paper_can_be_read() -> None:
    written = (*MARKS.values(), *ON_PAPER.values())
    for style in (*OUTCOMES.values(), *(PAPER_SHADE + each for each in written)):
        assert _contrast(style) > 4.5


class TestCanvas:
    def test_a_wide_character_takes_two_columns(self) -> None:
        canvas = Canvas(6, 1, Style())
        canvas.put(1, 0, "莊x", Style())
        assert canvas.text == " 莊x  "
        assert [sign for sign, _ in canvas.rows[0]] == [" ", "莊", "", "x", " ", " "]

    @pytest.mark.parametrize(("x", "left"), [(1, " y x  "), (2, "  yx  ")])
    def test_of_a_wide_character_that_is_written_over_nothing_stays(
        self, x: int, left: str
    ) -> None:
        canvas = Canvas(6, 1, Style())
        canvas.put(1, 0, "莊x", Style())
        canvas.put(x, 0, "y", Style())
        assert canvas.text == left

    def test_half_a_wide_character_is_not_written(self) -> None:
        canvas = Canvas(3, 1, Style())
        canvas.put(2, 0, "莊", Style())
        canvas.put(-1, 0, "莊", Style())
        assert canvas.text == "   "

    def test_names_cannot_speak_to_the_terminal(self) -> None:
        canvas = Canvas(30, 1, Style())
        canvas.put(0, 0, "\x1b]0;pwned\x07\x9b31m\u202ea\u0301\n\u2028", Style())
        assert canvas.text.rstrip() == "�]0;pwned��31m�a��"
        assert clean("Table 7") == "Table 7"

    def test_what_is_too_long_is_shortened_by_columns(self) -> None:
        assert fit("莊莊莊", 5) == "莊莊…"
        assert fit("莊莊莊", 6) == "莊莊莊"
        assert width_of(fit("莊莊莊", 4)) <= 4
        assert fit("abc", 0) == "…"

    @given(st.text(max_size=40), st.integers(1, 30))
    def test_rows_are_always_as_wide_as_the_canvas(self, text: str, width: int) -> None:
        canvas = Canvas(width, 1, Style())
        canvas.put(0, 0, text, Style())
        assert width_of(canvas.text) == width


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class TestShell:
    @pytest.mark.parametrize(
        ("environment", "colours"),
        [
            ({"TERM": "xterm-256color"}, "256"),
            ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "all"),
            ({"TERM": "linux"}, "16"),
            ({"TERM": "dumb"}, "none"),
            ({}, "none"),
            ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "none"),
            ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256"),
        ],
    )
    def test_it_says_what_a_terminal_can(self, environment: dict[str, str], colours: str) -> None:
        assert colours_of(Terminal(), environment) == colours
        assert colours_of(StringIO(), environment) == "none"

    def test_colours_come_as_near_as_the_terminal_can(self) -> None:
        canvas = Canvas(1, 1, Style("#ffffff", "#b3202c", bold=True))
        told = {colours: next(lines(canvas, colours)) for colours in ("16", "256", "all")}
        assert told["all"] == "\x1b[38;2;255;255;255m\x1b[48;2;179;32;44m\x1b[1m \x1b[0m"
        assert told["256"].startswith("\x1b[38;5;231m\x1b[48;5;124m")
        assert told["16"].startswith("\x1b[97m\x1b[41m")


def test_what_is_not_fresh_has_no_colour() -> None:
    faded = grey(Style("#b3202c", "#fbfaf5", bold=True))
    for colour in (faded.color, faded.bgcolor):
        assert colour is not None
        assert len({colour[1:3], colour[3:5], colour[5:7]}) == 1
    assert _contrast(faded) > 3


def _text(canvas: Canvas) -> str:
    return "\n".join(lines(canvas, "none")) + "\n"


def _contrast(style: Style) -> float:
    assert style.color is not None
    assert style.bgcolor is not None
    low, high = sorted((_luminance(style.color), _luminance(style.bgcolor)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
