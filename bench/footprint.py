"""
Resident memory and start-up of the daemon, beside a Python process that only
imports pySerial, paho-mqtt and structlog: `python -m bench.footprint`.

Both are started in turn, so that both meet the same machine. The daemon is
started as the service manager would, with a reader and a broker that are there;
its start is over when it says READY, and its memory is read when it has
connected to both. The aim: 1.3 times the other, in memory and in time.

structlog loads rich where that is installed, as it is for the demo; the daemon
keeps it out. On a table's computer it is not there, so the other is measured
without it too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.harness import (
    Terminal,
    broker,
    children,
    configuration,
    managed,
    megabytes,
    spread,
    wait_for,
)

AIM: Final = 1.3
OURS: Final = "shoe-daemon run"
BARE: Final = "three imports"
BARER: Final = "three imports, no rich"
_SETTLED: Final = 0.5
"""Seconds after which nothing more is imported."""

IMPORTS: Final = """
import serial, structlog
from paho.mqtt import client
print("READY=1", flush=True)
input()
"""

WITHOUT_RICH: Final = """
import sys
sys.modules["rich"] = None
"""


class Sample(NamedTuple):
    """One start: seconds, and resident megabytes."""

    seconds: float
    megabytes: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as place, broker(Path(place)) as port:
        folder = Path(place)
        programs: dict[str, Callable[[], Sample]] = {
            OURS: lambda: daemon(folder, port),
            BARE: lambda: imports(IMPORTS),
            BARER: lambda: imports(WITHOUT_RICH + IMPORTS),
        }
        for program in programs.values():
            program()  # once, so that all files are in the cache
        samples: dict[str, list[Sample]] = {name: [] for name in programs}
        for _ in range(repeats):
            for name, program in programs.items():
                samples[name].append(program())
    print(f"{repeats} starts of each, in turn; median [least to most]")
    report(samples)


def report(samples: dict[str, list[Sample]]) -> None:
    """Print what each took, and what the daemon took of each other."""
    print(f"  {'':<34}{'start-up, ms':<26}resident, MB")
    for name, taken in samples.items():
        start = spread([1000 * each.seconds for each in taken], ".0f")
        memory = spread([each.megabytes for each in taken], ".1f")
        print(f"  {name:<34}{start:<26}{memory}")
    for name in (BARE, BARER):
        start, memory = (_judged(samples[OURS], samples[name], field) for field in range(2))
        print(f"  {'daemon / ' + name:<34}{start:<26}{memory}")


def _judged(ours: list[Sample], theirs: list[Sample], field: int) -> str:
    ratio = median(each[field] for each in ours) / median(each[field] for each in theirs)
    return f"{ratio:.2f} (aim {AIM}: {'met' if ratio <= AIM else 'missed'})"


def imports(program: str) -> Sample:
    """Start what only imports."""
    with children() as start:
        began = time.perf_counter()
        child = start(sys.executable, "-c", program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None  # noqa: S101 - for the type checker
        child.stdout.readline()
        seconds = time.perf_counter() - began
        return Sample(seconds, megabytes(child.pid))


def daemon(folder: Path, port: int) -> Sample:
    """Start the daemon of a table, on a journal that is there already."""
    line = Terminal()
    with managed(configuration(folder / "table", port, line.path)) as ready:
        wait_for(line.heard, "the daemon to open its line")
        time.sleep(_SETTLED)
        sample = Sample(ready.seconds, megabytes(ready.process))
    line.close()
    return sample


if __name__ == "__main__":
    main()
