"""
Cost of saving the broker's database: `python -m bench.broker_autosave`.

A real mosquitto holds the retained documents of many tables, taken from a simulated shoe,
and for the larger floor the full queue of a back office that is away. One client publishes
the messages of these tables at a fixed rate; another one subscribes. The delay of a message
is the time from the moment when it was due to its arrival. Three brokers take turns:

- `each change`: `autosave_on_changes` with `autosave_interval 1`;
- `sample`: the lines of systemd/mosquitto-shoe.conf. A window is as long as its
  `autosave_interval`, unless `--seconds` is given, and one save more is forced in its middle:
  in service a save is half as frequent;
- `never`: nothing is saved. The ratios are to this one, in the same repeat.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench.harness import median_and_range, mosquitto, mosquitto_pid, percentile, wait_for
from bench.simulated_mqtt_messages import (
    SITE,
    TABLE,
    Message,
    Step,
    latest,
    simulated_steps,
    status,
)
from shoe_daemon.mqtt.connection import leave

__all__: list[str] = []

SAMPLE: Final = Path(__file__).parents[1] / "systemd" / "mosquitto-shoe.conf"
_EACH, _SAMPLE, _NEVER = "each change", "sample", "never"
_STEPS: Final = 400
"""Steps of a simulated shoe: nearly all of it."""

_BACKLOG: Final = 100_000
"""Queued messages of disconnected back offices: five times `max_queued_messages` of the sample."""

_CHUNK: Final = 500
"""Messages in flight while the database is filled."""

_PUBLISH_TIMEOUT_S: Final = 600
_DRAIN_S: Final = 20.0
_MB: Final = 1e6


class Floor(NamedTuple):
    """Size of the broker's database."""

    tables: int
    backlog: int


class Load(NamedTuple):
    """The load of one window: messages per second, and seconds."""

    floor: Floor
    rate: float
    seconds: float


class Window(NamedTuple):
    """
    The result of one window: delays in milliseconds, and megabytes written by the broker.

    Attributes:
        lost: Messages not received some time after the window; their delay counts until then.
    """

    delays: list[float]
    lost: int
    written: float
    database: float


Runs = dict[str, list[Window]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second")
    parser.add_argument("--seconds", type=float, default=_interval(), help="of each window")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    chosen = parser.parse_args()
    print(
        f"{chosen.repeats} repeats of {chosen.seconds:.0f} s at {chosen.rate:.0f} messages/s; "
        "median of the repeats [least to most]"
    )
    for floor in (Floor(60, 0), Floor(500, _BACKLOG)):
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            runs = _runs(Path(folder), Load(floor, chosen.rate, chosen.seconds), chosen.repeats)
        report(floor, runs, chosen.seconds)


def _interval() -> float:
    found = re.search(r"^autosave_interval (\d+)$", SAMPLE.read_text("utf-8"), re.MULTILINE)
    return float(found[1]) if found else 60.0


def _runs(folder: Path, load: Load, repeats: int) -> Runs:
    """Measure all three brokers in turn, each one started with the same database."""
    runs: Runs = {_EACH: [], _SAMPLE: [], _NEVER: []}
    database = _database(folder, load.floor)
    for number in range(repeats):
        for name, windows in runs.items():
            place = folder / f"{number}-{name}".replace(" ", "-")
            place.mkdir()
            shutil.copy(database, place / "mosquitto.db")
            windows.append(measure(place, name, load))
    return runs


def report(floor: Floor, runs: Runs, seconds: float) -> None:
    """Print delays, ratios and megabytes written."""
    size = max(each.database for each in runs[_SAMPLE])
    print(f"\n{floor.tables} tables, {floor.backlog} queued messages, database {size:.1f} MB")
    print(f"  {'':<14}{'p50, ms':<26}{'p99, ms':<26}{'longest, ms':<26}MB written an hour")
    for name, windows in runs.items():
        shown = [
            median_and_range([percentile(each.delays, share) for each in windows])
            for share in (0.5, 0.99, 1.0)
        ]
        written = median_and_range([each.written * 3600 / seconds for each in windows], ".0f")
        print(f"  {name:<14}{''.join(f'{each:<26}' for each in shown)}{written}")
        if lost := sum(each.lost for each in windows):
            print(f"  {'':<14}not delivered {_DRAIN_S:.0f} s after the window: {lost}")
    for name in (_EACH, _SAMPLE):
        ratios = [
            median_and_range(
                [
                    percentile(one.delays, share) / percentile(never.delays, share)
                    for one, never in zip(runs[name], runs[_NEVER], strict=True)
                ]
            )
            for share in (0.5, 0.99)
        ]
        print(f"  {name} / never: p50 {ratios[0]}, p99 {ratios[1]}")


def measure(folder: Path, name: str, load: Load) -> Window:
    """Measure one window at one broker."""
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(folder, _configuration(folder, name)))
        process = mosquitto_pid(folder)
        publisher = _client(port, "publisher")
        stack.callback(leave, publisher)
        subscriber = _Subscriber(port)
        stack.callback(subscriber.close)
        before = _written(process)
        _speak(publisher, subscriber, load, save=process if name == _SAMPLE else None)
        lost = subscriber.drain()
        written = _written(process) - before
        database = (folder / "mosquitto.db").stat().st_size / _MB
        return Window(subscriber.delays, lost, written, database)


