"""
The parts of the demo: a folder with configurations, and the processes that run with them.

The processes are a broker, `shoe-daemon run` and `shoe-daemon display`; they end at the latest
with this process. The dealer and the scripted supervisor are threads of this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from drivers import create_driver
from drivers.simulators.angel_eye import Settings
from drivers.simulators.lines import Line, PtyLine
from drivers.simulators.simulator import Simulator
from shoe_daemon.config.sections import ReaderSettings
from shoe_daemon.demo.client import SupervisorClient
from shoe_daemon.demo.dealer import CameraDealer, Dealer, DealerThread
from shoe_daemon.demo.shoe import (
    QUIET_S,
    DemoSettings,
    reader_options,
    shoe_of,
    simulator_of,
)
from shoe_daemon.demo.supervisor import OPERATOR, AutoSupervisor
from shoe_daemon.errors import UserError
from shoe_daemon.game import House
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.operators import hash_pin
from shoe_daemon.table import Event, ResultOn

SITE: Final = "demo"
TABLE: Final = "table-1"
NAME: Final = "Demo table"
HOST: Final = "127.0.0.1"
PERSON: Final = "Supervisor"
DEALER: Final = "Dealer"
PIN: Final = "123456"
DEALT_FILE: Final = "dealt.jsonl"
"""The rounds that were really dealt."""

_RECOGNISER_TOPIC: Final = "demo/recogniser"
_PREVIEW_PORT: Final = 8091
_REVEAL_AFTER_S: Final = 0.5
"""Seconds at real pace: tucked cards are turned before a third card is drawn."""

_PR_SET_PDEATHSIG: Final = 1
_prctl = ctypes.CDLL(None).prctl

_STOP_TIMEOUT_S: Final = 5.0
_START_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.01
_LAST_PICTURE_S: Final = 2.0
_MOSQUITTO: Final = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
set_tcp_nodelay true
log_dest stderr
{user}"""


def _end_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Child:
    """A program that ends at the latest with this process; its output goes to a file."""

    def __init__(self, name: str, log: Path | None, *command: str) -> None:
        """
        Args:
            name: Its name for people.
            log: The file; None for this process's stderr.
            command: Program and arguments.
        """
        self._name, self._log = name, log
        with contextlib.nullcontext(None) if log is None else log.open("ab") as file:
            # A session of its own: Ctrl-C is for the demo, which ends its children in order.
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                # `Popen` returns after it: no moment is left in which the parent may die unseen.
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one system call
            )

    @property
    def up(self) -> bool:
        """True while it is running."""
        return self._process.poll() is None

    def check(self) -> None:
        """
        Raises:
            UserError: It has ended.
        """
        if not self.up:
            lines = self._log.read_text(errors="replace").splitlines() if self._log else []
            why = lines[-1] if lines else f"exit status {self._process.returncode}"
            raise UserError(f"{self._name} of the demo has ended: {why}")

    def end(self) -> None:
        """Stop it, and wait for its end."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_command(name: str, log: Path | None, *arguments: str) -> Child:
    """Start a command such as ``display``."""
    return Child(name, log, sys.executable, "-m", "shoe_daemon", *arguments)


def free_port(preferred: int) -> int:
    """Return the preferred port, or another one if it is in use."""
    for wanted in (preferred, 0):
        with contextlib.suppress(OSError), socket.create_server((HOST, wanted)) as probe:
            port: int = probe.getsockname()[1]
            return port
    return preferred


@contextmanager
def broker(folder: Path, preferred: int) -> Iterator[MqttSettings]:
    """
    Run mosquitto on loopback, or, where it is not installed, a broker inside this process.

    Raises:
        UserError: It does not start.
    """
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    program = shutil.which("mosquitto", path=places)
    if program is None:
        from shoe_daemon.mqtt.broker import EmbeddedBroker  # noqa: PLC0415 - brings asyncio with it

        with EmbeddedBroker(preferred) as embedded:
            yield MqttSettings(host=HOST, port=embedded.port, protocol="3.1.1")
        return
    port = free_port(preferred)
    child = _start_mosquitto(program, folder, port)
    try:
        child.check()
        yield MqttSettings(host=HOST, port=port)
    finally:
        child.end()


def _start_mosquitto(program: str, folder: Path, port: int) -> Child:
    """Start mosquitto, and wait until it listens or has ended."""
    configuration, log = folder / "mosquitto.conf", folder / "mosquitto.log"
    # Started by root it would become another user.
    user = "user root\n" if os.geteuid() == 0 else ""
    configuration.write_text(_MOSQUITTO.format(port=port, user=user), encoding="utf-8")
    log.write_bytes(b"")
    child = Child("mosquitto", log, program, "-c", str(configuration))
    until = time.monotonic() + _START_TIMEOUT_S
    while child.up and b" running" not in log.read_bytes() and time.monotonic() < until:
        time.sleep(_POLL_S)
    return child


class Links(NamedTuple):
    """URLs of the pages; of a camera's preview, if there is one."""

    board: str
    dealer: str
    pit: str
    log: str
    report: str
    decide: str
    camera: str = ""


