"""
Creation, inspection and migration of a journal file.

A file is inspected before it is written. Foreign and corrupt files, and files of a newer version,
are rejected and left unchanged.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.journal.chain import Identity

APPLICATION_ID: Final = 0x53484F45
"""``SHOE``, in the header of each journal."""

SALTED_SINCE: Final = 3
"""The first version of a journal whose rows have a salt."""

_BUSY_MS: Final = 2000

_MAX_REASON: Final = 200
"""Characters of a message of the library, which may quote the damaged file."""

_REASONS: Final = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk reports an error",
    "SQLITE_BUSY": "another program holds it locked",
    "SQLITE_LOCKED": "another program holds it locked",
    "SQLITE_READONLY": "this user may not write it, or what belongs beside it",
    "SQLITE_CANTOPEN": "this user may not open it, or not what belongs beside it",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_NOTADB": "it is no SQLite file",
    "SQLITE_NOMEM": "there is no memory left",
}
_TRANSIENT_CODES: Final = tuple(
    f"SQLITE_{name}" for name in ("FULL", "IOERR", "BUSY", "LOCKED", "NOMEM")
)
_TRANSIENT_ERRNOS: Final = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ENOMEM}


class JournalUnwritable(UserError):  # noqa: N818 - describes the state of the journal
    """The journal could not be written: nothing of the batch is stored; a retry is possible."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_status=1)


def file_error(path: Path, what: str, error: OSError | sqlite3.Error) -> UserError:
    """
    Build the error for a failed operation on a file.

    Temporary failures, such as a full disk, exit with 1, so that the service manager restarts the
    daemon; all others exit with 2.
    """
    line = f"{path}: {what}: {error_reason(error)}"
    return JournalUnwritable(line) if _is_transient(error) else UserError(line)


def _is_transient(error: OSError | sqlite3.Error) -> bool:
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRNOS
    return getattr(error, "sqlite_errorname", "").startswith(_TRANSIENT_CODES)


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error means that the file is corrupt."""
    name = getattr(error, "sqlite_errorname", "")
    # Python's own error for a text that is not UTF-8 has no name.
    is_no_text = not name and str(error).startswith("Could not decode")
    return is_no_text or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def error_reason(error: OSError | sqlite3.Error) -> str:
    """Return the reason in plain words, with SQLite's error name in brackets."""
    if isinstance(error, OSError):
        return one_line(error)
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        return one_line(error)[:_MAX_REASON]
    words = next((words for key, words in _REASONS.items() if name.startswith(key)), None)
    words = words or one_line(error)[:_MAX_REASON]
    return f"{words} [{name}]"


def schemas() -> list[str]:
    """Return the schema files in order; the first one is version 1."""
    folder = Path(__file__).with_name("schema")
    return [file.read_text("utf-8") for file in sorted(folder.glob("*.sql"))]


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
        sync(path.parent)
    except (OSError, sqlite3.Error) as error:
        remove_new_file(new)
        raise file_error(path, "cannot be made", error) from error


def remove_new_file(new: Path) -> None:
    """Remove a file that did not become a journal, and what SQLite made beside it."""
    for ending in ("", "-journal", "-wal", "-shm", ".lock"):
        new.with_name(new.name + ending).unlink(missing_ok=True)


def _write_new_file(new: Path, identity: Identity) -> None:
    remove_new_file(new)
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


def sync(path: Path) -> None:
    """Write a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
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


def check_length(path: Path) -> None:
    """Reject a file that is shorter than its header says; for a journal without a WAL."""
    with path.open("rb") as file:
        header = file.read(32)
    size, page, pages = path.stat().st_size, _number(header[16:18]), _number(header[28:32])
    # A page of 65,536 bytes is written as 1. Another header is another error.
    if header.startswith(b"SQLite format 3") and size < pages * (65_536 if page == 1 else page):
        what = f"it is damaged: it has {size:,} bytes, its header names {pages:,} pages"
        raise damage(path, what)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def check_integrity(
    connection: sqlite3.Connection, path: Path, *, thorough: bool = False, table: str = "1"
) -> None:
    """
    Reject a file that fails SQLite's integrity check; with `table` a file whose table fails it.

    Without `thorough`, it does not compare the indexes with their tables.
    """
    check = "integrity_check" if thorough else "quick_check"
    result = connection.execute(f"PRAGMA {check}({table})").fetchone()[0]
    if result != "ok":
        raise damage(path, f"it is damaged: {' '.join(result.split())}")


def check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Reject a file whose tables, indexes or triggers differ from its version's schema."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for schema in schemas()[:version]:
            model.executescript(schema)
        differing = _objects(connection) ^ _objects(model)
    if differing:
        # A damaged name or definition may be of any type: these do not compare.
        kind, name, _ = min(differing, key=repr)
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
            raise damage(path, error_reason(error)) from error
        raise file_error(path, "cannot be read", error) from error
    except UnicodeDecodeError as error:
        raise damage(path, "it is damaged: a text is not UTF-8") from error


def damage(path: Path, detail: str) -> UserError:
    """Build the error for a damaged journal."""
    return UserError(
        f"{path}: cannot be read: {detail}; nothing was changed: put a copy back, or move it"
        " away to begin a new journal"
    )


def read_identity(connection: sqlite3.Connection, path: Path) -> Identity:
    """Return the site, table and creation time of a journal."""
    rows = connection.execute('SELECT id, site, "table", created FROM meta').fetchall()
    if [row[0] for row in rows] != [1]:
        raise damage(path, "it does not say whose it is")
    return Identity(*rows[0][1:])


class Anchor(Struct, frozen=True):
    """
    The last removed capture, observation, event (`seq`) and shoe, and when they were removed.

    Attributes:
        hash: The hash of the chain after the last removed row.
    """

    capture: int
    observation: int
    seq: int
    shoe: int
    at: str
    hash: bytes


def read_anchor(connection: sqlite3.Connection) -> Anchor | None:
    """Return the anchor of a journal; None if it begins at its start."""
    exists = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'anchor'").fetchone()
    if not exists:
        return None  # a journal of version 1: a reader never migrates
    row = connection.execute(
        "SELECT capture, observation, seq, shoe, CAST(at AS BLOB), hash FROM anchor"
    ).fetchone()
    if row is None:
        return None
    capture, observation, seq, shoe, at, digest = row
    return Anchor(capture, observation, seq, shoe, at.decode(), digest)
