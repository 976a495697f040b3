"""
What is drawn over the live page's picture: the boxes of a layout, where they were dragged to, and
what is found in the picture itself.

Between the person and the run: which step it is, what is asked, what was answered, how it ended.

The run says what to do and waits for what is said; the page looks at it all, and orders. Both are
other threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Queue
from typing import Annotated, Any, Final, Literal

import cv2
import msgspec
import numpy as np
from msgspec import Meta, Struct

from calibration.camera.image_measures import mean_brightness, measure_sharpness
from calibration.camera.marker_detection import find_markers
from calibration.camera.shown_cards import pixel_budgets
from calibration.camera.table_layout import Box, Plane, places_of, projection_of
from drivers.camera.profile.camera_profile import CardSize, Point
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.sources.frame_quality import Image

__all__ = [
    "NO_SHIFT",
    "CardPrompt",
    "Command",
    "LayoutOverlay",
    "LayoutShift",
    "WizardState",
    "frame_measures",
]

LayoutShift = tuple[float, float, float]
"""Where a layout was dragged to: millimetres to the right and down, and degrees."""

NO_SHIFT: Final[LayoutShift] = (0.0, 0.0, 0.0)


class LayoutOverlay:
    """
    Boxes on a plane, as they lie over its picture and are dragged there.

    Attributes:
        boxes: Where they are on the plane, besides what all of them were shifted.
        shift: Where all of them were dragged to.
    """

    def __init__(
        self, plane: Plane, boxes: Sequence[Box], least: float, shift: LayoutShift = NO_SHIFT
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
        ground = projection_of(self._plane)
        middle = ground.to_pixels([(right, down)])[0]
        to = ground.to_table([(middle[0] + x, middle[1] + y)])[0]
        self.shift = (float(to[0]), float(to[1]), degrees)

    def put(self, index: int, at: Point) -> None:
        """
        Drag one of them, if there is such a one, so that its middle is seen at a point.
        """
        if index < len(self.boxes):
            to = projection_of(self._shifted()).to_table([at])[0]
            there = (round(float(to[0]), 1), round(float(to[1]), 1))
            self.boxes[index] = self.boxes[index].at(there)

    def _shifted(self) -> Plane:
        return self._plane.moved(*self.shift)

    def drawn(self) -> list[dict[str, Any]]:
        """
        Say where each is in the picture, and how many pixels an index has on it.
        """
        plane = self._shifted()
        ground, places = projection_of(plane), places_of(self.boxes)
        told = pixel_budgets(plane, places, CardSize(), CropWindow(), self._least)
        return [
            {
                "name": budget.slot,
                "points": np.round(ground.to_pixels(place.polygon), 1).tolist(),
                "pixels": round(budget.pixels),
                "least": round(budget.least),
            }
            for place, budget in zip(places, told, strict=True)
        ]


def frame_measures(image: Image, *, with_markers: bool) -> dict[str, Any]:
    """
    Say how large, sharp and bright a picture is, and which markers are in it.
    """
    return {
        "size": [image.shape[1], image.shape[0]],
        "sharpness": measure_sharpness(image),
        "light": mean_brightness(image),
        "markers": _marker_outlines(image) if with_markers else [],
    }


def _marker_outlines(image: Image) -> list[dict[str, Any]]:
    return [
        {"name": str(each.number), "points": np.round(each.corners, 1).tolist()}
        for each in find_markers(image)
    ]


_MAX_LINES: Final = 14
"""Lines that the page has room for."""

_MAX_POINTS: Final = 20
"""Corners of five rectangles: more tell no more."""

Pixel = Annotated[float, Meta(ge=-16_384, le=16_384)]


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    What the page asks for.

    Attributes:
        do: ``next``, ``answer``: go on, with a text; ``box``: its middle goes to x, y;
            ``all``: every box goes by x, y pixels; ``turn``: by `degrees`; ``point``: a
            corner is at x, y; ``clear``: the points are forgotten.
        serial: The step that is answered: a second click answers no second question.
        index: Which box.
    """

    do: Literal["next", "answer", "box", "all", "turn", "point", "clear"]
    serial: int = -1
    index: Annotated[int, Meta(ge=0, le=64)] = 0
    x: Pixel = 0.0
    y: Pixel = 0.0
    degrees: Annotated[float, Meta(ge=-180, le=180)] = 0.0
    text: Annotated[str, Meta(max_length=40)] = ""


class CardPrompt(Struct, frozen=True):
    """
    A card that is to be laid: its name for people, its colour, its place.
    """

    card: str
    red: bool
    slot: str


