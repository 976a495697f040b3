"""
Faults of everything around a table: daemon, broker, network, disk, clock.

Each fault is done to a `Hall` inside a `with` block: it begins, the alarm that a person needs is
waited for, and at the end of the block the fault is over. Faults that fit together are combined.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from tests.brokers import Relay
from tests.chaos import journal_checks
from tests.chaos.hall import Hall
from tests.service.daemon_process import QUICK, cli
from tests.waiting import wait_for

INJECT = """
import os, pathlib, signal, sqlite3, time
flags = pathlib.Path(os.environ["CHAOS_FLAGS"])
sleep, clock = time.sleep, time.time_ns

def before_commit(statement):
    if statement.startswith("COMMIT"):
        if (flags / "kill").exists():
            (flags / "kill").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if (flags / "slow").exists():
            sleep(0.1)

class Connection(sqlite3.Connection):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.set_trace_callback(before_commit)

    def execute(self, sql, *arguments):
        if sql.startswith("BEGIN IMMEDIATE"):
            super().execute(f"PRAGMA query_only = {int((flags / 'read-only').exists())}")
        return super().execute(sql, *arguments)

connect = sqlite3.connect
sqlite3.connect = lambda *arguments, **options: connect(
    *arguments, **{"factory": Connection, **options}
)

def shifted():
    try:
        return clock() + int(float((flags / "clock").read_text()) * 1e9)
    except (OSError, ValueError):
        return clock()

time.time_ns = shifted
"""
"""Runs in the daemon's process: each fault is switched on by a file in a folder."""

PATCH: Final = QUICK + INJECT

BROKER: Final = "allow_anonymous true\nmax_queued_messages 0\nacl_file {acl}"
ALL_RIGHTS: Final = "topic readwrite #\n"
NO_RIGHTS: Final = "topic read #\n"


class Network(Relay):
    """The daemon's line to the broker, with more ways to fail than an orderly end."""

    def reset(self) -> None:
        """Send a TCP reset over every line."""
        for end in list(self._ends):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.cut()

    @contextmanager
    def half_open(self) -> Iterator[None]:
        """Leave lines open that carry nothing more; new ones find no broker."""
        self.silent = True
        try:
            yield
        finally:
            self.silent = False
            self.cut()


