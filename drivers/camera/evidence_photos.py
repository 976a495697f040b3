"""
Stored pictures of the cards that were read, for disputes.

A separate thread writes them: a slow or full disk costs pictures, never cards. The journal is
on the same disk, so some space is always left free.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import threading
import time
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import cv2
import structlog

from drivers.camera.sources.frame_capture import Image

_QUEUE_SIZE: Final = 64
"""Pictures that wait for the disk; further ones are dropped and counted."""

_JPEG_QUALITY: Final = 88
_DAY_S: Final = 86_400.0
_CLOCK_TOLERANCE_S: Final = 60.0
_CLEANUP_INTERVAL_S: Final = 600.0
"""Time between two removals of old files, also while no picture arrives."""

_RESERVED_BYTES: Final = 64_000_000
"""Disk space that is left to the journal."""

_FILE_MODE: Final = 0o640
_FOLDER_MODE: Final = 0o750
"""Not readable for everyone: a picture may show a card that the players have not seen."""

_FILE_NAME: Final = re.compile(r"\.?\d{8}-\d{6}\.\d{3}-[0-9A-Za-z-]+\.jpg")

_log = structlog.get_logger(__name__)


class _StoredFile(NamedTuple):
    """
    One file; files that sort first are removed first.

    A time stamp in the future is from before the clock was set back: such a file is older
    than all others.
    """

    is_past: bool
    moment: float
    size: int
    path: Path


class Evidence:
    """
    A folder of pictures with a maximum age and size. Other files in it are not touched.

    Attributes:
        lost: Number of pictures that were not stored, because the disk was slow or full.
    """

    def __init__(self, folder: Path, days: float, megabytes: float) -> None:
        self.lost = 0
        self._folder = folder
        self._max_age_s = days * _DAY_S
        self._max_bytes = int(megabytes * 1_000_000)
        self._used_bytes = 0
        self._queue: queue.Queue[tuple[str, Image] | None] = queue.Queue(_QUEUE_SIZE)
        self._failing = self._closing = False
        self._names: deque[str] = deque(maxlen=_QUEUE_SIZE)
        self._thread = threading.Thread(target=self._run, name="camera-evidence", daemon=True)
        self._thread.start()

    def store(self, image: Image, what: str) -> str | None:
        """
        Store a picture; return its file name, or None where the queue is full.

        Args:
            image: The picture; it must not be changed any more.
            what: Content, for the file name: letters, digits and hyphens.
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
            if (
                self._used_bytes > self._max_bytes
                or time.monotonic() - tidied >= _CLEANUP_INTERVAL_S
            ):
                self._clean_up()
                tidied = time.monotonic()

    def _store(self, name: str, image: Image) -> None:
        try:
            self._folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            self._ensure_free_space()
            self._used_bytes += self._write(name, image)
            self._failing = False
        except (OSError, cv2.error) as error:
            self.lost += 1
            if not self._failing:
                self._failing = True
                reason = str(error).strip().partition("\n")[0]
                _log.warning("evidence_write_failed", folder=str(self._folder), reason=reason)

    def _ensure_free_space(self) -> None:
        if shutil.disk_usage(self._folder).free >= _RESERVED_BYTES:
            return
        self._clean_up()
        if shutil.disk_usage(self._folder).free < _RESERVED_BYTES:
            raise OSError(
                f"less than {_RESERVED_BYTES // 1_000_000} MB are free, which the journal needs"
            )

    def _write(self, name: str, image: Image) -> int:
        good, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        if not good:
            raise OSError("no picture that OpenCV can write")
        half = self._folder / f".{name}"
        try:
            half.touch(_FILE_MODE)
            half.write_bytes(data.tobytes())
            half.rename(self._folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                half.unlink()
            raise
        return int(data.size)

    def _clean_up(self) -> None:
        """Remove files that are too old, and the oldest where all are too large."""
        kept = sorted(self._stored_files())
        total = sum(each.size for each in kept)
        room, oldest = self._allowed_bytes(total), time.time() - self._max_age_s
        for each in kept:
            # A partial file is left over from a power failure.
            half = (
                each.path.name.startswith(".")
                and abs(time.time() - each.moment) > _CLOCK_TOLERANCE_S
            )
            if total <= room and each.moment >= oldest and not half:
                continue
            with contextlib.suppress(OSError):
                each.path.unlink()
            total -= each.size
        self._used_bytes = total

    def _allowed_bytes(self, total: int) -> int:
        """
        Return the size that may remain: below the maximum, so that not every picture causes a
        directory scan, and smaller where the disk is nearly full.
        """
        room = self._max_bytes if total <= self._max_bytes else int(self._max_bytes * 0.9)
        try:
            short = _RESERVED_BYTES - shutil.disk_usage(self._folder).free
        except OSError:
            return room
        return room if short <= 0 else min(room, total - short)

    def _stored_files(self) -> list[_StoredFile]:
        kept = []
        soon = time.time() + _CLOCK_TOLERANCE_S
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                if _FILE_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        past = status.st_mtime < soon
                        kept.append(
                            _StoredFile(past, status.st_mtime, status.st_size, Path(entry.path))
                        )
        return kept
