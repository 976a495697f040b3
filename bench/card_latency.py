"""
Latency from the last byte of a card's frame to an MQTT subscriber: `python -m bench.card_latency`.

Four measurements, alternating card by card, in one run on one disk:

- the daemon;
- the daemon with a journal that does not wait for the disk;
- a bare forwarder: pySerial reads a frame, paho publishes it;
- one durable SQLite commit of the rows of one card's frame.

Aim: the daemon within 1.5 times the forwarder, plus the commit. Cards come one by one with pauses,
as from a shoe, so all paths are cold.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final

from bench.harness import (
    MqttProbe,
    SerialPty,
    child_processes,
    configuration,
    median_and_range,
    mosquitto,
    percentile,
    wait_for,
)
from drivers.simulators.angel_eye import Mode, Settings, scenes
from shoe_daemon.journal.database import schemas

AIM: Final = 1.5
DURABLE: Final = "daemon"
LOOSE: Final = "daemon, no fsync"
FORWARDER: Final = "forwarder"
COMMIT: Final = "one durable commit"

_WARM_UP: Final = 40
_REST: Final = 0.010
_FRAME: Final = len(b"\x05" + b"1D\x81\xb1" + b"\x03" + b"00")
_TOPICS: Final = {
    DURABLE: "shoe/v1/durable/table/event/card_dealt",
    LOOSE: "shoe/v1/loose/table/event/card_dealt",
    FORWARDER: "bench/forwarded",
}

FORWARD: Final = f"""
import sys
import serial
from paho.mqtt import client as paho

line = serial.Serial(sys.argv[1], 4800, exclusive=True)
client = paho.Client(paho.CallbackAPIVersion.VERSION2, "forwarder")
client.connect("127.0.0.1", int(sys.argv[2]))
client.loop_start()
while True:
    client.publish("{_TOPICS[FORWARDER]}", line.read({_FRAME}), qos=1)
"""
RUN_LOOSELY: Final = """
from functools import partial
from shoe_daemon.journal import Journal
Journal.open = partial(Journal.open, durable=False)
from shoe_daemon.cli import main
main()
"""

Times = dict[str, list[float]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--cards", type=int, default=300, help="cards in a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    chosen = parser.parse_args()
    runs = []
    for number in range(chosen.repeats):
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            runs.append(measure(Path(folder), chosen.cards, number))
    print(
        f"{chosen.repeats} repeats of {chosen.cards} cards, everything in turn; milliseconds, "
        "median of the repeats [least to most]"
    )
    report(runs)


def report(runs: list[Times]) -> None:
    """Print p50 and p99 of each, and the ratios."""
    print(f"  {'':<22}{'p50':<24}p99")
    for name in (DURABLE, LOOSE, FORWARDER, COMMIT):
        p50, p99 = (
            median_and_range([1000 * percentile(run[name], share) for run in runs])
            for share in (0.5, 0.99)
        )
        print(f"  {name:<22}{p50:<24}{p99}")
    print()
    for name, less in ((DURABLE, ""), (LOOSE, ""), (DURABLE, COMMIT)):
        what = f"({name} - {less})" if less else name
        p50, p99 = (median_and_range(_ratios(runs, name, less, share)) for share in (0.5, 0.99))
        print(f"  {what + ' / ' + FORWARDER:<44}p50 {p50:<24}p99 {p99}")
    over = median(_ratios(runs, DURABLE, COMMIT, 0.5))
    print(f"  aim: the last within {AIM} at p50: {'met' if over <= AIM else 'missed'}")


def _ratios(runs: list[Times], name: str, less: str, share: float) -> list[float]:
    """Divide by the forwarder of the same repeat, after subtracting `less`."""
    return [
        (percentile(run[name], share) - (percentile(run[less], share) if less else 0.0))
        / percentile(run[FORWARDER], share)
        for run in runs
    ]


def measure(folder: Path, cards: int, seed: int) -> Times:
    """Measure cards on each path, in a random order for each card."""
    chance = random.Random(seed)
    took: Times = {name: [] for name in (*_TOPICS, COMMIT)}
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(folder))
        lines = {name: SerialPty() for name in _TOPICS}
        for line in lines.values():
            stack.callback(line.close)
        _start_all(stack, folder, port, lines)
        probe = MqttProbe(port, *_TOPICS.values())
        commit = stack.enter_context(closing(_Database(folder / "bare.db")))
        ways: dict[str, Callable[[bytes], float]] = {
            name: _way(line, probe, _TOPICS[name]) for name, line in lines.items()
        }
        ways[COMMIT] = commit.take
        for before, card in islice(_cards(seed), cards + _WARM_UP):
            for data in before:
                lines[DURABLE].write(data)
                lines[LOOSE].write(data)
                probe.discard(_REST)
            for name in chance.sample(list(ways), len(ways)):
                took[name].append(ways[name](card))
                probe.discard(_REST)
    return {name: times[_WARM_UP:] for name, times in took.items()}


def _way(line: SerialPty, probe: MqttProbe, topic: str) -> Callable[[bytes], float]:
    def take(card: bytes) -> float:
        began = line.write(card)
        return probe.wait(topic) - began

    return take


def _cards(seed: int) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield the cards of open-mode rounds, each with the frames before it."""
    before: list[bytes] = []
    for scene in scenes(Settings(mode=Mode.OPEN, seed=seed)):
        for report in (step.report for step in scene.steps if step.report):
            if scene.round is None or report.code != "D":
                before.append(report.to_bytes())
                continue
            yield before, report.to_bytes()
            before = []


