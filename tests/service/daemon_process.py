"""Runs the real daemon: its configuration, a systemd socket, and a shoe on a pty."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
from click.testing import CliRunner, Result

from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code, place_code, result_code
from drivers.simulators.lines import PtyLine
from shoe_daemon.cli import main
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome, Slot
from tests.service.forked import ForkedProgram
from tests.waiting import PATIENCE, wait_for

SHOE_DAEMON = (sys.executable, "-m", "shoe_daemon")
QUICK = (
    "import drivers, shoe_daemon.service.daemon as daemon\n"
    "import shoe_daemon.service.watchdog as watch\n"
    "watch._NOTIFY_INTERVAL_S, drivers.Driver.hung_after_s = 0.1, 0.6\n"
    "daemon._WRITE_RETRY_S = 0.2\n"
)
"""A patch that makes no test wait for seconds: meals, hangs and retries are sooner."""

_FORGET = b"forget what was told so far"

SITE, TABLE = "hall", "table-7"
ROOT = f"shoe/v1/{SITE}/{TABLE}/"
PATIENT_BROKER = "allow_anonymous true\nmax_queued_messages 0"
"""It keeps what a slow subscriber has not taken yet; by itself mosquitto lets it drop."""


class ServiceManager:
    """
    Listens as systemd would, at a path or, with ``@``, in Linux's own name space.

    Attributes:
        lines: All that was told since `forget`, in order.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.lines: list[str] = []
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._door.bind(address.replace("@", "\0", 1) if address[0] == "@" else address)
        except OSError:
            self._door.close()
            raise
        self._forgotten = threading.Event()
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._door.getsockname())
        self._ear.join(PATIENCE)
        self._door.close()

    def _listen(self) -> None:
        while message := self._door.recv(4096):
            if message == _FORGET:
                self.lines = []
                self._forgotten.set()
            else:
                self.lines += message.decode().splitlines()

    def heard(self, line: str) -> int:
        """Return the number of lines that begin with this text."""
        return sum(each.startswith(line) for each in self.lines)

    def forget(self) -> None:
        """Forget all lines that were sent until now, also those that are still on their way."""
        self._forgotten.clear()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(_FORGET, self._door.getsockname())
        assert self._forgotten.wait(PATIENCE)

    @property
    def status(self) -> str:
        """The last status line."""
        told = [line for line in self.lines if line.startswith("STATUS=")]
        return told[-1].removeprefix("STATUS=") if told else ""


_LOG_SHOWN = 20_000
"""Characters of a log."""


class DaemonProcess:
    """
    `shoe-daemon run` as a process of its own.

    Attributes:
        manager: What it tells the service manager.
        log: What it says on stderr, over all its starts.
    """

    def __init__(
        self,
        config: Path,
        *,
        patch: str = "",
        address: str = "",
        environment: Mapping[str, str] | None = None,
        forked: bool = False,
    ) -> None:
        """
        Args:
            config: The table's configuration.
            patch: Python that is run in the daemon's process before it.
            address: Of the service manager; beside the configuration where empty.
            environment: More variables of its environment, for every start.
            forked: Copy a process that has imported the daemon, which is quicker.
        """
        self._environment = dict(environment or {})
        self.config = config
        self.journal = config.with_name("journal.db")
        self.log = config.with_suffix(".log")
        self.manager = ServiceManager(address or str(config.with_suffix(".sock")))
        self._patch, self._forked = patch, forked
        self._process: subprocess.Popen[bytes] | ForkedProgram | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.manager.__exit__()
        if self.log.exists():
            # pytest shows it where the test failed.
            sys.stdout.write(self.log.read_text(encoding="utf-8")[-_LOG_SHOWN:])

    @property
    def process(self) -> subprocess.Popen[bytes] | ForkedProgram:
        """The process of the last start."""
        assert self._process is not None
        return self._process

    def start(self, **environment: str) -> Self:
        """Start it, and do not wait for anything."""
        self.manager.forget()
        more = {"NOTIFY_SOCKET": self.manager.address, "PYTHONFAULTHANDLER": "1"}
        more |= self._environment | environment
        self._process = self._program(os.environ | more)
        return self

    def _program(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes] | ForkedProgram:
        arguments = ["run", "--config", str(self.config)]
        if self._forked:
            return ForkedProgram(arguments, self.log, environment, self._patch)
        program = SHOE_DAEMON
        if self._patch:
            text = f"{self._patch}\nfrom shoe_daemon.cli import main\nmain()"
            program = (sys.executable, "-c", text)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*program, *arguments], stdout=log, stderr=log, env=environment
            )

    def wait_ready(self) -> Self:
        """Wait until it says that it is ready."""
        wait_for(self._is_ready, "READY=1")
        return self

    def _is_ready(self) -> bool:
        ended = self.process.poll()
        assert ended is None, f"it ended with {ended}:\n{self.log.read_text()}"
        return bool(self.manager.heard("READY=1"))

    def kill(self) -> None:
        """End it as a power cut would; does nothing to one that is not running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self, timeout: float = PATIENCE) -> int:
        """Ask it to end, and return its exit status; one that does not end says where it hangs."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            pytest.fail(f"it did not end within {timeout} s:\n{self.log.read_text()}")


