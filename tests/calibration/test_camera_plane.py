"""
The plane of the table is found to a fraction of a millimetre, by markers or clicked corners;
its error is estimated, and a marker that does not fit is named.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera.markers import find_markers
from calibration.camera.output import list_faults
from calibration.camera.plane import plane_from_markers, plane_from_points, projection_of
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.errors import UserError
from tests.calibration.shared_calibration import result, shelf
from tests.calibration.simulated_scene import SHEETS, SIDE, SIZE, aligned, camera

POINTS = np.array([[box.x, box.y] for box in PLACES.values()])


def test_markers_at_any_angle_give_the_plane_and_the_lens() -> None:
    markers = find_markers(shelf().pictures[0.0])
    plane = plane_from_markers(markers, SIDE, SIZE)
    assert [each.number for each in markers] == sorted(SHEETS)
    found = projection_of(plane).to_table(camera().on_table(POINTS))
    assert aligned(found, POINTS) < 0.3
    assert plane.error is not None
    assert aligned(found, POINTS) < plane.error < 0.5


def test_one_marker_leaves_the_lens_unknown() -> None:
    markers = find_markers(shelf().pictures[0.0])
    plane = plane_from_markers(markers[4:], SIDE, SIZE)
    assert plane.lens is None
    assert plane.error is not None
    assert plane.error > 1.0, "all fits, and yet nothing is known far from it"
    told = list_faults(replace(result(), plane=plane, markers=markers[4:]))
    assert any("the lens is not known" in each and "more markers" in each for each in told)


def test_a_marker_of_another_size_is_reported_by_its_number() -> None:
    markers = find_markers(shelf().pictures[0.0])
    middle = markers[1].corners.mean(axis=0)
    markers[1] = markers[1]._replace(corners=middle + (markers[1].corners - middle) * 0.9)
    plane = plane_from_markers(markers, SIDE, SIZE)
    assert plane.misfit > 1.5
    assert plane.worst == 1
    told = list_faults(replace(result(), plane=plane))
    assert told[0].startswith("marker 1 does not fit the plane by ")


def test_a_missing_marker_is_reported_with_advice() -> None:
    with pytest.raises(UserError, match=r"no marker found.*more light"):
        plane_from_markers(find_markers(shelf().pictures[1.0]), SIDE, SIZE)


def test_four_points_of_a_rectangle_give_the_plane_too() -> None:
    corners = np.array([[-198.0, -54.0], [-118.0, -54.0], [-118.0, 54.0], [-198.0, 54.0]])
    points = [(float(x), float(y)) for x, y in camera().on_table(corners)]
    plane = plane_from_points(points, (80.0, 108.0), SIZE)
    assert aligned(projection_of(plane).to_table(np.array(points)), corners) < 0.01
    with pytest.raises(UserError, match="no rectangle"):
        plane_from_points([points[0], points[2], points[1], points[3]], (80, 108), SIZE)
    with pytest.raises(UserError, match="clockwise"):
        plane_from_points(points[::-1], (80, 108), SIZE)


def test_corners_of_two_rectangles_give_the_lens_too() -> None:
    corners = np.array([[-300.0, -100.0], [-50.0, -100.0], [-50.0, 80.0], [-300.0, 80.0]])
    both = np.concatenate([corners, corners + np.array([340.0, 20.0])])
    points = [(float(x), float(y)) for x, y in camera().on_table(both)]
    plane = plane_from_points(points, (250.0, 180.0), SIZE)
    found = projection_of(plane).to_table(camera().on_table(POINTS))
    assert plane.lens is not None
    assert aligned(found, POINTS) < 0.2
    assert plane.error is not None
    assert plane.error > 1.0, "nobody clicks to a tenth of a pixel"
    with pytest.raises(UserError, match=r"7 point.*four corners"):
        plane_from_points(points[:7], (250.0, 180.0), SIZE)
