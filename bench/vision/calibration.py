"""
Accuracy of a camera's calibration, and faults found by its check.

`python -m bench.vision.calibration`

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
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec.structs import replace

from bench.vision.calibrated_table import FEW, SIZE, calibrated, reader, table
from bench.vision.calibration_decks import measure_deck, measure_window
from calibration.camera.check import CheckResult, check_profile
from calibration.camera.image_measures import mean_image
from calibration.camera.markers import Marker, find_markers
from calibration.camera.output import write_result
from calibration.camera.plane import (
    Plane,
    max_distance,
    plane_from_markers,
    plane_from_points,
    projection_of,
    rectangle_corners,
)
from calibration.camera.reference_comparison import FindingKind
from calibration.camera.simulated_table import MARKER_SHEETS, SimulatedTable, TableState
from drivers.camera.profile.file import load_profile
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.game import DEALING_ORDER, Card

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


_AIM: Final = 1.5
"""Maximum error with five markers, in millimetres."""

_STILL: Final = 4
"""Number of averaged pictures."""

_SIDE: Final = 120.0
_RECTANGLE: Final = (400.0, 200.0)
"""Size in millimetres of a marker, and of the clicked rectangle."""

_MIDDLES: Final = (((0.0, 0.0),), ((-210.0, -20.0), (210.0, 20.0)))
"""Centres of one rectangle, and of two."""

_CORNERS: Final = np.array([corner for box in PLACES.values() for corner in box.corners])

Found = tuple[str, Plane, float]
"""The method, the plane found, and its error in millimetres."""


def measure_plane(tables: int) -> bool:
    """Print the errors at several tables; return whether the aim is met."""
    off: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for number in range(tables):
        for name, plane, true in _planes(number):
            off[name].append((true, plane.error or 0.0))
    print(f"plane, {tables} tables: millimetres off where cards lie, and what it said of itself")
    print(f"{'found by':34} {'median':>7} {'worst':>7} {'said':>7}  within what it said")
    for name, values in off.items():
        true, stated = np.array(values).T
        kept = f"{np.mean(true <= stated):.0%}"
        print(
            f"{name:34} {np.median(true):7.2f} {true.max():7.2f} {np.median(stated):7.2f}  {kept}"
        )
    worst = max(true for true, _ in off["5 markers"])
    print(f"5 markers: {worst:.2f} mm at the most; aim {_AIM} mm\n")
    return worst < _AIM


def _planes(number: int) -> Iterator[Found]:
    here, chance = table(number), np.random.default_rng(number)
    for name, plane in (*_by_markers(here, chance), *_by_clicks(here, chance)):
        lens = "" if plane.lens else ", no lens"
        yield f"{name}{lens}", plane, _off(here, plane)


def _by_markers(here: SimulatedTable, chance: np.random.Generator) -> Iterator[tuple[str, Plane]]:
    found = _laid(here, chance)
    for count in (5, 4, 3, 2, 1):
        many = f"{count} marker{'s' if count > 1 else ''}"
        yield many, plane_from_markers(found[-count:], _SIDE, SIZE)


def _laid(here: SimulatedTable, chance: np.random.Generator) -> list[Marker]:
    """Place all sheets with random shifts and rotations, and find them."""
    shifts = chance.uniform(-1, 1, (len(MARKER_SHEETS), 3)) * (25, 8, 180)
    sheets = tuple(
        replace(sheet, x=sheet.x + x, y=sheet.y + y, turn=sheet.turn + turn)
        for sheet, (x, y, turn) in zip(MARKER_SHEETS, shifts.tolist(), strict=True)
    )
    return find_markers(
        mean_image([here.picture(TableState(sheets=sheets)) for _ in range(_STILL)])
    )


def _by_clicks(here: SimulatedTable, chance: np.random.Generator) -> Iterator[tuple[str, Plane]]:
    rectangle = rectangle_corners(*_RECTANGLE)
    for middles in _MIDDLES:
        corners = np.concatenate([rectangle + middle for middle in np.array(middles)])
        clicks = here.camera.on_table(corners) + chance.normal(0, 1, (len(corners), 2))
        plane = plane_from_points([(float(x), float(y)) for x, y in clicks], _RECTANGLE, SIZE)
        many = "2 rectangles" if len(middles) > 1 else "1 rectangle"
        yield f"clicks on {many} of 400x200", plane


def _off(here: SimulatedTable, plane: Plane) -> float:
    found = projection_of(plane).to_table(here.camera.on_table(_CORNERS))
    return max_distance(found, _CORNERS)


_PUSHES: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 50.0)
_BLURS: Final = (0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0)
_LIGHTS: Final = (0.85, 0.8, 0.75, 0.7, 0.6, 0.4)
_BRIGHTER: Final = (1.2, 1.3, 1.4, 1.5, 1.7)
_TOLD_FROM: Final = 2.5
"""Shorter pushes are not reported; in millimetres."""

_PICTURES: Final = 8

_MUST: Final = (("pushed, mm", 5.0), ("pushed, mm", 50.0), ("light, times", 0.6))
"""Changes that must be found at every table."""


class _Change(NamedTuple):
    """A change, its size, the changed table, and the expected finding."""

    name: str
    amount: float
    night: TableState
    kind: FindingKind


class _Tally:
    """
    Findings of all tables.

    Attributes:
        found: For each change, whether it was found, once per table.
        off: Errors of reported pushes in millimetres.
        false: Findings without a change.
        unchanged: Number of checks without a change.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, float], list[bool]] = defaultdict(list)
        self.off: list[float] = []
        self.false: list[str] = []
        self.unchanged = 0

    def change(self, change: _Change, found: CheckResult) -> None:
        """Count the findings after a change."""
        kinds = [each.kind for each in found.findings if each.bad]
        self.found[change.name, change.amount].append(change.kind in kinds)
        pushed_far = change.kind is FindingKind.MOVED and change.amount > _TOLD_FROM
        if pushed_far and found.moved is not None:
            self.off.append(abs(found.moved - change.amount))

    def nothing(self, number: int, found: CheckResult) -> None:
        """Count the findings without a change."""
        self.false += [f"table {number}: {each.text}" for each in found.findings if each.bad]
        self.unchanged += 1

    @property
    def is_good(self) -> bool:
        """True if all required changes were found, without a false alarm."""
        return all(all(self.found[change]) for change in _MUST) and not self.false


