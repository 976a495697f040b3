"""Error of the plane in millimetres at the card places, found by markers or by clicks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import numpy as np
from msgspec.structs import replace

from bench.vision.calibration_table import SIZE, table
from calibration.camera.image_measures import mean_image
from calibration.camera.plane_fitting import plane_from_markers, plane_from_points
from calibration.camera.printed_markers import Marker, find_markers
from calibration.camera.simulated_table import MARKER_SHEETS, SimulatedTable, TableState
from calibration.camera.table_plane_and_places import (
    Plane,
    max_distance,
    projection_of,
    rectangle_corners,
)
from drivers.simulators.camera.table_layout import PLACES

__all__ = ["measure_plane"]

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
