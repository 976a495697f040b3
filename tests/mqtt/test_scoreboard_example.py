"""
The scoreboard of docs/mqtt.md shows the cards, reports stale data after any loss, and
recovers by itself.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from shoe_daemon.mqtt.topics import DEFAULT_PREFIX
from tests.brokers import wait_for
from tests.mqtt.make_examples import PAGE
from tests.mqtt.sample_broker import SampleBroker
from tests.service.daemon_process import DaemonProcess, Shoe

pytestmark = pytest.mark.mosquitto

(PROGRAM,) = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)
SITE, TABLE = "casino", "table-7"
ROOT = f"{DEFAULT_PREFIX}/{SITE}/{TABLE}"


class Board:
    """The program in a process of its own, and what it has shown last."""

    def __init__(self, process: subprocess.Popen[str], lines: IO[str]) -> None:
        self.process = process
        self.last = ""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            self.last = line.rstrip("\n")

    def wait(self, condition: Callable[[str], bool], what: str) -> None:
        """Wait until a line is shown for which this holds."""
        wait_for(lambda: self._shows(condition), what, timeout=60)

    def _shows(self, condition: Callable[[str], bool]) -> bool:
        assert self.process.poll() is None, self.last
        return bool(self.last) and condition(self.last)

    def wait_fresh(self, cards: str) -> None:
        self.wait(lambda line: line.startswith("      ") and cards in line, f"{cards}, fresh")

    def wait_stale(self, cards: str) -> None:
        self.wait(lambda line: line.startswith("STALE") and cards in line, f"{cards}, stale")


class Hall(NamedTuple):
    broker: SampleBroker
    daemon: DaemonProcess
    shoe: Shoe
    board: Board


@contextmanager
def showing(broker: SampleBroker) -> Iterator[Board]:
    """Run the program as its first line says, with the display's account."""
    where = ("127.0.0.1", str(broker.port), ROOT, "board", str(broker.password_file("board")))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *where], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield Board(process, process.stdout)
        finally:
            process.kill()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SampleBroker]:
    (tmp_path / "mosquitto").mkdir()
    with SampleBroker(tmp_path / "mosquitto") as broker:
        yield broker


@pytest.fixture
def hall(tmp_path: Path, broker: SampleBroker) -> Iterator[Hall]:
    """A broker, a table and a board, of which the board was there first."""
    with ExitStack() as stack:
        board = stack.enter_context(showing(broker))
        shoe = stack.enter_context(Shoe(tmp_path / "line"))
        config = tmp_path / "table.toml"
        config.write_text(
            f'site = "{SITE}"\n[table]\nid = "{TABLE}"\n'
            f"[mqtt]\nport = {broker.port}\nheartbeat = 2\n"
            f'username = "{TABLE}"\npassword_file = "{broker.password_file(TABLE)}"\n'
            f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{shoe.link}"\n',
            encoding="utf-8",
        )
        daemon = stack.enter_context(DaemonProcess(config))
        yield Hall(broker, daemon, shoe, board)


def test_it_has_some_twenty_lines() -> None:
    assert len([line for line in PROGRAM.splitlines() if line]) <= 24
    assert max(map(len, PROGRAM.splitlines())) <= 105


@pytest.mark.timeout(300)
def test_it_shows_the_table_and_what_is_stale(hall: Hall) -> None:
    hall.board.wait_stale("")
    hall.daemon.start().wait_ready()
    hall.board.wait_fresh("")
    hall.shoe.wait_heard().draw("P1:9S", "B1:2H")
    hall.board.wait_fresh("P1:9S B1:2H {'banker': 0")
    _halt(hall)
    _kill_the_broker(hall)
    hall.daemon.kill()
    hall.board.wait_stale("P1:9S B1:2H")
    hall.daemon.start().wait_ready()
    hall.board.wait_fresh("")


def _halt(hall: Hall) -> None:
    """The daemon hangs: only the missing heartbeat tells it."""
    hall.daemon.process.send_signal(signal.SIGSTOP)
    hall.board.wait_stale("P1:9S B1:2H")
    hall.daemon.process.send_signal(signal.SIGCONT)
    hall.board.wait_fresh("P1:9S B1:2H")


def _kill_the_broker(hall: Hall) -> None:
    hall.broker.kill()
    hall.board.wait_stale("P1:9S B1:2H")
    hall.broker.start()
    hall.board.wait_fresh("P1:9S B1:2H")


@pytest.mark.timeout(120)
def test_a_table_that_died_with_its_broker_looks_live_for_a_heartbeat_and_no_longer(
    broker: SampleBroker,
) -> None:
    """The broker kept `online` and a `state`, and nobody is there to publish a last will."""
    heartbeat = 4
    state = {"session": "s", "heartbeat": heartbeat, "counts": "kept"}
    with broker.listen(TABLE) as table:
        table.publish(f"{ROOT}/status", b'{"session":"s","state":"online"}', retain=True)
        table.publish(f"{ROOT}/state", json.dumps(state).encode(), retain=True)
    with showing(broker) as board:
        board.wait_fresh("kept")
        began = time.monotonic()
        board.wait_stale("kept")
        assert time.monotonic() - began < 2.5 * heartbeat  # three are for what was published
