"""
Live page of a calibration: state of the wizard, served to a browser of this machine.

The wizard sets a step and waits for the answer; the page shows the camera's image, the layout
over it and the buttons, and sends commands. Each runs in a thread of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from queue import Queue
from typing import Annotated, Any, Final, Literal

import cv2
import msgspec
import numpy as np
from msgspec import Meta, Struct

from calibration.camera.image_measures import mean_brightness, measure_sharpness
from calibration.camera.layout import NO_SHIFT, Box, LayoutOverlay, LayoutShift
from calibration.camera.markers import find_markers
from calibration.camera.plane import Plane
from drivers.camera.image import Image
from drivers.camera.profile.sections import Point
from drivers.camera.web import LocalServer, Reply, page_routes

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

    @property
    def point(self) -> Point:
        """The pixel, or the distance in pixels."""
        return self.x, self.y


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
        """Take the source of the last image, and the minimum height of an index in pixels."""
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
        """Begin a step; `hint` is an example of an answer, `card` the card to be laid."""
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

    def place_boxes(
        self, plane: Plane, boxes: Sequence[Box], shift: LayoutShift | None = None
    ) -> None:
        """Show boxes on a plane, with a shift; None for that of the previous ones."""
        with self._lock:
            self._overlay = LayoutOverlay(
                plane, boxes, self._min_pixels, self.shift if shift is None else shift
            )

    @property
    def boxes(self) -> list[Box]:
        """Positions of the boxes on their plane."""
        return [] if self._overlay is None else self._overlay.boxes

    @property
    def shift(self) -> LayoutShift:
        """Shift of the layout."""
        return NO_SHIFT if self._overlay is None else self._overlay.shift

    def execute(self, command: Command) -> None:
        """Execute a command of the page, if the current step allows it."""
        with self._lock:
            boxes = self._overlay if self.allowed_action == "boxes" else None
            match command.do:
                case "next" | "answer" if self.allowed_action and command.serial == self._serial:
                    # Accept no second answer, even before the wizard reads the first.
                    self.allowed_action = ""
                    self.answers.put(command.text)
                case "point" if self.allowed_action == "points":
                    self.clicked_points = [*self.clicked_points, command.point][:_MAX_POINTS]
                case "clear":
                    self.clicked_points.clear()
                case "turn" if boxes:
                    boxes.turn(command.degrees)
                case "all" if boxes:
                    boxes.push(*command.point)
                case "box" if boxes:
                    boxes.put(command.index, command.point)

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
            snapshot |= {
                "size": [image.shape[1], image.shape[0]],
                "sharpness": measure_sharpness(image),
                "light": mean_brightness(image),
                "markers": [
                    {"name": str(each.number), "points": np.round(each.corners, 1).tolist()}
                    for each in (find_markers(image) if self.allowed_action == "markers" else [])
                ],
            }
        return snapshot


_STATIC_FOLDER: Final = Path(__file__).parent / "static"


def serve_page(state: WizardState) -> LocalServer:
    """Serve the page on loopback, at a free port and a secret path."""

    def answer() -> Reply:
        snapshot = state.snapshot()
        body = json.dumps(snapshot).encode()
        return Reply(body, "application/json", sent=lambda: state.snapshot_sent(snapshot))

    def execute(body: bytes) -> Reply:
        try:
            state.execute(msgspec.json.decode(body, type=Command))
        except msgspec.DecodeError:
            return Reply(status=HTTPStatus.BAD_REQUEST)
        return answer()

    server = LocalServer(
        ("127.0.0.1", 0),
        {
            **page_routes(_STATIC_FOLDER, "live.html", "live.js", "live.css", "icon.svg"),
            "GET picture.jpg": lambda _: Reply(state.jpeg(), "image/jpeg"),
            "GET state": lambda _: answer(),
            "POST do": execute,
        },
        secret=True,
    )
    server.start("calibration-page")
    return server
