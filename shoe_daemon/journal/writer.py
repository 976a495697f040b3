"""Write access to a journal."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Final, Self

from msgspec.structs import astuple

from shoe_daemon.errors import UserError
from shoe_daemon.journal import database
from shoe_daemon.journal.chain import (
    Batch,
    Entry,
    Head,
    Identity,
    Step,
    StoredEvent,
)
from shoe_daemon.journal.database import JournalUnwritable, error_reason, file_error
from shoe_daemon.journal.lock import WriterLock
from shoe_daemon.journal.reader import JournalReader, is_last_salted, read_head
from shoe_daemon.journal.signatures import (
    Signature,
    SignatureTimes,
    Signer,
    last_signature,
    make_signature,
)
from shoe_daemon.journal.start_check import inspect
from shoe_daemon.table import from_microseconds

_INSERTS: Final = {
    "captures": "INSERT INTO capture VALUES (?, ?, ?, ?, ?, ?, ?)",
    "observations": "INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "events": "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "checkpoints": "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?)",
}
_INSERT_SIGNATURE: Final = "INSERT INTO signature VALUES (?, ?, CAST(? AS TEXT), ?, ?)"
_COUNT: Final = """
    INSERT INTO counter (source, repeats, noise, bytes) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET
    repeats = repeats + excluded.repeats, noise = noise + excluded.noise,
    bytes = bytes + excluded.bytes
"""
_SET_CURSOR: Final = """
    INSERT INTO cursor (consumer, seq) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET seq = excluded.seq
"""


class Journal:
    """
    An open journal, written by one thread of one process.

    Everything for which `append` has returned is on disk and survives a power cut.

    Attributes:
        head: The end of the journal.
        signature: The last signature; None if there is none.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        connection: sqlite3.Connection,
        lock: WriterLock,
        signer: Signer | None = None,
    ) -> None:
        self.path = path
        self.identity = identity
        self._connection = connection
        self._lock = lock
        self.head = read_head(connection, identity)
        self._signer = signer
        self.signature = last_signature(connection)
        self._signature_times = SignatureTimes(connection)
        self._signatures = 0 if self.signature is None else self.signature.number
        self._is_salted = is_last_salted(connection)
        self._file = path.stat()
        self._pending = _DeferredWrites()

    @classmethod
    def open(
        cls,
        path: Path,
        site: str,
        table: str,
        *,
        durable: bool = True,
        signer: Signer | None = None,
    ) -> Journal:
        """
        Open the journal of a table; create it if missing.

        With `durable=False` no write waits for the disk, and a power cut may lose the last
        entries: for demonstrations and measurements only. With a `signer`, the head is signed as
        `SignatureTimes` states.

        Raises:
            UserError: The journal cannot be used. A rejected file is left unchanged.
        """
        path = database.resolve_link(path)
        with ExitStack() as on_error:
            lock = on_error.enter_context(closing(WriterLock.take(path)))
            if not os.path.lexists(path):
                database.create(path, Identity(site, table, _now()))
            lock.take_file(path)
            identity, version = inspect(path)
            _check_owner(path, identity, site, table)
            connection = _open_for_writing(path, version, durable=durable)
            on_error.callback(connection.close)
            journal = cls(path, identity, connection, lock, signer)
            on_error.pop_all()
        return journal

    @property
    def public_hash(self) -> str | None:
        """
        The hash of the head in hex; None while the last observation has no salt, because what is
        hidden could be found from it.
        """
        return self.head.hash.hex() if self._is_salted else None

    def append(self, entries: Sequence[Entry]) -> list[StoredEvent]:
        """
        Write all entries in one transaction and return their events as stored.

        Deferred counters and cursors are written in the same transaction.

        Raises:
            JournalUnwritable: Nothing is written; the same entries may be retried.
            ValueError: An entry does not continue the journal; nothing is written.
        """
        signatures: list[Signature] = []
        times = copy(self._signature_times)
        batch = Batch(self.head, self.identity, self._signs_into(signatures, times))
        for entry in entries:
            batch.add(entry)
        self._write(batch, signatures)
        self.head = batch.head
        self._is_salted |= bool(batch.observations)
        self._signature_times = times
        if signatures:
            self.signature = signatures[-1]
            self._signatures += len(signatures)
        return batch.stored

    def _signs_into(
        self, signatures: list[Signature], times: SignatureTimes
    ) -> Callable[[Head, Step], None] | None:
        signer = self._signer
        if signer is None:
            return None

        def sign(head: Head, step: Step) -> None:
            shoe = times.due(step)
            if shoe is not None:
                number, at = self._signatures + len(signatures) + 1, step.observation.at
                signatures.append(
                    make_signature(signer, self.identity, head, at=at, shoe=shoe, number=number)
                )

        return sign

    def count(
        self,
        source: str | None,
        *,
        repeats: int = 0,
        noise: int = 0,
        bytes: int = 0,  # noqa: A002 - named as the counter
    ) -> None:
        """Count data that is not stored. Written with the next entries, or by `flush`."""
        self._pending.count(source or "", (repeats, noise, bytes))

    def set_cursor(self, consumer: str, seq: int) -> None:
        """
        Store a consumer's position. Written with the next entries, or by `flush`.

        Thread-safe.
        """
        self._pending.set_cursor(consumer, seq)

    def flush(self) -> None:
        """
        Write deferred counters and cursors, if any.

        Raises:
            JournalUnwritable: They stay deferred.
        """
        if self._pending:
            self._write(Batch(self.head, self.identity))

    def reader(self) -> JournalReader:
        """Return a new reader for another thread, which must close it."""
        return JournalReader(self.path)

    def close(self) -> None:
        """Write deferred data, close the journal and release the lock."""
        with suppress(JournalUnwritable):
            self.flush()
        # Pages still needed by a reader stay in the WAL for the next start.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, batch: Batch, signatures: Sequence[Signature] = ()) -> None:
        counts, cursors = self._pending.take()
        try:
            with self._transaction() as connection:
                for name, insert in _INSERTS.items():
                    if rows := getattr(batch, name):
                        connection.executemany(insert, rows)
                for each in signatures:
                    connection.execute(_INSERT_SIGNATURE, astuple(each))
                if counts:
                    connection.executemany(_COUNT, [(k, *v) for k, v in counts.items()])
                if cursors:
                    connection.executemany(_SET_CURSOR, cursors.items())
        except BaseException:
            self._pending.put_back(counts, cursors)
            raise

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._check_same_file()
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            line = f"{self.path}: cannot be written: {error_reason(error)}"
            raise JournalUnwritable(line) from error
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def _check_same_file(self) -> None:
        # SQLite keeps writing to a file that was moved or deleted.
        if not os.path.samestat(self.path.stat(), self._file):
            raise OSError(0, "another file has taken its place")


