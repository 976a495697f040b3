"""A start checks the end of a journal; the whole of it is checked afterwards, shoe by shoe."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.journal import Journal, start_check
from shoe_daemon.journal.check import check_whole
from shoe_daemon.journal.part import part_around
from shoe_daemon.journal.prune import remove_oldest_shoe
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.start_check import inspect
from tests.journal.journal_entries import ROUNDS_A_SHOE, SITE, TABLE, fill, made, open_journal
from tests.journal.signing_keys import signing_key
from tests.volume import sample

SHOES = 12
NOW = "2099-01-01T00:00:00.000Z"
CHANGES = {
    "capture": "UPDATE capture SET bytes = x'00' WHERE after + 1 = ?",
    "observation": "UPDATE observation SET body = body || ' ' WHERE id = ?",
    "event": "UPDATE event SET body = body || ' ' WHERE observation = ?",
    "checkpoint": "UPDATE checkpoint SET body = x'00' WHERE observation = ?",
}


@pytest.fixture(scope="module", params=[True, False], ids=["signed", "unsigned"])
def written(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The journal of some shoes, with a key or without one."""
    path = tmp_path_factory.mktemp("journal") / "table-7.journal"
    signer = signing_key() if request.param else None
    with Journal.open(path, SITE, TABLE, durable=False, signer=signer) as journal:
        fill(journal, SHOES * ROUNDS_A_SHOE + 5)
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(written, tmp_path))


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small journals are checked as long ones."""
    monkeypatch.setattr(start_check, "_WHOLE_BELOW_BYTES", 0)


def change(path: Path, statement: str, number: int) -> bool:
    """Change a row; return whether there is one."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, (number,)).rowcount > 0


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("table", CHANGES)
def test_a_start_finds_a_change_of_the_end_and_the_check_finds_each(
    path: Path, tmp_path: Path, table: str
) -> None:
    with JournalReader(path) as reader:
        checkpoint = reader.last_checkpoint()
        assert checkpoint is not None
        start = part_around(reader.connection, reader.identity, checkpoint.seq).start
        last = reader.head().observation
    assert last - start.observation <= 2 * ROUNDS_A_SHOE
    copy = tmp_path / "copy.journal"
    found = set()
    end = range(start.observation, last + 1)
    chosen = end if table == "checkpoint" else sample(end, 6)
    for number in [*range(1, start.observation, 3 * ROUNDS_A_SHOE), *chosen]:
        shutil.copy(path, copy)
        if not change(copy, CHANGES[table], number):
            continue
        with pytest.raises(UserError, match=f"damaged at (event|{table}|check)"):
            check_whole(copy, lambda _: None)
        is_at_end = number > start.observation
        found.add(is_at_end)
        if is_at_end:
            with pytest.raises(UserError, match=r"it is damaged at .*; nothing was changed"):
                open_journal(copy)
        else:
            open_journal(copy).close()
    assert found == {True, False}


@pytest.mark.usefixtures("long")
def test_a_lost_page_is_found_by_the_check_and_at_the_end_by_the_start(path: Path) -> None:
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        pages = dict(
            connection.execute(
                "SELECT pageno, name FROM dbstat WHERE pagetype = 'leaf' AND name = 'event'"
            )
        )
    refused = []
    for page in {*sample(sorted(pages), 3), max(pages)}:
        start = 4096 * (page - 1)
        path.write_bytes(whole[:start] + b"\x5a" * 4096 + whole[start + 4096 :])
        with pytest.raises(UserError, match="damage"):
            check_whole(path, lambda _: None)
        with suppress(UserError):
            inspect(path)
            continue
        refused.append(page)
    assert 0 < len(refused) < len(pages) / 4
    assert max(pages) in refused


def test_the_check_blocks_neither_the_writer_nor_the_removal_of_shoes(path: Path) -> None:
    slices = 0

    with (
        open_journal(path) as journal,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):

        def pause(seconds: float) -> None:
            nonlocal slices
            assert seconds > 0
            slices += 1
            fill(journal, 1)
            busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            assert busy == 0
            if slices in {1, 2, 3}:
                for _ in range(2):
                    assert remove_oldest_shoe(path, NOW, NOW) is not None

        assert check_whole(path, pause) <= journal.head.seq
        last = journal.head.seq
    assert slices >= SHOES - 6
    assert check_whole(path, lambda _: None) == last


def test_the_check_is_a_process_that_prints_what_it_found(tmp_path: Path) -> None:
    path = made(tmp_path / "table-7.journal")

    def check() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "shoe_daemon.journal.check", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr
        return done.returncode, done.stdout

    with JournalReader(path) as reader:
        last = reader.head().seq
    assert check() == (0, str(last))
    change(path, CHANGES["event"], 30)
    status, line = check()
    assert status == 1
    assert f"{path}: cannot be read: it is damaged at event " in line
    assert "\n" not in line
