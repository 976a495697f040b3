"""
Speed of the decoders on one core, each beside a decoder that only splits frames.

`python -m bench.decoders [--megabytes N] [--rounds N]`: driver and splitter alternate; processor
time, median and range. The bytes come in portions of 4096, as from a line. The goals are 20 MB/s
for lines of text and 200,000 frames/s for the Angel Eye. A table sends some bytes a second: what
the speed decides is how long a replay takes, and whether bytes after a blocked disk pile up.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from bench.harness import median_and_range
from drivers import create_driver
from drivers.simulators.angel_eye import Mode, Settings, scenario
from shoe_daemon.game import DECK

PORTION: Final = 4096
GOAL_MB: Final = 20.0
GOAL_FRAMES: Final = 200_000
EAN: Final = {f"73108650047{number:02}": str(card) for number, card in enumerate(DECK)}


class Case(NamedTuple):
    """A stream of bytes for a driver, and what ends its frames."""

    name: str
    driver: str
    data: bytes
    end: bytes
    options: dict[str, object]


class Splitter:
    """Only splits frames."""

    def __init__(self, end: bytes) -> None:
        self._end = end
        self._rest = b""

    def feed(self, data: bytes, now: float) -> list[bytes]:
        """Return the pieces of the next bytes."""
        del now
        *pieces, self._rest = (self._rest + data).split(self._end)
        return pieces


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=2.0, help="of each stream")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    size = int(arguments.megabytes * 1e6)
    print(f"{'':30}{'driver':>30} {'only splits':>40} {'':8}bytes a frame")
    for case in cases(size):
        print(measured(case, arguments.rounds))


def cases(size: int) -> Iterator[Case]:
    """Deal the streams; no card follows an equal one."""
    tokens = [f" [Game]<Card:{card}> \r\n".encode() for card in DECK]
    yield Case("bee-tek, tokens", "bee-tek", repeated(tokens, size), b">", {})
    codes = [f"{code}\r".encode() for code in EAN]
    yield Case(
        "line-scanner, 13 digits", "line-scanner", repeated(codes, size), b"\r", {"cards": EAN}
    )
    names = [f"{card}\r".encode() for card in DECK]
    yield Case("line-scanner, names (4S)", "line-scanner", repeated(names, size), b"\r", {})
    yield Case("json-lines", "json-lines", json_lines(size), b"\n", {"resend_cooldown": 0})
    for mode in Mode:
        for copies in (1, 3):
            dealt = scenario(Settings(rounds=2000, seed=1, mode=mode)).stream(copies)[: size // 4]
            name = f"angel-eye-ii, {mode}, sent {copies} x"
            yield Case(name, "angel-eye-ii", dealt, b"\x05", {})


def repeated(messages: list[bytes], size: int) -> bytes:
    """Repeat messages to a stream of about this size."""
    once = b"".join(messages)
    return once * (size // len(once) + 1)


def json_lines(size: int) -> bytes:
    """Return lines of an RFID reader: no two are equal."""
    lines: list[bytes] = []
    length = 0
    while length < size:
        number = len(lines)
        fields = {
            "type": "card",
            "ts": 1_800_000_000 + number,
            "device_id": "shoe-7",
            "seq": number,
            "card": str(DECK[number % len(DECK)]),
        }
        lines.append(json.dumps(fields).encode() + b"\n")
        length += len(lines[-1])
    return b"".join(lines)


def measured(case: Case, rounds: int) -> str:
    """Return a line with the speed of the driver, and of a splitter."""
    driver = create_driver(case.driver, case.options)
    ours, bare, frames = [], [], 0
    for _ in range(rounds):
        frames, seconds = timed(driver.decoder(), case.data)
        ours.append(seconds)
        bare.append(timed(Splitter(case.end), case.data)[1])
    if case.driver == "angel-eye-ii":
        unit, form, per_second, goal = "frames/s", ",.0f", float(frames), float(GOAL_FRAMES)
    else:
        unit, form, per_second, goal = "MB/s", ".1f", len(case.data) / 1e6, GOAL_MB
    speeds = [[per_second / each for each in times] for times in (ours, bare)]
    ours_text, bare_text = (median_and_range(each, form) for each in speeds)
    reached = "" if sorted(speeds[0])[rounds // 2] >= goal else f"   goal {goal:,.0f} not reached"
    size = len(case.data) / frames
    return f"{case.name:30}{ours_text:>30} {bare_text:>40} {unit:8}{size:>6.1f}{reached}"


def timed(decoder: object, data: bytes) -> tuple[int, float]:
    """Feed a stream in portions; return the frames and the processor time in seconds."""
    feed = decoder.feed  # type: ignore[attr-defined]
    portions = [data[start : start + PORTION] for start in range(0, len(data), PORTION)]
    gc.collect()
    frames, now = 0, 0.0
    start = time.process_time()
    for portion in portions:
        now += 1.0
        frames += len(feed(portion, now))
    return frames, time.process_time() - start


if __name__ == "__main__":
    main()
