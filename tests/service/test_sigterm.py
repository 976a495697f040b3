"""
SIGTERM: `stopping`, then `offline`, and exit status 0 within seconds, whatever broker,
disk and readers do.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivers import Reader, ReaderEnvironment
from drivers.driver import Frame, FrameKind, LineSettings, Transport
from drivers.transport import LineError
from shoe_daemon.config.sections import Config, JournalSettings
from shoe_daemon.config.table import load_config, set_up
from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.verify import verify
from shoe_daemon.service import Daemon
from shoe_daemon.table.observations import CardDrawn
from tests.brokers import Listener, Mosquitto, free_port
from tests.chaos import journal_checks
from tests.service.conftest import Run
from tests.service.daemon_process import DaemonProcess, Shoe, configure
from tests.waiting import PATIENCE, wait_for

SECONDS = 15.0
"""So long systemd waits."""


def states(listener: Listener) -> list[str]:
    return [message.json["state"] for message in listener.of("/status")]


@pytest.fixture
def online(tmp_path: Path, mosquitto: Mosquitto, listener: Listener) -> Iterator[DaemonProcess]:
    """A daemon that the broker knows to be online."""
    with DaemonProcess(configure(tmp_path / "table", port=mosquitto.port)) as daemon:
        daemon.start().wait_ready()
        wait_for(lambda: states(listener) == ["online"], "online")
        yield daemon


def stop(daemon: DaemonProcess, number: signal.Signals = signal.SIGTERM) -> None:
    """Ask a daemon to end, and see that it does, in time and properly."""
    began = time.monotonic()
    daemon.process.send_signal(number)
    assert daemon.process.wait(PATIENCE) == 0
    assert time.monotonic() - began < SECONDS
    assert '"daemon_stopped"' in daemon.log.read_text()


@pytest.mark.mosquitto
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_goodbye(
    online: DaemonProcess, mosquitto: Mosquitto, listener: Listener, number: signal.Signals
) -> None:
    stop(online, number)
    wait_for(lambda: states(listener) == ["online", "stopping", "offline"], "the farewell")
    with Listener(mosquitto.port, "#", name="late") as late:
        assert late.wait("/status")[-1].json["state"] == "offline"
    with JournalReader(online.journal) as reader:
        head = reader.head()
    for message in listener.of("/status"):
        assert message.json["head"] == head.hash.hex()
        assert message.json["head_seq"] == head.seq
        assert message.json["head_at_connect"] is None


@pytest.mark.mosquitto
def test_after_a_crash_the_will_carries_the_head_of_the_connection(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    text = f'[mqtt]\nport = {mosquitto.port}\nprotocol = "3.1.1"'
    daemon = run(configure(tmp_path / "table", text, line=shoe.link)).wait_ready()
    (online,) = listener.wait("/status")
    shoe.wait_heard().draw("P1:9S")
    listener.wait("event/card_dealt")
    daemon.kill()
    will = listener.wait("/status", 2)[-1].json
    assert (will["state"], will["head"]) == ("offline", None)
    with JournalReader(daemon.journal) as reader:
        verdict = verify(reader, find=bytes.fromhex(will["head_at_connect"]))
    assert verdict.found_at is not None
    assert verdict.events > will["head_seq"] == will["seq"]
    assert will["head_seq"] <= online.json["head_seq"]


@pytest.mark.mosquitto
def test_what_was_said_last_is_told_before_the_end(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    daemon = run(configure(tmp_path / "table", port=mosquitto.port, line=shoe.link)).wait_ready()
    shoe.wait_heard().say("S")
    shoe.draw("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    shoe.call(Outcome.PLAYER)
    wait_for(lambda: listener.of("event/card_dealt"), "the first card")
    stop(daemon)
    wait_for(lambda: states(listener)[-1] == "offline", "offline")
    head = journal_checks.stored_events(daemon.journal)[-1]["seq"]
    assert journal_checks.check_received(daemon.journal, listener.messages) == set(
        range(1, head + 1)
    )
    assert listener.of("/state")[-1].json["seq"] == head


EARLY = """
import os, signal
from shoe_daemon.mqtt.connection import Connection
connect = Connection.open
def stop_and_connect(self):
    os.kill(os.getpid(), signal.SIGTERM)
    connect(self)
