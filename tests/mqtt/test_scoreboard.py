"""
The scoreboard in twenty lines, as docs/mqtt.md shows it: it shows the cards, and
says that they are stale whatever is lost, and heals by itself.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from tests.brokers import Mosquitto, wait_for
from tests.mqtt.making import PAGE
from tests.service.running import DaemonProcess, Shoe

pytestmark = pytest.mark.mosquitto

(PROGRAM,) = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)
SITE, TABLE = "hall", "table-7"


class Board:
    """
    The program in a process of its own, and what it has shown last.
    """

    def __init__(self, process: subprocess.Popen[str], lines: IO[str]) -> None:
        self.process = process
        self.last = ""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            self.last = line.rstrip("\n")

    def wait(self, condition: Callable[[str], bool], what: str) -> None:
        """
        Wait until a line is shown for which this holds.
        """
        wait_for(lambda: self._shows(condition), what, timeout=60)

    def _shows(self, condition: Callable[[str], bool]) -> bool:
        assert self.process.poll() is None, self.last
        return bool(self.last) and condition(self.last)

    def wait_fresh(self, cards: str) -> None:
        self.wait(lambda line: line.startswith("      ") and cards in line, f"{cards}, fresh")

    def wait_stale(self, cards: str) -> None:
        self.wait(lambda line: line.startswith("STALE") and cards in line, f"{cards}, stale")


class Hall(NamedTuple):
    broker: Mosquitto
    daemon: DaemonProcess
    shoe: Shoe
    board: Board


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """
    A broker, a table and a board, of which the board was there first.
    """
    (tmp_path / "mosquitto").mkdir()
    with ExitStack() as stack:
        broker = stack.enter_context(Mosquitto(tmp_path / "mosquitto"))
        where = ("127.0.0.1", str(broker.port), f"shoe/v1/{SITE}/{TABLE}")
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *where], stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(process.kill)
        assert process.stdout is not None
        board = Board(process, process.stdout)
        shoe = stack.enter_context(Shoe(tmp_path / "line"))
        config = tmp_path / "table.toml"
        config.write_text(
            f'site = "{SITE}"\n[table]\nid = "{TABLE}"\n'
            f"[mqtt]\nport = {broker.port}\nheartbeat = 2\n"
            f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{shoe.link}"\n',
            encoding="utf-8",
        )
        daemon = stack.enter_context(DaemonProcess(config))
        yield Hall(broker, daemon, shoe, board)


def test_it_has_twenty_lines() -> None:
    assert len([line for line in PROGRAM.splitlines() if line]) <= 20
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
    """
    The daemon hangs: only the missing heartbeat tells it.
    """
    hall.daemon.process.send_signal(signal.SIGSTOP)
    hall.board.wait_stale("P1:9S B1:2H")
    hall.daemon.process.send_signal(signal.SIGCONT)
    hall.board.wait_fresh("P1:9S B1:2H")


def _kill_the_broker(hall: Hall) -> None:
    hall.broker.kill()
    hall.board.wait_stale("P1:9S B1:2H")
    hall.broker.start()
    hall.board.wait_fresh("P1:9S B1:2H")
