"""A backup has all that the tables of a computer need; another computer continues from it."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shoe_daemon.cli import main
from shoe_daemon.cli.samples import sample_files
from shoe_daemon.game import Card
from shoe_daemon.install.answers import Answers
from shoe_daemon.install.changes import prepare
from shoe_daemon.install.files import Record, can_encrypt
from shoe_daemon.journal import Entry, Journal, JournalReader, Step
from shoe_daemon.operators import Operators
from shoe_daemon.table import Gap, GapDetail, Session, Table, from_microseconds
from shoe_daemon.table.observations import CardDrawn, Observation
from tests.fakes.full_disk import files_no_bigger_than

JOURNAL = "var/lib/shoe-daemon/table-1/journal.db"
HISTORY = "var/lib/shoe-display/history.db"
INIT = ("init", "--yes", "--reader", "simulated")
AGO_S = 60


def call(*arguments: str | Path, typed: str = "") -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], input=typed)


def done(*arguments: str | Path, typed: str = "") -> str:
    result = call(*arguments, typed=typed)
    assert result.exit_code == 0, result.output
    return result.output


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def deal(path: Path) -> None:
    """Write the journal of a table at which a card was drawn a minute ago."""
    path.parent.mkdir(parents=True)
    at = from_microseconds((time.time_ns() // 1000) - AGO_S * 1_000_000)
    drawn: list[Observation] = [
        Session(at=at, site="casino", table="table-1"),
        CardDrawn(at=at, card=Card("9S")),
    ]
    table = Table()
    with closing(Journal.open(path, "casino", "table-1")) as journal:
        for each in drawn:
            journal.append([Entry(steps=[Step(each, table.apply(each))])])


def remember(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as history:
        history.executescript("PRAGMA journal_mode = WAL; CREATE TABLE round AS SELECT 7 AS shoe")


@pytest.fixture
def computer(tmp_path: Path) -> Path:
    """The files of a computer with a table, an operator and the log of the pit."""
    root = tmp_path / "computer"
    root.mkdir()
    done(*INIT, "--root", root, "--operator", "Maria", typed="471100\n")
    (root / "etc/shoe-daemon/table-1-camera.toml").write_text("[camera]\nwidth = 1280\n")
    wants = root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir()
    (wants / "shoe-daemon@table-1.service").symlink_to("/lib/systemd/system/shoe-daemon@.service")
    deal(root / JOURNAL)
    remember(root / HISTORY)
    return root


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A computer on which only the package is installed."""
    root = tmp_path / "bare"
    (root / "etc/shoe-daemon").mkdir(parents=True)
    (root / "var/lib").mkdir(parents=True)
    return root


