"""
The real mosquitto on a free loopback port, and a listener that remembers.

`Mosquitto` can be killed, halted and started again on its port; the fixture
`mosquitto` starts a plain one and ends it whatever happens.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_daemon.mqtt.connection import leave
from tests.waiting import PATIENCE, wait_for

__all__ = [
    "PLUGIN",
    "Listener",
    "Message",
    "Mosquitto",
    "Refusing",
    "Relay",
    "free_port",
    "mosquitto",
    "set_password",
]

_FIRST_PORT = 10_081
"""Browsers refuse 10080 and some lower ones."""
_MAX_TAKEN = 100
_taken = deque[socket.socket]()
"""Names in the kernel, of the ports that were taken last: they end with the process."""

# Debian keeps it where only root looks.
PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


PLUGIN = next(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"), None)
"""mosquitto's dynamic security, with which a broker refuses subscriptions."""


def _program() -> str:
    """Return the path of mosquitto, or skip the test."""
    if PROGRAM is None:
        pytest.skip("mosquitto is not installed (apt-get install mosquitto)")
    return PROGRAM


def set_password(accounts: Path, user: str, password: str) -> None:
    """Add an account to a password file of mosquitto; skip the test without mosquitto."""
    entries = (
        accounts.read_text(encoding="utf-8").splitlines(keepends=True) if accounts.exists() else []
    )
    others = [each for each in entries if not each.startswith(f"{user}:")]
    accounts.write_text("".join([*others, _entry(user, password)]), encoding="utf-8")


@cache
def _entry(user: str, password: str) -> str:
    """Return a line of a password file."""
    _program()
    # By a file: every user of this computer can read the arguments of a program.
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
        file.write(f"{user}:{password}\n")
        file.flush()
        subprocess.run(["mosquitto_passwd", "-U", file.name], check=True)
        return Path(file.name).read_text(encoding="utf-8")


def free_port() -> int:
    """
    Return a loopback port that no program uses, and that none is given that asks for any:
    neither a client, nor a test that takes port 0, nor another caller of this function on this
    computer can have it before it is used.
    """
    given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        # Not of `random`, which every test finds in the same state.
        port = _FIRST_PORT + secrets.randbelow(max(given, 2 * _FIRST_PORT) - _FIRST_PORT)
        ours = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            ours.bind(f"\0shoe-daemon tests: port {port}")
            probe.bind(("127.0.0.1", port))
            _keep(ours)
            return port
        ours.close()


def _keep(name: socket.socket) -> None:
    _taken.append(name)
    if len(_taken) > _MAX_TAKEN:  # an older one is used by now
        _taken.popleft().close()


@atexit.register
def _close_kept() -> None:
    for name in _taken:
        name.close()


