"""
The core on a test clock: what is journaled, when, and the table's state while the
journal is unwritable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.driver import Frame, FrameKind
from shoe_daemon.config.table import load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import JournalReader, JournalUnwritable
from shoe_daemon.journal.verify import verify
from shoe_daemon.service import Core
from shoe_daemon.service.clock import Clock
from shoe_daemon.table.detail_texts import Detail, make_detail
from shoe_daemon.table.observations import (
    CardDrawn,
    Command,
    CutCardSeen,
    Observation,
    Result,
    TableCleared,
)
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.times import to_microseconds
from tests.chaos import journal_checks
from tests.service.daemon_process import configure
from tests.volume import sample, volume

NOON = to_microseconds("2026-11-21T12:00:00Z")


class Bench:
    """A core, and the clocks that it looks at."""

    def __init__(self, config: Path) -> None:
        self.journal = config.with_name("journal.db")
        self.wall = NOON
        self.monotonic = 100.0
        self._setup = load_config(config)
        self.start()

    def start(self) -> None:
        """Start it, as after a kill where one was running."""
        self.core = Core(self._setup)
        self.core.clock = Clock(
            self.core.table.state.now, wall=lambda: self.wall, monotonic=lambda: self.monotonic
        )
        self.core.record_start()

    def pass_by(self, seconds: float) -> list[str]:
        """Let time pass, look, and return the types of what happened."""
        self.wall += int(seconds * 1_000_000)
        self.monotonic += seconds
        return [event.type for event in self.core.process_deadlines()]

    def see(self, *observations: Observation) -> list[str]:
        """Take a frame, and return the types of what it caused."""
        frame = Frame(b"bytes", FrameKind.FRAME, observations, self.monotonic)
        return [event.type for event in self.core.process([("shoe", frame)])]

    def deal(self, *cards: str) -> None:
        """Deal cards with slots, ``P1:AS``, one a second."""
        for card in cards:
            slot, _, face = card.partition(":")
            self.see(CardDrawn(slot=Slot(slot), card=Card(face)))
            self.pass_by(1)

    def close(self) -> None:
        """End it and prove the journal."""
        self.core.close()
        journal_checks.check_chain(self.journal)

    def log(self) -> list[dict[str, Any]]:
        """Return the observations in the journal."""
        lines = journal_checks.exported(self.journal, "--observations").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(configure(tmp_path / "table"))
    yield bench
    bench.close()


def test_a_reader_gives_no_order_that_needs_an_operator(bench: Bench) -> None:
    bench.deal("P1:9S", "B1:2H", "P2:KD", "B2:TC")
    assert bench.see(Command(name="void_round")) == []
    assert bench.see(Command(name="nonsense")) == []
    assert [each.get("refused") for each in bench.log()[-2:]] == [
        "no button can order void_round; an operator can",
        "no button can order nonsense; an operator can",
    ]


def test_a_tag_again_is_counted_and_is_known_after_a_restart(bench: Bench) -> None:
    ace = CardDrawn(card=Card("AS"), tag="04A2B3C4")
    assert "card_dealt" in bench.see(ace)
    bench.pass_by(2)
    assert bench.see(ace) == []
    assert bench.core.repeats == {"shoe": 1}
    assert bench.log()[-1]["tag"] == "04A2B3C4"
    bench.core.close()
    bench.start()
    assert bench.see(ace) == []
    assert bench.core.repeats == {"shoe": 1}


def test_a_start_is_a_session_and_a_gap(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'name = "High limit"\nhouse = "chickasaw"'))
    bench.close()
    session, gap = bench.log()
    assert (session["type"], session["house"]) == ("session", "chickasaw")
    assert session["options"]["name"] == "High limit"
    assert session["rules"]["decks"] == 8
    assert gap == {"at": session["at"], "detail": "restart", "type": "gap"}


def test_tucked_cards_are_revealed_by_a_tick_of_their_own(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
    assert bench.core.seconds_until_deadline(10) == pytest.approx(2)
    assert bench.pass_by(1.9) == []
    assert bench.pass_by(0.2) == [
        "card_disclosed",
        "card_disclosed",
        "draw_due",
        "round_finished",
    ]
    bench.close()
    # At its own moment, not when somebody looked.
    moment = "2026-11-21T12:00:06.000Z"
    assert bench.log()[-1] == {"at": moment, "deadline": "reveal", "type": "tick"}


def test_a_deadline_that_nobody_looked_at_comes_before_the_next_frame(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
    bench.monotonic += 60
    said = bench.see(Result(outcome="banker"))
    assert said[:4] == ["card_disclosed", "card_disclosed", "draw_due", "round_finished"]
    bench.close()
    *_, tick, result = bench.log()
    assert (tick["type"], result["type"]) == ("tick", "result")
    assert tick["at"] == "2026-11-21T12:00:06.000Z"


FIRST, SECOND = ("9S", "2H", "KD", "5C"), ("2S", "KH", "3D", "KC", "2C", "2D")


END_OF_ROUND = {
    RoundEnd.DEVICE: Result(outcome="player"),
    RoundEnd.BUTTON: Result(outcome="player"),
    RoundEnd.QUIET: None,
    RoundEnd.RULES: None,
}
SIX_CARDS = ("P1:2S", "B1:2H", "P2:3D", "B2:QC", "P3:4S", "B3:5D")


def play_with_jumps(folder: Path, mode: RoundEnd, jumps: dict[int, int], coups: int = 2) -> Bench:
    """Deal coups of six cards; `jumps` are seconds by the number of the card before which."""
    bench = Bench(configure(folder, f'round_end = "{mode}"\nhouse = "chickasaw"'))
    bench.see(TableCleared())
    for number, card in enumerate(SIX_CARDS * coups):
        bench.wall += jumps.get(number, 0) * 1_000_000
        slot, _, face = card.partition(":")
        named = Slot(slot) if mode is RoundEnd.DEVICE else None
        bench.see(CardDrawn(slot=named, card=Card(face)))
        bench.pass_by(0.25)
        bench.pass_by(1.75)
        if slot == "B3":
            if (end := END_OF_ROUND[mode]) is not None:
                bench.see(end)
            for _ in range(26):
                bench.pass_by(0.5)
    bench.close()
    return bench


def played(bench: Bench) -> list[Any]:
    """Return the type, round and data of each event; its time depends on the clock."""
    events = journal_checks.stored_events(bench.journal)
    return [(event["type"], event["round"], event["data"]) for event in events]


@pytest.mark.parametrize("mode", END_OF_ROUND)
@given(
    jumps=st.dictionaries(
        st.integers(0, 11), st.sampled_from([-86_400, -3600, -90, -6, 6, 90, 3600, 86_400])
    )
)
@settings(max_examples=volume(3, 60))
def test_a_clock_that_jumps_changes_no_round(mode: RoundEnd, jumps: dict[int, int]) -> None:
    with TemporaryDirectory() as folder:
        bench = play_with_jumps(Path(folder) / "jumping", mode, jumps)
        assert played(bench) == exact_rounds(mode, 2)
        journal_checks.check_replay(bench.journal, Path(folder))


@cache
def exact_rounds(mode: RoundEnd, coups: int) -> list[Any]:
    """Return what is played while no clock jumps."""
    with TemporaryDirectory() as folder:
        rounds = played(play_with_jumps(Path(folder) / "table", mode, {}, coups))
    assert sum(kind == "round_finished" for kind, _, _ in rounds) == coups
    return rounds


@pytest.mark.parametrize("mode", END_OF_ROUND)
@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_clock_that_jumps_at_any_place_of_a_round_is_recorded_once(
    tmp_path: Path, mode: RoundEnd, jump: int
) -> None:
    for place in sample(range(6), 4):
        bench = play_with_jumps(tmp_path / f"table-{place}", mode, {place: jump}, 1)
        assert played(bench) == exact_rounds(mode, 1), place
        (recorded,) = [line for line in bench.log() if line["type"] == "clock_set"]
        assert recorded["by"] == pytest.approx(jump * 1000, abs=2)


def test_a_correction_that_cannot_be_written_is_owed(bench: Bench) -> None:
    bench.wall += 3_600_000_000
    away = bench.journal.rename(bench.journal.with_name("away"))
    with pytest.raises(JournalUnwritable):
        bench.pass_by(1)
    away.rename(bench.journal)
    assert bench.pass_by(1) == []
    assert [line["by"] for line in bench.log() if line["type"] == "clock_set"] == [3_600_000]


@pytest.mark.parametrize("jump", [-3600, 0, 3600])
def test_a_late_card_is_late_whatever_the_clock_does(tmp_path: Path, jump: int) -> None:
    bench = Bench(configure(tmp_path / "table", 'round_end = "quiet"'))
    bench.see(TableCleared())
    for face in ("2S", "KH", "3D"):
        bench.see(CardDrawn(card=Card(face)))
    bench.wall += jump * 1_000_000
    for _ in range(84):
        bench.pass_by(0.25)
    assert "irregularity" in bench.see(CardDrawn(card=Card("9S")))
    bench.close()


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_correction_of_the_clock_is_journaled_and_raises_an_alarm(
    tmp_path: Path, jump: int
) -> None:
    bench = Bench(configure(tmp_path / "table", 'round_end = "quiet"'))

    def alarm() -> Detail | None:
        return bench.core.clock_alarm

    for card in SECOND[:4]:
        bench.see(CardDrawn(card=Card(card)))
    assert alarm() is None
    bench.wall += jump * 1_000_000
    bench.pass_by(1)
    assert alarm() == make_detail("clock_ahead" if jump > 0 else "clock_behind", minutes=60)
    for card in SECOND[4:]:
        bench.see(CardDrawn(card=Card(card)))
    for _ in range(90):
        bench.pass_by(1)
    # Forward at once, and back as slowly as ever; it is journaled once.
    (found,) = [each for each in bench.log() if each["type"] == "clock_set"]
    assert found["by"] == pytest.approx(jump * 1000, abs=1100)
    ahead = (to_microseconds(bench.core.clock.at()) - bench.wall) / 1_000_000
    assert (ahead == pytest.approx(0, abs=1)) if jump > 0 else (0 < ahead < 3600)
    assert (alarm() is None) is (jump > 0)
    while ahead > 60:
        bench.pass_by(600)
        ahead -= 600
    assert alarm() is None
    bench.close()


def test_a_small_correction_is_not_journaled(bench: Bench) -> None:
    bench.wall += 4_900_000
    bench.pass_by(1)
    assert bench.core.clock_alarm is None
    assert "clock_set" not in {each["type"] for each in bench.log()}
    assert to_microseconds(bench.core.clock.at()) == bench.wall


def test_a_missed_card_does_not_become_the_next_rounds_first(tmp_path: Path) -> None:
    """A scanner misses the Player's third card; the next coup begins 25 s later."""
    bench = Bench(configure(tmp_path / "table", 'round_end = "quiet"'))
    said = []
    missed, following = ("2S", "KH", "3D", "5C"), ("4H", "6C", "KS", "QC")
    for cards in (FIRST, FIRST, missed, following):
        for card in cards:
            said += bench.see(CardDrawn(card=Card(card)))
            said += bench.pass_by(2)
        said += bench.pass_by(23)
    assert said.count("round_finished") == 1, "only of the second round are all cards known"
    assert "irregularity" in said
    bench.close()


