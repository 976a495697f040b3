"""
Stored pictures of the cards that were read, for disputes.

A separate thread writes them: a slow or full disk costs pictures, never cards.
"""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import cv2
import structlog

from drivers.camera.image import Image
from shoe_daemon.evidence import FILE_MODE, EvidenceFolder

_QUEUE_SIZE: Final = 64
"""Pictures that wait for the disk; further ones are dropped and counted."""

_JPEG_QUALITY: Final = 88
_CLEANUP_INTERVAL_S: Final = 600.0
"""Time between two removals of old files, also while no picture arrives."""

_FILE_NAME: Final = re.compile(r"\.?\d{8}-\d{6}\.\d{3}-[0-9A-Za-z-]+\.jpg")

_log = structlog.get_logger(__name__)


class Evidence:
    """
    A folder of pictures with a maximum age and size. Other files in it are not touched.

    Attributes:
        lost: Number of pictures that were not stored, because the disk was slow or full.
    """

    def __init__(self, folder: Path, days: float, megabytes: float) -> None:
        self.lost = 0
        self._folder = EvidenceFolder(folder, _FILE_NAME, days, megabytes)
        self._queue: queue.Queue[tuple[str, Image] | None] = queue.Queue(_QUEUE_SIZE)
        self._failing = self._closing = False
        self._names: deque[str] = deque(maxlen=_QUEUE_SIZE)
        self._thread = threading.Thread(target=self._run, name="camera-evidence", daemon=True)
        self._thread.start()

    def store(self, image: Image, what: str) -> str | None:
        """
        Store a picture; return its file name, or None where the queue is full.

        The picture must not be changed any more. `what` is for the name: letters, digits, hyphens.
        """
        name = self._name(what)
        try:
            self._queue.put_nowait((name, image))
        except queue.Full:
            self.lost += 1
            return None
        return name

    def _name(self, what: str) -> str:
        moment = datetime.now(UTC)
        while (name := f"{moment:%Y%m%d-%H%M%S.%f}"[:-3] + f"-{what}.jpg") in self._names:
            moment += timedelta(milliseconds=1)
        self._names.append(name)
        return name

    def close(self, timeout_s: float = 1.0) -> None:
        """Write the queued pictures, waiting at most this number of seconds."""
        self._closing = True
        with contextlib.suppress(queue.Full):  # then there is enough to wake it
            self._queue.put_nowait(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        tidied = float("-inf")  # not before the first picture
        while not (self._closing and self._queue.empty()):
            with contextlib.suppress(queue.Empty):
                item = self._queue.get(timeout=_CLEANUP_INTERVAL_S)
                if item is None:
                    return
                self._store(*item)
            if self._folder.is_too_large or time.monotonic() - tidied >= _CLEANUP_INTERVAL_S:
                self._folder.clean_up()
                tidied = time.monotonic()

    def _store(self, name: str, image: Image) -> None:
        try:
            self._folder.prepare()
            self._folder.add(self._write(name, image))
            self._failing = False
        except (OSError, cv2.error) as error:
            self.lost += 1
            if not self._failing:
                self._failing = True
                reason = str(error).strip().partition("\n")[0]
                _log.warning("evidence_write_failed", folder=str(self._folder.path), reason=reason)

    def _write(self, name: str, image: Image) -> int:
        good, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        if not good:
            raise OSError("no picture that OpenCV can write")
        half = self._folder.path / f".{name}"
        try:
            half.touch(FILE_MODE)
            half.write_bytes(data.tobytes())
            half.rename(self._folder.path / name)
        except OSError:
            with contextlib.suppress(OSError):
                half.unlink()
            raise
        return int(data.size)
