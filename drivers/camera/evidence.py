"""
Keeps a small picture of everything that was read, so that a dispute can be looked at.

Written by a thread of its own: a slow or full disk costs pictures, never cards. The journal
lies on the same disk, so that some of it is always left free.
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

from drivers.camera.sources.frame_quality import Image

__all__ = ["Evidence"]

_QUEUE_SIZE: Final = 64
"""Pictures that wait for the disk; more are lost, and counted."""

_JPEG_QUALITY: Final = 88
_DAY_S: Final = 86_400.0
_CLOCK_TOLERANCE_S: Final = 60.0
_CLEANUP_INTERVAL_S: Final = 600.0
"""Seconds after which what is old is removed, also where nothing new comes."""

_RESERVED_BYTES: Final = 64_000_000
"""Bytes of the disk that are left to the journal."""

_FILE_MODE: Final = 0o640
_FOLDER_MODE: Final = 0o750
"""It shows faces that the players may not have seen: not for everyone on the machine."""

_FILE_NAME: Final = re.compile(r"\.?\d{8}-\d{6}\.\d{3}-[0-9A-Za-z-]+\.jpg")

_log = structlog.get_logger(__name__)


class _StoredFile(NamedTuple):
    """
    One file; those that sort first go first.

    What claims to come from the future is of a clock that was set back: it is older
    than all that this clock has seen.
    """

    is_past: bool
    moment: float
    size: int
    path: Path


class Evidence:
    """
    A folder of pictures, bounded by age and size. Nothing else in it is touched.

    Attributes:
        lost: Pictures that were not kept, because the disk was too slow or full.
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
        Keep a picture; return the name of its file, None where there is no room to wait.

        Args:
            image: The picture; it must not be changed any more.
            what: What it shows, for the name: letters, digits and hyphens.
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

    def close(self, patience: float = 1.0) -> None:
        """
        Write what waits; that is waited for as long as it takes no more than a moment.
        """
        self._closing = True
        with contextlib.suppress(queue.Full):  # then there is enough to wake it
            self._queue.put_nowait(None)
        self._thread.join(patience)

    def _run(self) -> None:
        tidied = float("-inf")  # not before the first picture: to look changes nothing
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
                _log.warning("evidence_not_kept", folder=str(self._folder), reason=reason)

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
        """
        Remove what is too old, and the oldest where it is too much.
        """
        kept = sorted(self._stored_files())
        total = sum(each.size for each in kept)
        room, oldest = self._allowed_bytes(total), time.time() - self._max_age_s
        for each in kept:
            # A half one was being written when the power was cut.
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
        Return how much may stay: less than is allowed, so that not every picture costs a
        look at all of them, and less still where the disk is nearly full.
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
                        told = entry.stat(follow_symlinks=False)
                        past = told.st_mtime < soon
                        kept.append(
                            _StoredFile(past, told.st_mtime, told.st_size, Path(entry.path))
                        )
        return kept
