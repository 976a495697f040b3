"""
Memory and start-up time of the daemon, compared with Python importing pySerial, paho-mqtt and
structlog: `python -m bench.start`.

Both are started alternately. The daemon is started as by systemd, with a reader and a broker; its
start ends with READY, and its memory is read when both are connected. Aim: at most 1.3 times the
baseline, in memory and in time.

structlog loads rich if installed, as for the demo; the daemon prevents that. A table's computer
has no rich, so the baseline is also measured without it.
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
    SerialPty,
    child_processes,
    configuration,
    median_and_range,
    mosquitto,
    resident_mb,
    running_daemon,
    wait_for,
)

AIM: Final = 1.3
OURS: Final = "shoe-daemon run"
BARE: Final = "three imports"
BARER: Final = "three imports, no rich"
_SETTLED: Final = 0.5
"""Time after which all imports are done."""

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
    with tempfile.TemporaryDirectory() as place, mosquitto(Path(place)) as port:
        folder = Path(place)
        programs: dict[str, Callable[[], Sample]] = {
            OURS: lambda: daemon(folder, port),
            BARE: lambda: imports(IMPORTS),
            BARER: lambda: imports(WITHOUT_RICH + IMPORTS),
        }
        for program in programs.values():
            program()  # once, to fill the file cache
        samples: dict[str, list[Sample]] = {name: [] for name in programs}
        for _ in range(repeats):
            for name, program in programs.items():
                samples[name].append(program())
    print(f"{repeats} starts of each, in turn; median [least to most]")
    report(samples)


def report(samples: dict[str, list[Sample]]) -> None:
    """Print the samples, and the ratios of the daemon."""
    print(f"  {'':<34}{'start-up, ms':<26}resident, MB")
    for name, taken in samples.items():
        start = median_and_range([1000 * each.seconds for each in taken], ".0f")
        memory = median_and_range([each.megabytes for each in taken], ".1f")
        print(f"  {name:<34}{start:<26}{memory}")
    for name in (BARE, BARER):
        start, memory = (_judged(samples[OURS], samples[name], field) for field in range(2))
        print(f"  {'daemon / ' + name:<34}{start:<26}{memory}")


def _judged(ours: list[Sample], theirs: list[Sample], field: int) -> str:
    ratio = median(each[field] for each in ours) / median(each[field] for each in theirs)
    return f"{ratio:.2f} (aim {AIM}: {'met' if ratio <= AIM else 'missed'})"


def imports(program: str) -> Sample:
    """Start the baseline program."""
    with child_processes() as start:
        began = time.perf_counter()
        child = start(sys.executable, "-c", program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None  # noqa: S101 - for the type checker
        child.stdout.readline()
        seconds = time.perf_counter() - began
        return Sample(seconds, resident_mb(child.pid))


def daemon(folder: Path, port: int) -> Sample:
    """Start a table's daemon on an existing journal."""
    line = SerialPty()
    with running_daemon(configuration(folder / "table", port, line.path)) as ready:
        wait_for(line.is_open, "the daemon to open its line")
        time.sleep(_SETTLED)
        sample = Sample(ready.seconds, resident_mb(ready.process))
    line.close()
    return sample


if __name__ == "__main__":
    main()
