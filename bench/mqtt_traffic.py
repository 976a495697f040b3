"""
Messages and bytes that one table publishes in an hour: `python -m bench.mqtt_traffic`.

Real daemons read simulated shoes at the speed of a real table, by default for an hour:
half of the shoes disclose each face at the draw, half with the result. A subscriber to
every topic counts messages and payload bytes by topic. The retained documents of a new
subscription are not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench.harness import child_processes, configuration, median_and_range, mosquitto, wait_for

__all__: list[str] = []

_HOUR: Final = 3600.0
_LEVELS: Final = 4
"""Topic levels before the name of the document or event."""


class Traffic(NamedTuple):
    """Everything published by one table."""

    messages: Counter[str]
    bytes: Counter[str]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=60.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counted = measure(Path(folder), chosen.tables, chosen.minutes * 60)
    report(counted, _HOUR / (chosen.minutes * 60))


def measure(folder: Path, tables: int, seconds: float) -> list[Traffic]:
    """Run tables for some time and count their messages."""
    counted: dict[str, Traffic] = defaultdict(lambda: Traffic(Counter(), Counter()))
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(folder, "max_queued_messages 100000"))
        start = stack.enter_context(child_processes())
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for number in range(tables):
            line = folder / f"line-{number}"
            mode = ("open", "hidden")[number % 2]
            program = (sys.executable, "-m", "shoe_daemon")
            simulate = ("simulate", "angel-eye-ii", "--link", str(line), "--mode", mode)
            start(*program, *simulate, "--seed", str(number), **quiet)
            wait_for(line.exists, "the simulated shoe")
            table = configuration(folder / f"table-{number}", port, str(line))
            start(*program, "run", "--config", str(table), **quiet)
        subscriber = _subscriber(port, counted)
        stack.callback(subscriber.loop_stop)
        stack.callback(subscriber.disconnect)
        time.sleep(seconds)
    return list(counted.values())


def _subscriber(port: int, counted: dict[str, Traffic]) -> paho.Client:
    def count(_client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if not message.retain:
            levels = message.topic.split("/")
            table = counted["/".join(levels[:_LEVELS])]
            name = "/".join(levels[_LEVELS:])
            table.messages[name] += 1
            table.bytes[name] += len(message.payload)

    client = paho.Client(CallbackAPIVersion.VERSION2, "traffic")
    client.on_message = count
    client.connect("127.0.0.1", port)
    client.subscribe("shoe/v1/#", qos=1)
    client.loop_start()
    return client


def report(counted: list[Traffic], scale: float) -> None:
    """Print messages, bytes and mean sizes per table and hour."""
    rounds = [scale * each.messages["event/round_finished"] for each in counted]
    print(f"{len(counted)} tables; a table and hour: median of the tables [least to most]")
    print(f"  rounds {median_and_range(rounds, '.0f')}")
    names = sorted({name for each in counted for name in each.messages})
    print(f"  {'topic':<34}{'messages':<24}{'kB':<24}mean bytes")
    for name in (*names, ""):
        messages = [scale * _total(each.messages, name) for each in counted]
        payload = [scale * _total(each.bytes, name) / 1000 for each in counted]
        mean = 1000 * sum(payload) / max(1.0, sum(messages))
        title = name or "everything"
        counts = median_and_range(messages, ".0f")
        kilobytes = median_and_range(payload, ".0f")
        print(f"  {title:<34}{counts:<24}{kilobytes:<24}{mean:.0f}")


def _total(counts: Counter[str], name: str) -> int:
    return counts[name] if name else counts.total()


if __name__ == "__main__":
    main()
