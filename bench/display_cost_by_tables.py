"""
Processor and memory of one display with many tables, compared with a bare subscriber.

`python -m bench.display_cost_by_tables BROKER_PORT TABLES` simulates the tables: a card
every three seconds, a heartbeat every ten, each table at another point of its shoe.
`python -m bench.display_cost_by_tables URL BOARDS` simulates browsers: one pit view, some boards.
"""

from __future__ import annotations

import heapq
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from bench.browser import Cost, cost, is_there, show
from bench.harness import child_processes, mosquitto, mosquitto_pid, wait_for
from bench.paint_latency import StatePublisher
from bench.simulated_mqtt_messages import (
    SESSION,
    SITE,
    TABLE,
    Message,
    Step,
    simulated_steps,
    status,
)
from shoe_daemon.mqtt import documents

__all__ = ["latest", "measure_display_load"]

_CARD, _HEARTBEAT = 3.0, 10.0
_SHOE: Final = 400
"""Steps of a shoe, nearly all of it."""

_APART: Final = 37
_LATE: Final = 10.0
_QUEUE: Final = "max_queued_messages 100000"
"""As in the sample configuration: mosquitto's default would drop retained messages."""

_LISTEN: Final = f"""
import sys
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
client = paho.Client(CallbackAPIVersion.VERSION2)
client.on_message = lambda *_: None
client.connect("127.0.0.1", int(sys.argv[1]))
client.subscribe("shoe/v1/{SITE}/#", qos=1)
client.loop_forever()
"""


class Load(NamedTuple):
    """Share of a processor in per cent."""

    display: float
    subscriber: float
    broker: float


def measure_display_load(counts: list[int], seconds: float, folder: Path) -> None:
    """Measure and print."""
    print(f"{seconds:.0f} s each; % of one processor, MB; browsers: one pit, and 19 boards more")
    print(
        f"  {'tables':>6}  {'one browser':<14}{'20 browsers':<14}{'bare':<8}{'broker':<8}"
        f"{'ratio':<8}{'RSS':<8}{'PSS':<8}a table"
    )
    empty: float | None = None
    for count in counts:
        place = folder / str(count)
        place.mkdir()
        one, twenty, memory = _measure(count, seconds, place)
        empty = memory.proportional if empty is None else empty
        each = 1024 * (memory.proportional - empty) / max(count - counts[0], 1)
        print(
            f"  {count:>6}  {one.display:<14.1f}{twenty.display:<14.1f}{one.subscriber:<8.1f}"
            f"{one.broker:<8.1f}{one.display / max(one.subscriber, 0.1):<8.1f}"
            f"{memory.resident:<8.1f}{memory.proportional:<8.1f}"
            + (f"{each:.0f} kB" if count > counts[0] else "")
        )


def _measure(count: int, seconds: float, folder: Path) -> tuple[Load, Load, Cost]:
    with (
        mosquitto(folder, _QUEUE) as port,
        child_processes() as start,
        show(folder, port) as there,
    ):
        bare = start(sys.executable, "-c", _LISTEN, str(port))
        start(sys.executable, "-m", "bench.display_cost_by_tables", str(port), str(count))
        wait_for(lambda: is_there(f"{there.url}/health", f'"live":{count},'), "all tables")
        broker_pid = mosquitto_pid(folder)
        processes = (there.process, bare.pid, broker_pid)
        with _browsers(there.url, 0):
            one = _load(processes, seconds)
        with _browsers(there.url, 19):
            twenty = _load(processes, seconds)
        return one, twenty, cost(there.process)


def _load(processes: tuple[int, ...], seconds: float) -> Load:
    time.sleep(2)
    before, began = [cost(each).seconds for each in processes], time.monotonic()
    time.sleep(seconds)
    after, took = [cost(each).seconds for each in processes], time.monotonic() - began
    return Load(*(100 * (late - early) / took for early, late in zip(before, after, strict=True)))


@contextmanager
def _browsers(url: str, boards: int) -> Iterator[None]:
    with child_processes() as start:
        start(sys.executable, "-m", "bench.display_cost_by_tables", url, str(boards))
        wait_for(lambda: is_there(f"{url}/health", f'"streams":{boards + 1},'), "all browsers")
        yield


# ---- the tables ----


def deal(port: int, count: int) -> None:
    """Simulate tables until killed."""
    steps = list(islice(simulated_steps(3), _SHOE))
    publisher = StatePublisher(port)
    due: list[tuple[float, int, float]] = []
    at = [(table * _APART) % (_SHOE - 60) for table in range(count)]
    for table in range(count):
        for message in chain([status(), _device()], latest(steps, at[table])):
            _publish(publisher, table, message)
        for every in (_CARD, _HEARTBEAT):
            heapq.heappush(due, (time.monotonic() + every * table / count, table, every))
    while True:
        moment, table, every = heapq.heappop(due)
        heapq.heappush(due, (moment + every, table, every))
        early = moment - time.monotonic()
        if early < -_LATE:
            sys.exit("the tables cannot deal so fast on this machine: the figures are wrong")
        time.sleep(max(early, 0))
        if every == _CARD:
            at[table] = min(at[table] + 1, _SHOE - 1)
        step = steps[at[table]]
        messages_due = step.messages if every == _CARD else [*_states(step), _device()]
        for message in messages_due:
            _publish(publisher, table, message)


def latest(steps: list[Step], until: int) -> list[Message]:
    """Return the retained messages after some steps."""
    messages_due = chain.from_iterable(step.messages for step in steps[: until + 1])
    return list({each.suffix: each for each in messages_due if each.retained}.values())


def _states(step: Step) -> list[Message]:
    return [each for each in step.messages if each.suffix == "state"]


def _device() -> Message:
    device = documents.Device(
        byte_age=12,
        bytes=4096,
        event_age=40,
        frame_age=12,
        frames=100,
        noise=0,
        repeats=60,
        seq=1,
        session=SESSION,
        state="connected",
    )
    return Message("device/shoe", documents.encode_message(device))


def _publish(publisher: StatePublisher, table: int, message: Message) -> None:
    name = f"table-{table:04}"
    payload = message.payload.replace(f'"{TABLE}"'.encode(), f'"{name}"'.encode())
    publisher.publish(message._replace(payload=payload), f"shoe/v1/{SITE}/{name}")


# ---- the browsers ----


def read(url: str, boards: int) -> None:
    """Read the streams of the pit and of some boards until killed."""
    paths = ["/pit/live", *(f"/table/table-{number:04}/live" for number in range(boards))]
    threads = [threading.Thread(target=_read, args=(url + path,)) for path in paths]
    for thread in threads:
        thread.start()


def _read(url: str) -> None:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - our own display
        while answer.read1(65_536):
            pass


if __name__ == "__main__":
    if sys.argv[1].startswith("http"):
        read(sys.argv[1], int(sys.argv[2]))
    else:
        deal(int(sys.argv[1]), int(sys.argv[2]))