def test_moments_never_go_back_over_restarts_with_a_wrong_clock(bench: Bench) -> None:
    for jump in (-86_400, 0, 3600, -7200, 0):
        bench.wall += jump * 1_000_000
        bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
        bench.core.close()
        bench.start()
    bench.core.close()
    moments = [to_microseconds(line["at"]) for line in bench.log()]
    assert moments == sorted(moments)
    bench.start()


def test_what_cannot_be_written_has_not_happened(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.deal("P1:2S", "B1:KH")
    before = bench.core.table.public()
    away = bench.journal.rename(bench.journal.with_name("away"))
    for _ in range(3):
        with pytest.raises(JournalUnwritable):
            bench.deal("P2:5D")
        assert bench.core.table.public() == before
    away.rename(bench.journal)
    bench.deal("P2:5D")
    round_ = bench.core.table.public().round
    assert round_ is not None
    assert [view.slot for view in round_.cards] == ["P1", "B1", "P2"]


def test_a_tick_that_cannot_be_written_is_owed(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
    away = bench.journal.rename(bench.journal.with_name("away"))
    with pytest.raises(JournalUnwritable):
        bench.pass_by(30)
    away.rename(bench.journal)
    assert len(bench.pass_by(30)) == 4
    bench.close()
    assert bench.log()[-1]["at"] == "2026-11-21T12:00:06.000Z"


def finished(bench: Bench) -> str | None:
    """Return the head that the last shoe was finished with."""
    (event,) = [
        e for e in journal_checks.stored_events(bench.journal) if e["type"] == "shoe_finished"
    ]
    head: str | None = event["data"]["head"]
    return head


def test_a_finished_shoe_names_the_head_of_the_chain_before_its_end(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:9S", "B1:2H")
    bench.see(CutCardSeen())
    bench.deal("P2:KD", "B2:3C")
    before = bench.core.journal.head.hash.hex()
    while "shoe_finished" not in bench.see(Result(outcome="player")):
        bench.deal("P1:9S", "B1:2H", "P2:KD", "B2:3C")
        before = bench.core.journal.head.hash.hex()
    bench.deal("P1:9S")
    bench.close()
    assert finished(bench) == before
    with JournalReader(bench.journal) as reader:
        assert (verify(reader, find=bytes.fromhex(before)).found_at or "").startswith("event ")
    journal_checks.check_replay(bench.journal, tmp_path)


def test_an_order_that_finishes_a_shoe_names_the_head_too(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    bench.deal("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    bench.see(Result(outcome="player"))
    bench.core.judge(Command(name="hold", kind="foreign_card", operator="ann"))
    (alert,) = bench.core.table.state.alerts
    before = bench.core.journal.head.hash.hex()
    order = Command(
        name="rule", operator="ann", irregularity=alert.data.id, action="stop_shoe", reason="-"
    )
    given = bench.core.judge(order)
    assert "shoe_finished" in [event.type for event in given.caused], given
    bench.close()
    assert finished(bench) == before


def test_repeats_and_noise_are_only_counted(bench: Bench) -> None:
    head = bench.core.journal.head
    frames = [
        ("shoe", Frame(b"again", FrameKind.REPEAT)),
        ("shoe", Frame(b"\x00\xff", FrameKind.NOISE)),
    ]
    assert bench.core.process(frames) == []
    bench.core.count_rejected(frames)
    assert bench.core.journal.head == head
    bench.core.journal.flush()
    with bench.core.journal.reader() as reader:
        rows = reader.connection.execute("SELECT source, repeats, noise, bytes FROM counter")
        assert rows.fetchall() == [("shoe", 1, 1, 7)]


def test_the_outbox_gives_the_same_from_memory_and_from_the_journal(bench: Bench) -> None:
    for _ in range(30):
        bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
        bench.see(Result(outcome="banker"))
    head = bench.core.journal.head.seq
    with bench.core.journal.reader() as reader:
        for after in range(head + 1):
            for limit in (1, 5, 64):
                stored = list(reader.events(after, limit))
                assert list(bench.core.written.events(after, limit)) == stored
    assert list(bench.core.written.events(head + 5, 10)) == []
