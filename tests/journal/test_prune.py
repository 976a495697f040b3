"""Old shoes are removed, and the rest of the chain stays provable."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog

from drivers.driver import Frame, FrameKind
from shoe_daemon.config.sections import JournalSettings
from shoe_daemon.config.table import Setup, load_config
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import JournalReader, prune, reader, refold
from shoe_daemon.journal.database import Anchor
from shoe_daemon.journal.prune import remove_old_shoes
from shoe_daemon.journal.reader import fold_table
from shoe_daemon.service import Core
from shoe_daemon.service.clock import Clock
from shoe_daemon.service.parts.retention import JournalRetention
from shoe_daemon.table import Table
from shoe_daemon.table.observations import CardDrawn, Command, Observation
from shoe_daemon.table.table import fold
from shoe_daemon.table.times import to_microseconds
from tests.fakes.full_disk import files_no_bigger_than
from tests.golden.corpus import HERE as GOLDEN
from tests.journal.journal_entries import execute
from tests.journal.journal_entries import run_journal as journal
from tests.journal.signing_keys import write_key
from tests.public_json import encode_public_table
from tests.service.daemon_process import configure

BEGIN = to_microseconds("2026-01-01T12:00:00Z")
DAY = 86_400_000_000
SHOES = 5
NOW = "2026-06-01T00:00:00.000Z"
ROUND = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")


class Hall:
    """A table that plays one shoe a day, by frames of a reader, and signs each."""

    def __init__(self, config: Path) -> None:
        self.path = config.with_name("journal.db")
        self.public = config.with_name("public.pem")
        self._setup: Setup = load_config(config)
        self._now = BEGIN

    def play(self, shoes: int, *, acknowledged: bool = False) -> None:
        """Start the daemon's core, and play so many shoes, one a day."""
        core = self.begin()
        for _ in range(shoes):
            core.judge(Command(name="new_shoe", operator="ann", claimed=False))
            for _ in range(2):
                for each in ROUND:
                    slot, _, card = each.partition(":")
                    self._see(core, CardDrawn(slot=Slot(slot), card=Card(card)))
                core.judge(Command(name="confirm_result", operator="ann", claimed=False))
            self._now += DAY
        if acknowledged:
            core.journal.set_cursor("mqtt", core.journal.head.seq)
        core.close()

    def begin(self) -> Core:
        """Start the daemon's core."""
        core = Core(self._setup)
        core.clock = Clock(core.table.state.now, wall=lambda: self._now, monotonic=self._monotonic)
        core.record_start()
        return core

    def _monotonic(self) -> float:
        return self._now / 1_000_000

    def _see(self, core: Core, *observations: Observation) -> None:
        self._now += 1_000_000
        core.process([("shoe", Frame(b"bytes", FrameKind.FRAME, observations, self._monotonic()))])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Hall:
    config = configure(
        tmp_path_factory.mktemp("hall") / "table",
        'house = "chickasaw"\n[journal]\nkey_file = "journal.key"',
    )
    write_key(config.with_name("journal.key"))
    hall = Hall(config)
    hall.play(SHOES)
    return hall


@pytest.fixture
def hall(played: Hall, tmp_path: Path) -> Hall:
    """A copy of a table that has played some shoes."""
    shutil.copytree(played.path.parent, tmp_path / "table")
    hall = Hall(tmp_path / "table" / "table.toml")
    hall._now = played._now  # noqa: SLF001 - the test's own
    return hall


def day(number: int) -> str:
    return f"2026-01-0{number}T18:00:00.000Z"


def lines(path: Path, shoe: int) -> list[bytes]:
    with JournalReader(path) as reader:
        return [*reader.event_lines(shoe), *reader.observation_lines(shoe)]


def report(path: Path, shoe: int) -> Any:  # noqa: ANN401 - JSON
    found = json.loads(journal("shoe", path, shoe, "--json").stdout)
    # The last signature before the first kept shoe covers rows that are removed.
    assert found["proof"].pop("verified")
    return found


