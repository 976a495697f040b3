"""
Creation, inspection and migration of a journal file.

A file is inspected before it is written. Foreign and corrupt files, and files of a newer version,
are rejected and left unchanged.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import quote

from shoe_daemon.errors import UserError
from shoe_daemon.journal.file_errors import error_reason, file_error, is_damage
from shoe_daemon.journal.journal_entries import Identity

APPLICATION_ID: Final = 0x53484F45
"""``SHOE``, in the header of each journal."""

_FULL_CHECK_BELOW_BYTES: Final = 32 * 2**20
"""Larger files get SQLite's quick check only, so that the daemon starts within seconds."""

_BUSY_MS: Final = 2000


def schemas() -> list[str]:
    """Return the schema files in order; the first one is version 1."""
    folder = resources.files("shoe_daemon.journal") / "schema"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [file.read_text("utf-8") for file in files]


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """
    Open a database with the URI's parameters, such as ``mode=ro``.

    Transactions are started explicitly. Any thread may use the connection.
    """
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return connection


def wal_of(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log."""
    return path.with_name(path.name + "-wal")


def resolve_link(path: Path) -> Path:
    """Resolve a symbolic link: lock and WAL are named after the real file."""
    return path.resolve() if path.is_symlink() else path


def create(path: Path, identity: Identity) -> None:
    """
    Create a journal atomically.

    Raises:
        UserError: The file cannot be created.
    """
    wal = wal_of(path)
    if wal.exists():
        raise UserError(
            f"{wal}: is there without {path.name}, whose last entries it holds: put {path.name}"
            " back beside it, or move it away to begin a new journal"
        )
    new = path.with_name(path.name + ".new")
    try:
        _write_new_file(new, identity)
        new.rename(path)
        _sync_folder(path.parent)
    except (OSError, sqlite3.Error) as error:
        _remove_new_file(new)
        raise file_error(path, "cannot be made", error) from error


def _remove_new_file(new: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        new.with_name(new.name + ending).unlink(missing_ok=True)


def _write_new_file(new: Path, identity: Identity) -> None:
    _remove_new_file(new)
    # The journal holds undisclosed faces: no access for other users.
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640))
    with closing(connect(new, "mode=rw")) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(connection, 0)
        connection.execute(
            "INSERT INTO meta VALUES (1, ?, ?, ?)",
            (identity.site, identity.table, identity.created),
        )
        connection.execute("PRAGMA journal_mode = WAL")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate a database to the newest version, each version in one transaction."""
    for number, schema in enumerate(schemas()[version:], start=version + 1):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {number};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def inspect(path: Path) -> tuple[Identity, int]:
    """
    Return a journal's identity and version without changing the file.

    The caller holds the writer's lock.

    Raises:
        UserError: The file is foreign, corrupt or of a newer version.
    """
    with _open_unchanged(path) as connection:
        version = check_version(connection, path)
        check_integrity(connection, path)
        check_schema(connection, path, version)
        return read_identity(connection, path), version


@contextmanager
def _open_unchanged(path: Path) -> Iterator[sqlite3.Connection]:
    check_file(path)
    shm = path.with_name(path.name + "-shm")
    wal, had_shm = wal_of(path), shm.exists()
    # With an empty WAL the main file is the whole database: opened as immutable, no files are
    # created beside it. Otherwise SQLite needs the WAL and its index.
    hot = wal.exists() and wal.stat().st_size > 0
    try:
        with (
            explain_read_errors(path),
            closing(connect(path, "mode=ro" if hot else "immutable=1")) as connection,
        ):
            yield connection
    finally:
        if hot and not had_shm:
            shm.unlink(missing_ok=True)


def check_file(path: Path) -> None:
    """Reject missing and empty files before SQLite opens them."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise file_error(path, "cannot be read", error) from error
    if size is None:
        found = "is no file" if path.exists() else "does not exist"
        raise UserError(f"{path}: {found}; expected a journal")
    if size == 0:
        # SQLite takes an empty file for a new database, and the event numbers would start again at
        # 1.
        raise UserError(
            f"{path}: is empty, which a journal never is: put a copy back, or move it away to"
            " begin a new journal"
        )


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the journal's version; reject versions unknown to this program."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise UserError(
            f"{path}: is no journal but another SQLite file (application_id {application:#x},"
            f" expected {APPLICATION_ID:#x}); nothing was changed"
        )
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    newest = len(schemas())
    if not 1 <= version <= newest:
        raise UserError(
            f"{path}: is a journal of version {version}, this program knows 1 to {newest}: use"
            " the program that wrote it, or a newer one; nothing was changed"
        )
    return version


def check_integrity(connection: sqlite3.Connection, path: Path, *, thorough: bool = False) -> None:
    """Reject a file that fails SQLite's integrity check."""
    quick = not thorough and path.stat().st_size >= _FULL_CHECK_BELOW_BYTES
    check = "quick_check" if quick else "integrity_check"
    result = connection.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if result != "ok":
        raise UserError(_damaged(path, f"it is damaged: {' '.join(result.split())}"))


def check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Reject a file whose tables, indexes or triggers differ from its version's schema."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for schema in schemas()[:version]:
            model.executescript(schema)
        differing = _objects(connection) ^ _objects(model)
    if differing:
        kind, name, _ = min(differing)
        raise UserError(
            f"{path}: its {kind} `{name}` is not that of a journal of version {version}; nothing"
            " was changed"
        )


def _objects(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    # Without SQLite's own objects, such as statistics.
    return set(
        connection.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'"
        )
    )


@contextmanager
def explain_read_errors(path: Path) -> Iterator[None]:
    """Convert SQLite's read errors to a UserError."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise UserError(_damaged(path, error_reason(error))) from error
        raise file_error(path, "cannot be read", error) from error


def _damaged(path: Path, detail: str) -> str:
    return (
        f"{path}: cannot be read: {detail}; nothing was changed: put a copy back, or move it"
        " away to begin a new journal"
    )


def read_identity(connection: sqlite3.Connection, path: Path) -> Identity:
    """Return the site, table and creation time of a journal."""
    rows = connection.execute('SELECT id, site, "table", created FROM meta').fetchall()
    if [row[0] for row in rows] != [1]:
        raise UserError(_damaged(path, "it does not say whose it is"))
    return Identity(*rows[0][1:])
