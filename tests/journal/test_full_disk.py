"""A full disk loses no acknowledged entry, and writes may be retried."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from shoe_daemon.journal import Journal, JournalUnwritable
from shoe_daemon.journal.verify import verify
from tests.fakes.full_disk import files_no_bigger_than
from tests.journal.journal_entries import entry, fill, open_journal


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk, and not in every container")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill_until_it_cannot(journal: Journal) -> JournalUnwritable:
    for _ in range(10_000):
        try:
            journal.append([entry(journal.head)])
        except JournalUnwritable as told:
            return told
    pytest.fail("the disk never was full")


def check_nothing_is_lost(journal: Journal) -> None:
    with journal.reader() as reader:
        assert reader.head() == journal.head
        assert verify(reader).broken is None


def test_a_full_disk_is_told_in_one_line_and_can_be_tried_again(small_disk: Path) -> None:
    path = small_disk / "table-7.journal"
    with open_journal(path) as journal:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(400_000))
        told = fill_until_it_cannot(journal)
        assert str(told) == f"{path}: cannot be written: the disk is full [SQLITE_FULL]"
        held = journal.head
        check_nothing_is_lost(journal)
        journal.count("angel", noise=5)
        journal.set_cursor("mqtt", 3)
        for _ in range(20):
            with pytest.raises(JournalUnwritable):
                journal.append([entry(held)])
            with pytest.raises(JournalUnwritable):
                journal.flush()
        assert journal.head == held
        ballast.unlink()
        journal.append([entry(held)])
        fill(journal, 20)
        check_nothing_is_lost(journal)
        with journal.reader() as reader:
            assert reader.cursor("mqtt") == 3
            assert reader.connection.execute("SELECT noise FROM counter").fetchone() == (5,)


def test_a_journal_on_a_full_disk_can_still_be_opened(small_disk: Path) -> None:
    path = small_disk / "table-7.journal"
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(400_000))
    with open_journal(path) as journal:
        fill_until_it_cannot(journal)
        held = journal.head
    # Pages that could not be moved to the main file stay in the WAL.
    with open_journal(path) as journal:
        assert journal.head == held
        ballast.unlink()
        fill(journal, 1)
        check_nothing_is_lost(journal)


def test_a_journal_that_cannot_be_made_leaves_nothing(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(2**20 - 8192))
    with pytest.raises(JournalUnwritable, match=r"journal: cannot be made: the disk is full"):
        open_journal(small_disk / "table-7.journal")
    assert [file.name for file in small_disk.iterdir()] == ["ballast"]


def test_a_disk_without_a_byte_to_spare_is_waited_for_and_not_given_up(small_disk: Path) -> None:
    path = small_disk / "table-7.journal"
    with open_journal(path) as journal:
        fill(journal, 30)
    fill_up(small_disk / "ballast")
    before = path.read_bytes()
    with pytest.raises(JournalUnwritable) as told_why:
        open_journal(path)
    # With 2, systemd would not restart the daemon.
    assert told_why.value.exit_status == 1
    assert path.read_bytes() == before
    (small_disk / "ballast").unlink()
    with open_journal(path) as journal:
        assert journal.head.observation == 30
        fill(journal, 1)
        check_nothing_is_lost(journal)


def fill_up(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))


def test_an_error_of_the_disk_is_told_and_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "table-7.journal"
    with open_journal(path) as journal:
        with files_no_bigger_than(300_000):
            told = fill_until_it_cannot(journal)
            assert "table-7.journal: cannot be written: the disk " in str(told)
            held = journal.head
            with pytest.raises(JournalUnwritable):
                fill(journal, 1)
            check_nothing_is_lost(journal)
        assert journal.head == held
        fill(journal, 300)
        check_nothing_is_lost(journal)


def test_a_journal_that_another_program_holds_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "table-7.journal"
    with open_journal(path) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as intruder:
            intruder.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalUnwritable, match="another program holds it locked"):
                fill(journal, 1)
        fill(journal, 1)
        assert journal.head.observation == 1
