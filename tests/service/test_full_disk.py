"""
A full disk pauses the table with an alarm in `state` and loses nothing: the reader is
blocked until there is room again.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.simulators.angel_eye import Mode, Settings, scenario
from shoe_daemon.journal import JournalReader
from tests.brokers import Listener, Mosquitto
from tests.chaos import journal_checks
from tests.service.conftest import Run
from tests.service.daemon_process import QUICK, DaemonProcess, configure, simulated_shoe
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.mosquitto

ALARM = "Nothing can be recorded, so no round goes on: "
FULL = "the disk is full [SQLITE_FULL]"
ROUNDS = 250
SHOE = ("--mode", "open", "--seed", 5, "--speed", 0, "--rounds")
"""As fast as the daemon reads: a daemon that does not read holds this shoe back."""

ENDLESS = 100 * ROUNDS
"""Some 150 rounds are lost with each daemon that ends while it holds the shoe back: they
are in the terminal, unread."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of sixteen megabytes, more than the rounds here need."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk, and not in every container")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def table_on(disk: Path, folder: Path, port: int) -> Path:
    """Configure a table whose journal is on that disk."""
    text = f'[journal]\npath = "{disk}/journal.db"'
    return configure(folder, text, port=port, line=folder.parent / "shoe")


def alarm(listener: Listener) -> str:
    states = listener.of("/state")
    return str(states[-1].json["alarm"] or "") if states else ""


def dealt(daemon: DaemonProcess) -> int:
    """Count the rounds that the shoe says it has dealt."""
    return daemon.config.parent.with_name("shoe.sim").read_text().count(" round ")


def stop(daemon: DaemonProcess, listener: Listener) -> None:
    """Stop the daemon, and wait until all that it said has come."""
    assert daemon.stop() == 0
    head = len(journal_checks.stored_events(daemon.journal))
    # What was heard last may still be the farewell of the start before.
    wait_for(lambda: listener.of("/state")[-1].json["seq"] == head, "the last state")
    wait_for(lambda: listener.of("/status")[-1].json["state"] == "offline", "offline")


def fill(disk: Path, *, leave: int = 0) -> Path:
    """Fill the disk up to the last page, or nearly."""
    ballast = disk / "ballast"
    left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    ballast.write_bytes(bytes(left - leave))
    return ballast


def test_rounds_stop_with_an_alarm_and_go_on_when_there_is_room(
    tmp_path: Path, disk: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    with simulated_shoe(tmp_path / "shoe", *SHOE, ROUNDS) as shoe:
        ballast = fill(disk, leave=500_000)
        daemon = run(table_on(disk, tmp_path / "table", mosquitto.port), patch=QUICK).wait_ready()
        daemon.journal = disk / "journal.db"
        wait_for(lambda: alarm(listener).startswith(ALARM), "the alarm")
        assert alarm(listener).endswith(FULL)
        told, rounds = len(listener.of("event/card_dealt")), dealt(daemon)
        daemon.manager.forget()
        wait_for(lambda: daemon.manager.heard("WATCHDOG=1") >= 3, "the watchdog's food")
        assert len(listener.of("event/card_dealt")) == told, "a card was told and not recorded"
        assert rounds <= dealt(daemon) < ROUNDS, "the shoe was not held back"
        ballast.unlink()
        wait_for(lambda: alarm(listener) == "", "the end of the alarm")
        shoe.wait(PATIENCE)
        listener.wait("event/round_finished", ROUNDS)
        stop(daemon, listener)
    prove_all_is_there(daemon, listener)


def prove_all_is_there(daemon: DaemonProcess, listener: Listener) -> None:
    """Every round that was dealt is finished, right and recorded once."""
    journal = daemon.journal
    journal_checks.check_chain(journal)
    events = journal_checks.stored_events(journal)
    truth = scenario(Settings(mode=Mode.OPEN, seed=5, rounds=ROUNDS))
    journal_checks.check_nothing_is_doubled(journal, truth)
    figures = journal_checks.check_rounds(events, truth)
    assert figures.rounds == ROUNDS
    assert (figures.partial, figures.aborted, figures.irregularities) == (0, 0, {})
    journal_checks.check_nothing_is_missing(listener.messages, len(events))
    journal_checks.check_replay(journal, daemon.config.parent)


def test_it_stops_and_starts_on_a_full_disk(
    tmp_path: Path, disk: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    with simulated_shoe(tmp_path / "shoe", *SHOE, ENDLESS):
        ballast = fill(disk, leave=700_000)
        daemon = run(table_on(disk, tmp_path / "table", mosquitto.port), patch=QUICK).wait_ready()
        daemon.journal = disk / "journal.db"
        wait_for(lambda: alarm(listener).endswith(FULL), "the alarm")
        assert daemon.stop() == 0
        head = len(journal_checks.stored_events(daemon.journal))
        ballast.write_bytes(b"")
        fill(disk)
        session = listener.of("/state")[-1].json["session"]
        daemon.start().wait_ready()
        wait_for(
            lambda: (
                alarm(listener).endswith(FULL)
                and listener.of("/state")[-1].json["session"] != session
            ),
            "the alarm of the second start",
        )
        assert daemon.stop() == 0
        events = journal_checks.stored_events(daemon.journal)
        assert len(events) >= head
        ballast.unlink()
        daemon.start().wait_ready()
        wait_for(lambda: finished_after(len(events), listener) >= 4, "four more rounds")
        stop(daemon, listener)
    # A stop has no time for every event, and the disk may be full again: the next start tells all.
    daemon.start().wait_ready()
    wait_for(lambda: heard(listener) == head_of(daemon.journal), "every event")
    stop(daemon, listener)
    journal_checks.check_chain(daemon.journal)
    journal_checks.check_nothing_is_missing(listener.messages, head_of(daemon.journal))


def finished_after(seq: int, listener: Listener) -> int:
    """Count the rounds that finished after an event: earlier ones may be sent again."""
    return sum(message.json["seq"] > seq for message in listener.of("event/round_finished"))


def heard(listener: Listener) -> int:
    """Return the number of the event that came last."""
    *_, last = journal_checks.received_events(listener.messages)
    return int(last.json["seq"])


def head_of(journal: Path) -> int:
    """Return the number of the last event in a journal."""
    with JournalReader(journal) as reader:
        return reader.head().seq


def test_a_limit_on_the_size_of_files_is_a_full_disk_too(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))"
    )
    with simulated_shoe(tmp_path / "shoe", *SHOE, ENDLESS):
        config = configure(tmp_path / "table", port=mosquitto.port, line=tmp_path / "shoe")
        daemon = run(config, patch=QUICK + limit).wait_ready()
        wait_for(lambda: alarm(listener).startswith(ALARM), "the alarm")
        stop(daemon, listener)
    journal_checks.check_chain(daemon.journal)
    head = len(journal_checks.stored_events(daemon.journal))
    journal_checks.check_nothing_is_missing(listener.messages, head)
