"""Each event is in the database once, and only those who may read it can."""

from __future__ import annotations

import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from threading import Event

import psycopg
import pytest

from shoe_daemon.config.table import load_config, load_forwards
from shoe_daemon.doctor.database import check_forward_database
from shoe_daemon.forward.database import schema
from shoe_daemon.forward.service import Forwarder
from shoe_daemon.game import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import DealerChanged, IrregularityClosed, RoundVoided, StaffCardDealt
from shoe_daemon.table.events import (
    HandResult,
    Irregularity,
    ResultRevised,
    RoundFinished,
    ShoeStarted,
)
from tests.fakes.postgres import PASSWORD, Server
from tests.forward.tables import Floor, append, deal, deal_quickly, lines_of
from tests.waiting import wait_for

_MANY = 120_000


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait(20) == 0


def test_the_database_has_each_event_byte_for_byte(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 200)
        assert floor.forward().exit_code == 0
        deal(journal, 30)
        result = floor.forward()
    assert result.output == "37 events copied\n"
    assert floor.bodies() == floor.journal_bodies()
    staff = floor.rows("SELECT DISTINCT type FROM shoe.staff_event")
    assert staff == [("staff_card_dealt",)]
    assert floor.rows("SELECT 1 FROM shoe.event WHERE type LIKE 'staff%%'") == []


def test_all_tables_of_a_folder_are_copied(floor: Floor) -> None:
    for table in ("table-1", "table-2"):
        floor.config(table)
        with floor.open(table) as journal:
            deal(journal, 10)
    (floor.folder / "display.toml").write_text("[display]\n")
    assert floor.forward(floor.folder).output == "26 events copied\n"
    for table in ("table-1", "table-2"):
        assert floor.bodies(table) == floor.journal_bodies(table)


