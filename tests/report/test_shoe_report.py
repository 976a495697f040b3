"""Reports agree with an independent count, and with the cards dealt."""

from __future__ import annotations

from collections import Counter
from itertools import product, zip_longest
from pathlib import Path
from statistics import median

import pytest

from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.game.exact_odds import count_odds
from shoe_daemon.journal import JournalReader
from shoe_daemon.report.cards import received
from shoe_daemon.report.journal import read_shoe
from shoe_daemon.report.odds import chance_text, expectation, odds_of, two_sided
from shoe_daemon.report.rounds import TableFold
from shoe_daemon.table import decode_event
from shoe_daemon.table.observations import CardDrawn, Unreadable
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table, was_applied
from tests.golden.corpus import all_logs
from tests.report.report_shoes import DECISION, Writer, shoe
from tests.volume import sample, volume

FAULTS = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE, Fault.RESET)


@pytest.mark.parametrize(
    ("mode", "house"), sample(product(Mode, ("chickasaw", "seven-feathers")), 3)
)
def test_a_clean_shoe_is_what_the_simulator_dealt(tmp_path: Path, mode: Mode, house: str) -> None:
    path = tmp_path / "journal"
    with Writer(path) as writer:
        writer.session(house)
        writer.deal(Settings(shoes=2, seed=3, mode=mode))
    for number in (1, 2):
        report = read_shoe(path, number)
        dealt = [each for each in writer.rounds if each.shoe == number]
        assert report.status == "finished"
        assert [(*each.player.cards, *each.banker.cards) for each in report.rounds] == [
            (*each.coup.player.cards, *each.coup.banker.cards) for each in dealt
        ]
        outcomes = Counter(each.coup.outcome for each in dealt)
        found = {each.name: each.found for each in report.expectations}
        assert {name: found[name] for name in Outcome} == {o: outcomes[o] for o in Outcome}
        assert found["player_pair"] == sum(each.coup.player.pair for each in dealt)
        assert found["banker_pair"] == sum(each.coup.banker.pair for each in dealt)
        either = [each.coup.player.natural or each.coup.banker.natural for each in dealt]
        assert found["natural"] == sum(either)
        assert report.counts.begun == report.counts.counted == len(dealt)
        assert not report.composition.events_differ
        assert (report.composition.unread, report.composition.surplus) == (0, {})
        assert not report.incidents


