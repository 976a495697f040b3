"""The wait of a daemon: `is_idle` is true once everything that was read is on disk."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from drivers.simulators.angel_eye import Settings, scenario
from drivers.simulators.lines import PtyLine
from shoe_daemon.config.sections import Config, JournalSettings, ReaderSettings
from shoe_daemon.config.table import set_up
from shoe_daemon.service import Daemon
from shoe_daemon.table import Event
from tests.waiting import PATIENCE, wait_for

DEALT = scenario(Settings(rounds=3, seed=1))


def test_a_daemon_is_settled_when_what_was_read_is_on_disk_and_told(tmp_path: Path) -> None:
    free = threading.Event()
    told: list[Event] = []

    def on_events(events: list[Event], _core: object) -> None:
        told.extend(events)
        assert free.wait(PATIENCE)

    line = PtyLine()
    config = Config(
        site="test",
        journal=JournalSettings(path=str(tmp_path / "journal.db")),
        reader=(ReaderSettings(driver="angel-eye-ii", port=line.address),),
    )
    daemon = Daemon(set_up(config, tmp_path), on_events=on_events)
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        # Only now: who opens a line throws away what came before.
        wait_for(lambda: any(event.type == "reader_status" for event in told))
        assert not daemon.is_idle
        line.send(DEALT.stream(), threading.Event())
        free.set()
        sent = len(DEALT.stream())
        wait_for(lambda: daemon.readers[0].counts.bytes >= sent and daemon.is_idle)
        assert sum(event.type == "round_finished" for event in told) == 3
        assert told[-1].seq == daemon.core.journal.head.seq
    finally:
        free.set()
        daemon.stop()
        thread.join(PATIENCE)
        line.close()


def test_a_signal_to_restart_ends_the_wait_for_inputs_on_a_slow_computer(tmp_path: Path) -> None:
    """Python's queue waits for ever if its time passes while a signal is handled."""
    config = Config(site="test", journal=JournalSettings(path=str(tmp_path / "journal.db")))
    daemon = Daemon(set_up(config, tmp_path))
    inputs, late = daemon._inputs, threading.Event()  # noqa: SLF001 - what the core waits for

    def handle(*_: object) -> None:
        time.sleep(0.1)
        daemon.restart_soon()

    def free() -> None:
        late.set()
        inputs.wake()

    before = signal.signal(signal.SIGUSR1, handle)
    timers = [
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1)),
        threading.Timer(10, free),
    ]
    try:
        for each in timers:
            each.start()
        assert inputs.get(0.05) is None
        assert not late.is_set()
    finally:
        for each in timers:
            each.cancel()
        signal.signal(signal.SIGUSR1, before)
        daemon.core.close()