def test_a_hidden_face_is_for_staff_only(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 10)
    assert floor.forward().exit_code == 0
    face = "SELECT data ->> 'card' FROM shoe.staff_event"
    assert floor.rows(face, user="staff") == [("10H",), ("10H",)]
    parts = floor.rows("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent::regclass"
                       "::text LIKE 'shoe.%%event' ORDER BY 1")  # fmt: skip
    hidden = ["shoe.staff_event", *(name for (name,) in parts)]
    assert len(hidden) == 3
    for user in ("office", "floor"):
        for table in hidden:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                floor.rows(f"TABLE {table}", user=user)
    for view in ("event", "rounds", "irregularities", "decisions", "shifts", "tables"):
        text = str(floor.rows(f"TABLE shoe.{view}", user="office"))
        assert "10H" not in text
    for statement in ("DELETE FROM shoe.event", "SELECT shoe.drop_months(0)"):
        for user in ("office", "floor", "staff"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                floor.rows(statement, user=user)


def test_a_killed_forwarder_loses_and_doubles_nothing(floor: Floor) -> None:
    with floor.open() as journal:
        deal_quickly(journal, _MANY)
    for _ in range(5):
        before = floor.copied()
        process = floor.start()
        wait_for(lambda seq=before: floor.copied() > min(seq, _MANY - 1))  # type: ignore[misc]
        process.kill()
        process.wait()
    assert floor.forward().exit_code == 0
    assert floor.bodies() == floor.journal_bodies()


def test_a_stop_copies_the_last_events(floor: Floor) -> None:
    class Stop(Event):
        def wait(self, timeout: float | None = None) -> bool:
            deal(journal, 5)
            self.set()
            return super().wait(timeout)

    with floor.open() as journal:
        deal(journal, 5)
        Forwarder(load_forwards([floor.config()])).run(Stop())
    assert floor.bodies() == floor.journal_bodies()


def test_a_killed_server_loses_and_doubles_nothing(floor: Floor) -> None:
    with floor.open() as journal:
        deal_quickly(journal, _MANY)
    process = floor.start()
    for _ in range(3):
        before = floor.copied()
        wait_for(lambda seq=before: floor.copied() > min(seq, _MANY - 1))  # type: ignore[misc]
        floor.server.kill()
        floor.server.start()
    wait_for(lambda: floor.copied() == _MANY)
    end(process)
    assert floor.bodies() == floor.journal_bodies()


def test_a_promoted_standby_gets_what_it_lacks(tmp_path: Path, server: Server) -> None:
    with tempfile.TemporaryDirectory(prefix="shoe-primary-") as first:
        primary = Server(Path(first))
        primary.create()
        primary.start()
        primary.make_database(schema())
        floor = Floor(tmp_path, primary)
        with (
            floor.open() as journal,
            tempfile.TemporaryDirectory(prefix="shoe-standby-") as second,
        ):
            deal_quickly(journal, 12_000)
            assert floor.forward().exit_code == 0
            standby = primary.copy_to(Path(second))
            deal_quickly(journal, 12_000)
            both = f"host={first},{second} port=5432,5433 dbname=shoe user=floor"
            config = floor.config(database=both)
            assert floor.forward(config).output == "12000 events copied\n".replace("12", "12,", 1)
            primary.kill()
            standby.start()
            with standby.connect() as connection:
                connection.execute("SELECT pg_promote()")
            try:
                assert floor.forward(config).output == "12,000 events copied\n"
                floor.server = standby
                assert floor.bodies() == floor.journal_bodies()
            finally:
                standby.stop()


def test_a_new_journal_of_a_table_is_kept_apart(floor: Floor) -> None:
    bodies = []
    for cards in (20, 30):
        for path in floor.folder.glob("table-7.db*"):
            path.unlink()
        with floor.open() as journal:
            deal(journal, cards)
            assert floor.forward().exit_code == 0
        bodies += floor.journal_bodies()
    assert floor.bodies() == bodies
    assert len(floor.rows("SELECT * FROM shoe.journal")) == 2
    assert len(floor.rows("SELECT * FROM shoe.tables")) == 1


def test_a_running_forwarder_sees_that_the_journal_was_replaced(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 10)
    forwarder = Forwarder(load_forwards([floor.config()]))
    try:
        assert forwarder.run_once() == 13
        for path in floor.folder.glob("table-7.db*"):
            path.unlink()
        with floor.open() as journal:
            deal(journal, 20)
        assert forwarder.run_once() == 25
    finally:
        forwarder.close()


def test_an_older_copy_of_the_journal_is_refused(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 10)
    old = floor.journal().read_bytes()
    with floor.open() as journal:
        deal(journal, 10)
    assert floor.forward().exit_code == 0
    for path in floor.folder.glob("table-7.db*"):
        path.unlink()
    floor.journal().write_bytes(old)
    (line,) = lines_of(floor.forward())
    assert "an older copy was put back without `journal restore`" in line


def test_pruning_keeps_what_is_not_copied(floor: Floor) -> None:
    with floor.open() as journal:
        append(journal, ShoeStarted(8, None, "management"), round_number=None)
        deal(journal, 10)
    assert floor.forward(floor.config(database="host=/nowhere dbname=shoe")).exit_code == 1
    assert floor.cursor() is None  # the database was never reached
    assert floor.forward().exit_code == 0
    assert floor.cursor() == 14
    assert floor.forward("--forget", floor.config()).exit_code == 0
    assert floor.cursor() is None


def test_a_daemon_that_writes_does_not_hold_the_copy_up(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 10)
        with closing(sqlite3.connect(floor.journal(), isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            result = floor.forward()
            writer.execute("ROLLBACK")
        assert result.output == "13 events copied\n"
        assert floor.cursor() is None
    assert floor.bodies() == floor.journal_bodies()


def test_a_server_that_is_away_is_one_line_of_the_log(floor: Floor, tmp_path: Path) -> None:
    with floor.open() as journal:
        deal(journal, 10)
        log = tmp_path / "log"
        process = floor.start(log)
        wait_for(lambda: floor.copied() == 13)
        floor.server.kill()
        deal(journal, 10)
        wait_for(lambda: b"database_failed" in log.read_bytes())
        time.sleep(3)  # some attempts fail
        floor.server.start()
        wait_for(lambda: floor.copied() == 26)
        end(process)
    text = log.read_text()
    assert text.count("database_failed") == 1
    assert text.count("database_connected") == 2
    assert floor.bodies() == floor.journal_bodies()


def test_what_is_wrong_is_one_line(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 1)
    dsn, database = floor.dsn, floor.database
    expected = {
        dsn.replace(database, "missing"): 'database "missing" does not exist',
        dsn.replace("user=floor", "user=nobody"): "authentication failed",
        dsn.replace(
            database, "postgres"
        ): "no schema of shoe-daemon: shoe-daemon forward --schema",
        dsn.replace("floor", "office"): "GRANT shoe_forward",
        "host=/nowhere": "No such file or directory",
        "host": 'missing "="',
        f"{dsn} password=x": "expected it in forward.password_file",
    }
    for given, text in expected.items():
        result = floor.forward(floor.config(database=given))
        (line,) = lines_of(result)
        assert (text in line, result.exit_code > 0) == (True, True), line
        assert PASSWORD not in line
    (floor.folder / "forward.password").write_text("wrong")
    (line,) = lines_of(floor.forward())
    assert 'password authentication failed for user "floor"' in line


def test_another_version_of_the_schema_is_refused(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 1)
    with floor.server.connect(database=floor.database) as connection:
        connection.execute("CREATE OR REPLACE VIEW shoe.version AS SELECT 2 AS version")
    (line,) = lines_of(floor.forward())
    assert "the database has schema version 2; expected 1" in line


def test_old_months_are_dropped(floor: Floor) -> None:
    with floor.open() as journal:
        deal(journal, 10)
    assert floor.forward().exit_code == 0
    assert floor.rows("SELECT shoe.drop_months(36500)") == []
    days = "(extract(epoch FROM now() - '2027-03-01Z'::timestamptz) / 86400)::int"
    dropped = floor.rows(f"SELECT shoe.drop_months({days} - 60)")
    assert dropped == [("event_2027_01",), ("staff_event_2027_01",)]
    assert floor.bodies() == []
    with floor.open() as journal:
        deal(journal, 10)
    assert floor.forward().output == "13 events copied\n"


def _result(outcome: str) -> RoundFinished:
    hand = HandResult((None, None), natural=False, pair=False, total=5)
    return RoundFinished(
        banker=hand,
        kind="decided",  # type: ignore[arg-type]
        outcome=outcome,  # type: ignore[arg-type]
        partial=False,
        player=hand,
        wagers=(),
    )


def test_the_views_have_the_last_result_and_how_irregularities_were_closed(floor: Floor) -> None:
    with floor.open() as journal:
        append(journal, DealerChanged(None, "ana", None, None), round_number=None)
        append(journal, _result("banker"))
        append(journal, _result("tie"), round_number=2)
        append(journal, RoundVoided(None, _result("tie"), "ben", "shown"), round_number=2)
        append(journal, _result("player"), round_number=3)
        append(journal, ResultRevised(_result("tie"), _result("player"), "ben", "read"),
               round_number=3)  # fmt: skip
        append(journal, DealerChanged("ana", None, None, None), round_number=None)
        append(journal, StaffCardDealt(Card("10H"), Slot.P1))
        append(journal, Irregularity(card=None, detail="d", id=9, kind="excess_card",
                                     proposals=(), severity=3, slot=None))  # fmt: skip
        append(journal, IrregularityClosed("continue", 9, "ben", "seen"))
    assert floor.forward().exit_code == 0
    rounds = "SELECT round, outcome, void, changed, operator FROM shoe.rounds ORDER BY round"
    assert floor.rows(rounds, user="office") == [
        (1, "banker", False, False, None),
        (2, None, True, True, "ben"),
        (3, "tie", False, True, "ben"),
    ]
    irregularities = "SELECT id, kind, severity, action, operator FROM shoe.irregularities"
    assert floor.rows(irregularities, user="office") == [(9, "excess_card", 3, "continue", "ben")]
    decisions = floor.rows("SELECT type FROM shoe.decisions ORDER BY seq", user="office")
    assert decisions == [("round_voided",), ("result_revised",), ("irregularity_closed",)]
    shifts = floor.rows("SELECT dealer, ended > began FROM shoe.shifts", user="office")
    assert shifts == [("ana", True)]


def test_the_metrics_have_the_lag(floor: Floor) -> None:
    from shoe_daemon.forward.metrics import metrics_text

    with floor.open() as journal:
        deal(journal, 10)
        forwarder = Forwarder(load_forwards([floor.config()]))
        forwarder.run_once()
        deal(journal, 10)
        text = metrics_text(forwarder.figures, connected=forwarder.connected).decode()
        forwarder.close()
    assert "shoe_database_connected 1.0" in text
    assert 'shoe_database_lag_events{site="casino",table="table-7"} 13.0' in text


def test_doctor_compares_the_database_with_the_journal(floor: Floor) -> None:
    config = floor.config()
    with floor.open() as journal:
        deal(journal, 10)
    setup = load_config(config, inspecting=True)
    (finding,) = check_forward_database(setup)
    assert (finding.verdict, "nothing of this journal" in finding.text) == ("bad", True)
    assert floor.forward().exit_code == 0
    (finding,) = check_forward_database(setup)
    assert (finding.verdict, finding.text) == ("good", "the database has every event")
    with floor.open() as journal:
        deal(journal, 10)
    (finding,) = check_forward_database(setup)
    assert "the database lacks 13 events" in finding.text
    floor.config(database="host=/nowhere")
    (finding,) = check_forward_database(load_config(config, inspecting=True))
    assert (finding.verdict, "No such file" in finding.text) == ("bad", True)
