"""Starts the demo as a person does, on a terminal or without one."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.brokers import free_port
from tests.waiting import PATIENCE, wait_for

__all__ = [
    "LONGEST",
    "Done",
    "Terminal",
    "children_of",
    "demo",
    "environment",
    "listens",
    "own_ports",
    "run",
    "start",
]

LONGEST = 200.0
"""Seconds after which a demo that should have ended counts as hanging."""

COMMAND = (sys.executable, "-m", "shoe_daemon", "demo")


# Like a shell: has the terminal, starts the demo on it, and says how it ended. It stays, for
# when the one who has a terminal goes, what nobody has read of it goes too.
_SHELL = """
import fcntl, signal, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, lambda *_: None)
print(f"ended with {subprocess.call(sys.argv[1:])}", flush=True)
signal.pause()
"""


_ENDED = "ended with "


class Done(NamedTuple):
    """Result of a demo without a terminal."""

    status: int
    out: str
    err: str


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment whose temporary folder is one of the test's own."""
    return {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(folder),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "error",
        **more,
    }


def own_ports() -> tuple[str, ...]:
    """Return free ports: two demos that start at once may both find the usual ones free."""
    return "--port", str(free_port()), "--board-port", str(free_port())


def start(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[str]:  # noqa: ANN401
    """Start a demo without a terminal, on a port that is free unless one is named."""
    ports = own_ports() if "--port" not in arguments else ()
    return subprocess.Popen(
        [*COMMAND, *ports, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(folder),
        cwd=folder,
        **more,
    )


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Run a demo; give it, and the rows of its introduction."""
    process = start(folder, *arguments)
    try:
        assert process.stdout is not None
        rows: dict[str, str] = {}
        while not (line := process.stdout.readline()).startswith("Ctrl-C"):
            assert line, process.communicate()
            name, _, text = line.partition(":")
            rows[name] = text.strip()
        yield process, rows
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


def listens(url: str) -> bool:
    """Tell whether a display accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) == 0


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started, by whichever of its threads."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(each) for thread in threads for each in thread.read_text("ascii").split()]


def run(folder: Path, *arguments: str) -> Done:
    """Run a demo without a terminal to its end."""
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=LONGEST)
    return Done(process.returncode, out, err)


class Terminal:
    """A demo, or another command, on a terminal of its own, and all that it has written there."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        rows: int = 24,
        columns: int = 80,
        command: Sequence[str] = (),
    ) -> None:
        self._master, self._slave = pty.openpty()
        termios.tcsetwinsize(self._slave, (rows, columns))
        self.before = termios.tcgetattr(self._slave)
        self._bytes = bytearray()
        command = command or (*COMMAND, *own_ports())
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SHELL, *command, *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=environment(folder),
            cwd=folder,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._slave)
        self._reader.join(PATIENCE)
        os.close(self._master)

    def _read(self) -> None:
        try:
            while data := os.read(self._master, 65536):
                self._bytes += data
        except OSError:  # nobody has the other end any more
            return

    @property
    def written(self) -> str:
        """Everything so far."""
        return self._bytes.decode(errors="replace")

    @property
    def manners(self) -> list[Any]:
        """The terminal's settings for what is typed."""
        return termios.tcgetattr(self._slave)

    def resize(self, columns: int, rows: int) -> None:
        """Make it larger or smaller; who has it is told."""
        termios.tcsetwinsize(self._slave, (rows, columns))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> None:
        """Wait until a text is on the terminal."""
        wait_for(lambda: text in self.written or _ENDED in self.written, text)
        assert text in self.written, self.written[-2000:]

    def end(self) -> int:
        """Wait for the end, and return the demo's status."""
        self.wait_for(_ENDED)
        wait_for(lambda: self.written.endswith("\n"))
        return int(self.written.rpartition(_ENDED)[2])