@pytest.mark.parametrize("seed", range(volume(2, 4)))
def test_a_faulty_shoe_agrees_with_the_events_counted_by_hand(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "journal"
    shoe(path, faults=FAULTS, fault_rate=0.15, seed=seed, mode=Mode.OPEN)
    report = read_shoe(path, None)
    with JournalReader(path) as reader:
        events = [decode_event(each.body) for each in reader.events(0, limit=100_000)]
    alphabet = Counter(event.type for event in events)
    assert report.counts.begun == alphabet["round_started"]
    assert report.counts.aborted == alphabet["round_aborted"]
    assert report.counts.void == alphabet["round_voided"]
    told = {"irregularity", "staff_irregularity"}  # one that is told twice has the same id
    assert len(report.incidents) == len({e.data.id for e in events if e.type in told})  # type: ignore[attr-defined]
    last = next(event.data for event in reversed(events) if event.type == "shoe_finished")
    assert report.counts.counted == last.rounds  # type: ignore[attr-defined]  # of this type
    found = {each.name: each.found for each in report.expectations}
    assert found["banker"] == last.banker  # type: ignore[attr-defined]  # as above
    table = next(event.data for event in reversed(events) if event.type == "staff_composition")
    assert report.composition.read == table.read  # type: ignore[attr-defined]  # as above
    assert report.composition.unread == table.unread  # type: ignore[attr-defined]  # as above
    assert not report.composition.events_differ
    decided = [each for each in report.incidents if each.by is not None]
    assert decided
    for each in decided:
        assert each.by is not None
        assert (each.by.operator, each.by.claimed) == ("ann", True)
        assert each.by.reason == "as the house rules"
    waits = [each.seconds for each in decided if each.seconds is not None]
    assert report.tempo.median_decision == round(median(waits), 3)
    assert DECISION in waits


def test_pace_and_pauses_are_those_of_the_cards(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE)
        writer.order("new_shoe")
        for number in range(3):
            for slot, face in zip(("P1", "B1", "P2", "B2"), ("9H", "KD", "KS", "2C"), strict=True):
                pause = 90.0 if (number, slot) == (2, "P1") else 5.0
                writer.say(CardDrawn(card=Card(face), slot=Slot(slot)), after=pause)
    report = read_shoe(tmp_path / "journal", None)
    # Eleven intervals between cards: ten of 5 s, one of 90 s.
    assert report.tempo.seconds == 140.0
    assert report.tempo.cards_per_minute == round(12 * 60 / 140, 1)
    assert report.tempo.rounds_per_hour == round(3 * 3600 / 140, 1)
    longest = report.tempo.longest_pause
    assert longest is not None
    assert (longest.seconds, longest.round) == (90.0, 3)
    assert report.status == "under way"


def test_what_people_changed_is_told_with_before_and_after(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE)
        writer.order("new_shoe")
        writer.coup()
        writer.order("correct_card", 2, slot=Slot.B2, card=Card("9C"), reason="seen on the table")
        writer.order("void_round", 2, operator="bob", claimed=True, round=1)
        writer.order("undo", 2)
        writer.order("confirm_result")
        writer.order("enter_result", 5, outcome=Outcome.TIE, reason="the reader is dead")
    report = read_shoe(tmp_path / "journal", None)
    assert [(each.what, each.before, each.after, each.by.operator) for each in report.changes] == [
        ("card", "2C", "9C", "ann"),
        ("result", "player 9:2", "tie 9:9", "ann"),
        ("void", "tie 9:9", None, "bob"),
        ("restored", None, "tie 9:9", "ann"),
        ("entered", None, "tie", "ann"),
    ]
    assert report.changes[0].slot is Slot.B2
    assert report.changes[2].by.claimed
    first, second = report.rounds
    assert (first.outcome, first.corrected, first.revised, first.counts) == ("tie", 1, True, True)
    assert first.banker.cards == ("KD", "9C")
    assert second.entered is not None
    assert second.entered.reason == "the reader is dead"
    assert report.composition.read["9C"] == 1
    assert report.composition.read["2C"] == 0


def test_a_round_whose_entry_was_undone_is_not_marked_as_entered(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE)
        writer.order("new_shoe")
        for slot, face in (("P1", "9H"), ("B1", "KD"), ("P2", "KS"), ("B2", "2C")):
            writer.say(CardDrawn(card=Card(face), slot=Slot(slot)), after=1)
            if slot == "P2":
                writer.order("enter_result", 1, outcome=Outcome.TIE)
        writer.order("undo", 2)
        writer.order("confirm_result", 1)
        writer.order("enter_result", 5, outcome=Outcome.TIE)
        writer.order("void_round", 2)
        writer.order("undo", 2)
    report = read_shoe(tmp_path / "journal", None)
    first, second = report.rounds
    assert (first.status, first.outcome, first.entered) == ("finished", "player", None)
    assert second.entered is not None
    assert report.counts.entered == 1


def test_a_held_entry_that_was_undone_is_held_no_more(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE, hold_from=3)
        writer.order("new_shoe")
        writer.order("hold", kind="card_off_table")
        writer.order("enter_result", 1, outcome=Outcome.TIE)
        assert writer.table.public().held
        writer.order("undo", 2)
        assert not writer.table.public().held
    (line,) = read_shoe(tmp_path / "journal", None).rounds
    assert (line.status, line.entered, line.counts) == ("withdrawn", None, False)


def test_an_unread_card_that_somebody_enters_is_one_card(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.DEVICE)
        writer.order("new_shoe")
        for slot, face in (("P1", "9H"), ("B1", None), ("P2", "KS"), ("B2", "2C")):
            place = Slot(slot)
            drawn = CardDrawn(card=Card(face), slot=place) if face else Unreadable(slot=place)
            writer.say(drawn, after=1)
        before = read_shoe(tmp_path / "journal", None).composition
        writer.order("enter_card", 2, slot=Slot.B1, card=Card("KD"))
    after = read_shoe(tmp_path / "journal", None).composition
    assert (before.out, before.unread) == (4, 1)
    assert (after.out, after.unread, after.read["KD"]) == (4, 0, 1)


def test_a_card_that_is_carried_left_the_shoe_once(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    settings = Settings(shoes=1, seed=11, faults=(Fault.OVERDRAW,), fault_rate=0.3)
    with Writer(path) as writer:
        writer.session()
        writer.deal(settings, decide=False)
    report = read_shoe(path, None)
    actions = {each.action for each in report.incidents}
    assert "carry_to_next_hand" in actions
    assert not report.composition.events_differ
    assert report.composition.surplus == {}


def test_a_shoe_that_was_dealt_out_tells_what_is_missing(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.RULES, decks=1)
        writer.order("new_shoe")
        misread = {Card("5H"): Card("6H")}
        for card in DECK:
            writer.say(CardDrawn(card=misread.get(card, card)), after=1)
    composition = read_shoe(tmp_path / "journal", None).composition
    assert composition.dealt_out
    assert composition.missing == {"5H": 1}
    assert composition.surplus == {"6H": 1}


@pytest.mark.parametrize("decks", [1, 6, 8])
def test_the_odds_are_those_of_the_rules(decks: int) -> None:
    ours, theirs = odds_of(decks), count_odds([], decks)
    assert ours["banker"] * theirs.total == theirs.banker
    assert ours["tie"] * theirs.total == theirs.tie
    assert sum(ours[name] for name in Outcome) == 1
    assert ours["player_pair"] == ours["banker_pair"]
    if decks == 8:
        assert float(ours["natural"]) == pytest.approx(0.343049, abs=1e-6)
        assert float(ours["player_pair"]) == pytest.approx(31 / 415)


def test_how_unusual_a_count_is() -> None:
    assert two_sided(5, 10, 0.5) == pytest.approx(1.0)
    assert two_sided(0, 10, 0.5) == pytest.approx(2 / 1024)
    assert two_sided(3, 3, 0.25) == pytest.approx(1 / 64)
    assert chance_text(0.5) == "as expected"
    assert chance_text(0.1) == "ordinary"
    assert chance_text(0.03) == "unusual, 1 shoe in 33"
    assert chance_text(0.0041) == "rare, 1 shoe in 240"
    assert chance_text(1e-12) == "very rare, 1 shoe in a billion or more"
    assert expectation("tie", 0, 0, odds_of(8)["tie"]).words == "no rounds"


def test_an_irregularity_is_open_exactly_while_the_table_has_it_open() -> None:
    for log in all_logs():
        table, fold = Table(), TableFold()
        for observation, following in zip_longest(log.observations, log.observations[1:]):
            for event in table.apply(observation) if was_applied(following) else ():
                fold.take(received(event))
            known = sorted(each.data.id for each in table.state.alerts)
            still_open = sorted(each.id for each in fold.incidents if each.action is None)
            if not table.state.alerts_omitted:  # it publishes those that it cannot keep, too
                assert known == still_open, (log.title, observation)