def links_of(url: str, camera: str = "") -> Links:
    """Return the pages of the demo's table on a display."""
    board = f"{url}/table/{TABLE}"
    pit = f"{url}/pit"
    return Links(
        *(board, f"{board}/dealer", pit, f"{pit}/log", f"{pit}/report", f"{pit}/table/{TABLE}"),
        camera,
    )


class Demo:
    """
    All parts, running until `__exit__`.

    Attributes:
        mqtt: The broker.
        links: The pages.
        shoe: Address of the reader's line, and what is simulated there.
        seed: Seed of the shoe.
        warm_up: Rounds dealt at once.
        dealer: Deals.
        supervisor: Follows the table, and decides.
    """

    def __init__(
        self,
        settings: DemoSettings,
        house: House,
        folder: Path,
        stopping: threading.Event,
        on_event: Callable[[Event], None],
    ) -> None:
        self._stopping = stopping
        self._over_since: float | None = None
        with ExitStack() as parts:
            self.mqtt = parts.enter_context(broker(folder, settings.port))
            shoe = shoe_of(settings, house)
            self.seed, self.warm_up = shoe.seed, shoe.warm_up
            self.supervisor = SupervisorClient(
                self.mqtt,
                Topics(SITE, TABLE),
                AutoSupervisor(lambda: self.dealer.on_table),
                decide_after=settings.decide_after,
                pin=PIN,
                on_event=on_event,
            )
            parts.enter_context(self.supervisor)
            reader = self._prepare_dealer(settings, shoe, folder, parts)
            port = free_port(settings.board_port)
            view = reader.options.get("view")
            self.links = links_of(f"http://{HOST}:{port}", f"http://{view}/" if view else "")
            _write_configurations(settings, folder, self.mqtt, reader, port)
            log = None if settings.debug else folder / "run.log"
            debug = ["--debug"] if settings.debug else []
            self._children: list[Child] = []
            self._start(parts, "the daemon", log, "run", folder / "table.toml", *debug)
            log = folder / "display.log"
            self._start(parts, "the display", log, "display", folder / "display.toml")
            parts.enter_context(self.dealer)
            self._parts = parts.pop_all()

    def _prepare_dealer(
        self, settings: DemoSettings, shoe: Settings, folder: Path, parts: ExitStack
    ) -> ReaderSettings:
        """Make the dealer; return the reader of the cards that it deals."""
        truth = folder / DEALT_FILE
        if settings.camera:
            view = f"{HOST}:{free_port(_PREVIEW_PORT)}"
            camera = CameraDealer(shoe, folder, view, self.supervisor, truth)
            self.dealer: DealerThread = camera
            self.shoe = f"{camera.reader.port}, above a simulated table"
            return camera.reader
        options = reader_options(settings)
        simulator = simulator_of(settings)(create_driver(settings.driver, options))
        line = _line_of(simulator, self.mqtt) or PtyLine(folder / "shoe")
        parts.callback(line.close)
        self.shoe = f"{line.address}, simulated: {simulator.about}"
        self.dealer = Dealer(
            shoe, line, settings.speed, self.supervisor, simulator=simulator, truth=truth
        )
        return ReaderSettings(driver=settings.driver, port=line.address, options=options)

    def _start(
        self, parts: ExitStack, name: str, log: Path | None, verb: str, file: Path, *more: str
    ) -> None:
        child = start_command(name, log, verb, "--config", str(file), *more)
        parts.callback(child.end)
        self._children.append(child)

    def __enter__(self) -> Self:
        """Return the running parts."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all parts in reverse order."""
        self._parts.close()

    def going(self) -> bool:
        """
        Tell whether to go on: until a signal, or some seconds after the last round.

        Raises:
            UserError: A process has ended.
        """
        for child in self._children:
            child.check()
        if self.dealer.over and self._over_since is None:
            self._over_since = time.monotonic()
        return not self._stopping.is_set() and not (
            self._over_since and time.monotonic() - self._over_since > _LAST_PICTURE_S
        )