class _DeferredWrites:
    """Counters and cursors that wait for the next transaction. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.RLock()
        self._counts: dict[str, tuple[int, ...]] = {}
        self._cursors: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._counts or self._cursors)

    def count(self, source: str, more: tuple[int, ...]) -> None:
        with self._mutex:
            before = self._counts.get(source, (0, 0, 0))
            self._counts[source] = tuple(a + b for a, b in zip(before, more, strict=True))

    def set_cursor(self, consumer: str, seq: int) -> None:
        with self._mutex:
            self._cursors[consumer] = seq

    def take(self) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
        with self._mutex:
            taken = self._counts, self._cursors
            self._counts, self._cursors = {}, {}
        return taken

    def put_back(self, counts: dict[str, tuple[int, ...]], cursors: dict[str, int]) -> None:
        with self._mutex:
            for source, more in counts.items():
                self.count(source, more)
            self._cursors = cursors | self._cursors


def _now() -> str:
    return from_microseconds(time.time_ns() // 1000)


def _check_owner(path: Path, identity: Identity, site: str, table: str) -> None:
    if (identity.site, identity.table) != (site, table):
        raise UserError(
            f"{path}: is the journal of {identity.site}/{identity.table}, not of {site}/{table}:"
            " put the names right, or name another file"
        )


def _open_for_writing(path: Path, version: int, *, durable: bool) -> sqlite3.Connection:
    try:
        connection = database.connect(path, "mode=rw")
    except sqlite3.Error as error:
        raise file_error(path, "cannot be opened", error) from error
    try:
        _prepare(connection, path, durable=durable)
        database.migrate(connection, version)
    except sqlite3.Error as error:
        connection.close()
        raise file_error(path, "cannot be written", error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, *, durable: bool) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise UserError(
            f"{path}: this file system cannot keep a write-ahead log: expected a local disk"
        )
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA foreign_keys = ON")
