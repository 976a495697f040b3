"""
Latency of an irregularity, compared with a lawful card: `python -m bench.alarm_latency`.

Rounds with a natural and an excess card are dealt over a pty. Measured is the time from the last
byte of a frame to `event/card_dealt` for a lawful card and to `event/irregularity` for the excess
card, alternating in one run.

Aim: an irregularity is published as fast as any other event.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
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
from drivers.angel_eye_ii.codec import Report

_DEALT: Final = "shoe/v1/bench/table/event/card_dealt"
_TOLD: Final = "shoe/v1/bench/table/event/irregularity"
_REST: Final = 0.010
_WARM_UP: Final = 8
_ROUNDS_A_SHOE: Final = 8
# Player 9 and king, Banker 2 and ten: a natural, so no third card is due.
_LAWFUL: Final = ((0x81, 0x39), (0x91, 0x32), (0x82, 0x3D), (0x92, 0x3A))
_EXCESS: Final = (0x83, 0x35)
_PLAYER_WINS: Final = b"\x90"

Times = dict[str, list[float]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="rounds in a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    runs = []
    for _ in range(chosen.repeats):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measure(Path(folder), chosen.rounds))
    print(f"{chosen.repeats} repeats of {chosen.rounds} rounds; ms, median [least to most]")
    for share in (0.5, 0.99):
        dealt, irregular = (
            median_and_range([1000 * percentile(run[topic], share) for run in runs])
            for topic in (_DEALT, _TOLD)
        )
        ratio = median_and_range(
            [percentile(run[_TOLD], share) / percentile(run[_DEALT], share) for run in runs]
        )
        print(
            f"  p{share * 100:<4.0f} card_dealt {dealt}   irregularity {irregular}   ratio {ratio}"
        )


def measure(folder: Path, rounds: int) -> Times:
    """Deal rounds, each with an excess card."""
    took: Times = {_DEALT: [], _TOLD: []}
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(folder))
        line = SerialPty()
        stack.callback(line.close)
        file = configuration(folder / "bench", port, line.path)
        start = stack.enter_context(child_processes())
        run = ("-m", "shoe_daemon", "run", "--config", str(file))
        start(sys.executable, *run, stderr=subprocess.DEVNULL)
        wait_for(line.is_open, "the daemon to open its line")
        probe = MqttProbe(port, _DEALT, _TOLD)
        probe.discard(0.5)  # opening a line flushes its input
        for topic, data in _frames(rounds + _WARM_UP):
            began = line.write(data)
            if topic:
                took[topic].append(probe.wait(topic) - began)
            probe.discard(_REST)
    return {topic: times[_WARM_UP:] for topic, times in took.items()}


def _frames(rounds: int) -> Iterator[tuple[str, bytes]]:
    """Yield frames with the topic that each causes; an empty topic is not timed."""
    number = 0
    for each in range(rounds):
        if each % _ROUNDS_A_SHOE == 0:
            number = number % 9 + 1
            yield "", Report(number, "C").to_bytes()
            yield "", Report(0, "S").to_bytes()
            number = 0
        for place, face in (*_LAWFUL, _EXCESS):
            number = number % 9 + 1
            frame = Report(number, "D", bytes((place, 0x80 | face))).to_bytes()
            lawful = (place, face) == _LAWFUL[-1]
            yield (_DEALT if lawful else _TOLD if place == _EXCESS[0] else ""), frame
        number = number % 9 + 1
        yield "", Report(number, "G", _PLAYER_WINS).to_bytes()


if __name__ == "__main__":
    main()
