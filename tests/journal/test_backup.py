"""A backup is made while the daemon writes, and a table continues from a restored one."""

from __future__ import annotations

import stat
import threading
import time
from pathlib import Path

import pytest
from click.testing import Result

from shoe_daemon.config.table import load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.journal import Journal, JournalReader, database
from shoe_daemon.service import Core
from shoe_daemon.table.observations import CardDrawn
from tests.chaos import journal_checks
from tests.journal.journal_entries import SITE, TABLE, execute, fill, made, open_journal
from tests.journal.journal_entries import run_journal as journal
from tests.service.daemon_process import configure


def copy(path: Path, target: Path) -> Path:
    done = journal("backup", path, target)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{target}: good, up to event ")
    return target


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "table-7.db")


def test_a_backup_is_one_verified_file_without_access_for_others(
    path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    target = copy(path, folder / "copy.db")
    assert [each.name for each in folder.iterdir()] == ["copy.db"]
    assert not stat.S_IMODE(target.stat().st_mode) & stat.S_IRWXO
    with JournalReader(path) as one, JournalReader(target) as other:
        assert one.head() == other.head()
    assert journal("verify", target).exit_code == 0


def test_a_folder_gets_a_file_named_by_table_and_time(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    done = journal("backup", path, folder)
    assert done.exit_code == 0, done.output
    (name,) = [each.name for each in folder.iterdir()]
    assert name.startswith(f"{TABLE}-2")
    assert name.endswith("Z.db")


def test_backups_are_made_while_the_daemon_writes(tmp_path: Path) -> None:
    path, stop = tmp_path / "table-7.db", threading.Event()
    with open_journal(path) as live:

        def write() -> None:
            while not stop.is_set():
                fill(live, 1)

        fill(live, 100)
        writer = threading.Thread(target=write)
        writer.start()
        try:
            ends = [_end(copy(path, tmp_path / f"{number}.db")) for number in range(5)]
        finally:
            stop.set()
            writer.join()
    assert ends == sorted(ends)
    assert ends[0] >= 100
    assert ends[0] < ends[-1]


def _end(path: Path) -> int:
    with JournalReader(path) as reader:
        return reader.head().observation


def test_an_existing_file_is_never_replaced(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "other.db"
    target.write_text("mine")
    for there in (target, path):
        done = journal("backup", path, there)
        assert done.exit_code == 2
        assert f"{there}: exists; a backup never replaces a file" in done.stderr
    assert target.read_text() == "mine"


def test_a_journal_that_is_not_valid_gives_no_backup(path: Path, tmp_path: Path) -> None:
    execute(path, "UPDATE event SET round = 9 WHERE seq = 5")
    folder = tmp_path / "backups"
    folder.mkdir()
    done = journal("backup", path, folder / "copy.db")
    assert done.exit_code == 1
    assert "the copy is not valid: BROKEN at event 5" in done.stderr
    assert not list(folder.iterdir())


def test_a_full_disk_leaves_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database, "sync", no_room)
    before = sorted(tmp_path.iterdir())
    done = journal("backup", path, tmp_path / "copy.db")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "cannot be made: No space left on device" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


class LostTable:
    """A table whose journal was backed up, continued, and lost."""

    def __init__(self, folder: Path) -> None:
        self.config = configure(folder / "table", 'house = "chickasaw"')
        self.path = self.config.with_name("journal.db")
        self.published: dict[int, bytes] = {}
        self.play(4)
        self.backup = copy(self.path, folder / "backup.db")
        self.kept = dict(self.published)
        self.play(4)
        self.path.unlink()

    def play(self, cards: int) -> None:
        """Start, deal, and publish everything that the journal has."""
        core = Core(load_config(self.config))
        core.record_start()
        for number in range(cards):
            core.observe(CardDrawn(card=Card(f"{number % 9 + 1}S".replace("1S", "AS"))))
        for event in core.written.events(0, 10_000):
            assert self.published.setdefault(event.seq, event.body) == event.body, event
        core.close()

    def restore(self, *options: object) -> Result:
        return journal("restore", self.backup, self.path, *options)


@pytest.fixture
def lost(tmp_path: Path) -> LostTable:
    return LostTable(tmp_path)


def test_a_table_continues_from_a_restored_backup(lost: LostTable, tmp_path: Path) -> None:
    done = lost.restore()
    assert done.exit_code == 0, done.output
    assert f"restored up to event {max(lost.kept)} of " in done.stdout
    core = Core(load_config(lost.config))
    assert core.table.state.round is not None
    assert core.table.state.round.partial
    assert core.table.state.unsynced
    core.close()
    lost.play(6)
    # `play` has compared: no number has two meanings, and those of the backup are the same.
    later = [seq for seq in lost.published if seq > max(lost.kept) + 500]
    assert later
    assert lost.published.keys() > lost.kept.keys()
    journal_checks.check_chain(lost.path)
    journal_checks.check_replay(lost.path, tmp_path)


def test_a_known_last_event_is_exceeded(lost: LostTable) -> None:
    assert lost.restore("--published", 123_456).exit_code == 0
    lost.play(1)
    assert max(lost.published) > 123_456
    assert max(lost.published) < 126_000


def test_a_clock_before_the_backup_needs_the_last_event(
    lost: LostTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    done = lost.restore()
    assert done.exit_code == 2
    assert "set the clock, or give the last published event (--published)" in done.stderr
    assert not lost.path.exists()
    assert lost.restore("--published", 50).exit_code == 0


def test_a_journal_in_the_way_is_left_alone(lost: LostTable) -> None:
    lost.path.write_bytes(b"mine")
    done = lost.restore()
    assert done.exit_code == 2
    assert f"{lost.path}: exists; move it away to restore a backup in its place" in done.stderr
    assert lost.path.read_bytes() == b"mine"


def test_a_running_daemon_refuses_a_restore(lost: LostTable, tmp_path: Path) -> None:
    with Journal.open(lost.path, SITE, TABLE):
        done = lost.restore()
    assert done.exit_code == 2
    assert "is writing it; a journal has one writer" in done.stderr


def test_a_late_restore_numbers_the_events_of_passed_deadlines_anew(
    lost: LostTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The quiet gap of the open round has passed: the restore itself causes events.
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 3600 * 10**9)
    assert lost.restore().exit_code == 0
    journal_checks.check_chain(lost.path)
    journal_checks.check_replay(lost.path, tmp_path)
    events = journal_checks.stored_events(lost.path)
    assert all(event["seq"] <= max(lost.kept) or event["seq"] >= 36_000 for event in events)
