"""Unusable files are rejected in one line and left unchanged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.journal import start_check
from shoe_daemon.journal.reader import open_read_only
from tests.journal.journal_entries import execute, fill, made, open_journal

Spoil = Callable[[Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table-7.journal"


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}


def newer(path: Path) -> None:
    execute(path, "PRAGMA user_version = 99")


def older_than_any(path: Path) -> None:
    execute(path, "PRAGMA user_version = 0")


def foreign(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE guest (name)")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def text(path: Path) -> None:
    path.write_text("house = 'chickasaw'\n")


def spoilt_inside(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 4] = b"\x5a" * 4096
    path.write_bytes(whole)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_owner(path: Path) -> None:
    execute(path, "DELETE FROM meta")


def a_trigger(path: Path) -> None:
    execute(
        path,
        "CREATE TRIGGER quiet AFTER INSERT ON event BEGIN DELETE FROM event; END",
    )


def a_text_of_other_bytes(path: Path) -> None:
    execute(path, "UPDATE meta SET site = CAST(x'636173fe' AS TEXT)")


def a_schema_of_other_bytes(path: Path) -> None:
    whole = path.read_bytes()
    assert whole.count(b"    key       BLOB") == 1
    path.write_bytes(whole.replace(b"    key       BLOB", b"    ke\xfe       BLOB", 1))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


REFUSED: list[tuple[Spoil, str]] = [
    (newer, "is a journal of version 99, this program knows 1 to 3"),
    (older_than_any, "is a journal of version 0"),
    (foreign, r"is no journal but another SQLite file \(application_id 0x0, expected 0x53484f45"),
    (truncated, "cannot be read: "),
    (overwritten, "cannot be read: it is no SQLite file"),
    (text, "cannot be read: it is no SQLite file"),
    (spoilt_inside, "cannot be read: it is damaged"),
    (empty, "is empty, which a journal never is"),
    (no_owner, "cannot be read: it does not say whose it is"),
    (a_trigger, "its trigger `quiet` is not that of a journal of version 3"),
    (a_text_of_other_bytes, "cannot be read: Could not decode .*; nothing was changed: put a"),
    (a_schema_of_other_bytes, "cannot be read: Could not decode .*; nothing was changed: put a"),
    (a_folder, "is no file; expected a journal"),
]


@pytest.mark.parametrize(("spoil", "line"), REFUSED, ids=[s.__name__ for s, _ in REFUSED])
def test_it_is_refused_by_a_start_and_a_look(
    path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, line: str
) -> None:
    spoil(made(path))
    before = folder(path)
    with pytest.raises(UserError, match=line) as told:
        open_journal(path)
    assert str(told.value).startswith(f"{path}: ")
    assert "\n" not in str(told.value)
    assert told.value.exit_status == 2
    monkeypatch.setattr(start_check, "_WHOLE_BELOW_BYTES", 0)  # as a long one
    with pytest.raises(UserError, match=line):
        open_journal(path)
    if spoil not in {truncated, spoilt_inside}:  # only `verify` reads all pages
        with pytest.raises(UserError, match=line), open_read_only(path):
            pass
    assert folder(path) == before


def left_by_a_killed_writer(path: Path, *, with_index: bool) -> None:
    """Create a journal with a hot WAL that is corrupt in the WAL only."""
    live = path.with_name("live")
    with open_journal(live) as journal:
        fill(journal, 5)
        execute(live, "PRAGMA user_version = 99")
        for ending in ("", "-wal", *(["-shm"] if with_index else [])):
            shutil.copy(f"{live}{ending}", f"{path}{ending}")
    live.unlink()


@pytest.mark.parametrize("with_index", [True, False])
def test_what_is_committed_in_a_hot_wal_counts_and_the_wal_stays(
    path: Path, *, with_index: bool
) -> None:
    left_by_a_killed_writer(path, with_index=with_index)
    before = folder(path)
    with pytest.raises(UserError, match="is a journal of version 99"):
        open_journal(path)
    after = folder(path)
    assert after.keys() == before.keys()
    for name in (path.name, f"{path.name}-wal"):
        assert after[name] == before[name]


def test_a_wal_without_its_journal_is_not_taken_for_a_new_one_s(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(b"somebody's last entries")
    with pytest.raises(UserError, match=r"-wal: is there without table-7.journal"):
        open_journal(path)
    assert folder(path) == {wal.name: b"somebody's last entries"}


def test_a_creation_that_was_cut_short_is_done_again(path: Path) -> None:
    new = path.with_name(path.name + ".new")
    for ending in ("", "-journal", "-wal", "-shm"):
        new.with_name(new.name + ending).write_bytes(b"half of a")
    made(path, 1)
    assert folder(path).keys() == {path.name}


def test_a_folder_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(UserError, match=r"missing/table-7.journal.lock: cannot be made: No such"):
        open_journal(path.parent / "missing" / path.name)


def test_a_look_at_a_resting_journal_leaves_nothing_beside_it(path: Path) -> None:
    made(path)
    with open_read_only(path) as reader:
        assert reader.head().observation == 45
    assert folder(path).keys() == {path.name}


def test_another_name_of_a_journal_is_that_journal(path: Path) -> None:
    (path.parent / "names").mkdir()
    name = path.parent / "names" / "table"
    name.symlink_to(path)
    with open_journal(path) as journal:
        fill(journal, 5)
        with pytest.raises(UserError, match="is writing it"):
            open_journal(name)
        with open_read_only(name) as reader:
            assert reader.head() == journal.head
    with open_journal(name) as journal:
        fill(journal, 5)
    assert folder(path).keys() == {path.name}
    assert [file.name for file in name.parent.iterdir()] == ["table"]


def test_a_look_at_a_live_journal_sees_what_was_appended_last(path: Path) -> None:
    with open_journal(path) as journal:
        fill(journal, 3)
        with open_read_only(path) as reader:
            assert reader.head() == journal.head
            fill(journal, 3)
            assert reader.head() == journal.head
    assert folder(path).keys() == {path.name}


def test_a_look_at_what_a_daemon_began_to_write_meanwhile_is_worth_nothing(path: Path) -> None:
    made(path)
    with (
        pytest.raises(UserError, match="a daemon began to write it while it was read"),
        open_read_only(path),
        open_journal(path) as journal,
    ):
        fill(journal, 1)
