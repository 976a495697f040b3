"""
How long a card that is against the rules takes to be told, beside one that is
not: `python -m bench.alarm_latency`.

Rounds with a natural are dealt over a pty, each with a card too many; measured
is the time from the last byte of a frame to `event/card_dealt` for a lawful
card, and to `event/irregularity` for the other, in turn, in one run.

The aim: an irregularity comes within the latency of any other event.
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
    Ear,
    Terminal,
    broker,
    children,
    configuration,
    percentile,
    spread,
    wait_for,
)
from drivers.angel_eye_ii.frame_codec import Report

_DEALT: Final = "shoe/v1/bench/table/event/card_dealt"
_TOLD: Final = "shoe/v1/bench/table/event/irregularity"
_REST: Final = 0.010
_WARM_UP: Final = 8
_ROUNDS_A_SHOE: Final = 8
# Player 9 and king, Banker 2 and ten: a natural, after which nobody draws.
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
        dealt, told = (
            spread([1000 * percentile(run[topic], share) for run in runs])
            for topic in (_DEALT, _TOLD)
        )
        ratio = spread(
            [percentile(run[_TOLD], share) / percentile(run[_DEALT], share) for run in runs]
        )
        print(f"  p{share * 100:<4.0f} card_dealt {dealt}   irregularity {told}   ratio {ratio}")


def measure(folder: Path, rounds: int) -> Times:
    """Deal so many rounds, each with a card too many."""
    took: Times = {_DEALT: [], _TOLD: []}
    with ExitStack() as stack:
        port = stack.enter_context(broker(folder))
        line = Terminal()
        stack.callback(line.close)
        file = configuration(folder / "bench", port, line.path)
        start = stack.enter_context(children())
        run = ("-m", "shoe_daemon", "run", "--config", str(file))
        start(sys.executable, *run, stderr=subprocess.DEVNULL)
        wait_for(line.heard, "the daemon to open its line")
        ear = Ear(port, _DEALT, _TOLD)
        ear.hush(0.5)  # who opens a line throws away what came before
        for topic, data in _frames(rounds + _WARM_UP):
            began = line.write(data)
            if topic:
                took[topic].append(ear.wait(topic) - began)
            ear.hush(_REST)
    return {topic: times[_WARM_UP:] for topic, times in took.items()}


def _frames(rounds: int) -> Iterator[tuple[str, bytes]]:
    """Yield frames, each with the topic that it is told on, empty where it is not timed."""
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
