"""Shared parts of the benchmarks: broker, serial line, child processes, statistics."""

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
    "MqttProbe",
    "SerialPty",
    "child_processes",
    "configuration",
    "free_port",
    "is_listening",
    "median_and_range",
    "mosquitto",
    "mosquitto_pid",
    "percentile",
    "resident_mb",
    "running_daemon",
    "wait_for",
]

_TIMEOUT_S: Final = 30.0
_MOSQUITTO: Final = shutil.which("mosquitto", path=f"{os.environ.get('PATH')}:/usr/sbin")


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = _TIMEOUT_S) -> None:
    """Wait for a condition; exit after a timeout."""
    until = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"waited in vain: {what}")
        time.sleep(0.005)


@contextmanager
def child_processes() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Provide a function that starts processes; all are ended with the block."""
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
    """A daemon after READY: its process, and the seconds until then."""

    process: int
    seconds: float


@contextmanager
def running_daemon(config: Path) -> Iterator[Ready]:
    """Run a daemon within the block, which begins once the daemon is ready."""
    door = config.with_name("notify")
    door.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, child_processes() as start:
        manager.bind(str(door))
        manager.settimeout(_TIMEOUT_S)
        command = (sys.executable, "-m", "shoe_daemon", "run", "--config", str(config))
        environment = os.environ | {"NOTIFY_SOCKET": str(door)}
        began = time.perf_counter()
        child = start(*command, stderr=subprocess.DEVNULL, env=environment)
        while b"READY=1" not in manager.recv(4096):
            pass
        yield Ready(child.pid, time.perf_counter() - began)


def resident_mb(process: int, *, peak: bool = False) -> float:
    """Return a process's resident memory, or its peak."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    name = "VmHWM:" if peak else "VmRSS:"
    line = next(line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def process_seconds(process: int) -> float:
    """Return the processor time of a process, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def mosquitto(folder: Path, more: str = "") -> Iterator[int]:
    """
    Run mosquitto on a free loopback port with TCP_NODELAY; yield the port.

    `more` is appended to its configuration.
    """
    if _MOSQUITTO is None:
        sys.exit("mosquitto is missing: apt-get install mosquitto")
    port = free_port()
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nset_tcp_nodelay true\nallow_anonymous true\n{more}\n",
        encoding="utf-8",
    )
    with child_processes() as start, (folder / "mosquitto.log").open("wb") as log:
        start(_MOSQUITTO, "-c", str(folder / "mosquitto.conf"), stdout=log, stderr=log)
        wait_for(lambda: is_listening(port), "mosquitto")
        yield port


def mosquitto_pid(folder: Path) -> int:
    """Return the process id of the broker whose configuration is in a folder."""
    wanted = str(folder / "mosquitto.conf").encode()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (each / "cmdline").read_bytes():
                return int(each.name)
        except OSError:
            continue
    sys.exit("the broker has gone")


def free_port() -> int:
    """Return a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_listening(port: int) -> bool:
    """Return whether a loopback port accepts connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class SerialPty:
    """
    The reader's end of a serial line.

    Attributes:
        path: The terminal to open.
    """

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)

    def write(self, data: bytes) -> float:
        """Write a frame; return the time before the write."""
        began = time.perf_counter()
        os.write(self._master, data)
        return began

    def is_open(self) -> bool:
        """Return whether a program has the terminal open."""
        poll = select.poll()
        poll.register(self._master, select.POLLOUT)
        return not any(event & select.POLLHUP for _, event in poll.poll(0))

    def close(self) -> None:
        """Close the line."""
        os.close(self._master)


class MqttProbe:
    """An MQTT subscriber that reads its own socket and notes the time of reception."""

    def __init__(self, port: int, *topics: str) -> None:
        self._received: list[tuple[str, float]] = []
        self._client = client = paho.Client(CallbackAPIVersion.VERSION2, "probe")
        client.on_message = self._on_message
        client.connect("127.0.0.1", port)
        for topic in topics:
            client.subscribe(topic, qos=1)
        self.discard(0.2)

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        self._received.append((message.topic, time.perf_counter()))

    def wait(self, topic: str, patience: float = 5.0) -> float:
        """Return the time of the next message on a topic; discard all others."""
        until = time.perf_counter() + patience
        while time.perf_counter() < until:
            self._run_network(until - time.perf_counter())
            received, self._received = self._received, []
            for name, at in received:
                if name == topic:
                    return at
        sys.exit(f"nothing came on {topic}")

    def discard(self, seconds: float) -> None:
        """Receive and discard messages for some seconds."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            self._run_network(left)
        self._received.clear()

    def _run_network(self, timeout: float) -> None:
        pipe = self._client.socket()
        if pipe is None:
            sys.exit("the broker has gone")
        wanted = [pipe] if self._client.want_write() else []
        if select.select([pipe], wanted, [], max(0.0, timeout))[0]:
            self._client.loop_read()
        self._client.loop_write()
        self._client.loop_misc()


def configuration(folder: Path, broker_port: int | None, line: str | None) -> Path:
    """Write a table's configuration; the folder's name is the site."""
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
    """Return a percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median_and_range(values: Sequence[float], form: str = ".2f") -> str:
    """Format the median with minimum and maximum."""
    return f"{median(values):{form}} [{min(values):{form}} to {max(values):{form}}]"
