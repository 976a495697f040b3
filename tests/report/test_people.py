"""The report on a shift counts what people did as an independent count of the log does."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

import pytest

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.journal import JournalReader
from shoe_daemon.report.figures import ShiftReport
from shoe_daemon.report.people import refusal_code
from shoe_daemon.report.shift_page import shift_page
from shoe_daemon.report.shift_text import shift_csv, shift_text
from shoe_daemon.report.text import COLUMNS
from shoe_daemon.table import DETAIL_TEMPLATES, DETAIL_VALUES, make_detail
from shoe_daemon.table.observations import CardDrawn, Command
from shoe_daemon.table.options import RoundEnd
from tests.report.report_shoes import START, Writer
from tests.report.test_shift_report import deal, moment, shift
from tests.volume import volume

PEOPLE = ("ann", "bob", None)
CHANGES = (*("correct_card",) * 4, "enter_result", "void_round", "undo")
FACES = ("2H", "5C", "9S")


class Made(NamedTuple):
    """A decision on a round: what it changed, and the table's note of it."""

    operator: str | None
    place: tuple[int, int]
    slot: Slot | None
    seq: int


class Supervisors:
    """Give random commands, and count by the table's own notes what they took back."""

    def __init__(self, writer: Writer, random: Random) -> None:
        self.writer, self.random = writer, random
        self.made: list[Made] = []
        self.taken_back: list[tuple[float, str]] = []

    def act(self) -> None:
        """Give one command, which the table may refuse."""
        command, state = self._command(), self.writer.table.state
        refusal = self.writer.table.refusal(command)
        noted = [change.seq for change in state.changes]
        if refusal is not None:
            command = Command(
                name=command.name, operator=command.operator, refused=refusal.text, id=command.id
            )
        self.writer.say(command, after=self.random.choice((1.5, 30.0)))
        if refusal is None and command.name == "undo":
            (undone,) = (each for each in self.made if each.seq == noted[-1])
            if undone.operator == command.operator is not None:
                self._count(command)
            self._forget()
        elif new := [each for each in state.changes if each.seq not in noted]:
            self._decide(command, new[0].seq)

    def _command(self) -> Command:
        name, who = self.random.choice(CHANGES), self.random.choice(PEOPLE)
        fields: dict[str, object] = {}
        if name == "correct_card":
            slot = self.random.choice((Slot.P1, Slot.P1, Slot.B1))
            fields = {"slot": slot, "card": Card(self.random.choice(FACES))}
        elif name == "enter_result":
            fields = {"outcome": Outcome.TIE}
        return Command(name=name, operator=who, **fields)  # type: ignore[arg-type]  # as above

    def _decide(self, command: Command, seq: int) -> None:
        places = ((each.shoe, each.round) for each in self.writer.events)
        place = next((shoe, number) for shoe, number in places if shoe and number)
        made = Made(command.operator, place, command.slot, seq)
        is_card = command.slot is not None
        earlier = [each for each in self.made if each.place == place]
        earlier = [each for each in earlier if each.operator == command.operator is not None]
        if command.name == "enter_result":
            earlier = [each for each in earlier if each.slot is None]
        if any(not is_card or each.slot == command.slot for each in earlier):
            self._count(command)
        self.made.append(made)

    def _count(self, command: Command) -> None:
        self.taken_back.append(((self.writer.now - START) / 1_000_000, str(command.operator)))

    def _forget(self) -> None:
        standing = {change.seq for change in self.writer.table.state.changes}
        self.made = [each for each in self.made if each.seq in standing]


def play(writer: Writer, random: Random) -> Supervisors:
    """Deal two shoes with random commands, and refusals of the table's own."""
    writer.session("seven-feathers", round_end=RoundEnd.RULES)
    people = Supervisors(writer, random)
    for number in range(12):
        if number in {0, 6}:
            writer.order("new_shoe", after=2)
            people.made.clear()
        if random.random() < 0.7:
            deal(writer)
        else:
            writer.say(CardDrawn(card=Card("9H")), after=1)
        for _ in range(random.randrange(7)):
            people.act()
        if random.random() < 0.4:
            pin = make_detail(random.choice(("refused_wrong_pin", "refused_too_many")))
            writer.say(Command(name="undo", operator="bob", refused=pin.text), after=1)
    return people


def check(report: ShiftReport, commands: list[dict[str, object]], expected: list[str]) -> None:
    """Compare a report with the commands of its time, and with who took a decision back."""
    assert report.commands is not None
    refused = [each for each in commands if "refused" in each]
    assert report.commands.given == len(commands) - len(refused)
    assert report.commands.refused == len(report.refused) == len(refused)
    assert report.commands.wrong_pins == sum(e["refused"] == "wrong PIN" for e in refused)
    assert [each.operator for each in report.reversals] == expected
    by_name = Counter(each.get("operator") for each in commands if "refused" not in each)
    assert {p.operator: p.commands.given for p in report.people if p.commands.given} == by_name
    assert sum(each.commands.refused for each in report.people) == len(refused)
    assert Counter(expected) == Counter(
        {str(p.operator): p.commands.reversals for p in report.people if p.commands.reversals}
    )


