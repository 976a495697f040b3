"""A running table has its whole journal checked once a day; damage is an alarm."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shoe_daemon.config.table import load_config
from shoe_daemon.journal.prune import remove_oldest_shoe
from shoe_daemon.service.core import Core
from shoe_daemon.service.parts import journal_check
from shoe_daemon.service.parts.journal_check import CURSOR, JournalCheck
from shoe_daemon.table import Command
from tests.brokers import Mosquitto
from tests.service.conftest import Run
from tests.service.daemon_process import Shoe, configure
from tests.service.test_rollback import Floor
from tests.waiting import wait_for

AT_ONCE = "import shoe_daemon.service.parts.journal_check as check\ncheck._FIRST_S = 0\n"


def table(config: Path, shoes: int) -> Core:
    """Start a table on its journal, and shoes that are replaced at once."""
    core = Core(load_config(config))
    core.record_start()
    for _ in range(shoes):
        core.judge(Command(name="new_shoe", operator="ann", claimed=False))
    return core


def damage(journal: Path) -> None:
    """Change an event of the first shoe."""
    with closing(sqlite3.connect(journal)) as connection, connection:
        changed = connection.execute("UPDATE event SET body = body || ' ' WHERE shoe = 1")
        assert changed.rowcount > 0


def is_due(core: Core) -> bool:
    """Return whether a check starts as soon as the daemon has started."""
    check = JournalCheck(core)
    try:
        check.check()
        return check.is_running
    finally:
        check.stop()


def checked(core: Core) -> None:
    """Run one check to its end."""
    check = JournalCheck(core)
    check.check()
    assert check.is_running

    def done() -> bool:
        check.check()
        return not check.is_running

    wait_for(done, "the check")
    core.journal.flush()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(journal_check, "_FIRST_S", 0.0)
    return configure(tmp_path / "table")


def test_a_good_journal_is_checked_once_a_day_over_restarts(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = table(config, 5)
    checked(core)
    assert core.notice is None
    assert core.reader.cursor(CURSOR) == core.journal.head.seq
    core.close()
    core = table(config, 1)
    assert not is_due(core)
    # Its place in the journal does not keep old shoes from being removed.
    assert remove_oldest_shoe(core.journal.path, "2099-01-01T00:00:00.000Z", core.clock.at()) == 1
    monkeypatch.setattr(journal_check, "_DAY_S", 0.0)
    assert is_due(core)
    core.close()


def test_damage_is_an_alarm_at_each_start(config: Path) -> None:
    core = table(config, 5)
    core.close()
    damage(core.journal.path)
    for _ in range(2):
        core = table(config, 1)
        checked(core)
        assert core.notice is not None
        assert core.notice.code == "journal_damaged"
        assert "it is damaged at event " in core.notice.text
        core.close()


def test_a_check_that_was_killed_is_no_finding(config: Path) -> None:
    core = table(config, 1)
    check = JournalCheck(core)
    check.check()
    check.stop()
    assert not check.is_running
    assert core.notice is None
    assert core.reader.cursor(CURSOR) == 0
    core.close()


@pytest.mark.mosquitto
def test_the_daemon_goes_on_with_an_alarm(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe
) -> None:
    floor = Floor(tmp_path, run, shoe, mosquitto, mosquitto.port)
    table(floor.config, 5).close()
    damage(floor.journal)
    with floor.listener:
        floor.daemon = run(floor.config, patch=AT_ONCE)
        floor.daemon.wait_ready()
        floor.shoe.wait_heard()
        wait_for(
            lambda: any(each.json["alarm"] for each in floor.listener.of("/state")), "an alarm"
        )
        assert floor.alarm == "journal_damaged"
        floor.play("P1:9S", "B1:2H", "P2:KD", "B2:5C")
        floor.listener.wait("event/round_finished")
        floor.stop()
