"""The lock of a journal's only writer."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError
from shoe_daemon.journal.journal_database import file_error

_LOCKS: Final = Path("/proc/locks")


class WriterLock:
    """
    Lock file that admits one writer per journal and is released when its process ends.

    The lock is a separate file: if a process opens and closes the database file itself, it loses
    all locks that SQLite holds on it.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, journal: Path) -> WriterLock:
        """
        Acquire the lock of a journal.

        Raises:
            UserError: Another process holds the lock, or the file cannot be created.
        """
        path = journal.with_name(journal.name + ".lock")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            except OSError as error:
                raise file_error(path, "cannot be made", error) from error
            _lock(descriptor, journal)
            if _is_same_file(path, descriptor):
                break
            # The previous owner deleted the file between open and flock.
            os.close(descriptor)
        _write_owner(descriptor)
        return cls(path, descriptor)

    def close(self) -> None:
        """Release the lock and delete its file."""
        with suppress(OSError):  # a disk that is read-only by now: the lock ends all the same
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def is_written(journal: Path) -> bool:
    """
    Return whether a process is writing a journal; False where the system cannot list locks.

    Takes no lock: even for a moment it would refuse a daemon that starts then.
    """
    try:
        inode = journal.with_name(journal.name + ".lock").stat().st_ino
        held = _LOCKS.read_text(encoding="ascii")
    except OSError:
        return False
    return any(
        "FLOCK" in fields and any(field.endswith(f":{inode}") for field in fields)
        for fields in map(str.split, held.splitlines())
    )


def _lock(descriptor: int, journal: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "another one"
        os.close(descriptor)
        raise UserError(
            f"{journal}: process {owner} is writing it; a journal has one writer: stop that one"
            " first, or give this one a journal of its own"
        ) from error


def _write_owner(descriptor: int) -> None:
    # Informational, for the error message of a second writer; a full disk must not matter.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))
