"""Journals of all earlier versions can be opened, and are migrated atomically."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader, journal_database
from shoe_daemon.journal.verify import verify
from tests.journal.journal_entries import fill, made, open_journal

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("version-*.sql"))
NEXT = "ALTER TABLE counter ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;\n"


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table-7.journal"


def test_there_is_a_journal_of_every_version() -> None:
    assert [file.stem for file in FIXTURES] == [
        f"version-{number}" for number in range(1, len(journal_database.schemas()) + 1)
    ]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda file: file.stem)
def test_a_journal_of_an_older_version_goes_on(path: Path, fixture: Path) -> None:
    dump = fixture.read_text("utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump)
    noted = re.search(r"-- head (\w{64})", dump)
    assert noted is not None
    with open_journal(path) as journal:
        assert journal.head.hash.hex() == noted[1]
        fill(journal, 10)
    assert version_of(path) == len(journal_database.schemas())
    with JournalReader(path) as reader:
        assert verify(reader, find=bytes.fromhex(noted[1])).found_at == "observation 12"
        assert reader.cursor("mqtt") == 9


def test_the_schema_files_are_applied_in_their_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, 5)
    newer = [
        *journal_database.schemas(),
        NEXT,
        "CREATE TABLE next (id INTEGER PRIMARY KEY) STRICT;\n",
    ]
    monkeypatch.setattr(journal_database, "schemas", lambda: newer)
    with open_journal(path) as journal:
        assert journal.head.observation == 5
    assert version_of(path) == len(newer)
    with JournalReader(path) as reader:
        assert verify(reader).broken is None
    monkeypatch.undo()
    before = path.read_bytes()
    with pytest.raises(UserError, match=f"of version {len(newer)}, this program knows 1 to "):
        open_journal(path)
    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_the_version_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, 5)
    known = len(journal_database.schemas())
    wrong = [*journal_database.schemas(), NEXT + "CREATE TABLE event (id);\n"]
    monkeypatch.setattr(journal_database, "schemas", lambda: wrong)
    monkeypatch.setattr(journal_database, "check_schema", lambda *_: None)
    with pytest.raises(UserError, match="cannot be written: table event already exists"):
        open_journal(path)
    monkeypatch.undo()
    assert version_of(path) == known
    with open_journal(path) as journal:
        fill(journal, 1)
