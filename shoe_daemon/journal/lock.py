"""The lock of a journal's only writer."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError
from shoe_daemon.journal import database
from shoe_daemon.journal.database import file_error

_LOCKS: Final = Path("/proc/locks")


class WriterLock:
    """
    Locks that admit one writer per journal and are released when its process ends: of a file
    beside the journal's name, which exists before the journal, and of the journal itself, which
    may have another name too.

    A process that closes the database file itself loses all locks that SQLite holds on it: its
    descriptor is opened before SQLite's, and closed after them. On a local disk, which a journal
    needs, this lock (`flock`) and those of SQLite (`fcntl`) do not affect each other.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._file: int | None = None

    @classmethod
    def take(cls, journal: Path) -> WriterLock:
        """
        Acquire the lock of a journal's name.

        Raises:
            UserError: Another process holds the lock, or the file cannot be created.
        """
        path = journal.with_name(journal.name + ".lock")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            except OSError as error:
                raise file_error(path, "cannot be made", error) from error
            if not _lock(descriptor):
                owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
                os.close(descriptor)
                raise UserError(
                    f"{journal}: process {owner or 'another one'} is writing it; a journal has one"
                    " writer: stop that one first, or give this one a journal of its own"
                )
            if _is_same_file(path, descriptor):
                break
            # The previous owner deleted the file between open and flock.
            os.close(descriptor)
        _write_owner(descriptor)
        return cls(path, descriptor)

    def take_file(self, journal: Path) -> None:
        """
        Acquire the lock of the journal itself, before SQLite opens it.

        Raises:
            UserError: It has two names, or a process writes it under another one.
        """
        database.check_file(journal)
        try:
            self._file = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise file_error(journal, "cannot be opened", error) from error
        if not _lock(self._file):
            raise UserError(
                f"{journal}: a process is writing it under another name, such as a hard link or a"
                " second mount; a journal has one writer: stop that one first"
            )
        names = os.fstat(self._file).st_nlink
        if names > 1:
            raise UserError(
                f"{journal}: has {names} names (hard links), expected one, because the last"
                " entries may be beside another name: remove the other names; `journal backup`"
                " makes a copy"
            )

    def close(self) -> None:
        """Release the locks and delete the lock file."""
        if self._file is not None:
            os.close(self._file)
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


def _lock(descriptor: int) -> bool:
    """Lock a file; return False if it is locked already."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
