"""
State of the wizard: the current step, the overlay of the layout, and the answers.

The wizard sets a step and waits for the answer; the live page shows the state and sends
commands. Each runs in a thread of its own.
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
from calibration.camera.layout_on_plane import Box, Plane, places_of, projection_of
from calibration.camera.marker_detection import find_markers
from calibration.camera.shown_cards import pixel_budgets
from drivers.camera.profile.camera_profile import CardSize, Point
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.sources.video_frame import Image

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
"""Shift of a layout: millimetres to the right and down, and degrees."""

NO_SHIFT: Final[LayoutShift] = (0.0, 0.0, 0.0)


class LayoutOverlay:
    """
    Boxes of a layout on the plane, drawn over the image and dragged there.

    Attributes:
        boxes: Positions of the boxes on the plane, without the common shift.
        shift: Common shift of all boxes.
    """

    def __init__(
        self, plane: Plane, boxes: Sequence[Box], least: float, shift: LayoutShift = NO_SHIFT
    ) -> None:
        """
        Args:
            plane: The plane of the table.
            boxes: Their initial positions.
            least: Minimum height of an index in pixels.
            shift: Initial shift of all boxes.
        """
        self.boxes = list(boxes)
        self.shift = shift
        self._plane = plane
        self._min_pixels = least

    def turn(self, degrees: float) -> None:
        """Turn all boxes."""
        x, y, before = self.shift
        self.shift = (x, y, max(-180.0, min(180.0, before + degrees)))

    def push(self, x: float, y: float) -> None:
        """Drag all boxes by a number of pixels."""
        right, down, degrees = self.shift
        ground = projection_of(self._plane)
        middle = ground.to_pixels([(right, down)])[0]
        to = ground.to_table([(middle[0] + x, middle[1] + y)])[0]
        self.shift = (float(to[0]), float(to[1]), degrees)

    def put(self, index: int, at: Point) -> None:
        """Drag the middle of one box, if it exists, to a pixel."""
        if index < len(self.boxes):
            to = projection_of(self._shifted()).to_table([at])[0]
            there = (round(float(to[0]), 1), round(float(to[1]), 1))
            self.boxes[index] = self.boxes[index].at(there)

    def _shifted(self) -> Plane:
        return self._plane.moved(*self.shift)

    def drawn(self) -> list[dict[str, Any]]:
        """Return the outline of each box in the image, and its index height in pixels."""
        plane = self._shifted()
        ground, places = projection_of(plane), places_of(self.boxes)
        snapshot = pixel_budgets(plane, places, CardSize(), CropWindow(), self._min_pixels)
        return [
            {
                "name": budget.slot,
                "points": np.round(ground.to_pixels(place.polygon), 1).tolist(),
                "pixels": round(budget.pixels),
                "least": round(budget.least),
            }
            for place, budget in zip(places, snapshot, strict=True)
        ]


def frame_measures(image: Image, *, with_markers: bool) -> dict[str, Any]:
    """Return size, sharpness and brightness of an image, and its markers."""
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
"""Number of lines that the page shows."""

_MAX_POINTS: Final = 20
"""Corners of five rectangles: more do not improve the plane."""

Pixel = Annotated[float, Meta(ge=-16_384, le=16_384)]


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    A command of the page.

    Attributes:
        do: ``next`` and ``answer``: go on, with a text; ``box``: move a box's middle to x, y;
            ``all``: move all boxes by x, y pixels; ``turn``: turn them by `degrees`;
            ``point``: a corner is at x, y; ``clear``: remove the points.
        serial: Number of the answered step, so that a second click answers nothing else.
        index: Number of the box.
    """

    do: Literal["next", "answer", "box", "all", "turn", "point", "clear"]
    serial: int = -1
    index: Annotated[int, Meta(ge=0, le=64)] = 0
    x: Pixel = 0.0
    y: Pixel = 0.0
    degrees: Annotated[float, Meta(ge=-180, le=180)] = 0.0
    text: Annotated[str, Meta(max_length=40)] = ""


class CardPrompt(Struct, frozen=True):
    """A card to be laid: its name for people, its colour, its place."""

    card: str
    red: bool
    slot: str


