"""The check of a journal at a start: of its end only, so that the table is soon ready."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shoe_daemon.journal import database
from shoe_daemon.journal.chain import Identity
from shoe_daemon.journal.part import Part, part_around
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.verify import verify

_WHOLE_BELOW_BYTES: Final = 8 * 2**20
"""Smaller files are checked whole: some 0.1 seconds, half a second on an SD card."""


def inspect(path: Path) -> tuple[Identity, int]:
    """
    Return a journal's identity and version without changing the file.

    The schema is compared, and the chain is verified from the last signature or shoe before the
    last checkpoint, so that the time does not depend on the size. The caller holds the writer's
    lock.

    Raises:
        UserError: The file is foreign, corrupt or of a newer version.
    """
    with _unchanged(path) as reader:
        database.check_schema(reader.connection, path, reader.version)
        if path.stat().st_size < _WHOLE_BELOW_BYTES:
            database.check_integrity(reader.connection, path, thorough=True)
        last = reader.last_checkpoint()
        first = 1 if last is None else last.seq
        verify_part(reader, part_around(reader.connection, reader.identity, first))
        return reader.identity, reader.version


@contextmanager
def _unchanged(path: Path) -> Iterator[JournalReader]:
    """Open a journal, and leave its folder as it is."""
    database.check_file(path)
    shm = path.with_name(path.name + "-shm")
    wal, had_shm = database.wal_of(path), shm.exists()
    # With an empty WAL the main file is the whole database: opened as immutable, no files are
    # created beside it. Otherwise SQLite needs the WAL and its index.
    hot = wal.exists() and wal.stat().st_size > 0
    if not hot:
        database.check_length(path)
    try:
        with (
            database.explain_read_errors(path),
            JournalReader(path, mode="mode=ro" if hot else "immutable=1") as reader,
        ):
            yield reader
    finally:
        if hot and not had_shm:
            shm.unlink(missing_ok=True)


def verify_part(reader: JournalReader, part: Part) -> None:
    """
    Verify a part of the chain.

    Raises:
        UserError: It is broken.
    """
    fault = verify(reader, part=part).broken
    if fault is not None:
        raise database.damage(reader.path, f"it is damaged at {fault.row}: {fault.what}")