def _start_all(stack: ExitStack, folder: Path, port: int, lines: dict[str, SerialPty]) -> None:
    start = stack.enter_context(child_processes())

    def run(*program: str) -> subprocess.Popen[bytes]:
        return start(sys.executable, *program, stderr=subprocess.DEVNULL)

    durable = configuration(folder / "durable", port, lines[DURABLE].path)
    loose = configuration(folder / "loose", port, lines[LOOSE].path)
    run("-m", "shoe_daemon", "run", "--config", str(durable))
    run("-c", RUN_LOOSELY, "run", "--config", str(loose))
    run("-c", FORWARD, lines[FORWARDER].path, str(port))
    for name, line in lines.items():
        wait_for(line.is_open, f"{name} to open its line")
    # Opening a line flushes its input in several steps.
    time.sleep(0.5)


class _Database:
    """The journal's tables without the journal: the cost of SQLite alone."""

    def __init__(self, path: Path) -> None:
        self._connection = connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        for schema in schemas():
            connection.executescript(schema)
        self._number = 0

    def take(self, card: bytes) -> float:
        """Write a card's capture, observation, two events, counter and cursor."""
        self._number += 1
        n, at, digest = self._number, "2026-11-21T09:34:46.120Z", (bytes(32), bytes(16))
        execute = self._connection.execute
        began = time.perf_counter()
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO capture VALUES (?, ?, 's', ?, 0, ?, ?)", (n, at, card, *digest))
        execute(
            "INSERT INTO observation VALUES (?, ?, 's', 'card', ?, ?, ?, ?)",
            (n, at, "x" * 100, n, *digest),
        )
        for seq in (2 * n, 2 * n + 1):
            execute(
                "INSERT INTO event VALUES (?, ?, ?, 1, 1, 'card_dealt', ?, ?, ?)",
                (seq, n, at, "x" * 240, *digest),
            )
        execute("INSERT OR REPLACE INTO counter VALUES ('s', 0, ?, 0)", (n,))
        execute("INSERT OR REPLACE INTO cursor VALUES ('mqtt', ?)", (n,))
        execute("COMMIT")
        return time.perf_counter() - began

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


if __name__ == "__main__":
    main()