def back_up(root: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    told = done("backup", folder, "--root", root)
    (file,) = folder.iterdir()
    assert f"{file}: good" in told
    return file


def test_another_computer_continues_where_the_first_one_was(
    computer: Path, bare: Path, tmp_path: Path
) -> None:
    # Its daemon goes on to write.
    with closing(Journal.open(computer / JOURNAL, "casino", "table-1")):
        file = back_up(computer, tmp_path / "backups")
    assert file.stat().st_mode & 0o777 == 0o600
    told = done("restore", file, "--root", bare)
    assert f"{bare / JOURNAL}: restored up to event " in told
    assert "systemctl restart mosquitto\n" in told
    assert "systemctl enable --now shoe-daemon@table-1.service\n" in told

    before, after = contents(computer / "etc"), contents(bare / "etc")
    assert after == before
    assert "mosquitto/shoe.passwd" in after
    for name in after:
        modes = {(root / "etc" / name).lstat().st_mode for root in (computer, bare)}
        assert len(modes) == 1, name
    operators = Operators("operators.toml", bare / "etc/shoe-daemon")
    operators.load()
    assert operators.authenticate("Maria", "471100", privileged=True)
    # init knows its table.
    assert "unchanged /etc/shoe-daemon/table-1.toml" in done(*INIT, "--root", bare)
    with closing(sqlite3.connect(bare / HISTORY)) as history:
        assert history.execute("SELECT shoe FROM round").fetchall() == [(7,)]
    assert sorted(path.name for path in (bare / "var/lib").iterdir()) == [
        "shoe-daemon",
        "shoe-display",
    ]


def test_a_restored_journal_has_a_gap_and_numbers_that_no_event_can_have(
    computer: Path, bare: Path, tmp_path: Path
) -> None:
    file = back_up(computer, tmp_path / "backups")
    told = done("restore", file, "--root", bare)
    assert "unchanged up to event" in done("journal", "verify", bare / JOURNAL)
    with JournalReader(computer / JOURNAL) as reader:
        last = reader.head().seq
    with JournalReader(bare / JOURNAL) as reader:
        *_, gap = reader.observations(0)
    assert isinstance(gap, Gap)
    assert gap.detail is GapDetail.RESTORED
    assert gap.next_seq is not None
    assert gap.next_seq >= last + 1000 + AGO_S * 10
    assert f"the next event is {gap.next_seq:,}" in told


def test_secrets_that_only_this_computer_decrypts_are_plain_afterwards(
    bare: Path, tmp_path: Path
) -> None:
    if not can_encrypt():
        pytest.skip("systemd-creds does not encrypt here")
    root = tmp_path / "computer"
    samples = {path.name: path.read_text(encoding="utf-8") for path in sample_files()}
    answers = Answers(site="casino", table="table-1", name="Table 1", reader="simulated")
    prepare(answers, root, Record(), samples, encrypt=True).write(Record())
    cred = root / "etc/shoe-daemon/journal.key.cred"
    command = ["systemd-creds", "decrypt", "--name=journal.key", str(cred), "-"]
    key = subprocess.run(command, check=True, capture_output=True).stdout

    assert "the table never started" in done("backup", tmp_path, "--root", root)
    (file,) = tmp_path.glob("shoe-backup-*")
    done("restore", file, "--root", bare)
    restored = bare / "etc/shoe-daemon/journal.key"
    assert restored.read_bytes() == key
    assert restored.stat().st_mode & 0o777 == 0o600
    assert list(bare.rglob("*.cred")) == []
    drop_in = "etc/systemd/system/shoe-daemon@table-1.service.d/50-init.conf"
    assert (
        "\nLoadCredential=journal.key:/etc/shoe-daemon/journal.key\n"
        in (bare / drop_in).read_text()
    )
    # A later init does not take it for a file that a person edited.
    assert f"changed   /{drop_in}" in done(*INIT, "--root", bare)


def refused(result: Result) -> str:
    assert result.exit_code in {1, 2}
    (line,) = result.output.splitlines()
    return line


def test_a_file_that_is_no_complete_backup_changes_nothing(
    computer: Path, bare: Path, tmp_path: Path
) -> None:
    whole = back_up(computer, tmp_path / "backups").read_bytes()
    before = contents(bare)
    damaged = bytearray(gzip.decompress(whole))
    damaged[len(damaged) // 2] ^= 1
    file = tmp_path / "file"
    for content in (
        *(whole[: len(whole) * part // 10] for part in range(10)),
        gzip.compress(damaged, 1),
        whole[:-400] + whole[-399:],
        (computer / JOURNAL).read_bytes(),
        b"text\n",
        gzip.compress(b"text\n"),
    ):
        file.write_bytes(content)
        line = refused(call("restore", file, "--root", bare))
        assert "is not a complete backup" in line or "is damaged" in line, line
        assert contents(bare) == before
    assert "No such file" in refused(call("restore", tmp_path / "none", "--root", bare))


def test_a_computer_with_a_table_keeps_it(computer: Path, bare: Path, tmp_path: Path) -> None:
    file = back_up(computer, tmp_path / "backups")
    for path in (JOURNAL, f"{JOURNAL}-wal", "etc/mosquitto/shoe.passwd"):
        (bare / path).parent.mkdir(parents=True, exist_ok=True)
        (bare / path).write_text("mine")
        before = contents(bare)
        line = refused(call("restore", file, "--root", bare))
        assert f"{bare / path}: exists; nothing was changed" in line
        assert contents(bare) == before
        (bare / path).unlink()


def test_a_full_disk_leaves_no_half_backup_and_no_half_table(
    computer: Path, bare: Path, tmp_path: Path
) -> None:
    file = back_up(computer, tmp_path / "backups")
    sizes = [0, 2_000, 10_000, (computer / JOURNAL).stat().st_size]
    folders = [path for path in bare.rglob("*") if path.is_dir()]
    empty = tmp_path / "empty"
    empty.mkdir()
    for size in sizes:
        with files_no_bigger_than(size):
            kept = call("backup", empty, "--root", computer)
            put = call("restore", file, "--root", bare)
        if size < sizes[-1]:
            assert "cannot be" in refused(kept)
            assert list(empty.iterdir()) == []
            assert "cannot be" in refused(put)
            assert list(bare.rglob("*")) == folders


def test_a_file_that_cannot_be_placed_takes_all_others_back(
    computer: Path, bare: Path, tmp_path: Path
) -> None:
    file = back_up(computer, tmp_path / "backups")
    # A folder cannot be made in the place of a file: the last step of all.
    (bare / "var/lib/shoe-display").write_text("a file")
    before = sorted(bare.rglob("*"))
    assert "cannot be restored: " in refused(call("restore", file, "--root", bare))
    assert sorted(bare.rglob("*")) == before


def test_old_backups_of_this_computer_are_removed_by_number(
    computer: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    new = back_up(computer, folder)
    name = new.name.rpartition("-")[0]
    old = [folder / f"{name}-2026010{day}T000000Z.tar.gz" for day in range(1, 5)]
    others = [folder / "shoe-backup-other-20260101T000000Z.tar.gz", folder / "notes.txt"]
    for path in (*old, *others):
        path.write_text("")
    new.unlink()
    done("backup", folder, "--root", computer, "--keep", "3")
    left = sorted(path for path in folder.iterdir() if path not in others)
    assert len(left) == 3
    assert left[:2] == old[2:]
    assert all(path.exists() for path in others)


def test_what_cannot_be_backed_up_is_one_line(computer: Path, bare: Path, tmp_path: Path) -> None:
    assert "expected the files of a table" in refused(call("backup", tmp_path, "--root", bare))
    (computer / JOURNAL).write_text("damaged")
    line = refused(call("backup", tmp_path, "--root", computer))
    assert f"{computer / JOURNAL}: " in line
    shutil.rmtree((computer / JOURNAL).parent)
    (computer / "etc/shoe-daemon/display.toml").write_text("[display")
    line = refused(call("backup", tmp_path, "--root", computer))
    assert "display.toml: " in line
    assert list(tmp_path.glob("*shoe-backup-*")) == []
