"""
A camera as OpenCV's Video4Linux backend shows it.

An unsupported format or size becomes a supported one, and `set` reports success; a size counts
once both of its sides are given; each of these restarts the stream. An unknown control is -1,
and setting it fails, as does an invalid value, or a manual value in automatic mode. A damaged
frame is a failed read, as is an unplugged camera at once, and a silent one after the timeout of
the environment (otherwise ten seconds).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Final

import cv2

from drivers.camera.image import Image

AUTO_EXPOSURE: Final = cv2.CAP_PROP_AUTO_EXPOSURE
EXPOSURE: Final = cv2.CAP_PROP_EXPOSURE
AUTO_WB: Final = cv2.CAP_PROP_AUTO_WB
WB_TEMPERATURE: Final = cv2.CAP_PROP_WB_TEMPERATURE
AUTOFOCUS: Final = cv2.CAP_PROP_AUTOFOCUS
FOCUS: Final = cv2.CAP_PROP_FOCUS
BY_HAND: Final = {
    EXPOSURE: (AUTO_EXPOSURE, 1),
    WB_TEMPERATURE: (AUTO_WB, 0),
    FOCUS: (AUTOFOCUS, 0),
}
MENUS: Final = {AUTO_EXPOSURE: (1, 3), AUTO_WB: (0, 1), AUTOFOCUS: (0, 1)}


class Webcam:
    """
    The camera and its state.

    Attributes:
        forgetful: Whether it resets its controls when a stream begins.
        waited: Number of reads that waited while it was silent.
    """

    def __init__(self) -> None:
        self.modes = {"YUYV": [(640, 480)], "MJPG": [(640, 480), (1280, 720)]}
        self.controls: dict[int, int] = {AUTO_EXPOSURE: 3, EXPOSURE: 250, AUTO_WB: 1}
        self.controls |= {WB_TEMPERATURE: 4600, AUTOFOCUS: 1, FOCUS: 0}
        self.forgetful = False
        self.busy = False
        self.plugged = True
        self.silent = threading.Event()
        self.waited = 0
        self.damaged: Callable[[int], bool] = lambda number: False
        self.picture: Callable[[int], Image]
        self.opened: list[Capture] = []

    def capture(self, _path: str, backend: int, *_: object) -> Capture:
        assert backend == cv2.CAP_V4L2
        self.opened.append(Capture(self))
        return self.opened[-1]


class Capture:
    """`cv2.VideoCapture` of that camera."""

    def __init__(self, webcam: Webcam) -> None:
        self.webcam = webcam
        self.open = webcam.plugged and not webcam.busy
        self.format = "YUYV"
        self.asked = (640, 480)
        self.rate = 30
        self.buffers = 4
        self.refused: list[int] = []
        self.reading = False
        self.closed_in_read = False
        self._half: dict[int, int] = {}
        self._running = False
        self._numbers = count()

    @property
    def size(self) -> tuple[int, int]:
        sizes = self.webcam.modes[self.format]
        return self.asked if self.asked in sizes else sizes[0]

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        return self.open

    def set(self, number: int, value: float) -> bool:
        whole = round(value)
        if number == cv2.CAP_PROP_FOURCC:
            name = whole.to_bytes(4, "little").decode()
            self.format = name if name in self.webcam.modes else next(iter(self.webcam.modes))
        elif number in {cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT}:
            self._half[number] = whole
            if len(self._half) < 2:
                return True
            self.asked = (
                self._half[cv2.CAP_PROP_FRAME_WIDTH],
                self._half[cv2.CAP_PROP_FRAME_HEIGHT],
            )
            self._half.clear()
        elif number == cv2.CAP_PROP_BUFFERSIZE:
            self.buffers = whole
        elif number == cv2.CAP_PROP_FPS:
            self.rate = whole
            return True
        else:
            return self._control(number, whole)
        self._running = False
        return True

    def _control(self, number: int, value: int) -> bool:
        controls = self.webcam.controls
        automatic, manual = BY_HAND.get(number, (number, value))
        fits = (
            number in controls
            and value in MENUS.get(number, (value,))
            and (automatic == number or controls.get(automatic) == manual)
        )
        if fits:
            controls[number] = value
        else:
            self.refused.append(number)
        return fits

    def get(self, number: int) -> float:
        known = {
            cv2.CAP_PROP_FRAME_WIDTH: self.size[0],
            cv2.CAP_PROP_FRAME_HEIGHT: self.size[1],
            cv2.CAP_PROP_FOURCC: int.from_bytes(self.format.encode(), "little"),
            cv2.CAP_PROP_FPS: self.rate,
            cv2.CAP_PROP_BUFFERSIZE: self.buffers,
        }
        return float(known.get(number, self.webcam.controls.get(number, -1)))

    def read(self) -> tuple[bool, Image | None]:
        self.reading = True
        try:
            return self._read()
        finally:
            self.reading = False

    def _read(self) -> tuple[bool, Image | None]:
        if not self._running and self.webcam.forgetful:
            self.webcam.controls |= {AUTO_EXPOSURE: 3, AUTO_WB: 1, AUTOFOCUS: 1}
        self._running = True
        if not (self.open and self.webcam.plugged):
            return False, None
        if self.webcam.silent.is_set():
            self.webcam.waited += 1
            until = time.monotonic() + float(
                os.environ.get("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "10")
            )
            while self.webcam.silent.is_set() and time.monotonic() < until:
                time.sleep(0.02)
            return False, None
        time.sleep(1 / self.rate)
        number = next(self._numbers)
        if self.webcam.damaged(number):
            return False, None
        return True, self.webcam.picture(number)

    def release(self) -> None:
        # OpenCV would end the process.
        self.closed_in_read |= self.reading
        self.open = False