def test_the_rest_is_unchanged_and_proved(hall: Hall) -> None:
    kept = range(3, SHOES + 1)
    before = {shoe: (lines(hall.path, shoe), report(hall.path, shoe)) for shoe in kept}
    head = JournalReader(hall.path).head()
    done = remove_old_shoes(hall.path, day(3), NOW)
    assert done.shoes == 2
    assert {shoe: (lines(hall.path, shoe), report(hall.path, shoe)) for shoe in kept} == before
    assert JournalReader(hall.path).head() == head
    verified = journal("verify", hall.path, "--refold", "--key", hall.public)
    assert verified.exit_code == 0, verified.output
    assert "shoes up to 2, events up to " in verified.output
    assert "4 valid signatures" in verified.output
    assert journal("verify", hall.path, "--head", head.hash.hex()).exit_code == 0
    gone = journal("shoe", hall.path, 2)
    assert gone.exit_code == 2
    assert "has no shoe 2; its shoes are 3 to 5" in gone.stderr
    assert "shoes up to 2 were removed" in journal("stats", hall.path).stdout


def test_clips_of_removed_shoes_are_no_fault(hall: Hall, tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    folder.mkdir()
    verify = ("verify", hall.path, "--clips", folder)
    (folder / "20260102-130000.000-pit-8s-0123456789abcdef.webm").write_bytes(b"video")
    assert journal(*verify).exit_code == 1
    remove_old_shoes(hall.path, day(3), NOW)
    kept = journal(*verify)
    assert kept.exit_code == 0, kept.output
    assert "1 are older than this journal" in kept.output


def test_every_change_of_the_rest_is_found(hall: Hall) -> None:
    remove_old_shoes(hall.path, day(3), NOW)
    for statement in (
        "UPDATE event SET body = replace(body, '9S', '8S') WHERE type = 'card_dealt'",
        "UPDATE anchor SET hash = zeroblob(32)",
        "UPDATE anchor SET seq = seq - 1",
        "UPDATE anchor SET observation = observation - 1",
        "UPDATE anchor SET capture = capture - 1",
        "DELETE FROM anchor",
        "DELETE FROM event WHERE seq = (SELECT min(seq) FROM event)",
    ):
        copy = hall.path.read_bytes()
        execute(hall.path, statement)
        assert journal("verify", hall.path).exit_code == 1, statement
        hall.path.write_bytes(copy)
    assert journal("verify", hall.path).exit_code == 0


def test_the_table_continues(hall: Hall) -> None:
    head = JournalReader(hall.path).head()
    remove_old_shoes(hall.path, day(4), NOW)
    hall.play(2)
    verified = journal("verify", hall.path, "--refold", "--key", hall.public)
    assert verified.exit_code == 0, verified.output
    with JournalReader(hall.path) as reader:
        starts = [json.loads(line) for line in reader.event_lines(SHOES + 1)]
    assert starts[0]["seq"] > head.seq
    assert remove_old_shoes(hall.path, day(6), NOW).shoes == 2
    assert journal("verify", hall.path, "--key", hall.public).exit_code == 0


def test_checkpoints_of_another_version_keep_the_numbers(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_old_shoes(hall.path, day(3), NOW)
    monkeypatch.setattr("shoe_daemon.table.table._CHECKPOINT_HEADER", b"table-x\n")
    hall.play(1)
    with JournalReader(hall.path) as reader:
        assert next(reader.event_lines(SHOES + 1))
    assert journal("verify", hall.path).exit_code == 0


def test_a_pruned_journal_of_the_version_before_continues(tmp_path: Path) -> None:
    path, dump = tmp_path / "journal.db", GOLDEN / "journals" / "0.1.0.sql"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text(encoding="utf-8"))
    whole = Table()
    with JournalReader(path) as reader:
        for _ in fold(whole, reader.observations(0)):
            pass
    later = "2027-01-01T00:00:00.000Z"
    assert remove_old_shoes(path, later, later).shoes == 1
    with JournalReader(path) as reader:
        checkpoint = reader.last_checkpoint()
        assert checkpoint is not None
        assert checkpoint.body.startswith(b"table-2\n")
        table = fold_table(reader)
    assert encode_public_table(table.public()) == encode_public_table(whole.public())
    assert table.history() == whole.history()
    for each in ROUND:
        slot, _, card = each.partition(":")
        drawn = CardDrawn(at=later, slot=Slot(slot), card=Card(card))
        assert table.apply(drawn) == whole.apply(drawn)


def test_the_last_shoe_stays(hall: Hall) -> None:
    assert remove_old_shoes(hall.path, NOW, NOW).shoes == SHOES - 1
    assert lines(hall.path, SHOES)
    assert remove_old_shoes(hall.path, NOW, NOW).shoes == 0
    assert journal("verify", hall.path, "--refold", "--key", hall.public).exit_code == 0


def test_events_that_the_broker_has_not_acknowledged_stay(hall: Hall) -> None:
    with closing(sqlite3.connect(hall.path, isolation_level=None)) as connection:
        (seq,) = connection.execute("SELECT max(seq) FROM event WHERE shoe = 2").fetchone()
        connection.execute("INSERT INTO cursor VALUES ('mqtt', ?)", (seq,))
    assert remove_old_shoes(hall.path, NOW, NOW).shoes == 2


def test_an_interruption_leaves_a_valid_journal(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = prune._remove_up_to, iter(range(SHOES))  # noqa: SLF001 - the middle of a removal

    def interrupt(connection: sqlite3.Connection, anchor: Anchor) -> None:
        real(connection, anchor)
        if next(done) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(prune, "_remove_up_to", interrupt)
    with pytest.raises(KeyboardInterrupt):
        remove_old_shoes(hall.path, NOW, NOW)
    monkeypatch.undo()
    assert journal("verify", hall.path, "--refold", "--key", hall.public).exit_code == 0
    assert remove_old_shoes(hall.path, NOW, NOW).shoes == SHOES - 3


def test_a_killed_process_leaves_a_valid_journal(hall: Hall) -> None:
    child = os.fork()
    if child == 0:
        real, done = prune._remove_up_to, iter(range(SHOES))  # noqa: SLF001 - the middle of a removal

        def die(connection: sqlite3.Connection, anchor: Anchor) -> None:
            real(connection, anchor)
            if next(done) == 2:
                os.kill(os.getpid(), 9)

        prune._remove_up_to = die  # noqa: SLF001
        remove_old_shoes(hall.path, NOW, NOW)
    os.waitpid(child, 0)
    assert journal("verify", hall.path, "--refold", "--key", hall.public).exit_code == 0
    assert remove_old_shoes(hall.path, NOW, NOW).shoes == 2


def test_a_running_daemon_refuses(hall: Hall) -> None:
    core = Core(hall._setup)  # noqa: SLF001 - the test's own
    before = hall.path.stat().st_size
    done = journal("prune", hall.path, "--older-than", "1d")
    core.close()
    assert done.exit_code == 2
    assert "is writing it; a journal has one writer" in done.stderr
    assert hall.path.stat().st_size == before


def test_the_command_says_what_was_removed_and_makes_the_file_smaller(hall: Hall) -> None:
    before = hall.path.stat().st_size
    done = journal("prune", hall.path, "--older-than", "1d", "--compact")
    assert done.exit_code == 0, done.output
    assert "4 shoes removed that ended before " in done.stdout
    assert hall.path.stat().st_size < before
    assert journal("verify", hall.path, "--key", hall.public).exit_code == 0


def test_a_wrong_age_is_refused(hall: Hall) -> None:
    for age in ("0", "0d", "d", "-1", "1.5", "1y", "999999"):
        done = journal("prune", hall.path, f"--older-than={age}")
        assert done.exit_code == 2
        assert f"--older-than {age}: expected a number of days, such as 400d" in done.stderr


def test_a_backup_of_a_pruned_journal_is_valid(hall: Hall, tmp_path: Path) -> None:
    remove_old_shoes(hall.path, day(3), NOW)
    assert journal("backup", hall.path, tmp_path / "copy.db").exit_code == 0
    done = journal("restore", tmp_path / "copy.db", tmp_path / "new.db", "--published", 9999)
    assert done.exit_code == 0, done.output
    assert journal("verify", tmp_path / "new.db", "--key", hall.public).exit_code == 0


class ByHand(Hall):
    """A table without a reader: each start is followed by a shoe, without an event between."""

    def play(self, shoes: int, *, acknowledged: bool = False) -> None:
        del acknowledged
        for _ in range(shoes):
            core = self.begin()
            core.judge(Command(name="new_shoe", operator="ann", claimed=False))
            self._now += DAY
            core.close()


def test_numbers_that_a_restored_journal_skips_are_proved_too(tmp_path: Path) -> None:
    hall = ByHand(configure(tmp_path / "table"))
    hall.play(2)
    assert journal("backup", hall.path, tmp_path / "copy.db").exit_code == 0
    hall.path.unlink()
    done = journal("restore", tmp_path / "copy.db", hall.path, "--published", 9)
    assert done.exit_code == 0, done.output
    hall.play(3)
    for _ in range(2):
        prune.remove_oldest_shoe(hall.path, "2099-01-01T00:00:00.000Z", NOW)
    done = journal("verify", hall.path, "--refold")
    assert done.exit_code == 0, done.output
    hall.play(1)
    assert journal("verify", hall.path, "--refold").exit_code == 0


def test_a_running_table_removes_old_shoes_one_at_a_time(hall: Hall) -> None:
    expected = lines(hall.path, 4)
    core = hall.begin()
    retention = JournalRetention(core, days=2)
    retention.check()
    assert lines(hall.path, 1), "the clock may still be wrong"
    for _ in range(SHOES):
        retention._due = 0.0  # noqa: SLF001 - the hour is over
        retention.check()
    with pytest.raises(UserError, match="its shoes are 4 to 5"):
        lines(hall.path, 3)
    assert lines(hall.path, 4) == expected
    core.judge(Command(name="new_shoe", operator="ann", claimed=False))
    core.close()
    assert journal("verify", hall.path, "--refold", "--key", hall.public).exit_code == 0


def retention_is_due(core: Core, days: int) -> None:
    retention = JournalRetention(core, days)
    retention._due = 0.0  # noqa: SLF001 - the hour is over
    retention.check()


def test_a_clock_that_was_ahead_removes_no_shoe_of_yesterday(hall: Hall) -> None:
    core = hall.begin()
    right, monotonic = hall._now, hall._monotonic()  # noqa: SLF001 - the test's own
    clock = Clock(core.table.state.now, wall=lambda: hall._now, monotonic=lambda: monotonic)  # noqa: SLF001
    core.clock = clock
    hall._now = right + 1000 * DAY  # noqa: SLF001
    clock.set()
    core.judge(Command(name="new_shoe", operator="ann", claimed=False))
    hall._now = right  # noqa: SLF001
    clock.set()
    retention_is_due(core, 400)
    core.close()
    assert lines(hall.path, 1)


def test_a_running_table_removes_nothing_in_a_round_nor_by_default(hall: Hall) -> None:
    before = lines(hall.path, 1)
    core = hall.begin()
    assert JournalSettings().days is None
    hall._see(core, CardDrawn(slot=Slot.P1, card=Card("9S")))  # noqa: SLF001 - the test's own
    retention_is_due(core, 1)
    core.close()
    assert lines(hall.path, 1) == before


def test_on_a_full_disk_a_shoe_stays_whole_and_the_table_goes_on(hall: Hall) -> None:
    before = lines(hall.path, 1)
    core = hall.begin()
    wal = hall.path.with_name("journal.db-wal").stat().st_size
    with structlog.testing.capture_logs() as log, files_no_bigger_than(wal + 8192):
        retention_is_due(core, 1)
    core.judge(Command(name="new_shoe", operator="ann", claimed=False))
    core.close()
    assert "its oldest shoe cannot be removed: the disk" in log[0]["reason"]
    assert lines(hall.path, 1) == before


def test_a_shoe_that_is_removed_during_a_verification_breaks_nothing(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, removed = refold._Refold._begin, list[int | None]()  # noqa: SLF001 - its first step

    def remove_and_begin(*arguments: Any) -> None:  # noqa: ANN401 - as they come
        if not removed:
            removed.append(prune.remove_oldest_shoe(hall.path, NOW, NOW))
        begin(*arguments)

    monkeypatch.setattr(reader, "_PAGE", 5)
    monkeypatch.setattr(refold._Refold, "_begin", remove_and_begin)  # noqa: SLF001
    core = hall.begin()
    done = journal("verify", hall.path, "--refold", "--key", hall.public)
    core.close()
    assert removed == [1]
    assert done.exit_code == 0, done.output
    assert journal("verify", hall.path, "--refold", "--key", hall.public).exit_code == 0
