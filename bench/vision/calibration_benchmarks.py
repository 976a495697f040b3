"""
Accuracy of a camera's calibration, and faults found by its check.

`python -m bench.vision.calibration_benchmarks`

Simulated tables, each with its own camera, lens, lamps, felt and deck. Four parts, by name or all
of them:

    plane   error of the plane in millimetres at the card places, found by markers placed at
            random, or by clicks with an error of one pixel (aim: 1.5 mm)
    check   findings of `calibrate camera --check` for pushed cameras, defocused lenses and dimmed
            lamps; and its false alarms
    deck    how often cards of another deck pass, by number of cards; and how often cards of the
            same deck fail
    window  cards of strange decks accepted with the default index window and with the fitted one
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

import cv2

from bench.vision.calibration_plane import measure_plane
from bench.vision.calibration_window import measure_window
from bench.vision.changed_deck_detection import measure_deck
from bench.vision.shoe_start_check_alarms import measure_check

_PARTS: Final[dict[str, Callable[[argparse.Namespace], bool]]] = {
    "plane": lambda given: measure_plane(given.tables),
    "check": lambda given: measure_check(given.tables, given.checks),
    "deck": lambda given: measure_deck(given.decks),
    "window": lambda given: measure_window(given.decks),
}
"""The parts by name; each returns whether its aim was met."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the named parts; return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(_PARTS)}; all where none is")
    parser.add_argument("--tables", type=int, default=12, help="for plane and check")
    parser.add_argument("--checks", type=int, default=100, help="of what did not change")
    parser.add_argument("--decks", type=int, default=24)
    given = parser.parse_args(arguments)
    if unknown := set(given.parts).difference(_PARTS):
        parser.error(f"{', '.join(unknown)}: expected {', '.join(_PARTS)}")
    cv2.setNumThreads(1)
    met = [part(given) for name, part in _PARTS.items() if name in (given.parts or _PARTS)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
