"""
Processor and memory of a broker and of one display with many tables, compared with a bare
subscriber: `python -m bench.display_cost_by_tables --tables 1000 --seconds 60`.

`simulate floor` publishes. `--read URL --boards N` simulates browsers: a pit view and some boards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from bench.browser import Cost, cost, is_there, show
from bench.harness import child_processes, mosquitto, mosquitto_pid, wait_for
from bench.simulated_mqtt_messages import SITE

__all__ = ["measure_display_load"]

_ALL_TABLES_S: Final = 120.0
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


class Result(NamedTuple):
    """A number of tables: the load with one and with twenty browsers, and the memory."""

    one: Load
    twenty: Load
    display: Cost
    broker: Cost


def measure_display_load(counts: list[int], seconds: float, folder: Path) -> None:
    """Measure and print."""
    print(f"{seconds:.0f} s each; % of one processor, PSS in MB")
    print(
        f"  {'tables':>6}  {'one browser':<14}{'20 browsers':<14}{'bare':<8}{'display MB':<12}"
        f"{'a table, kB':<13}{'broker':<8}{'broker MB':<11}a table, kB"
    )
    first: Result | None = None
    for count in counts:
        place = folder / str(count)
        place.mkdir()
        found = _measure(count, seconds, place)
        first = first or found
        display, broker = (
            f"{1024 * (late.proportional - early.proportional) / (count - counts[0]):.0f}"
            if count > counts[0]
            else ""
            for late, early in ((found.display, first.display), (found.broker, first.broker))
        )
        print(
            f"  {count:>6}  {found.one.display:<14.1f}{found.twenty.display:<14.1f}"
            f"{found.one.subscriber:<8.1f}{found.display.proportional:<12.1f}{display:<13}"
            f"{found.one.broker:<8.1f}{found.broker.proportional:<11.1f}{broker}"
        )


def _measure(count: int, seconds: float, folder: Path) -> Result:
    with (
        mosquitto(folder, _QUEUE) as port,
        child_processes() as start,
        show(folder, port) as there,
    ):
        bare = start(sys.executable, "-c", _LISTEN, str(port))
        floor = ("simulate", "floor", "--tables", str(count), "--site", SITE, "--minutes", "60")
        start(
            *(sys.executable, "-m", "shoe_daemon", *floor, "--broker", f"127.0.0.1:{port}"),
            stdout=subprocess.DEVNULL,
        )
        tables = f'"live":{count},'
        wait_for(lambda: is_there(f"{there.url}/health", tables), "all tables", _ALL_TABLES_S)
        broker = mosquitto_pid(folder)
        processes = (there.process, bare.pid, broker)
        with _browsers(there.url, 0):
            one = _load(processes, seconds)
        with _browsers(there.url, min(count, 19)):
            twenty = _load(processes, seconds)
        return Result(one, twenty, cost(there.process), cost(broker))


def _load(processes: tuple[int, ...], seconds: float) -> Load:
    time.sleep(2)
    before, began = [cost(each).seconds for each in processes], time.monotonic()
    time.sleep(seconds)
    after, took = [cost(each).seconds for each in processes], time.monotonic() - began
    return Load(*(100 * (late - early) / took for early, late in zip(before, after, strict=True)))


@contextmanager
def _browsers(url: str, boards: int) -> Iterator[None]:
    with child_processes() as start:
        program = (sys.executable, "-m", "bench.display_cost_by_tables")
        start(*program, "--read", url, "--boards", str(boards))
        wait_for(lambda: is_there(f"{url}/health", f'"streams":{boards + 1},'), "all browsers")
        yield


# ---- the browsers ----


def read(url: str, boards: int) -> None:
    """Read the streams of the pit and of some boards until killed."""
    paths = ["/pit/live", *(f"/table/table-{number:04}/live" for number in range(1, boards + 1))]
    threads = [threading.Thread(target=_read, args=(url + path,)) for path in paths]
    for thread in threads:
        thread.start()


def _read(url: str) -> None:
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - our own display
        while answer.read1(65_536):
            pass


def main() -> None:
    """Measure and print, or read."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each number of tables")
    parser.add_argument("--read", metavar="URL", help="reads as browsers, until killed")
    parser.add_argument("--boards", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.read:
        read(chosen.read, chosen.boards)
        return
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as folder:
        measure_display_load(chosen.tables, chosen.seconds, Path(folder))


if __name__ == "__main__":
    main()