class Mosquitto:
    """
    A broker of its own, configured by lines of mosquitto.conf.

    Without `lines`, everybody may do everything and nothing survives a kill.
    """

    def __init__(self, folder: Path, lines: str = "allow_anonymous true", port: int = 0) -> None:
        self.port = port or free_port()
        self.folder = folder
        self.log = folder / "mosquitto.log"
        self._configuration = folder / "mosquitto.conf"
        # Started by root it would become another user, who may not read a test's files.
        user = "user root\n" if os.geteuid() == 0 else ""
        self._configuration.write_text(
            f"{user}log_dest stderr\nset_tcp_nodelay true\n"
            f"listener {self.port} 127.0.0.1\n{lines}\n",
            encoding="utf-8",
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        """Start it and wait until it listens."""
        with self.log.open("ab") as log:
            begin = log.tell()
            self._process = subprocess.Popen(
                [_program(), "-c", self._configuration], stdout=log, stderr=log, cwd=self.folder
            )
        # Only when it says so does it listen and take signals.
        wait_for(lambda: self._runs(begin), f"mosquitto on port {self.port}")
        return self

    def _runs(self, begin: int) -> bool:
        assert self._process is not None
        text = self.log.read_bytes()[begin:]
        assert self._process.poll() is None, text.decode()
        return b" running\n" in text

    def signal(self, number: signal.Signals) -> None:
        """Send a signal: SIGHUP reads passwords and rights again."""
        assert self._process is not None
        self._process.send_signal(number)

    def halt(self) -> None:
        """Leave it with open lines, and dead to the world."""
        self.signal(signal.SIGSTOP)
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        """Let it go on after `halt`."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would, if it is running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running broker where everybody may do everything."""
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    with Mosquitto(folder) as broker:
        yield broker


class Refusing(Mosquitto):
    """
    A broker that refuses subscriptions: to some topic filters, or, without any, to all but those
    of a `Listener`, until it grants them.
    """

    def __init__(self, folder: Path, *refused: str) -> None:
        if PLUGIN is None:
            pytest.skip("mosquitto's dynamic security is not installed")
        rights = [
            {"acltype": "subscribeLiteral", "topic": each, "allow": False} for each in refused
        ]
        rights += [
            {"acltype": "subscribeLiteral", "topic": each, "allow": True}
            for each in ("#", "nothing")
        ]
        rights.append({"acltype": "publishClientSend", "topic": "$CONTROL/#", "allow": True})
        security = {
            "defaultACLAccess": {
                **dict.fromkeys(("publishClientSend", "publishClientReceive"), True),
                "subscribe": bool(refused),
                "unsubscribe": True,
            },
            "anonymousGroup": "all",
            "groups": [{"groupname": "all", "roles": [{"rolename": "all"}]}],
            "roles": [{"rolename": "all", "acls": rights}],
        }
        file = folder / "security.json"
        file.write_text(json.dumps(security))
        file.chmod(0o600)
        lines = f"allow_anonymous true\nplugin {PLUGIN}\nplugin_opt_config_file {file}"
        super().__init__(folder, lines)

    def grant(self) -> None:
        """Grant every subscription; connections stay."""
        access = {"acltype": "subscribe", "allow": True}
        command = {"commands": [{"command": "setDefaultACLAccess", "acls": [access]}]}
        with Listener(self.port, "nothing", name="administrator") as administrator:
            topic = "$CONTROL/dynamic-security/v1"
            administrator.publish(topic, json.dumps(command).encode())


class Relay:
    """
    A line to a port of loopback that can be cut, without a word to either side.

    Attributes:
        accepted: The number of its connections so far.
        silent: Whether data is dropped, and connections stay open.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._ends: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.accepted = 0
        self.silent = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # A thread that is in accept() does not notice a mere close.
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.cut()

    def cut(self) -> None:
        """Cut every line; new ones are still accepted."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Cut every line, and let no program through until the block ends."""
        target, self._target = self._target, 0
        self.cut()
        try:
            yield
        finally:
            self._target = target

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                self.accepted += 1
                try:
                    far = socket.create_connection(("127.0.0.1", self._target), PATIENCE)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                self._ends += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.silent:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class Message(NamedTuple):
    """A message that a listener received, and its time (monotonic)."""

    topic: str
    payload: bytes
    retain: bool
    qos: int
    at: float
    expiry: int | None

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was said
        """The payload, decoded."""
        return json.loads(self.payload)


class Listener:
    """
    Subscribes to everything and remembers it in the order of its arrival.

    It keeps its session for a minute and comes back by itself, so that it
    misses nothing that a living broker had for it.
    """

    def __init__(  # noqa: PLR0913 - every test names the one or two that it is about
        self,
        port: int,
        topic: str = "#",
        *,
        name: str = "listener",
        protocol: str = "5",
        username: str | None = None,
        password: str | None = None,
    ) -> None:
        self.messages: list[Message] = []
        self._topic = topic
        self._subscribed = threading.Event()
        is_5 = protocol == "5"
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2,
            name,
            clean_session=None if is_5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
        )
        client.reconnect_delay_set(1, 1)
        if username is not None:
            client.username_pw_set(username, password)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        more: dict[str, Any] = {}
        if is_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 60
            more = {"clean_start": False, "properties": properties}
        client.connect_async("127.0.0.1", port, 60, **more)

    def __enter__(self) -> Self:
        self._client.loop_start()
        assert self._subscribed.wait(PATIENCE), "the listener could not subscribe"
        return self

    def __exit__(self, *_: object) -> None:
        leave(self._client)
        # Without these the client is no part of a cycle, and closes its sockets at once.
        self._client.on_connect = self._client.on_subscribe = self._client.on_message = None

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe(self._topic, qos=1)

    def _on_subscribe(self, *_: object) -> None:
        self._subscribed.set()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        expiry = getattr(message.properties, "MessageExpiryInterval", None)
        self.messages.append(
            Message(
                message.topic,
                bytes(message.payload),
                message.retain,
                message.qos,
                time.monotonic(),
                expiry,
            )
        )

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, wait: bool = True
    ) -> None:
        """Say something and wait until the broker has it; after a broker's start too."""
        wait_for(self._client.is_connected, "the listener's connection")
        sent = self._client.publish(topic, payload, 1, retain)
        if wait:
            sent.wait_for_publish(PATIENCE)

    def of(self, end: str) -> list[Message]:
        """Return the messages whose topic ends so."""
        return [message for message in self.messages if message.topic.endswith(end)]

    def wait(self, end: str, count: int = 1, *, timeout: float = PATIENCE) -> list[Message]:
        """Wait for so many messages whose topic ends so, and return them."""
        try:
            wait_for(lambda: len(self.of(end)) >= count, f"{count} of {end}", timeout=timeout)
        except AssertionError as error:
            error.add_note(f"heard: {Counter(each.topic for each in self.messages)}")
            raise
        return self.of(end)