Connection.open = stop_and_connect
"""
"""Gives the signal when the connection to the broker is about to be made."""


@pytest.mark.mosquitto
def test_a_stop_before_the_first_connection_tells_the_start(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    daemon = run(configure(tmp_path / "table", port=mosquitto.port), patch=EARLY)
    assert daemon.process.wait(PATIENCE) == 0
    wait_for(lambda: states(listener)[-1:] == ["offline"], "offline")
    with JournalReader(daemon.journal) as reader:
        head = reader.head()
    assert listener.of("/state")[-1].json["seq"] == head.seq
    assert listener.of("/status")[-1].json["head"] == head.hash.hex()


@pytest.mark.mosquitto
def test_it_ends_though_the_broker_is_frozen(
    online: DaemonProcess, mosquitto: Mosquitto, listener: Listener
) -> None:
    mosquitto.halt()
    stop(online)
    mosquitto.resume()
    # In its place, the broker says it.
    wait_for(lambda: states(listener)[-1] == "offline", "offline")


@pytest.mark.mosquitto
def test_it_ends_though_the_broker_was_frozen_from_the_start(
    tmp_path: Path, run: Run, mosquitto: Mosquitto
) -> None:
    mosquitto.halt()
    stop(run(configure(tmp_path / "table", port=mosquitto.port)).wait_ready())


def test_it_ends_though_nothing_can_be_recorded(tmp_path: Path, run: Run, shoe: Shoe) -> None:
    daemon = run(configure(tmp_path / "table", line=shoe.link)).wait_ready()
    shoe.wait_heard()
    away = daemon.journal.rename(tmp_path / "away")
    shoe.draw("P1:AS")
    wait_for(lambda: "journal_unwritable" in daemon.log.read_text(), "the alarm")
    stop(daemon)
    away.rename(daemon.journal)
    journal_checks.check_chain(daemon.journal)


def test_without_a_broker_a_second_signal_changes_nothing(tmp_path: Path, run: Run) -> None:
    daemon = run(configure(tmp_path / "table", port=free_port())).wait_ready()
    daemon.process.send_signal(signal.SIGTERM)
    stop(daemon)


SLOW = """
import time
from shoe_daemon.service import Daemon
stop = Daemon.stop
def slowly(self):
    stop(self)
    time.sleep(0.5)
Daemon.stop = slowly
"""
"""A machine so busy that to hear of the signal takes longer than the core waits for a frame."""


def test_it_ends_though_it_hears_the_signal_late(tmp_path: Path, run: Run) -> None:
    stop(run(configure(tmp_path / "table"), patch=SLOW).wait_ready())


LAST = """
import builtins, os, signal
class Last:
    def __init__(self):
        self.end = os.kill, os.getpid(), signal.SIGTERM
    def __del__(self):
        kill, process, number = self.end
        kill(process, number)
builtins.last = Last()
"""
"""Gives a signal when Python takes itself apart, and its own handlers are gone."""


def test_a_signal_while_python_ends_changes_nothing(tmp_path: Path) -> None:
    with DaemonProcess(configure(tmp_path / "table"), patch=LAST) as daemon:
        stop(daemon.start().wait_ready())


FRAMES = 150
"""More frames than two transactions hold."""


class Behind(Daemon):
    """A daemon whose inbox holds frames before its start."""

    def __init__(self, folder: Path, journal: Path) -> None:
        settings = JournalSettings(path=str(journal))
        super().__init__(set_up(Config(site="test", journal=settings), folder))
        for number in range(FRAMES):
            card = CardDrawn(card=DECK[number % len(DECK)])
            self._receive("shoe", Frame(b"%d" % number, FrameKind.FRAME, (card,), number))


def stop_while_unwritable(folder: Path, method: str, *, call: int) -> Path:
    """
    Run a daemon; stop it during this call of a method of its core, and
    make the journal unwritable for that call only. Return the path of the journal.
    """
    path = folder / "journal.db"
    daemon = Behind(folder, path)
    write: Callable[..., object] = getattr(daemon.core, method)
    calls = 0

    def write_or_stop(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls != call:
            return write(*arguments)
        daemon.stop()
        away = path.rename(path.with_name("away"))
        try:
            return write(*arguments)
        finally:
            away.rename(path)

    setattr(daemon.core, method, write_or_stop)
    daemon.run()
    return path


@pytest.mark.parametrize("call", [1, 2])
def test_frames_after_a_lost_write_are_not_written(tmp_path: Path, call: int) -> None:
    """
    A daemon that stops gives up a write that fails. What it read later would look as if it
    followed what was written before, so it is lost too, at the gap of the next start.
    """
    journal = stop_while_unwritable(tmp_path, "process", call=call)
    with JournalReader(journal) as reader:
        written = [int(capture.raw) for capture in reader.captures(FRAMES)]
    assert written == list(range(64 * (call - 1)))


def test_a_start_that_was_not_written_writes_nothing(tmp_path: Path) -> None:
    journal = stop_while_unwritable(tmp_path, "record_start", call=1)
    with JournalReader(journal) as reader:
        assert reader.head().observation == 0


def test_readers_that_hang_share_the_time_of_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path / "table")
    readers = [
        f'[[reader]]\nid = "r{each}"\ndriver = "bee-tek"\nport = "socket://h:{each}"\n'
        for each in range(1, 9)
    ]
    config.write_text(config.read_text() + "".join(readers))
    ended, waits = threading.Event(), list[float]()
    join = Reader.join

    def note_wait(reader: Reader, timeout: float | None = None) -> bool:
        waits.append(timeout or 0.0)
        return join(reader, timeout)

    def hang(_url: str, _line: LineSettings) -> Transport:
        ended.wait()
        raise LineError("too late")

    monkeypatch.setattr("shoe_daemon.service.daemon._READERS_STOP_TIMEOUT_S", 0.3)
    monkeypatch.setattr(Reader, "join", note_wait)
    daemon = Daemon(load_config(config), environment=ReaderEnvironment(open_line=hang))
    core = threading.Thread(target=daemon.run)
    core.start()
    wait_for(lambda: all(each.alive for each in daemon.readers), "the readers")
    daemon.stop()
    core.join(PATIENCE)
    ended.set()
    assert len(waits) == 8
    assert sum(waits) < 0.6