class WizardState:
    """
    State that the page shows and changes; safe for all threads.

    Attributes:
        answers: Answers given on the page or at the terminal.
        allowed_action: The action that the page allows: ``markers``, ``points``, ``boxes``,
            ``answer``, ``next`` (only go on) or nothing.
        clicked_points: Points clicked in the image.
        stages: Names of all stages, in order.
    """

    def __init__(self, newest: Callable[[], Image | None], least: float) -> None:
        """
        Args:
            newest: Returns the camera's last image; None where there is none.
            least: Minimum height of an index in pixels.
        """
        self.answers: Queue[str] = Queue()
        self.allowed_action = ""
        self.clicked_points: list[Point] = []
        self.stages: Sequence[str] = ()
        self._stage = 0
        self._hint = self._ended = ""
        self._card_prompt: CardPrompt | None = None
        self._result_received = threading.Event()
        self._has_page = False
        self._newest_image = newest
        self._min_pixels = least
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
        allowed_action: str = "",
        hint: str = "",
        card: CardPrompt | None = None,
    ) -> None:
        """
        Begin a step.

        Args:
            name: Its name, for people.
            text: Its instructions.
            allowed_action: The allowed action.
            hint: Example of an answer.
            card: The card to be laid.
        """
        with self._lock:
            self._step, self._text, self.allowed_action = name, text, allowed_action
            self._hint, self._card_prompt = hint, card
            self._serial += 1

    def reach_stage(self, stage: str) -> None:
        """Set the current stage."""
        if stage in self.stages:
            self._stage = list(self.stages).index(stage)

    def finish(self, name: str, text: str, *, good: bool, timeout_s: float) -> None:
        """Show the result; wait a short time until a page has received it."""
        self._result_received.clear()
        self.begin_step(name, text)
        # A page stops polling once the run has ended: it must have the last step by then.
        self._ended = "good" if good else "bad"
        if self._has_page:
            self._result_received.wait(timeout_s)

    def add_line(self, line: str) -> None:
        """Show a line."""
        with self._lock:
            self._lines = [*self._lines, line][-_MAX_LINES:]

    def place_boxes(self, plane: Plane, boxes: Sequence[Box]) -> None:
        """Show boxes on a plane, with the shift of the previous ones."""
        with self._lock:
            self._overlay = LayoutOverlay(plane, boxes, self._min_pixels, self.shift)

    @property
    def boxes(self) -> list[Box]:
        """Positions of the boxes on their plane."""
        return [] if self._overlay is None else self._overlay.boxes

    @property
    def shift(self) -> LayoutShift:
        """Shift of the layout."""
        return NO_SHIFT if self._overlay is None else self._overlay.shift

    def execute(self, command: Command) -> None:
        """Execute a command of the page."""
        with self._lock:
            match command.do:
                case "next" | "answer":
                    self._answer(command)
                case "point" if (
                    self.allowed_action == "points" and len(self.clicked_points) < _MAX_POINTS
                ):
                    self.clicked_points.append((command.x, command.y))
                case "clear":
                    self.clicked_points.clear()
                case _:
                    self._drag(command)

    def _answer(self, command: Command) -> None:
        if self.allowed_action and command.serial == self._serial:
            # An answered step accepts no second answer, even before the wizard reads the first.
            self.allowed_action = ""
            self.answers.put(command.text)

    def _drag(self, command: Command) -> None:
        if self._overlay is None or self.allowed_action != "boxes":
            return
        match command.do:
            case "turn":
                self._overlay.turn(command.degrees)
            case "all":
                self._overlay.push(command.x, command.y)
            case "box":
                self._overlay.put(command.index, (command.x, command.y))

    def jpeg(self) -> bytes:
        """Return the newest image as a JPEG; empty where there is none."""
        image = self._newest_image()
        if image is None:
            return b""
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])
        return data.tobytes()

    def snapshot_sent(self, state: dict[str, Any]) -> None:
        """Note that a page has received a snapshot."""
        if state["over"]:
            self._result_received.set()

    def snapshot(self) -> dict[str, Any]:
        """Return the state as the page shows it."""
        # A page counts from its request on, not from the response on.
        self._has_page = True
        image = self._newest_image()
        with self._lock:
            snapshot: dict[str, Any] = {
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
                "ask": msgspec.to_builtins(self._card_prompt),
                "over": self._ended,
            }
        if image is not None:
            snapshot |= frame_measures(image, with_markers=self.allowed_action == "markers")
        return snapshot
