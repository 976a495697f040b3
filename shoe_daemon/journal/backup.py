"""Copies of a journal: a backup while the daemon writes it, and its restoration."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.journal import database
from shoe_daemon.journal.chain import Entry, Head, Step
from shoe_daemon.journal.database import file_error
from shoe_daemon.journal.lock import WriterLock
from shoe_daemon.journal.reader import JournalReader, fold_table, open_read_only
from shoe_daemon.journal.signatures import check_signatures
from shoe_daemon.journal.verify import verify
from shoe_daemon.journal.writer import Journal
from shoe_daemon.table import Gap, GapDetail, from_microseconds, to_microseconds

Progress = Callable[[int, int], None]

_EVENTS_A_SECOND: Final = 10
"""More events than a table can cause."""

_RESERVE: Final = 1000


class RestoredJournal(Struct, frozen=True):
    """
    A restored journal.

    Attributes:
        at: The time of the backup's last observation.
        next_seq: The number of the next event.
    """

    head: Head
    at: str
    next_seq: int


def back_up(source: Path, target: Path, progress: Progress) -> tuple[Path, Head]:
    """
    Copy a journal, also while a daemon writes it, and verify the copy.

    `target` is the new file, or a folder for a file named by table and time. `progress` is called
    with the verified observations and their total.

    Returns:
        The path of the copy, which is complete and on the disk, and its end.

    Raises:
        UserError: The target exists or cannot be written, or the copy is not valid.
    """
    with open_read_only(source) as reader:
        if target.is_dir():
            moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            target /= f"{reader.identity.table}-{moment}.db"
        with _new_file(target) as new:
            _copy(reader, new)
            head = _verified(new, progress)
    return target, head


def restore(
    backup: Path, target: Path, published: int | None, progress: Progress
) -> RestoredJournal:
    """
    Put a backup in the place of a lost journal, with a gap at its end.

    Events after the backup were published under numbers that the backup does not know. The gap
    makes the next event's number greater than all of them. `published` is the last event that is
    known to be published; None if unknown.

    Raises:
        UserError: The target exists, a daemon writes it, or the backup is not valid.
    """
    with closing(WriterLock.take(target)):
        for path in (target, database.wal_of(target)):
            if os.path.lexists(path):
                raise UserError(f"{path}: exists; move it away to restore a backup in its place")
        with open_read_only(backup) as reader, _new_file(target) as new:
            _copy(reader, new)
            head = _verified(new, progress)
            restored = _add_gap(new, head, published)
            _own_as_folder(new)
    return restored


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """Yield the path of a new file; it takes the target's place at the end, if all went well."""
    if os.path.lexists(target):
        raise UserError(f"{target}: exists; a backup never replaces a file: name another one")
    new = target.with_name(f".{target.name}.new")
    try:
        database.remove_new_file(new)
        # Undisclosed faces: no access for other users.
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640))
        yield new
        database.sync(new)
        new.rename(target)
        database.sync(target.parent)
    except (OSError, sqlite3.Error) as error:
        raise file_error(target, "cannot be made", error) from error
    finally:
        database.remove_new_file(new)


def _copy(reader: JournalReader, new: Path) -> None:
    with closing(database.connect(new, "mode=rw")) as copy:
        reader.connection.backup(copy)
        # A single file, without a write-ahead log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")


def _verified(path: Path, progress: Progress) -> Head:
    """
    Verify a copy that nobody writes.

    Raises:
        UserError: It is not valid.
    """
    with JournalReader(path, mode="immutable=1") as reader:
        database.check_integrity(reader.connection, path, thorough=True)
        verdict = verify(reader, progress=progress)
        signed = check_signatures(reader.connection, reader.identity, None)
        fault = signed.fault if verdict.broken is None else None
        if verdict.broken is not None:
            fault = f"BROKEN at {verdict.broken}"
        if fault is not None:
            raise UserError(f"the copy is not valid: {fault}", exit_status=1)
        return reader.head()


def _add_gap(path: Path, head: Head, published: int | None) -> RestoredJournal:
    with JournalReader(path, mode="immutable=1") as reader:
        identity = reader.identity
        table = fold_table(reader)
    table.state.seq = head.seq
    last_at = table.state.now or identity.created
    now = time.time_ns() // 1000
    next_seq = _next_seq(head.seq, to_microseconds(last_at), now, published)
    at = from_microseconds(max(now, to_microseconds(last_at)))
    gap = Gap(at=at, detail=GapDetail.RESTORED, next_seq=next_seq)
    with Journal.open(path, identity.site, identity.table) as journal:
        journal.append([Entry(steps=[Step(gap, table.apply(gap))])])
    return RestoredJournal(head, last_at, next_seq)


def _next_seq(last: int, last_at: int, now: int, published: int | None) -> int:
    """Return a number that no event after the backup can have."""
    if published is not None:
        return max(last, published) + _RESERVE
    if now < last_at:
        raise UserError(
            f"the clock is before the backup's last entry, {from_microseconds(last_at)}: set the"
            " clock, or give the last published event (--published)"
        )
    return last + _RESERVE + (now - last_at) // 1_000_000 * _EVENTS_A_SECOND


def _own_as_folder(path: Path) -> None:
    """Give the file to the owner of its folder, such as the user of the service."""
    owner = path.parent.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)
