"""
Memory growth of pages during a shift of twelve hours, played in some minutes.

Each card and heartbeat is published as soon as the page has drawn the previous one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from playwright.sync_api import CDPSession, Page

from bench.browser import chromium, cost, open_page, show
from bench.harness import mosquitto
from bench.paint_latency import StatePublisher
from bench.simulated_mqtt_messages import SITE, TABLE, Step, simulated_steps, status

__all__ = ["measure_soak"]

AIM: Final = 1.05
"""Maximum growth of the last third compared with the time before."""

_STEPS_AN_HOUR: Final = 1200
_HEARTBEAT: Final = 3
"""Number of steps between repeated states."""

_ENOUGH: Final = 26
"""Number of shoes after which the history holds its maximum."""

_WARM_UP: Final = 300
"""Steps before the measurement: a table with a finished shoe."""

_SIZE: Final = {"width": 1280, "height": 720}

_PAGES: Final = {
    "board": f"table/{TABLE}",
    "history": f"table/{TABLE}/history",
    "pit": "pit",
    "events": f"pit/table/{TABLE}",
}


_FIELDS: Final = {"heap": "JS heap, kB", "nodes": "nodes", "listeners": "listeners"}


class Size(NamedTuple):
    """Size of a page: kilobytes of JavaScript, nodes, listeners."""

    heap: float
    nodes: int
    listeners: int


class Sample(NamedTuple):
    """Sizes at the start of a shoe."""

    steps: int
    pages: dict[str, Size]
    display: float


def measure_soak(hours: float, folder: Path) -> None:
    """Measure and print."""
    began = time.monotonic()
    with mosquitto(folder) as port, show(folder, port) as there, chromium() as browser:
        publisher, steps = StatePublisher(port), simulated_steps(5)
        publisher.publish(status())
        for step in islice(steps, _WARM_UP):
            _publish(publisher, step, heartbeat=False)
        pages = {
            name: open_page(browser, f"{there.url}/{path}", _SIZE) for name, path in _PAGES.items()
        }
        _publish(publisher, next(steps), heartbeat=True)
        pages["board"].wait_for_selector("body[data-fresh=live]")
        shift = islice(steps, int(hours * _STEPS_AN_HOUR))
        samples = list(_run(publisher, pages, shift, there.process))
        publisher.close()
    took = time.monotonic() - began
    print(
        f"{hours:g} hours of a table, {samples[-1].steps} cards and results, {len(samples)} "
        f"shoes, in {took:.0f} s; at the beginning of a shoe, after garbage collection"
    )
    _report(samples)


def _run(
    publisher: StatePublisher, pages: dict[str, Page], steps: Iterator[Step], process: int
) -> Iterator[Sample]:
    """
    Publish all steps, each after the previous one is drawn; measure at the start of each shoe.
    """
    board = pages["board"]
    looks = {name: page.context.new_cdp_session(page) for name, page in pages.items()}
    for look in looks.values():
        look.send("Performance.enable")
    for number, step in enumerate(steps, 1):
        _publish(publisher, step, heartbeat=number % _HEARTBEAT == 0)
        board.evaluate("window.until", step.seq)
        if step.begins:
            board.wait_for_timeout(1500)  # animations are over, and all pages are up to date
            sizes = {name: _size(look) for name, look in looks.items()}
            yield Sample(number, sizes, cost(process).proportional)


def _publish(publisher: StatePublisher, step: Step, *, heartbeat: bool) -> None:
    for message in step.messages:
        publisher.publish(message, f"shoe/v1/{SITE}/{TABLE}")
    if heartbeat:
        for message in step.messages:
            if message.suffix == "state":
                publisher.publish(message, f"shoe/v1/{SITE}/{TABLE}")


def _size(look: CDPSession) -> Size:
    for _ in range(2):  # freed objects may free others
        look.send("HeapProfiler.collectGarbage")
    found = {
        each["name"]: each["value"] for each in look.send("Performance.getMetrics")["metrics"]
    }
    return Size(
        found["JSHeapUsedSize"] / 1024, int(found["Nodes"]), int(found["JSEventListeners"])
    )


def _report(samples: list[Sample]) -> None:
    third = max(len(samples) // 3, 1)
    parts = [samples[:1], samples[:third], samples[third : 2 * third], samples[2 * third :]]
    parts = [part or samples[-1:] for part in parts]
    print(f"  {'':<24}{'start':>9}{'1st third':>11}{'2nd third':>11}{'3rd third':>11}   growth")
    worst = 0.0
    for name in _PAGES:
        for field, unit in _FIELDS.items():
            values = [[float(getattr(each.pages[name], field)) for each in part] for part in parts]
            worst = max(worst, _line(f"{name}, {unit}", values))
    worst = max(worst, _line("display, PSS, MB", [[s.display for s in part] for part in parts]))
    if len(samples) < _ENOUGH:
        print("  too short to judge: twelve past shoes are remembered, and then no more")
    else:
        print(f"  aim: nothing grows by more than {AIM:g}: {'met' if worst <= AIM else 'missed'}")


def _line(name: str, values: list[list[float]]) -> float:
    """
    Print medians, and the ratio of the maxima of the last third and of the time before.

    Maxima, because pages have more nodes while an alert is open.
    """
    growth = max(values[3]) / max(1, *values[1], *values[2])
    medians = "".join(f"{median(each):>11.0f}" for each in values[1:])
    print(f"  {name:<24}{median(values[0]):>9.0f}{medians}   {growth:.2f}")
    return growth
