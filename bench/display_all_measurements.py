"""
Latency, load and memory growth of the display: `python -m bench.display_all_measurements`.

Three measurements: the time from a message to its painting in Chromium, compared with a bare page
that shows the number of the same message; processor and memory of one display for 1, 60 and 500
tables, compared with a bare subscriber; and the growth of pages during a shift of twelve hours,
played in some minutes.

`--quick` runs a short version of each.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.display_cost_by_tables import measure_display_load
from bench.page_memory_growth import measure_soak
from bench.paint_latency import measure_paint_latency

PARTS = ("paint", "load", "soak")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--cards", type=int, default=100, help="cards in a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 60, 500])
    parser.add_argument("--seconds", type=float, default=30.0, help="of each number of tables")
    parser.add_argument("--hours", type=float, default=12.0, help="of the shift")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--quick", action="store_true", help="a little of each")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.cards, chosen.repeats, chosen.seconds, chosen.hours = 15, 2, 3.0, 1.0
        chosen.tables = [1, 20]
    parts = {
        "paint": lambda folder: measure_paint_latency(chosen.cards, chosen.repeats, folder),
        "load": lambda folder: measure_display_load(chosen.tables, chosen.seconds, folder),
        "soak": lambda folder: measure_soak(chosen.hours, folder),
    }
    for name in chosen.only:
        with tempfile.TemporaryDirectory(prefix="bench-display-") as folder:
            parts[name](Path(folder))


if __name__ == "__main__":
    main()
