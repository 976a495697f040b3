"""
After a kill, every acknowledged entry is stored, and no entry is incomplete.

SHOE_DAEMON_KILLS=1000 makes it a soak test. SIGKILL keeps the kernel's buffers; durability on disk
is SQLite's `synchronous = FULL`.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.journal import Head, JournalReader
from shoe_daemon.journal.verify import verify
from tests.journal.journal_entries import events_of, fill, open_journal
from tests.volume import volume

KILLS = int(os.environ.get("SHOE_DAEMON_KILLS", volume(5, 30)))
COPIES = int(os.environ.get("SHOE_DAEMON_COPIES", volume(5, 30)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table-7.journal"


@contextmanager
def writing(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.journal.writer_process", str(path)], stdout=subprocess.PIPE
    ) as writer:
        try:
            yield writer
        finally:
            writer.kill()


def test_a_journal_with_another_name_has_no_second_writer(path: Path) -> None:
    other = path.parent / "other" / "table-8.journal"
    other.parent.mkdir()
    with writing(path) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        os.link(path, other)
        with pytest.raises(UserError, match=r"a process is writing it under another name"):
            open_journal(other)
        writer.kill()
        writer.stdout.read()
    # The last entries of the killed writer are beside its own name.
    assert path.with_name(path.name + "-wal").exists()
    for name in (other, path):
        with pytest.raises(UserError, match=r"has 2 names \(hard links\), expected one"):
            open_journal(name)
    assert [each.name for each in other.parent.iterdir()] == [other.name]
    other.unlink()
    with open_journal(path) as journal:
        fill(journal, 3)
    check_whole(path)


def test_a_journal_that_is_mounted_twice_has_no_second_writer(path: Path) -> None:
    other = path.parent / "other" / path.name
    other.parent.mkdir()
    other.touch()
    mount = f"mount --bind {path} {other}"
    script = f"{mount} || exit 77; {sys.executable} -m tests.journal.writer_process {other}"
    with writing(path) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        second = subprocess.run(
            ["unshare", "-m", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if second.returncode == 77 or "unshare failed" in second.stderr:
            pytest.skip("only root may mount")
        assert "a process is writing it under another name" in second.stderr
        assert not second.stdout
        writer.stdout.readline()


def test_a_refused_writer_takes_no_lock_of_sqlite_away(path: Path) -> None:
    with open_journal(path) as journal:
        fill(journal, 1)
        os.link(path, other := path.with_name("other"))
        before = locks(path)
        assert {"FLOCK", "POSIX"} <= {*before}
        writer = [sys.executable, "-m", "tests.journal.writer_process", str(other)]
        refused = subprocess.run(writer, capture_output=True, check=False)
        assert b"is writing it" in refused.stderr
        assert locks(path) == before
        fill(journal, 1)
        other.unlink()
    assert locks(path) == []


def locks(path: Path) -> list[str]:
    """Return the kinds of this process's locks on a file."""
    lines = map(str.split, Path("/proc/locks").read_text(encoding="ascii").splitlines())
    inode = f":{path.stat().st_ino}"
    return sorted(
        line[1] for line in lines if line[4] == str(os.getpid()) and line[5].endswith(inode)
    )


def acknowledged(said: bytes) -> tuple[int, int]:
    whole = [line for line in said.splitlines(keepends=True) if line.endswith(b"\n")]
    observation, seq = whole[-1].split() if whole else (0, 0)
    return int(observation), int(seq)


def check_whole(path: Path) -> Head:
    """Assert that every observation has all its events, and the chain is valid."""
    with JournalReader(path) as reader:
        verdict = verify(reader)
        assert verdict.broken is None
        assert verdict.events == sum(map(events_of, range(1, verdict.observations + 1)))
        assert verdict.checkpoints == (verdict.observations + 19) // 20
        last = reader.last_checkpoint()
        assert last is None or last.body == b"state %d" % last.observation
        assert reader.cursor("mqtt") <= verdict.events
        return reader.head()


@pytest.mark.timeout(300 + 2 * KILLS)
def test_killed_at_any_moment_it_has_what_it_acknowledged(path: Path) -> None:
    chance = random.Random(7)
    head, told = None, 0
    for _ in range(KILLS):
        with writing(path) as writer:
            assert writer.stdout is not None
            # The first line reports readiness; some writers are killed during the start.
            said = b"" if chance.random() < 0.2 else writer.stdout.readline()
            time.sleep(chance.uniform(0, 0.1))
            writer.send_signal(signal.SIGKILL)
            said += writer.stdout.read()
        if not path.exists():
            continue
        observation, seq = acknowledged(said)
        told += bool(observation)
        with open_journal(path) as journal:
            head = journal.head
            assert observation <= head.observation
            # One batch may be written without an acknowledgement.
            assert not observation or head.observation <= observation + 1
            assert seq <= head.seq
        assert check_whole(path) == head
    assert head is not None
    assert head.observation >= told >= KILLS / 2


def test_a_copy_of_both_files_at_any_moment_is_a_whole_journal(path: Path, tmp_path: Path) -> None:
    chance = random.Random(8)
    seen = 0
    with writing(path) as writer:
        assert writer.stdout is not None
        for number in range(COPIES):
            time.sleep(chance.uniform(0, 0.05))
            said = writer.stdout.readline()
            writer.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, writer.pid, os.WSTOPPED)
            copy = copied(path, tmp_path / f"copy-{number}")
            writer.send_signal(signal.SIGCONT)
            observation, _ = acknowledged(said)
            with open_journal(copy) as journal:
                assert journal.head.observation >= max(observation, seen)
                seen = observation
                fill(journal, 3)
            check_whole(copy)


def test_a_wal_that_lost_its_end_gives_an_earlier_whole_journal(
    path: Path, tmp_path: Path
) -> None:
    chance = random.Random(9)
    with open_journal(path) as journal:
        fill(journal, 60)
        wal = path.with_name(path.name + "-wal").stat().st_size
        for number in range(COPIES):
            copy = copied(path, tmp_path / f"copy-{number}")
            torn = copy.with_name(copy.name + "-wal")
            os.truncate(torn, chance.randrange(wal))
            if number % 2:
                # A file system may have extended the file without writing the data.
                os.truncate(torn, wal)
            with open_journal(copy) as found:
                assert 0 <= found.head.observation <= 60
                fill(found, 2)
            check_whole(copy)


def copied(path: Path, copy: Path) -> Path:
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    return copy
