"""`verify` finds every change of a journal."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import astuple

from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.prune import remove_old_shoes
from shoe_daemon.journal.verify import ChainVerdict, verify
from tests.journal.journal_entries import entry, execute, fill, made, open_journal
from tests.journal.test_migration import FIXTURES, restore
from tests.volume import sample, volume

CHAINED = {
    "meta": "id",
    "capture": "id",
    "observation": "id",
    "event": "seq",
    "checkpoint": "observation",
}
UNFINISHED = 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "table-7.journal", UNFINISHED)


@pytest.fixture(scope="module")
def shoes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A longer journal."""
    return made(tmp_path_factory.mktemp("journal") / "table-7.journal")


@pytest.fixture
def tamper(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        yield connection


def verdict(path: Path, find: bytes | None = None) -> ChainVerdict:
    with JournalReader(path) as reader:
        return verify(reader, find=find)


def test_a_journal_as_it_was_written_is_good(path: Path) -> None:
    found = verdict(path)
    assert found.broken is None
    assert (found.observations, found.captures, found.checkpoints) == (8, 7, 1)
    with open_journal(path) as journal:
        assert (found.events, found.hash) == (journal.head.seq, journal.head.hash)


def others(value: object) -> Iterator[object]:
    """Yield the value with a byte changed, shorter and longer, or another number."""
    if isinstance(value, int):
        yield from (value + 1, value - 1)
    elif value is None:
        yield from (1, "1")
    elif isinstance(value, (str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        for place, byte in list(enumerate(raw))[:: volume(12, 2)]:
            # Letters become other letters, so that JSON stays valid.
            yield _like(value, raw[:place] + bytes([byte ^ 1]) + raw[place + 1 :])
        yield _like(value, raw + b"0")
        yield _like(value, raw[:-1])


def _like(value: str | bytes, raw: bytes) -> str | bytes:
    return raw.decode() if isinstance(value, str) else raw


@pytest.mark.parametrize("table", CHAINED)
def test_a_change_of_any_column_is_found(
    path: Path, tamper: sqlite3.Connection, table: str
) -> None:
    key = CHAINED[table]
    cursor = tamper.execute(f"SELECT * FROM {table}")  # noqa: S608 - one of ours
    columns = [description[0] for description in cursor.description]
    rows: list[tuple[Any, ...]] = sample(cursor.fetchall(), 5)
    assert rows
    tried = 0
    for row in rows:
        where = row[columns.index(key)]
        for column, value in zip(columns, row, strict=True):
            for other in others(value):
                tried += try_value(path, tamper, table, (key, where), (column, value, other))
    assert tried > len(columns)
    assert verdict(path).broken is None


def try_value(
    path: Path,
    tamper: sqlite3.Connection,
    table: str,
    row: tuple[str, Any],
    change: tuple[str, Any, Any],
) -> int:
    """
    Change a value, check that it is found, and restore it; return 0 if SQLite rejects the change.
    """
    (key, where), (column, value, other) = row, change
    update = f'UPDATE {table} SET "{column}" = ? WHERE {key} = ?'  # noqa: S608 - one of ours
    now_at = other if column == key else where
    try:
        tamper.execute(update, (other, where))
    except sqlite3.IntegrityError:
        return 0
    try:
        assert is_found(path), (table, where, column, other)
    finally:
        tamper.execute(update, (value, now_at))
    return 1


def is_found(path: Path) -> bool:
    try:
        return verdict(path).broken is not None
    except UserError:
        return True


def test_rows_that_changed_places_are_found(path: Path, tamper: sqlite3.Connection) -> None:
    tamper.executescript(
        """
        UPDATE event SET seq = -1 WHERE seq = 2;
        UPDATE event SET seq = 2 WHERE seq = 3;
        UPDATE event SET seq = 3 WHERE seq = -1;
        """
    )
    broken = verdict(path).broken
    assert broken is not None
    assert broken.row == "event 2"


def test_an_event_of_another_observation_is_found(path: Path, tamper: sqlite3.Connection) -> None:
    tamper.execute("UPDATE event SET observation = 3 WHERE seq = 3")
    broken = verdict(path).broken
    assert broken is not None
    # Its place in the chain was before the bytes that became observation 3.
    assert (broken.row, broken.what[:12]) == ("capture 3", "its hash is ")


def test_what_is_added_without_the_chain_is_found(path: Path, tamper: sqlite3.Connection) -> None:
    tamper.execute(
        "INSERT INTO event SELECT seq + 1, observation, at, shoe, round, type, body, hash,"
        " salt FROM event ORDER BY seq DESC LIMIT 1"
    )
    assert is_found(path)


def test_what_belongs_to_no_observation_is_found(path: Path, tamper: sqlite3.Connection) -> None:
    tamper.execute("DELETE FROM observation WHERE id = ?", (UNFINISHED - 1,))
    tamper.execute("DELETE FROM observation WHERE id = ?", (UNFINISHED,))
    broken = verdict(path).broken
    assert broken is not None
    assert broken.what == "its `observation` is 7, expected 6"


def stated(event: dict[str, Any]) -> tuple[str, int | None, int | None, str]:
    return f"event {event['seq']}", event["shoe"], event["round"], event["at"]


@pytest.mark.parametrize("seed", sample(range(6), 3))
def test_all_breaks_are_listed_with_their_shoe_round_and_time(
    shoes: Path, tmp_path: Path, seed: int
) -> None:
    path = Path(shutil.copy(shoes, tmp_path))
    chosen = Random(seed)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        written = [json.loads(row[0]) for row in connection.execute("SELECT body FROM event")]
        victims = sorted(chosen.sample(written, 5), key=lambda event: int(event["seq"]))
        for event in victims:
            # A byte of the site's name: the shoe, round and time are legible.
            change = "replace(body, 'casino-north', 'casino-nosth')"
            where = f"WHERE seq = {event['seq']}"
            connection.execute(f"UPDATE event SET body = {change} {where}")  # noqa: S608 - ours
    found = verdict(path)
    listed = [(each.row, each.shoe, each.round, each.at) for each in found.breaks]
    assert listed == [stated(event) for event in victims]
    assert found.break_count == len(victims)
    assert found.events == found.seq == victims[0]["seq"] - 1


def test_a_changed_observation_is_placed_in_the_round_that_it_caused(tmp_path: Path) -> None:
    path = made(tmp_path / "table-7.journal")
    execute(
        path,
        "UPDATE observation SET body = body || ' ' WHERE id IN (26, 28)",
        "UPDATE capture SET bytes = x'00' WHERE after = 29",
    )
    assert [(each.row, each.shoe, each.round) for each in verdict(path).breaks] == [
        ("observation 26", 2, 26),
        ("observation 28", 2, 27),  # has no event: after round 27
        ("capture 26", 2, 30),
    ]


@pytest.mark.parametrize("tables", [list(CHAINED)[1:], ["observation"], ["capture"]], ids=str)
def test_rows_missing_in_the_middle_are_one_break(
    shoes: Path, tmp_path: Path, tables: list[str]
) -> None:
    bounds = {"capture": "after + 1", "observation": "id"}
    for first in sample(range(2, 40, 3), 4):
        path = Path(shutil.copy(shoes, tmp_path))
        for table in tables:
            number = bounds.get(table, "observation")
            where = f"WHERE {number} BETWEEN {first} AND {first + 2}"
            execute(path, f"DELETE FROM {table} {where}")  # noqa: S608 - ours
        # Single rows that are missing between others leave a place each.
        assert 1 <= verdict(path).break_count <= (3 if len(tables) == 1 else 1)


def remove_last(connection: sqlite3.Connection) -> bool:
    """Remove the last row of a journal in the order of writing."""
    last = connection.execute(
        """
        SELECT max(4 * id), 'observation', 'id', max(id) FROM observation
        UNION ALL SELECT max(4 * observation) + 1, 'event', 'seq', max(seq) FROM event
        UNION ALL SELECT max(4 * observation) + 2, 'checkpoint', 'observation', max(observation)
            FROM checkpoint
        UNION ALL SELECT max(4 * after) + 3, 'capture', 'id', max(id) FROM capture
        ORDER BY 1 DESC LIMIT 1
        """
    ).fetchone()
    place, table, key, number = last
    if place is not None:
        connection.execute(f"DELETE FROM {table} WHERE {key} = {number}")  # noqa: S608 - ours
    return place is not None


def salted(path: Path) -> int:
    made(path, UNFINISHED)
    return 0


def unsalted(path: Path) -> int:
    restore(FIXTURES[0], path)
    return 0


def pruned(path: Path) -> int:
    made(path, 45)
    remove_old_shoes(path, "2028-01-01T00:00:00.000Z", "2028-01-02T00:00:00.000Z", compact=False)
    with JournalReader(path) as reader:
        anchor = verify(reader).anchor
    assert anchor is not None
    return anchor.seq


@pytest.mark.parametrize("make", [salted, unsalted, pruned])
def test_a_tail_cut_at_any_row_is_unchanged_but_does_not_have_the_noted_head(
    tmp_path: Path, make: Callable[[Path], int]
) -> None:
    path = tmp_path / "cut.db"
    begins = make(path)
    noted = verdict(path).hash
    lengths = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        while remove_last(connection):
            (seq,) = connection.execute("SELECT max(seq) FROM event").fetchone()
            found = verdict(path, find=noted)
            assert (found.broken, found.found_at, found.seq) == (None, None, seq or begins)
            lengths.append(found.captures + found.observations + found.events + found.checkpoints)
    # Of what was removed, the session in effect is kept.
    assert lengths[: UNFINISHED * 2] == list(range(lengths[0], 0, -1))[: UNFINISHED * 2]


def test_a_head_noted_elsewhere_is_found_and_missed_where_the_end_was_cut_off(
    path: Path, tamper: sqlite3.Connection
) -> None:
    noted = verdict(path).hash
    with open_journal(path) as journal:
        journal.append([entry(journal.head)])
    assert verdict(path, find=noted).found_at == f"observation {UNFINISHED}"
    for table, key in (("event", "observation"), ("observation", "id")):
        tamper.execute(f"DELETE FROM {table} WHERE {key} >= ?", (UNFINISHED,))  # noqa: S608
    tamper.execute("DELETE FROM capture WHERE after >= ?", (UNFINISHED - 1,))
    found = verdict(path, find=noted)
    assert (found.broken, found.found_at) == (None, None)


def test_the_start_of_the_chain_can_be_found(path: Path) -> None:
    with JournalReader(path) as reader:
        assert verify(reader, find=reader.identity.hash()).found_at == "start"


def test_a_live_journal_is_verified_as_it_was_at_one_moment(tmp_path: Path) -> None:
    path = tmp_path / "live"
    with open_journal(path) as journal:
        fill(journal, 20)
        with journal.reader() as reader:
            assert verify(reader).hash == journal.head.hash
            fill(journal, 20)
            assert verify(reader).hash == journal.head.hash


def documented(previous: bytes, salt: bytes | None, *parts: str | bytes | int | None) -> bytes:
    """Return a row's hash by the formula of docs/journal.md."""
    digest = hashlib.sha256(previous)
    for part in parts if salt is None else (b"salted", salt, *parts):
        if part is None:
            digest.update(b"\xff" * 8)
            continue
        raw = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.digest()


def rows_in_order(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return the hash, the salt and the hashed parts of each row, in the order of writing."""
    return [
        row[2:]
        for row in connection.execute(
            """
            SELECT after + 0.5 AS place, 0 AS kind, hash, salt,
                   'capture', at, source, after, bytes FROM capture
            UNION ALL SELECT id, 1, hash, salt, 'observation', body, capture, '', ''
                   FROM observation
            UNION ALL SELECT observation, 1 + seq, hash, salt, 'event', body, '', '', ''
                   FROM event
            UNION ALL SELECT observation, 1e9, hash, salt, 'checkpoint', seq, shoe, body, ''
                   FROM checkpoint
            ORDER BY place, kind
            """
        )
    ]


def test_the_documented_formula_gives_every_hash(path: Path) -> None:
    with JournalReader(path) as reader:
        digest = documented(b"", None, "journal", *astuple(reader.identity))
        rows = rows_in_order(reader.connection)
        assert len({salt for _, salt, *_ in rows}) == len(rows)
        for stored, salt, *parts in rows:
            assert len(salt) == 16
            digest = documented(digest, salt, *(part for part in parts if part != ""))
            assert digest == stored, parts[:2]


def test_a_chain_does_not_go_back_to_rows_without_salt(
    path: Path, tamper: sqlite3.Connection
) -> None:
    before, last = rows_in_order(tamper)[-2:]
    assert last[2] == "observation"
    unsalted = documented(before[0], None, *(part for part in last[2:] if part != ""))
    tamper.execute(
        "UPDATE observation SET salt = NULL, hash = ? WHERE id = ?", (unsalted, UNFINISHED)
    )
    broken = verdict(path).broken
    assert broken is not None
    assert broken.row == f"observation {UNFINISHED}"
    assert broken.what == "it has no salt, but the row before it has one"
