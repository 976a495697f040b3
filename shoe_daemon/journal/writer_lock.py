"""
One writer: a lock beside the journal that ends with the process that holds it.

The lock is on a file of its own: a process that opens and closes the database
file by itself loses all locks that SQLite holds on it for that process.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from shoe_daemon.errors import UserError
from shoe_daemon.journal.file_errors import told


class WriterLock:
    """Held from the call of `take` until `release`, or until the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, journal: Path) -> WriterLock:
        """
        Take the lock of a journal.

        Raises:
            UserError: Another process holds it, or it cannot be made.
        """
        path = journal.with_name(journal.name + ".lock")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            except OSError as error:
                raise told(path, "cannot be made", error) from error
            _lock(descriptor, journal)
            if _is_still_at(path, descriptor):
                break
            # Its last owner removed it between the two calls.
            os.close(descriptor)
        _sign(descriptor)
        return cls(path, descriptor)

    def release(self) -> None:
        """Let the lock go and take its file away."""
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


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


def _sign(descriptor: int) -> None:
    # Only so that who is refused can be told by whom: a full disk must not matter here.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())


def _is_still_at(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))