def test_commands_are_those_of_an_independent_count(tmp_path: Path) -> None:
    reversed_by = set()
    for seed in range(volume(3, 8)):
        random, path = Random(seed), tmp_path / str(seed)
        with Writer(path) as writer:
            people = play(writer, random)
        with JournalReader(path) as reader:
            log = [json.loads(each) for each in reader.observation_lines()]
        commands = [each for each in log if each["type"] == "command"]
        end = (writer.now - START) / 1_000_000 + 1
        cut = random.uniform(0, end)
        for first, last in ((0, end), (0, cut), (cut, end)):
            begin, until = moment(first), moment(last)
            report = shift(path, first, last)
            inside = [each for each in commands if begin <= each["at"] < until]
            back = [who for at, who in people.taken_back if begin <= moment(at) < until]
            check(report, inside, back)
            reversed_by |= {each.by for each in report.reversals}
    assert reversed_by >= {"undo", "void_round", "correct_card"}


def test_times_to_decide_are_those_from_irregularity_to_its_end(by_hand: Writer) -> None:
    waits: dict[str, list[float]] = {"ann": [], "bob": []}
    random = Random(7)
    for number in range(9):
        by_hand.order("hold", after=3, kind="foreign_card", operator="ann")
        who, wait = random.choice(("ann", "bob")), random.uniform(1, 90)
        by_hand.order("acknowledge", after=wait, operator=who, reason=f"seen {number}")
        waits[who].append(wait)
        by_hand.order("resume", after=1)
    deal(by_hand)  # nothing was burned: an irregularity at its first card
    by_hand.order("acknowledge", after=2, operator="ann", reason="burned before")
    waits["ann"].append(5.0)
    by_hand.order("void_round", after=200, operator="bob", reason="fell")
    report = shift(by_hand.journal.path, 0, 9999)
    for person in report.people:
        mine = waits[str(person.operator)]
        assert person.decided == len(mine)
        assert person.median_decision == pytest.approx(median(mine), abs=1e-3)
        assert person.longest_decision == pytest.approx(max(mine), abs=1e-3)
    slowest = report.slowest
    assert slowest is not None
    longest = max(max(each) for each in waits.values())
    assert slowest.incident.seconds == pytest.approx(longest, abs=1e-3)
    assert slowest.incident.by is not None
    text = " ".join(shift_text(report, UTC).split())
    assert f"foreign card, table-7, shoe 1, by {slowest.incident.by.operator}" in text


def test_what_a_refused_sender_typed_is_not_in_the_report(by_hand: Writer) -> None:
    pin, face = "271828", "KD"
    refusals = (
        make_detail("refused_unknown_operator", operator=pin).text,
        make_detail("refused_plain_pin").text,
        f"there is no order '{pin}'; there are: hold",
    )
    for text in refusals:
        command = Command(
            name=pin, operator=pin, reason=pin, card=Card(face), slot=Slot.B3, refused=text
        )
        by_hand.say(command, after=1)
    report = shift(by_hand.journal.path, 0, 999)
    assert len(report.refused) == len(refusals)
    shown = [shift_text(report, UTC), shift_page(report, UTC), shift_csv(report)]
    shown.append(repr((report.refused, report.people)))
    for each in shown:
        assert pin not in each
        assert face not in each
        assert "K♦" not in each


def test_every_reason_of_a_refusal_is_known_by_its_sentence() -> None:
    for code in DETAIL_TEMPLATES:
        if code.startswith("refused_"):
            for filler in ("7", None):
                values = dict.fromkeys(DETAIL_VALUES[code], filler)
                found = refusal_code(make_detail(code, **values).text)
                assert found == code
    assert refusal_code("whatever") is None


def test_alike_refusals_are_one_line_and_many_are_cut(by_hand: Writer) -> None:
    for number in range(300):
        text = make_detail("refused_wrong_pin").text
        by_hand.say(Command(name="undo", operator="bob", refused=text), after=1)
        if number < 25:
            text = make_detail("refused_needs_supervisor").text
            by_hand.say(Command(name="undo", operator=f"dealer {number}", refused=text))
    report = shift(by_hand.journal.path, 0, 999)
    text = shift_text(report, UTC)
    assert "bob: undo: wrong PIN (300 times until 20:05:00)" in " ".join(text.split())
    assert text.count("this order takes a supervisor") == 19
    assert "6 more: the JSON has all of them." in text
    assert "\n\n\n" not in text
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert "6 more: the JSON has all of them." in shift_page(report, UTC)
