"""
What benches stand on: a real broker, a serial line, processes that are ended
whatever happens, and numbers with their spread.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

__all__ = [
    "Ear",
    "Terminal",
    "answers",
    "broker",
    "broker_process",
    "children",
    "configuration",
    "free_port",
    "managed",
    "megabytes",
    "percentile",
    "spread",
    "wait_for",
]

_PATIENCE: Final = 30.0
_MOSQUITTO: Final = shutil.which("mosquitto", path=f"{os.environ.get('PATH')}:/usr/sbin")


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds; end the bench where it does not come to hold."""
    until = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.005)


@contextmanager
def children() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Give what starts a process; all of them are ended at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str, **more: object) -> subprocess.Popen[bytes]:
        child: subprocess.Popen[bytes] = subprocess.Popen(command, **more)  # type: ignore[call-overload]
        started.append(child)
        return child

    try:
        yield start
    finally:
        for child in reversed(started):
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


class Ready(NamedTuple):
    """A daemon that has said that it is ready: its process, and the seconds that it took."""

    process: int
    seconds: float


@contextmanager
def managed(config: Path) -> Iterator[Ready]:
    """Run the daemon of a configuration as the service manager would, until it is ready and on."""
    door = config.with_name("notify")
    door.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, children() as start:
        manager.bind(str(door))
        manager.settimeout(_PATIENCE)
        command = (sys.executable, "-m", "shoe_daemon", "run", "--config", str(config))
        told = os.environ | {"NOTIFY_SOCKET": str(door)}
        began = time.perf_counter()
        child = start(*command, stderr=subprocess.DEVNULL, env=told)
        while b"READY=1" not in manager.recv(4096):
            pass
        yield Ready(child.pid, time.perf_counter() - began)


def megabytes(process: int, *, peak: bool = False) -> float:
    """Return the resident memory of a process: now, or the most that it ever was."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    name = "VmHWM:" if peak else "VmRSS:"
    line = next(line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


@contextmanager
def broker(folder: Path, more: str = "") -> Iterator[int]:
    """
    Run mosquitto on a free port of loopback, without Nagle's delay; give the port.

    Its configuration ends with `more`.
    """
    if _MOSQUITTO is None:
        sys.exit("mosquitto is missing: apt-get install mosquitto")
    port = free_port()
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nset_tcp_nodelay true\nallow_anonymous true\n{more}\n",
        encoding="utf-8",
    )
    with children() as start, (folder / "mosquitto.log").open("wb") as log:
        start(_MOSQUITTO, "-c", str(folder / "mosquitto.conf"), stdout=log, stderr=log)
        wait_for(lambda: answers(port), "mosquitto")
        yield port


def broker_process(folder: Path) -> int:
    """Return the process of the broker whose configuration lies in a folder."""
    wanted = str(folder / "mosquitto.conf").encode()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (each / "cmdline").read_bytes():
                return int(each.name)
        except OSError:
            continue
    sys.exit("the broker has gone")


def free_port() -> int:
    """Return a port of loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Tell whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Terminal:
    """
    The reader's end of a serial line.

    Attributes:
        path: What the other side opens.
    """

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)

    def write(self, data: bytes) -> float:
        """Write a frame in one piece and return the moment right before."""
        began = time.perf_counter()
        os.write(self._master, data)
        return began

    def heard(self) -> bool:
        """Tell whether somebody has opened the other end."""
        poll = select.poll()
        poll.register(self._master, select.POLLOUT)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def close(self) -> None:
        """Take the line away."""
        os.close(self._master)


class Ear:
    """An MQTT subscriber that waits on its own socket, and knows when it heard."""

    def __init__(self, port: int, *topics: str) -> None:
        self._heard: list[tuple[str, float]] = []
        self._client = client = paho.Client(CallbackAPIVersion.VERSION2, "ear")
        client.on_message = self._on_message
        client.connect("127.0.0.1", port)
        for topic in topics:
            client.subscribe(topic, qos=1)
        self.hush(0.2)

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        self._heard.append((message.topic, time.perf_counter()))

    def wait(self, topic: str, patience: float = 5.0) -> float:
        """Return when the next message of a topic came; all others are let drop."""
        until = time.perf_counter() + patience
        while time.perf_counter() < until:
            self._turn(until - time.perf_counter())
            heard, self._heard = self._heard, []
            for name, at in heard:
                if name == topic:
                    return at
        sys.exit(f"nothing came on {topic}")

    def hush(self, seconds: float) -> None:
        """Listen for so long, and let drop what came."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            self._turn(left)
        self._heard.clear()

    def _turn(self, timeout: float) -> None:
        pipe = self._client.socket()
        if pipe is None:
            sys.exit("the broker has gone")
        wanted = [pipe] if self._client.want_write() else []
        if select.select([pipe], wanted, [], max(0.0, timeout))[0]:
            self._client.loop_read()
        self._client.loop_write()
        self._client.loop_misc()


def configuration(folder: Path, broker_port: int | None, line: str | None) -> Path:
    """Write a table's configuration and return where; its site is the folder's name."""
    text = f'site = "{folder.name}"\n[table]\nid = "table"\n'
    if broker_port is not None:
        text += f"[mqtt]\nport = {broker_port}\n"
    if line is not None:
        text += f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{line}"\n'
    folder.mkdir(exist_ok=True)
    path = folder / "table.toml"
    path.write_text(text, encoding="utf-8")
    return path


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Write the median, and the least and the most in brackets."""
    return f"{median(values):{form}} [{min(values):{form}} to {max(values):{form}}]"