def _line_of(simulator: Simulator, mqtt: MqttSettings) -> Line | None:
    """Open the simulator's own kind of line, a topic of the broker; None for a serial line."""
    open_line: Callable[[str], Line] | None = getattr(simulator, "open_line", None)
    return open_line and open_line("mqtt://{}:{}/{}".format(*mqtt.address, _RECOGNISER_TOPIC))


def _write_configurations(
    settings: DemoSettings,
    folder: Path,
    mqtt: MqttSettings,
    reader: ReaderSettings,
    port: int,
) -> None:
    """Write table.toml and display.toml, with one file of operators."""
    house, policy = (_absolute(each) for each in (settings.house, settings.policy))
    speed = settings.speed or float("inf")
    table = {
        "id": TABLE,
        "name": NAME,
        "house_file" if house.endswith(".toml") else "house": house,
        "policy": policy,
        "simulated": True,
        "reveal_after": _REVEAL_AFTER_S / speed,
        "quiet_gap": QUIET_S / speed,
        "draw_within": QUIET_S / speed,
        # Published when the dealer calls the result, so that an irregularity holds it back.
        "result_on": ResultOn.CONFIRMED.value,
    }
    where = {"host": mqtt.host, "port": mqtt.port, "protocol": mqtt.protocol}
    operators = {"operators_file": "operators.toml"}
    pin = hash_pin(PIN)
    _write(
        folder / "table.toml",
        ("", {"site": SITE}),
        ("[table]", table),
        ("[journal]", {"path": "journal.db"}),
        ("[orders]", operators),
        ("[mqtt]", where),
        ("[[reader]]", {"driver": reader.driver, "port": reader.port}),
        ("[reader.options]", reader.options),
    )
    _write(
        folder / "display.toml",
        ("[display]", {"listen": f"{HOST}:{port}"}),
        ("[display.orders]", operators),
        ("[display.history]", {"file": "history.db"}),
        ("[mqtt]", where),
    )
    _write(
        folder / "operators.toml",
        ("[[operator]]", {"name": PERSON, "pin": pin}),
        ("[[operator]]", {"name": OPERATOR, "pin": pin}),
        ("[[operator]]", {"name": DEALER, "pin": pin, "roles": ["dealer"]}),
    )
    (folder / "operators.toml").chmod(0o600)


def _write(path: Path, *sections: tuple[str, Mapping[str, object]]) -> None:
    """Write TOML; strings, numbers and lists of strings are written as in JSON."""
    lines = [
        line
        for head, values in sections
        for line in (head, *(f"{key} = {json.dumps(value)}" for key, value in values.items()), "")
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if name.endswith(".toml") else name