class WizardState:
    """
    What the page shows and what is changed on it; any thread may use it.

    Attributes:
        said: What was answered, on the page or at the terminal.
        wants: What can be done now: ``markers``, ``points``, ``boxes``, ``answer``, ``next``
            (only go on) or nothing.
        points: What was clicked in the picture.
        stages: The names of all that is done, one after the other.
    """

    def __init__(self, newest: Callable[[], Image | None], least: float) -> None:
        """
        Args:
            newest: Gives the camera's last picture; None where there is none.
            least: Pixels that an index needs, at the least.
        """
        self.answers: Queue[str] = Queue()
        self.allowed_action = ""
        self.clicked_points: list[Point] = []
        self.stages: Sequence[str] = ()
        self._stage = 0
        self._hint = self._ended = ""
        self._asked: CardPrompt | None = None
        self._seen = threading.Event()
        self._watched = False
        self._newest = newest
        self._least = least
        self._overlay: LayoutOverlay | None = None
        self._serial = 0
        self._step = "The camera's picture"
        self._text = ""
        self._lines: list[str] = []
        self._lock = threading.Lock()

    def begin_step(
        self,
        name: str,
        text: str,
        wants: str = "",
        hint: str = "",
        asked: CardPrompt | None = None,
    ) -> None:
        """
        Begin a step.

        Args:
            name: For people.
            text: What to do.
            wants: What can be done on the page, as above.
            hint: What an answer may look like.
            asked: The card that is to be laid.
        """
        with self._lock:
            self._step, self._text, self.allowed_action = name, text, wants
            self._hint, self._asked = hint, asked
            self._serial += 1

    def reach_stage(self, stage: str) -> None:
        """
        Come to one of the stages.
        """
        if stage in self.stages:
            self._stage = list(self.stages).index(stage)

    def finish(self, name: str, text: str, *, good: bool, patience: float) -> None:
        """
        Say how it ended; wait a little for a page to show it.
        """
        self._seen.clear()
        self.begin_step(name, text)
        # A page that is told that it is over asks no more: it must have the last step by then.
        self._ended = "good" if good else "bad"
        if self._watched:
            self._seen.wait(patience)

    def add_line(self, line: str) -> None:
        """
        Show a line.
        """
        with self._lock:
            self._lines = [*self._lines, line][-_MAX_LINES:]

    def place_boxes(self, plane: Plane, boxes: Sequence[Box]) -> None:
        """
        Show boxes on a plane, shifted as those before them were.
        """
        with self._lock:
            self._overlay = LayoutOverlay(plane, boxes, self._least, self.shift)

    @property
    def boxes(self) -> list[Box]:
        """
        Where the boxes are on their plane.
        """
        return [] if self._overlay is None else self._overlay.boxes

    @property
    def shift(self) -> LayoutShift:
        """
        Where the layout was dragged to.
        """
        return NO_SHIFT if self._overlay is None else self._overlay.shift

    def execute(self, order: Command) -> None:
        """
        Do what the page asks for.
        """
        with self._lock:
            match order.do:
                case "next" | "answer":
                    self._answer(order)
                case "point" if (
                    self.allowed_action == "points" and len(self.clicked_points) < _MAX_POINTS
                ):
                    self.clicked_points.append((order.x, order.y))
                case "clear":
                    self.clicked_points.clear()
                case _:
                    self._drag(order)

    def _answer(self, order: Command) -> None:
        if self.allowed_action and order.serial == self._serial:
            # What is answered is not asked any more, before the run has heard of it too.
            self.allowed_action = ""
            self.answers.put(order.text)

    def _drag(self, order: Command) -> None:
        if self._overlay is None or self.allowed_action != "boxes":
            return
        match order.do:
            case "turn":
                self._overlay.turn(order.degrees)
            case "all":
                self._overlay.push(order.x, order.y)
            case "box":
                self._overlay.put(order.index, (order.x, order.y))

    def jpeg(self) -> bytes:
        """
        Return the newest picture as a JPEG; nothing where there is none.
        """
        image = self._newest()
        if image is None:
            return b""
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])
        return data.tobytes()

    def snapshot_sent(self, state: dict[str, Any]) -> None:
        """
        A page has got this.
        """
        if state["over"]:
            self._seen.set()

    def snapshot(self) -> dict[str, Any]:
        """
        Return all that lies over the picture.
        """
        # From when a page asks, not from when it has the answer: it is there already.
        self._watched = True
        image = self._newest()
        with self._lock:
            told: dict[str, Any] = {
                "step": self._step,
                "serial": self._serial,
                "text": self._text,
                "wants": self.allowed_action,
                "lines": self._lines,
                "points": self.clicked_points,
                "boxes": [] if self._overlay is None else self._overlay.drawn(),
                "stages": self.stages,
                "stage": self._stage,
                "hint": self._hint,
                "ask": msgspec.to_builtins(self._asked),
                "over": self._ended,
            }
        if image is not None:
            told |= frame_measures(image, with_markers=self.allowed_action == "markers")
        return told
