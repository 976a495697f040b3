"""The log in PostgreSQL is that of a file, whoever derives it and whatever is killed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shoe_daemon.display.log import postgres
from shoe_daemon.display.log.recorder import HistoryRecorder
from shoe_daemon.display.log.sql import UnreadableError
from shoe_daemon.display.log.store import HistoryStore
from shoe_daemon.postgres import DatabaseError
from tests.display.log_database import content, copy_events, derive_all
from tests.display.test_history_store import played, received
from tests.fakes.postgres import PASSWORD, Server, temporary_server
from tests.waiting import wait_for


@pytest.mark.parametrize("seed", [1, 4])
def test_rounds_and_entries_are_those_of_a_file(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(postgres, "PAGE", 100)
    events, _, _ = played(seed)
    with HistoryStore(tmp_path / "h.db") as store:
        store.add(received(events), [], [(1, events[-1].seq)])
    log = copy_events(tmp_path / "h.db", server, f"derived_{seed}")
    derive_all(log)
    with HistoryRecorder(tmp_path / "h.db", prefix="shoe/v1", days=1).open() as file:
        expected = content(file)
    assert expected["entry"]
    assert expected["round_card"]
    with log.open() as database:
        assert database.behind() == 0
        assert content(database) == expected
        # Derived once more, over what is there.
        database.execute("DELETE FROM progress")
        derive_all(log)
        assert content(database) == expected


def test_one_display_derives_and_another_takes_over(tmp_path: Path) -> None:
    events, _, _ = played(2)
    with HistoryStore(tmp_path / "h.db") as store:
        store.add(received(events), [], [(1, 1)])
    with temporary_server() as server:
        first = copy_events(tmp_path / "h.db", server, "displays")
        second = postgres.PostgresLog(server.dsn("board", "displays"), lambda: PASSWORD)

        def forward(seq: int) -> None:
            with server.connect(database="displays") as owner:
                owner.execute("UPDATE shoe.journal SET seq = %s", (seq,))

        def is_derived() -> bool:
            with second.open() as database:
                return database.behind() == 0

        first.start()
        wait_for(is_derived, "the first display")
        second.start()
        server.kill()
        with (
            pytest.raises(
                UnreadableError, match=r"refused|No such file|not running|closed the connection"
            ),
            second.open(),
        ):
            pass
        wait_for(lambda: first.status.failure and second.status.failure, "two failures")
        server.start()
        wait_for(lambda: not (first.status.failure or second.status.failure), "two connections")
        first.stop()
        forward(events[-1].seq)
        began = time.monotonic()
        wait_for(is_derived, "the second display")
        assert time.monotonic() - began < 30
        second.stop()


def test_old_months_leave_the_log_too(tmp_path: Path, server: Server) -> None:
    events, _, _ = played(3)
    with HistoryStore(tmp_path / "h.db") as store:
        store.add(received(events), [], [(1, events[-1].seq)])
    log = copy_events(tmp_path / "h.db", server, "months")
    derive_all(log)
    with server.connect(database="months") as owner:
        assert owner.execute("SELECT shoe.drop_months(-40000)").fetchall()
    with log.open() as database:
        found = content(database)
        assert [name for name in ("entry", "round", "round_card") if found[name]] == []


def test_a_display_may_only_read_events(server: Server, tmp_path: Path) -> None:
    HistoryStore(tmp_path / "h.db").close()
    log = copy_events(tmp_path / "h.db", server, "rights")
    with log.open() as database:
        for statement in (
            "SELECT * FROM shoe.staff_event",
            "DELETE FROM shoe.event",
            "UPDATE shoe.journal SET seq = 0",
        ):
            with pytest.raises(DatabaseError, match="permission denied"):
                database.execute(statement)