def configure(
    folder: Path,
    text: str = "",
    *,
    port: int | None = None,
    line: object = None,
    keepalive: int | None = None,
) -> Path:
    """
    Write a table's configuration, and return where.

    Args:
        folder: Where.
        text: More of the section ``[table]``, and further sections.
        port: Of the broker; None publishes nothing.
        line: Of an Angel Eye; None has no reader.
        keepalive: Seconds until a silent broker is noticed; None for the default.
    """
    lines = [f'site = "{SITE}"', "[table]", f'id = "{TABLE}"', text]
    if port is not None:
        lines += ["[mqtt]", f"port = {port}"]
        lines += [f"keepalive = {keepalive}"] if keepalive else []
    if line is not None:
        lines += ["[[reader]]", 'driver = "angel-eye-ii"', f'port = "{line}"']
    folder.mkdir(exist_ok=True)
    path = folder / "table.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Shoe:
    """A pty whose other end the test holds: it says what the test says, once."""

    def __init__(self, link: Path) -> None:
        # A daemon flushes; between opening and flushing a loaded machine may hold it up for long.
        self._line = PtyLine(link, flush_timeout_s=PATIENCE)
        self._stopping = threading.Event()
        self._seq = 0
        self.link = link

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._line.close()

    def wait_heard(self) -> Self:
        """Wait until a program reads, and throws nothing away any more."""
        wait_for(self._line.is_ready, "a reader of the shoe")
        return self

    def wait_alone(self) -> None:
        """
        Wait until no program reads: one that reads next is not taken for the one before, and may
        throw away what is unread when he comes.
        """
        wait_for(lambda: not self._line.is_open(), "the end of who reads the shoe")

    def say(self, code: str, *data: int) -> None:
        """Send one report of an Angel Eye."""
        self._seq = 0 if code == "S" else self._seq % 9 + 1
        self.send(Report(self._seq, code, bytes(data)).to_bytes())

    def draw(self, *cards: str) -> None:
        """Deal cards with open faces: ``P1:AS``."""
        for slot, _, card in (each.partition(":") for each in cards):
            self.say("D", place_code(Slot(slot)), face_code(Card(card) if card else None))

    def call(self, outcome: Outcome, *, player_pair: bool = False) -> None:
        """Say who has won."""
        self.say("G", result_code(outcome, player_pair=player_pair, banker_pair=False))

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._line.send(data, self._stopping)

    def drain(self) -> None:
        """Wait until all is read."""
        self._line.drain(self._stopping)

    def unplug(self) -> None:
        """Pull the adapter out."""
        self.drain()
        self._line.unplug()

    def plug(self) -> None:
        """Put it in again."""
        self._line.plug()


@contextmanager
def simulated_shoe(link: Path, *options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run `simulate angel-eye-ii` in a process of its own, on a pty behind `link`."""
    command = [*SHOE_DAEMON, "simulate", "angel-eye-ii", "--link", str(link), *map(str, options)]
    with (
        link.with_suffix(".sim").open("ab") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            wait_for(link.exists, "the simulated shoe")
            yield process
        finally:
            # A killed one leaves its link, and a daemon would follow it to another test's pty.
            link.unlink(missing_ok=True)
            process.kill()


def cli(*arguments: object) -> Result:
    """Run a command to its end, in the test's own process; an unforeseen error is the test's."""
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
