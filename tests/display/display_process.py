"""The real display as a process, and a client that reads its pages and streams."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple, Self

from argon2 import PasswordHasher

from tests.brokers import free_port
from tests.service.daemon_process import SHOE_DAEMON, ServiceManager
from tests.waiting import PATIENCE, wait_for

__all__ = ["PATIENCE", "SECRET_HASH", "Answer", "Browser", "Display", "facts_of", "first_of"]

SECRET_HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("secret")
"""Of the password "secret", and quick to check: one of the product takes a tenth of a second."""

_BLOCK = re.compile(r'<script type="application/json" id="page">(.*?)</script>', re.DOTALL)


class Answer(NamedTuple):
    """An answer that a browser got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def block(self) -> Any:  # noqa: ANN401 - whatever the page begins with
        """The page's data block."""
        found = _BLOCK.search(self.body.decode())
        assert found is not None, self.body[:200]
        return json.loads(found[1])


def first_of(url: str) -> Any:  # noqa: ANN401 - JSON
    """Return the documents that a page begins with."""
    return facts_of(url)["first"]


def facts_of(url: str) -> Any:  # noqa: ANN401 - JSON
    """Return what a page begins with."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - our own
        return Answer(answer.status, {}, answer.read()).block


class Display:
    """
    `shoe-daemon display` as a process of its own, on a free port.

    Attributes:
        manager: What it tells the service manager.
        log: What it says on stderr, over all its starts.
    """

    def __init__(
        self,
        folder: Path,
        broker: int,
        text: str = "[display]\n",
        *,
        patch: str = "",
        trusted: Path | None = None,
    ) -> None:
        """
        Args:
            folder: For its files.
            broker: The port of its broker.
            text: Its configuration.
            patch: Python that is run in its process before it.
            trusted: The authority of its certificate; None for a display with http.
        """
        self._trusted = trusted
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.config = folder / "display.toml"
        self.config.write_text(f"[mqtt]\nport = {broker}\n{text}", encoding="utf-8")
        self.log = folder / "display.log"
        self.manager = ServiceManager(str(folder / "notify.sock"))
        # One that no outgoing connection takes while it is killed.
        self.port = free_port()
        self._program = SHOE_DAEMON
        if patch:
            main = "from shoe_daemon.cli import main\nmain()"
            self._program = (sys.executable, "-c", f"{patch}\n{main}")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.manager.__exit__()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of the last start."""
        assert self._process is not None
        return self._process

    def start(self) -> Self:
        """Start it, on the port that it had before, and wait until it listens."""
        command = (*self._program, "display", "--config", str(self.config))
        with self.log.open("ab") as log:
            begin = log.tell()
            self._process = subprocess.Popen(
                (*command, "--listen", f"127.0.0.1:{self.port}"),
                stderr=log,
                env={"NOTIFY_SOCKET": self.manager.address, "PATH": "/usr/bin:/bin"},
            )
        wait_for(lambda: self._listens(begin), "the display to listen")
        return self

    def _listens(self, begin: int) -> bool:
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        found = re.search(r'"url": "https?://127.0.0.1:(\d+)/"', self.said(begin))
        self.port = int(found[1]) if found else self.port
        return found is not None

    def said(self, begin: int = 0) -> str:
        """Return what it has logged."""
        return self.log.read_bytes()[begin:].decode()

    def stop(self) -> float:
        """Stop it as a service manager does; return the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said()
        return time.monotonic() - began

    def ask(
        self, path: str, *, method: str = "GET", body: str | None = None, **headers: str
    ) -> Answer:
        """Ask for an address; `_` in a header's name is a hyphen."""
        if self._trusted is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        else:
            context = ssl.create_default_context(cafile=self._trusted)
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=PATIENCE, context=context
            )
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def health(self) -> Any:  # noqa: ANN401 - a JSON object
        """Return how it is."""
        return json.loads(self.ask("/health").body)

    def rss(self) -> int:
        """Return how many bytes of memory it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


class Browser:
    """
    Reads a stream as an EventSource does, on a thread of its own, and remembers.

    Attributes:
        status: What the server answered.
        headers: With what.
        events: All that came, by name, with its document.
        latest: The last document of each name.
        ended: The server has ended the stream.
    """

    def __init__(self, display: Display, path: str, **headers: str) -> None:
        self.events: list[tuple[str, Any]] = []
        self.latest: dict[str, Any] = {}
        self.ended = threading.Event()
        self._connection = http.client.HTTPConnection("127.0.0.1", display.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", path, headers=named)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status
        self.headers = {name.lower(): value for name, value in self._answer.getheaders()}
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._answer.close()
        self._thread.join(PATIENCE)
        self._connection.close()

    def _read(self) -> None:
        name = ""
        try:
            while line := self._answer.readline():
                if line.startswith(b"event: "):
                    name = line[7:].strip().decode()
                elif line.startswith(b"data: "):
                    document = json.loads(line[6:])
                    self.latest[name] = document
                    self.events.append((name, document))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self.ended.set()

    def of(self, name: str) -> list[Any]:
        """Return all documents of a name."""
        return [document for each, document in self.events if each == name]

    def wait(self, name: str, *path: str, value: object) -> None:
        """Wait until the last document of a name has a value at a path."""
        wait_for(
            lambda: _at(self.latest.get(name), path) == value,
            f"{name}.{'.'.join(path)} == {value!r}; it is {_at(self.latest.get(name), path)!r}",
        )

    def wait_for_one(self, name: str, *path: str, value: object, after: int) -> None:
        """
        Wait until a document of a name has come that has a value at a path, not counting the
        first ones; others may have come since.
        """
        wait_for(
            lambda: any(_at(each, path) == value for each in self.of(name)[after:]),
            f"{name}.{'.'.join(path)} == {value!r} once",
        )


def _at(found: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever is there
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found
