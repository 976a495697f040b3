"""
A folder of evidence that never fills the disk: pictures and clips, bounded by age and size.

The journal is on the same disk, so some space is always left free.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

FILE_MODE: Final = 0o640
_FOLDER_MODE: Final = 0o750
"""Not readable for everyone: a picture may show a card that the players have not seen."""

_RESERVED_BYTES: Final = 64_000_000
"""Disk space that is left to the journal."""

_DAY_S: Final = 86_400.0
_CLOCK_TOLERANCE_S: Final = 60.0


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


class EvidenceFolder:
    """
    A folder of files with a maximum age, and a maximum size of all. It is created when it is
    needed; files of other names are not touched, nor those that `unfinished` names.
    """

    def __init__(
        self,
        path: Path,
        names: re.Pattern[str],
        days: float,
        megabytes: float,
        unfinished: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.path = path
        self._names = names
        self._max_age_s = days * _DAY_S
        self._max_bytes = int(megabytes * 1_000_000)
        self._unfinished = unfinished
        self._used_bytes = 0

    @property
    def is_too_large(self) -> bool:
        """True if the files that were added since the last clean-up exceed the maximum."""
        return self._used_bytes > self._max_bytes

    def prepare(self) -> None:
        """
        Create the folder, and make room on the disk for one more file.

        Raises:
            OSError: The folder cannot be created, or the journal needs what is free.
        """
        self.path.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
        if shutil.disk_usage(self.path).free >= _RESERVED_BYTES:
            return
        self.clean_up()
        if shutil.disk_usage(self.path).free < _RESERVED_BYTES:
            raise OSError(
                f"less than {_RESERVED_BYTES // 1_000_000} MB are free, which the journal needs"
            )

    def add(self, size: int) -> None:
        """Count a file that was written, of so many bytes."""
        self._used_bytes += size

    def clean_up(self) -> None:
        """Remove files that are too old, and the oldest if all are too large."""
        stored, needed = self._stored_files(), set(self._unfinished())
        kept = sorted(
            each for each in stored if each.path.name not in needed and not _is_being_written(each)
        )
        total = sum(each.size for each in kept)
        room, oldest = self._allowed_bytes(total), time.time() - self._max_age_s
        for each in kept:
            # A partial file is left over from a power failure.
            half = each.path.name.startswith(".")
            if total <= room and each.moment >= oldest and not half:
                continue
            with contextlib.suppress(OSError):
                each.path.unlink()
            total -= each.size
        self._used_bytes = total

    def _allowed_bytes(self, total: int) -> int:
        """
        Return the size that may remain: below the maximum, so that not every file causes a
        directory scan, and smaller if the disk is nearly full.
        """
        room = self._max_bytes if total <= self._max_bytes else int(self._max_bytes * 0.9)
        try:
            short = _RESERVED_BYTES - shutil.disk_usage(self.path).free
        except OSError:
            return room
        return room if short <= 0 else min(room, total - short)

    def _stored_files(self) -> list[_StoredFile]:
        kept = []
        soon = time.time() + _CLOCK_TOLERANCE_S
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                if self._names.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        past = status.st_mtime < soon
                        kept.append(
                            _StoredFile(past, status.st_mtime, status.st_size, Path(entry.path))
                        )
        return kept


def _is_being_written(file: _StoredFile) -> bool:
    age_s = abs(time.time() - file.moment)
    return file.path.name.startswith(".") and age_s <= _CLOCK_TOLERANCE_S