class Faults:
    """
    The faults of one hall.

    Args:
        hall: Its daemon runs with `PATCH`, on a line through `network`.
        network: That line.
        flags: The folder `CHAOS_FLAGS` of the daemon.
        rights: The broker's `acl_file`.
        disk: The file system of the journal, of some megabytes.
    """

    def __init__(
        self, hall: Hall, network: Network, flags: Path, rights: Path, disk: Path
    ) -> None:
        self._hall = hall
        self._network = network
        self._flags = flags
        self._rights = rights
        self._disk = disk

    def by_name(self) -> dict[str, Callable[[], AbstractContextManager[None]]]:
        """Return every fault by its name."""
        return {
            "daemon killed in a transaction": self.killed_in_a_transaction,
            "broker killed": self.broker_killed,
            "broker hung": self.broker_hung,
            "broker refuses connections": self.broker_refuses,
            "broker refuses messages": self.rights_taken,
            "connection reset": self.connection_reset,
            "connection silent": self.connection_silent,
            "disk full": self.disk_full,
            "disk read-only": self.disk_read_only,
            "100 ms a commit": self.slow_disk,
            "clock set back": self.clock_set_back,
            "clock set forward": self.clock_set_forward,
            "second daemon": self.second_daemon,
        }

    @contextmanager
    def killed_in_a_transaction(self) -> Iterator[None]:
        """The daemon dies before a commit; the service manager starts it again."""
        process = self._hall.daemon.process
        flag = self._flags / "kill"
        flag.touch()
        wait_for(lambda: process.poll() is not None, "the end in a transaction")
        assert process.wait() == -signal.SIGKILL, self._hall.daemon.log.read_text()[-2000:]
        self._hall.daemon.start().wait_ready()
        yield

    @contextmanager
    def broker_killed(self) -> Iterator[None]:
        self._hall.broker.kill()
        self._wait_broker_down()
        try:
            yield
        finally:
            self._hall.broker.start()

    @contextmanager
    def broker_hung(self) -> Iterator[None]:
        self._hall.broker.halt()
        try:
            self._wait_broker_down()
            yield
        finally:
            self._hall.broker.resume()

    @contextmanager
    def broker_refuses(self) -> Iterator[None]:
        with self._network.closed():
            self._wait_broker_down()
            yield

    @contextmanager
    def rights_taken(self) -> Iterator[None]:
        """The broker's rights no longer let the table publish."""
        log = self._hall.daemon.log
        self._set_rights(NO_RIGHTS)
        try:
            # Logged at most once a minute: perhaps when the rights were taken before.
            wait_for(lambda: b'"publish_refused"' in log.read_bytes(), "a refusal in the log")
            yield
        finally:
            self._set_rights(ALL_RIGHTS)

    @contextmanager
    def connection_reset(self) -> Iterator[None]:
        accepted = self._network.accepted
        self._network.reset()
        wait_for(lambda: self._network.accepted > accepted, "a new connection")
        yield

    @contextmanager
    def connection_silent(self) -> Iterator[None]:
        with self._network.half_open():
            self._wait_broker_down()
            yield

    @contextmanager
    def disk_full(self) -> Iterator[None]:
        ballast = self._disk / "ballast"
        try:
            # The daemon takes room meanwhile.
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            self._wait_status("Nothing can be recorded")
            yield
        finally:
            ballast.unlink()

    @contextmanager
    def disk_read_only(self) -> Iterator[None]:
        with self._flag("read-only"):
            self._wait_status("Nothing can be recorded")
            yield

    @contextmanager
    def slow_disk(self) -> Iterator[None]:
        """Each commit takes 100 ms: rounds go on."""
        with self._flag("slow"):
            self._wait_more_events()
            yield

    @contextmanager
    def clock_set_back(self) -> Iterator[None]:
        with self._flag("clock", str(-self._hall.chance.uniform(1, 7200))):
            self._wait_more_events()
            yield

    @contextmanager
    def clock_set_forward(self) -> Iterator[None]:
        with self._flag("clock", str(self._hall.chance.uniform(1, 7200))):
            self._wait_more_events()
            yield

    @contextmanager
    def second_daemon(self) -> Iterator[None]:
        """A second daemon of this table is refused, and the first one goes on."""
        answer = cli("run", "--config", self._hall.daemon.config)
        assert answer.exit_code == 2
        (line,) = answer.stderr.splitlines()
        assert "journal.db" in line, line
        yield

    @contextmanager
    def _flag(self, name: str, text: str = "") -> Iterator[None]:
        flag = self._flags / name
        flag.write_text(text)
        try:
            yield
        finally:
            flag.unlink()

    def _set_rights(self, rights: str) -> None:
        self._rights.write_text(rights)
        with contextlib.suppress(AssertionError, ProcessLookupError):  # not running
            self._hall.broker.signal(signal.SIGHUP)

    def _wait_broker_down(self) -> None:
        self._wait_status("broker down")

    def _wait_status(self, text: str) -> None:
        manager = self._hall.daemon.manager
        wait_for(lambda: text in manager.status, f"{text!r} in the status of the unit")

    def _wait_more_events(self) -> None:
        count = len(journal_checks.stored_events(self._hall.journal))
        wait_for(
            lambda: len(journal_checks.stored_events(self._hall.journal)) > count, "more events"
        )


def damage(journal: Path, copy: Path, position: float, *, truncate: bool) -> None:
    """
    Copy a journal and damage the copy at a relative position from 0 to 1.

    Args:
        journal: A journal without a daemon.
        copy: Where the copy is written.
        position: Of the flipped or first missing byte.
        truncate: Cut it there, instead of flipping one byte.
    """
    shutil.copy(journal, copy)
    data = bytearray(copy.read_bytes())
    at = min(int(position * len(data)), len(data) - 1)
    if truncate:
        del data[at:]
    else:
        data[at] ^= 0xFF
    copy.write_bytes(bytes(data))