def measure_check(tables: int, checks: int) -> bool:
    """
    Print the findings at `tables` tables, with `checks` checks without a change; return whether
    the aim is met.
    """
    tally = _Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            share = checks // tables + (number < checks % tables)
            _check_table(number, Path(folder) / f"{number}.toml", share, tally)
    _print_told(tables, tally)
    print(f"nothing changed, {tally.unchanged} checks: {len(tally.false)} false alarms")
    for line in tally.false:
        print(f"    {line}")
    print()
    return tally.is_good


def _check_table(number: int, path: Path, unchanged: int, tally: _Tally) -> None:
    here, chance = table(number), np.random.default_rng(1000 + number)
    write_result(calibrated(here, FEW), path, "0.0")
    for change in _changes(chance):
        tally.change(change, _checked(here, path, change.night))
    for _ in range(unchanged):
        tally.nothing(number, _checked(here, path, _unchanged(here, chance)))


def _print_told(tables: int, tally: _Tally) -> None:
    found, off = tally.found, tally.off
    print(f"check, {tables} tables: how many of them were found")
    for name in dict.fromkeys(name for name, _ in found):
        row = [(amount, sum(values)) for (kind, amount), values in found.items() if kind == name]
        cells = "  ".join(f"{amount:g}: {count}" for amount, count in row)
        whole = [amount for amount, count in row if count == tables]
        least = f"{_nearest(name, whole):g}" if whole else "none"
        print(f"{name:16} {cells}\n{'':16} always told from {least} on")
    print(f"how far it was pushed was told to {max(off):.2f} mm, median {np.median(off):.2f} mm")


def _nearest(name: str, amounts: Sequence[float]) -> float:
    return max(amounts) if name == "light, times" else min(amounts)


def _changes(chance: np.random.Generator) -> Iterator[_Change]:
    for amount in _PUSHES:
        way = float(chance.uniform(0, 2 * np.pi))
        pushed = (amount * np.cos(way), amount * np.sin(way), 0.0)
        yield _Change("pushed, mm", amount, TableState(pushed=pushed), FindingKind.MOVED)
    for amount in _BLURS:
        yield _Change("blur, pixels", amount, TableState(blur=amount), FindingKind.BLURRED)
    for amount in _LIGHTS:
        yield _Change("light, times", amount, TableState(light=amount), FindingKind.DARKER)
    for amount in _BRIGHTER:
        yield _Change("bright, times", amount, TableState(light=amount), FindingKind.BRIGHTER)
    yield _Change("lamps out", 1, TableState(lamp_out=True), FindingKind.DARKER)
    yield _Change("flicker, Hz", 60, TableState(flicker=60), FindingKind.FLICKER)


def _unchanged(here: SimulatedTable, chance: np.random.Generator) -> TableState:
    """Vary what always varies a little, with some cards of the deck or none."""
    way, far = chance.uniform(0, 2 * np.pi), chance.uniform(0, 0.5)
    count = int(chance.integers(0, 5))
    slots = [DEALING_ORDER[n] for n in chance.permutation(len(DEALING_ORDER))[:count]]
    chosen = [FEW[n] for n in chance.integers(0, len(FEW), count)]
    suits = chance.integers(0, 4, count)
    cards = {
        slot: here.lay_like_dealer(Card(f"{card.rank}{'SHDC'[suit]}") if n else None)
        for n, (slot, card, suit) in enumerate(zip(slots, chosen, suits, strict=True))
    }
    return TableState(
        cards=cards,
        pushed=(far * np.cos(way), far * np.sin(way), 0.0),
        light=float(chance.uniform(0.9, 1.1)),
        blur=float(chance.uniform(0, 0.3)),
    )


def _checked(here: SimulatedTable, path: Path, night: TableState) -> CheckResult:
    pictures = [here.picture(night, number / 25) for number in range(_PICTURES)]
    return check_profile(load_profile(path), path, pictures, reader)


if __name__ == "__main__":
    sys.exit(main())