def _database(folder: Path, floor: Floor) -> Path:
    """Create the database of a floor: retained documents, and the back office's queue."""
    place = folder / "made"
    place.mkdir()
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(place, _configuration(place, _NEVER)))
        publisher = _client(port, "publisher")
        stack.callback(leave, publisher)
        _fill(publisher, port, floor)
    return place / "mosquitto.db"  # written when the broker ended


def _configuration(folder: Path, name: str) -> str:
    """Return the lines of one of the three brokers."""
    sample = SAMPLE.read_text(encoding="utf-8")
    lines = re.findall(r"^message_size_limit .*$", sample, re.MULTILINE)
    lines.append(f"max_queued_messages {_BACKLOG}")
    if name == _SAMPLE:
        lines += re.findall(r"^(?:persistence|autosave_\w+) .*$", sample, re.MULTILINE)
    else:
        lines += ["persistence true", f"autosave_interval {int(name == _EACH)}"]
        lines.append(f"autosave_on_changes {str(name == _EACH).lower()}")
    lines.append(f"persistence_location {folder}/")
    if os.geteuid() == 0:  # mosquitto would become a user who cannot write to the folder
        lines.append("user root")
    return "\n".join(lines)


def _client(port: int, name: str, *, clean: bool = True) -> paho.Client:
    client = paho.Client(CallbackAPIVersion.VERSION2, name, clean_session=clean)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", port)
    client.loop_start()
    return client


def _fill(publisher: paho.Client, port: int, floor: Floor) -> None:
    """Publish all retained documents, and fill the back office's queue."""
    office = _client(port, "back-office", clean=False)
    office.subscribe(f"shoe/v1/{SITE}/+/event/#", qos=1)
    time.sleep(0.5)
    leave(office)
    steps = _steps()
    retained = (
        (table, message)
        for table in range(floor.tables)
        for message in chain([status()], latest(steps, _STEPS - 1 - table % 40))
    )
    events = [each for step in steps for each in step.messages if not each.retained]
    queued = (
        (number % floor.tables, events[number % len(events)]) for number in range(floor.backlog)
    )
    messages = chain(retained, queued)
    while chunk := list(islice(messages, _CHUNK)):
        for sent in [_publish(publisher, table, message) for table, message in chunk]:
            sent.wait_for_publish(_PUBLISH_TIMEOUT_S)


def _steps() -> list[Step]:
    return list(islice(simulated_steps(3), _STEPS))


def _speak(
    publisher: paho.Client, subscriber: _Subscriber, load: Load, *, save: int | None
) -> None:
    """Publish at the given rate; force a save of the broker `save` in the middle."""
    traffic = _traffic(_steps(), load.floor.tables)
    began = time.perf_counter() + 0.1
    count = int(load.rate * load.seconds)
    for number in range(count):
        due = began + number / load.rate
        time.sleep(max(0.0, due - time.perf_counter()))
        if number == count // 2 and save is not None:
            os.kill(save, signal.SIGUSR1)
        subscriber.due.append(due)
        _publish(publisher, *next(traffic))


def _traffic(steps: list[Step], tables: int) -> Iterator[tuple[int, Message]]:
    """Yield the tables' messages, one step of each table in turn."""
    for step in steps * 1000:
        for table in range(tables):
            for message in step.messages:
                yield table, message


def _publish(publisher: paho.Client, table: int, message: Message) -> paho.MQTTMessageInfo:
    name = f"table-{table:04}"
    payload = message.payload.replace(f'"{TABLE}"'.encode(), f'"{name}"'.encode())
    topic = f"shoe/v1/{SITE}/{name}/{message.suffix}"
    return publisher.publish(topic, payload, 1, message.retained)


def _written(process: int) -> float:
    """Return the megabytes written to disk by a process."""
    text = Path(f"/proc/{process}/io").read_text(encoding="ascii")
    return int(text.partition("\nwrite_bytes: ")[2].split()[0]) / _MB


class _Subscriber:
    """
    Receives messages in the order of publication.

    Attributes:
        due: Due time of each missing message.
        delays: Delays of received messages in milliseconds.
    """

    def __init__(self, port: int) -> None:
        self.due: deque[float] = deque()
        self.delays: list[float] = []
        self._client = _client(port, "subscriber")
        self._client.on_message = self._on_message
        self._retained = time.perf_counter()
        self._client.subscribe(f"shoe/v1/{SITE}/#", qos=1)
        wait_for(lambda: time.perf_counter() - self._retained > 1.0, "the retained documents")

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        now = time.perf_counter()
        if message.retain:
            self._retained = now
        elif self.due:
            self.delays.append(1000 * (now - self.due.popleft()))

    def drain(self) -> int:
        """Wait for messages in flight; return the number of lost messages."""
        until = time.perf_counter() + _DRAIN_S
        while self.due and time.perf_counter() < until:
            time.sleep(0.01)
        left = list(self.due)
        self.due.clear()
        self.delays += [1000 * (time.perf_counter() - due) for due in left]
        return len(left)

    def close(self) -> None:
        """Disconnect."""
        leave(self._client)


if __name__ == "__main__":
    main()
