"""
What is drawn over the live page's picture: the boxes of a layout, where they were dragged to, and
what is found in the picture itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from calibration.camera.image_measures import light_of, sharpness_of
from calibration.camera.layout_presets import Box, places_of
from calibration.camera.marker_detection import find_markers
from calibration.camera.shown_cards import budget_of
from calibration.camera.table_plane import Plane, ground_of
from drivers.camera.profile.camera_profile import CardSize, Point
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.sources.frame_quality import Image

__all__ = ["NOWHERE", "Overlay", "Shift", "measured"]

Shift = tuple[float, float, float]
"""Where a layout was dragged to: millimetres to the right and down, and degrees."""

NOWHERE: Final[Shift] = (0.0, 0.0, 0.0)


class Overlay:
    """
    Boxes on a plane, as they lie over its picture and are dragged there.

    Attributes:
        boxes: Where they are on the plane, besides what all of them were shifted.
        shift: Where all of them were dragged to.
    """

    def __init__(
        self, plane: Plane, boxes: Sequence[Box], least: float, shift: Shift = NOWHERE
    ) -> None:
        """
        Args:
            plane: The table's, as it was found.
            boxes: Where they are before they are dragged.
            least: Pixels that an index needs, at the least.
            shift: Where all of them are dragged to already.
        """
        self.boxes = list(boxes)
        self.shift = shift
        self._plane = plane
        self._least = least

    def turn(self, degrees: float) -> None:
        """
        Turn all of them.
        """
        x, y, before = self.shift
        self.shift = (x, y, max(-180.0, min(180.0, before + degrees)))

    def push(self, x: float, y: float) -> None:
        """
        Drag all of them by so many pixels of the picture.
        """
        right, down, degrees = self.shift
        ground = ground_of(self._plane)
        middle = ground.to_pixels([(right, down)])[0]
        to = ground.to_table([(middle[0] + x, middle[1] + y)])[0]
        self.shift = (float(to[0]), float(to[1]), degrees)

    def put(self, index: int, at: Point) -> None:
        """
        Drag one of them, if there is such a one, so that its middle is seen at a point.
        """
        if index < len(self.boxes):
            to = ground_of(self._shifted()).to_table([at])[0]
            there = (round(float(to[0]), 1), round(float(to[1]), 1))
            self.boxes[index] = self.boxes[index].at(there)

    def _shifted(self) -> Plane:
        return self._plane.moved(*self.shift)

    def drawn(self) -> list[dict[str, Any]]:
        """
        Say where each is in the picture, and how many pixels an index has on it.
        """
        plane = self._shifted()
        ground, places = ground_of(plane), places_of(self.boxes)
        told = budget_of(plane, places, CardSize(), CropWindow(), self._least)
        return [
            {
                "name": budget.slot,
                "points": np.round(ground.to_pixels(place.polygon), 1).tolist(),
                "pixels": round(budget.pixels),
                "least": round(budget.least),
            }
            for place, budget in zip(places, told, strict=True)
        ]


def measured(image: Image, *, with_markers: bool) -> dict[str, Any]:
    """
    Say how large, sharp and bright a picture is, and which markers are in it.
    """
    return {
        "size": [image.shape[1], image.shape[0]],
        "sharpness": sharpness_of(image),
        "light": light_of(image),
        "markers": _markers(image) if with_markers else [],
    }


def _markers(image: Image) -> list[dict[str, Any]]:
    return [
        {"name": str(each.number), "points": np.round(each.corners, 1).tolist()}
        for each in find_markers(image)
    ]
