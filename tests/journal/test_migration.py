"""Journals of all earlier versions can be opened, and are migrated atomically."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code, place_code, result_code
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.journal import Journal, JournalReader, database
from shoe_daemon.journal.verify import verify
from shoe_daemon.table.observations import Command
from tests.chaos import journal_checks
from tests.journal.journal_entries import fill, made, open_journal
from tests.journal.test_refold import Desk

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("version-*.sql"))
IN_PLAY = Path(__file__).parents[1] / "golden" / "journals" / "0.1.0-in-play.sql"
NEXT = "ALTER TABLE counter ADD COLUMN errors INTEGER NOT NULL DEFAULT 0;\n"


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table-7.journal"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda file: file.stem)
def test_a_journal_of_an_older_version_goes_on(path: Path, fixture: Path) -> None:
    noted = restore(fixture, path)
    with open_journal(path) as journal:
        assert journal.head.hash == noted
        fill(journal, 10)
    assert version_of(path) == len(database.schemas())
    with JournalReader(path) as reader:
        assert verify(reader, find=noted).found_at == "observation 12"
        assert reader.cursor("mqtt") == 9


def restore(dump: Path, path: Path) -> bytes:
    """Restore a journal, and return its head."""
    text = dump.read_text("utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
    noted = re.search(r"[hH]ead (\w{64})", text)
    assert noted is not None
    return bytes.fromhex(noted[1])


def test_a_table_goes_on_in_play_and_its_rows_are_salted_from_then_on(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    noted = restore(IN_PLAY, folder / "journal.db")
    desk = Desk(folder)
    table = desk.core.table.public()
    (alert,) = table.alerts
    assert table.round is not None
    assert (alert.data.kind, alert.round, table.held) == ("result_mismatch", 2, (2,))
    assert (table.round.number, [each.card for each in table.round.cards]) == (3, ["2S", None])
    desk.core.judge(Command(name="acknowledge", operator="maria", irregularity=alert.data.id))
    assert not desk.core.table.public().alerts
    drawn = ((Slot.P2, "KS"), (Slot.B2, "AC"), (Slot.P3, "5H"))
    for number, (slot, card) in enumerate(drawn, start=1):
        desk.send(Report(number, "D", bytes([place_code(slot), face_code(Card(card))])).to_bytes())
    tie = result_code(Outcome.TIE, player_pair=False, banker_pair=False)
    desk.send(Report(4, "G", bytes([tie])).to_bytes())
    last = desk.core.table.public().last_result
    assert last is not None
    assert (last.round, last.data.outcome) == (3, "tie")
    assert last.data.partial, "the start is a gap"
    desk.core.close()
    journal_checks.check_chain(desk.path)
    with JournalReader(desk.path) as reader:
        assert verify(reader, find=noted).found_at == "event 43"
        for kind in ("capture", "observation", "event", "checkpoint"):
            rows = reader.connection.execute(f"SELECT salt FROM {kind} ORDER BY rowid").fetchall()  # noqa: S608
            salts = [salt for (salt,) in rows if salt is not None]
            assert rows == [(None,)] * (len(rows) - len(salts)) + [(each,) for each in salts]
            assert len(set(salts)) == len(salts)
            assert {*map(len, salts)} <= {16}


def test_a_head_without_salt_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    restore(FIXTURES[1], path)
    found = []
    for observations in (1, 1, 0):
        with open_journal(path) as journal:
            found.append((journal.public_hash, journal.head.hash.hex()))
            fill(journal, observations)
            found.append((journal.public_hash, journal.head.hash.hex()))
    assert [public for public, _ in found] == [None, *(head for _, head in found[1:])]


def test_the_program_before_refuses_a_journal_that_this_one_has_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore(IN_PLAY, path)
    Journal.open(path, "hall", "table-7").close()
    before, known = path.read_bytes(), database.schemas()
    monkeypatch.setattr(database, "schemas", lambda: known[:2])
    with pytest.raises(UserError) as refused:
        Journal.open(path, "hall", "table-7")
    assert str(refused.value) == (
        f"{path}: is a journal of version 3, this program knows 1 to 2: use the program that wrote"
        " it, or a newer one; nothing was changed"
    )
    assert path.read_bytes() == before


def test_the_schema_files_are_applied_in_their_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, 5)
    newer = [
        *database.schemas(),
        NEXT,
        "CREATE TABLE next (id INTEGER PRIMARY KEY) STRICT;\n",
    ]
    monkeypatch.setattr(database, "schemas", lambda: newer)
    with open_journal(path) as journal:
        assert journal.head.observation == 5
    assert version_of(path) == len(newer)
    with JournalReader(path) as reader:
        assert verify(reader).broken is None


def test_a_step_that_fails_leaves_the_version_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(path, 5)
    known = len(database.schemas())
    wrong = [*database.schemas(), NEXT + "CREATE TABLE event (id);\n"]
    monkeypatch.setattr(database, "schemas", lambda: wrong)
    monkeypatch.setattr(database, "check_schema", lambda *_: None)
    with pytest.raises(UserError, match="cannot be written: table event already exists"):
        open_journal(path)
    monkeypatch.undo()
    assert version_of(path) == known
    with open_journal(path) as journal:
        fill(journal, 1)
