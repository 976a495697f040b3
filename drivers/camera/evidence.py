"""
Keeps a small picture of everything that was read, so that a dispute can be looked at.

Written by a thread of its own: a slow or full disk costs pictures, never cards.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import cv2
import structlog

from drivers.camera.frames import Image

__all__ = ["Evidence"]

_WAITING: Final = 64
_QUALITY: Final = 88
_DAY: Final = 86_400.0
_TIDY_EVERY: Final = 200
"""Pictures after which what is old, or too much, is removed."""

_log = structlog.get_logger(__name__)


class Evidence:
    """
    A folder of pictures, bounded by age and size.

    Attributes:
        lost: Pictures that were not kept, because the disk was too slow or full.
    """

    def __init__(self, folder: Path, days: float, megabytes: float) -> None:
        self.lost = 0
        self._folder = folder
        self._age = days * _DAY
        self._room = int(megabytes * 1_000_000)
        self._waiting: queue.Queue[tuple[str, Image] | None] = queue.Queue(_WAITING)
        self._failing = False
        self._last = ""
        self._thread = threading.Thread(target=self._run, name="camera-evidence", daemon=True)
        self._thread.start()

    def keep(self, image: Image, what: str) -> str | None:
        """
        Keep a picture; return the name of its file, None where there is no room to wait.

        Args:
            image: The picture; it must not be changed any more.
            what: What it shows, for the name: letters, digits and hyphens.
        """
        name = f"{datetime.now(UTC):%Y%m%d-%H%M%S.%f}"[:-3] + f"-{what}.jpg"
        if name == self._last:
            return name
        self._last = name
        try:
            self._waiting.put_nowait((name, image))
        except queue.Full:
            self.lost += 1
            return None
        return name

    def close(self) -> None:
        """
        Write what waits, as long as that takes no more than a moment.
        """
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=0.5)
        self._thread.join(1.0)

    def _run(self) -> None:
        written = 0
        while (item := self._waiting.get()) is not None:
            if written % _TIDY_EVERY == 0:
                self._tidy()
            written += 1
            self._write(*item)

    def _write(self, name: str, image: Image) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            good, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
            if good:
                whole = self._folder / f".{name}"
                whole.write_bytes(data.tobytes())
                whole.rename(self._folder / name)
            self._failing = False
        except OSError as error:
            self.lost += 1
            if not self._failing:
                self._failing = True
                _log.warning("evidence_not_kept", folder=str(self._folder), reason=str(error))

    def _tidy(self) -> None:
        """
        Remove what is too old, and the oldest where it is too much.
        """
        try:
            there = sorted(
                (each.stat().st_mtime, each.stat().st_size, each)
                for each in self._folder.glob("*.jpg")
            )
        except OSError:
            return
        # Some room is left for what comes until it is looked at again.
        room = self._room * 0.9
        total = sum(size for _, size, _ in there)
        oldest = time.time() - self._age
        for moment, size, path in there:
            if moment >= oldest and total <= room:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
