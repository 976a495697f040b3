"""A simulated table before the USB camera: first calibrated, then cards are dealt on it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import cycle
from typing import Final

import cv2

from calibration.camera.simulated_table import SimulatedTable
from drivers.simulators.camera.settings import Settings
from drivers.simulators.camera.sprites import Pixels
from tests.machine.usb_camera import Picture, Tear

_JPEG_QUALITY: Final = 90
_TEAR_INTERVAL: Final = 13
_LATE_INTERVAL: Final = 50
"""Every so many pictures one is torn, and one is late."""

_LATE_S: Final = 2.0
"""Less than the silence after which the daemon reports a camera as lost."""

_INSTRUCTIONS: Final = (
    (r"The plane\. ", ("empty", "markers")),
    (r"The empty table\. ", ("empty",)),
    (r"The boxes ", ("empty",)),
    (r".*Lay a card face down on (\w+)", ("empty", r"lay \1 back")),
    (r".*Lay the (\w+) on (\w+)", ("empty", r"lay \2 \1")),
    # On a busy computer a picture may have come too late.
    (r"Once more\? .*no picture for", ()),
)
"""Questions of `calibrate camera`, and what is then done at the simulated table."""


def encoded(image: Pixels) -> bytes:
    """Encode an image as the camera does."""
    quality = [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    return cv2.imencode(".jpg", image, quality)[1].tobytes()


class FilmedTable:
    """
    A simulated table that changes by commands, however slow the machine is that watches it.

    Args:
        settings: The table and its camera.

    Attributes:
        with_faults: From now on some pictures are torn or late.
        torn, late: Number of torn pictures of each kind, and of late ones.
    """

    def __init__(self, settings: Settings) -> None:
        self.with_faults = False
        self.torn: Counter[Tear] = Counter()
        self.late = 0
        self._table = SimulatedTable(settings)
        self._table.picture()  # the first takes long
        self._number = 0
        self._tears = cycle(Tear)

    def execute(self, *commands: str) -> None:
        """Do something at the table: commands of `SimulatedTable`."""
        for command in commands:
            self._table.execute(command)

    def follow(self, question: str) -> None:
        """Do what a question of `calibrate camera` asks for."""
        for pattern, commands in _INSTRUCTIONS:
            if found := re.match(pattern, question):
                self.execute(*(found.expand(command) for command in commands))
                return
        raise AssertionError(f"not an instruction: {question}")

    def frame(self) -> Picture:
        """Return the picture that the camera sees now."""
        jpeg = encoded(self._table.picture())
        if not self.with_faults:
            return Picture(jpeg)
        self._number += 1
        tear, late_s = None, 0.0
        if self._number % _TEAR_INTERVAL == 0:
            tear = next(self._tears)
            self.torn[tear] += 1
        if self._number % _LATE_INTERVAL == 0:
            late_s = _LATE_S
            self.late += 1
        return Picture(jpeg, tear, late_s)
