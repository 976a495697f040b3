"""
systemd is notified of the start, the status, and of every interval in which all threads
run.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from drivers.camera.driver import CameraDriver
from drivers.reader_thread import Reader, ReaderEnvironment
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.service.watchdog import Watchdog
from tests.brokers import Listener, Mosquitto, free_port
from tests.service.conftest import Run
from tests.service.daemon_process import QUICK, DaemonProcess, Shoe, configure
from tests.service.example_drivers import installed
from tests.waiting import wait_for


def is_fed(daemon: DaemonProcess, times: int = 2) -> None:
    """See that the watchdog is fed from now on."""
    daemon.manager.forget()
    wait_for(lambda: daemon.manager.heard("WATCHDOG=1") >= times, "the watchdog's food")


def is_not_fed(daemon: DaemonProcess) -> None:
    """See that it comes to be fed no more: not for as long as ten meals take."""
    meals, since = -1, 0.0

    def starves() -> bool:
        nonlocal meals, since
        if daemon.manager.heard("WATCHDOG=1") != meals:
            meals, since = daemon.manager.heard("WATCHDOG=1"), time.monotonic()
        return time.monotonic() - since > 1.0

    wait_for(starves, "the end of the watchdog's food")
    assert daemon.process.poll() is None


@pytest.mark.parametrize("where", ["path", "abstract"])
def test_it_says_that_it_is_ready_how_it_is_and_that_it_lives(
    tmp_path: Path, run: Run, where: str
) -> None:
    address = str(tmp_path / "notify") if where == "path" else f"@shoe-{uuid4()}"
    daemon = run(configure(tmp_path / "table"), patch=QUICK, address=address).wait_ready()
    is_fed(daemon)
    assert daemon.manager.status == "no reader"
    assert daemon.stop() == 0
    wait_for(lambda: daemon.manager.heard("STOPPING=1"), "STOPPING=1")
    assert daemon.manager.heard("READY=1") == 0, "said twice"


def test_it_is_ready_and_fed_with_broker_and_reader_down(tmp_path: Path, run: Run) -> None:
    config = configure(tmp_path / "table", port=free_port(), line=tmp_path / "nothing")
    daemon = run(config, patch=QUICK).wait_ready()
    is_fed(daemon)
    shoe = f"shoe: {tmp_path}/nothing: No such file or directory, "
    wait_for(lambda: daemon.manager.status.startswith(shoe), "the state of its line")
    broker, waiting = daemon.manager.status.removeprefix(shoe).split(", ")
    assert broker.startswith("broker down ")
    assert waiting.endswith(" waiting: connection refused")


@pytest.mark.mosquitto
def test_it_is_fed_while_the_journal_cannot_be_written_and_says_so(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    config = configure(tmp_path / "table", port=mosquitto.port, line=shoe.link)
    daemon = run(config, patch=QUICK).wait_ready()
    shoe.wait_heard()
    wait_for(lambda: daemon.manager.status == "shoe: ok", "the good news")
    away = daemon.journal.rename(tmp_path / "away")
    shoe.say("S")
    alarm = "Nothing can be recorded, so no round goes on: "
    wait_for(lambda: daemon.manager.status.startswith(alarm), "the alarm")
    is_fed(daemon)
    # The service manager may be told before there is a line to the broker.
    listener.wait("/state")
    wait_for(lambda: str(listener.of("/state")[-1].json["alarm"]).startswith(alarm), "alarm")
    away.rename(daemon.journal)
    wait_for(lambda: listener.of("/state")[-1].json["alarm"] is None, "the end of the alarm")
    shoe.draw("P1:AS")
    listener.wait("event/card_dealt")
    assert daemon.stop() == 0


def test_it_is_not_fed_when_a_reader_hangs(tmp_path: Path, run: Run, shoe: Shoe) -> None:
    text = f'[[reader]]\ndriver = "hanging"\nport = "{shoe.link}"'
    path = installed(tmp_path / "site")
    daemon = run(configure(tmp_path / "table", text), patch=QUICK, PYTHONPATH=path)
    daemon.wait_ready()
    shoe.wait_heard()
    is_fed(daemon)
    shoe.send(b"KD\n")
    wait_for(lambda: "threads_hung" in daemon.log.read_text(), "the hanging thread")
    is_not_fed(daemon)
    assert '"threads": ["shoe"]' in daemon.log.read_text()


def test_whoever_hangs_is_told_each_time_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(
        "shoe_daemon.service.watchdog.time", SimpleNamespace(monotonic=lambda: now)
    )
    shoe, camera = (
        SimpleNamespace(name=name, alive=True, last_loop=now, hung_after_s=30.0)
        for name in ("shoe", "eye")
    )
    watch = Watchdog(cast("list[Reader]", [shoe, camera]), None)
    with capture_logs() as logs:
        for turning in ([], [], ["eye"], ["shoe", "eye"], [], []):
            now += 31
            for reader in (shoe, camera):
                reader.last_loop = now if reader.name in turning else reader.last_loop
            watch.feed(cast("StatePublisher", SimpleNamespace(summary="")))
    assert [log["threads"] for log in logs] == [["shoe", "eye"], ["shoe"], ["shoe", "eye"]]


def test_a_camera_may_take_a_minute_for_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(
        "shoe_daemon.service.watchdog.time", SimpleNamespace(monotonic=lambda: now)
    )
    monkeypatch.setattr(Reader, "alive", True)
    driver, environment = CameraDriver(), ReaderEnvironment(clock=lambda: now)
    camera = Reader("eye", driver, "", driver.line, print, environment=environment)
    watch = Watchdog([camera], None)
    hung = []
    for _ in range(3):
        now += 59
        with capture_logs() as logs:
            watch.feed(cast("StatePublisher", SimpleNamespace(summary="")))
        hung.append(bool(logs))
    assert hung == [False, False, True]


def test_it_is_not_fed_when_the_core_hangs(tmp_path: Path, run: Run) -> None:
    hangs = f"""
{QUICK}
import sys, time
from shoe_daemon.service import Core
turns = iter(range(8))
def tick(self):
    if next(turns, None) is not None:
        return []
    print("hangs now", file=sys.stderr, flush=True)
    time.sleep(1000)
Core.process_deadlines = tick
"""
    daemon = run(configure(tmp_path / "table"), patch=hangs).wait_ready()
    wait_for(lambda: daemon.manager.heard("WATCHDOG=1"), "the first meal")
    wait_for(lambda: "hangs now" in daemon.log.read_text(), "the hanging core")
    is_not_fed(daemon)


def tells(door: Path) -> bool:
    """Say something at a door, unless it is stuffed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.settimeout(0)
        try:
            return bool(other.sendto(b"x", str(door)))
        except BlockingIOError:
            return False


def test_a_service_manager_that_does_not_listen_holds_nobody_up(tmp_path: Path, run: Run) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf, Shoe(tmp_path / "shoe") as shoe:
        deaf.bind(str(tmp_path / "deaf"))
        while tells(tmp_path / "deaf"):
            pass
        daemon = run(
            configure(tmp_path / "table", line=shoe.link), NOTIFY_SOCKET=str(tmp_path / "deaf")
        )
        wait_for(lambda: '"daemon_started"' in daemon.log.read_text(), "its start")
        shoe.wait_heard()
        assert daemon.stop() == 0
