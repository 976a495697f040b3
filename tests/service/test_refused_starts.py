"""
Invalid starts: one line, exit status 2, and unchanged files; and starts with a changed
configuration.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shoe_daemon.table.observations import Result
from tests.chaos import journal_checks
from tests.service.conftest import Run
from tests.service.daemon_process import SITE, TABLE, DaemonProcess, cli, configure
from tests.service.test_processing_core import Bench


@pytest.fixture(scope="module")
def has_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table that has run."""
    config = configure(tmp_path_factory.mktemp("has-run") / "table")
    with DaemonProcess(config, forked=True) as daemon:
        assert daemon.start().wait_ready().stop() == 0
    return config.parent


@pytest.fixture
def config(tmp_path: Path, has_run: Path) -> Path:
    """A table that has run, and has a journal."""
    shutil.copytree(has_run, tmp_path / "table", ignore=shutil.ignore_patterns("*.sock"))
    return tmp_path / "table" / "table.toml"


def refused(config: Path, words: str) -> None:
    """See that `run` refuses in one line, with status 2, and changes nothing."""
    folder = config.parent
    before = contents(folder)
    answer = cli("run", "--config", config)
    assert answer.exit_code == 2, answer
    (line,) = answer.stderr.splitlines()
    assert line.startswith("shoe-daemon: ")
    assert words in line
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("garbage", [b"not a journal", b"", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_journal(config: Path, garbage: bytes) -> None:
    config.with_name("journal.db").write_bytes(garbage)
    refused(config, str(config.with_name("journal.db")))


def test_a_damaged_journal(config: Path) -> None:
    journal = config.with_name("journal.db")
    data = bytearray(journal.read_bytes())
    data[4096:8192] = bytes(4096)
    journal.write_bytes(data)
    refused(config, str(journal))


def test_a_journal_of_a_newer_version(config: Path) -> None:
    journal = config.with_name("journal.db")
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA journal_mode = DELETE")
    refused(config, "version 99")


def test_the_journal_of_another_table(config: Path) -> None:
    config.write_text(config.read_text().replace(TABLE, "table-8"))
    refused(config, f"is the journal of {SITE}/{TABLE}, not of {SITE}/table-8")


def test_a_journal_that_another_daemon_writes(tmp_path: Path, run: Run) -> None:
    config = configure(tmp_path / "table")
    daemon = run(config).wait_ready()
    answer = cli("run", "--config", config)
    assert answer.exit_code == 2
    assert f"process {daemon.process.pid} is writing it" in answer.stderr
    assert daemon.stop() == 0


def test_a_broken_configuration(config: Path) -> None:
    config.write_text("site = 7")
    refused(config, f"{config}: site: 7; expected a text")


def test_another_configuration_holds_after_a_restart(tmp_path: Path) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "seven-feathers"'))
    bench.deal("P1:9S", "B1:2H")
    bench.close()
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"\nname = "High limit"'))
    # That round ends as it began; the next one is dealt under the new house.
    bench.deal("P2:KD", "B2:3C")
    bench.see(Result(outcome="player"))
    bench.deal("P1:9D", "B1:2C", "P2:KS", "B2:3H")
    bench.close()
    events = journal_checks.stored_events(bench.journal)
    cards = [each["data"]["card"] for each in events if each["type"] == "card_dealt"]
    assert cards == ["9S", "2H", "KD", "3C", "9D", None, "KS", None]
    journal_checks.check_replay(bench.journal, tmp_path)
