"""Latency from a message to the painted screen in Chromium, compared with a bare page."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from playwright.sync_api import Page

from bench.browser import chromium, open_page, show
from bench.harness import (
    child_processes,
    free_port,
    is_listening,
    median_and_range,
    mosquitto,
    percentile,
    wait_for,
)
from bench.simulated_mqtt_messages import SITE, TABLE, Message, Step, simulated_steps, status
from shoe_daemon.mqtt.connection import leave

__all__ = ["StatePublisher", "measure_paint_latency"]

AIM: Final = 0.1
"""Seconds; a blink of the eye takes 0.1 to 0.15."""

_ROOT: Final = f"shoe/v1/{SITE}/{TABLE}"
_BARE: Final = "bare/state"
_REST: Final = (0.12, 0.2)
_WARM_UP: Final = 60


class StatePublisher:
    """An MQTT publisher with its own network thread."""

    def __init__(self, port: int) -> None:
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.max_inflight_messages_set(1000)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def send(self, topic: str, payload: bytes, *, retained: bool = False) -> float:
        """Publish; return the time before it, in seconds since 1970."""
        at = time.time()
        self._client.publish(topic, payload, 1, retained)
        return at

    def publish(self, message: Message, root: str = _ROOT) -> float:
        """Publish a message of a table."""
        topic = f"{root}/{message.suffix}"
        return self.send(topic, message.payload, retained=message.retained)

    def close(self) -> None:
        """Disconnect."""
        leave(self._client)


@contextmanager
def state_publisher(port: int) -> Iterator[StatePublisher]:
    """Provide a publisher within the block."""
    publisher = StatePublisher(port)
    try:
        yield publisher
    finally:
        publisher.close()


class Times(NamedTuple):
    """
    Seconds from publication to the page's change, and to the end of its frame: for the board, its
    roads, and the bare page.
    """

    changed: list[float]
    painted: list[float]
    roads: list[float]
    bare_changed: list[float]
    bare_painted: list[float]
    skipped: int


def measure_paint_latency(cards: int, repeats: int, folder: Path) -> None:
    """Measure and print."""
    with (
        mosquitto(folder) as port,
        show(folder, port) as there,
        state_publisher(port) as publisher,
    ):
        steps = simulated_steps(1)
        _begin(publisher, islice(steps, _WARM_UP))
        with chromium() as browser, _bridge(port) as bare_url:
            board = open_page(browser, f"{there.url}/table/{TABLE}")
            bare = open_page(browser, bare_url)
            _warm(publisher, next(steps), board, bare)
            runs = [
                _run((board, bare), publisher, islice(steps, cards), seed)
                for seed in range(repeats)
            ]
    print(f"{repeats} repeats of {cards} cards; ms, median of the repeats [least to most]")
    _report(runs)


@contextmanager
def _bridge(broker_port: int) -> Iterator[str]:
    """Run the bare page; yield its address."""
    port = free_port()
    with child_processes() as start:
        start(sys.executable, "-m", "bench.baseline_web_page", str(broker_port), _BARE, str(port))
        wait_for(lambda: is_listening(port), "the bare bridge")
        yield f"http://127.0.0.1:{port}/"


def _begin(publisher: StatePublisher, steps: Iterator[Step]) -> None:
    publisher.publish(status())
    for step in steps:
        for message in step.messages:
            publisher.publish(message)


def _warm(publisher: StatePublisher, step: Step, board: Page, bare: Page) -> None:
    """Wait until both pages receive messages."""
    for message in step.messages:
        publisher.publish(message)
    publisher.send(_BARE, _state(step))
    board.wait_for_selector("body[data-fresh=live]")
    for page in (board, bare):
        page.evaluate("window.until", step.seq)
        page.evaluate("window.drawn.kept = true")


def _state(step: Step) -> bytes:
    return next(each.payload for each in step.messages if each.suffix == "state")


def _run(
    pages: tuple[Page, Page], publisher: StatePublisher, steps: Iterator[Step], seed: int
) -> Times:
    """Publish cards, each after the same document for the bare page, and note the drawings."""
    chance = random.Random(seed)
    published: dict[str, dict[int, float]] = {"state": {}, "roads": {}, "bare": {}}
    for step in steps:
        time.sleep(chance.uniform(*_REST))
        published["bare"][step.seq] = publisher.send(_BARE, _state(step))
        time.sleep(chance.uniform(*_REST))
        for message in step.messages:
            at = publisher.publish(message)
            if message.suffix in published:
                published[message.suffix][step.seq] = at
    last = max(published["state"])
    for page in pages:
        page.evaluate("window.until", last)
        page.wait_for_timeout(500)
    return _times(pages, published)


def _times(pages: tuple[Page, Page], published: dict[str, dict[int, float]]) -> Times:
    board, bare = pages
    states = _spans(board, "board", published["state"])
    roads = _spans(board, "roads", published["roads"])
    others = _spans(bare, "board", published["bare"])
    return Times(
        changed=[changed for changed, _ in states],
        painted=[painted for _, painted in states],
        roads=[painted for _, painted in roads],
        bare_changed=[changed for changed, _ in others],
        bare_painted=[painted for _, painted in others],
        skipped=sum(map(len, published.values())) - len(states) - len(roads) - len(others),
    )


def _spans(page: Page, kind: str, published: dict[int, float]) -> list[tuple[float, float]]:
    """Combine publications and drawings on one clock."""
    origin = page.evaluate("performance.timeOrigin") / 1000
    drawn = page.evaluate("(kind) => window.drawn[kind]", kind)
    return [
        (origin + changed / 1000 - at, origin + painted / 1000 - at)
        for seq, at in published.items()
        for changed, painted in ([drawn[str(seq)]] if str(seq) in drawn else [])
    ]


def _report(runs: list[Times]) -> None:
    names = {
        "bare_changed": "bare page, its number changed",
        "bare_painted": "bare page, painted",
        "changed": "board, changed",
        "painted": "board, painted",
        "roads": "board, painted with a result's roads",
    }
    print(f"  {'':<38}{'p50':<24}p99")
    for field, name in names.items():
        p50, p99 = (
            median_and_range(
                [1000 * percentile(getattr(run, field), share) for run in runs], ".1f"
            )
            for share in (0.5, 0.99)
        )
        print(f"  {name:<38}{p50:<24}{p99}")
    for field in ("changed", "painted"):
        p50, p99 = (
            median_and_range([_ratio(run, field, share) for run in runs]) for share in (0.5, 0.99)
        )
        print(f"  {f'board / bare page, {field}':<38}{p50:<24}{p99}")
    slow = median([percentile(run.painted, 0.99) for run in runs])
    judged = "met" if slow <= AIM else "missed"
    print(f"  aim: the board painted within {1000 * AIM:.0f} ms at p99: {judged}")
    if skipped := sum(run.skipped for run in runs):
        print(f"  {skipped} documents were overtaken by the next before they were drawn")


def _ratio(run: Times, field: str, share: float) -> float:
    ours, bare = getattr(run, field), getattr(run, f"bare_{field}")
    return percentile(ours, share) / percentile(bare, share)
