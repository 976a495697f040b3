"""
The file of a journal: made, looked at, and brought up to date.

Looking comes first and changes nothing: a file that is foreign, damaged or of
a newer version is refused as it lies there.
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
from shoe_daemon.journal.file_errors import in_words, is_damage, told
from shoe_daemon.journal.journal_entries import Identity

APPLICATION_ID: Final = 0x53484F45
"""``SHOE``, in the header of every journal."""

_FULL_CHECK_BELOW: Final = 32 * 2**20
"""A bigger file gets the quick check: a start must not take minutes."""

_BUSY_MS: Final = 2000


def schemas() -> list[str]:
    """Return the schema files in order; the first is version 1."""
    folder = resources.files("shoe_daemon.journal") / "schema"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [file.read_text("utf-8") for file in files]


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """
    Open a database as the URI's parameters say: ``mode=ro`` ...

    Transactions are ours to begin, and whichever thread owns it may use it.
    """
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return connection


def wal_of(path: Path) -> Path:
    """Return where SQLite keeps what is committed and not yet in the file."""
    return path.with_name(path.name + "-wal")


def real(path: Path) -> Path:
    """Return the file that a name leads to: what lies beside it is named after that."""
    return path.resolve() if path.is_symlink() else path


def create(path: Path, identity: Identity) -> None:
    """
    Make a journal: whole, or not at all.

    Raises:
        UserError: It cannot be made.
    """
    wal = wal_of(path)
    if wal.exists():
        raise UserError(
            f"{wal}: is there without {path.name}, whose last entries it holds: put {path.name}"
            " back beside it, or move it away to begin a new journal"
        )
    new = path.with_name(path.name + ".new")
    try:
        _fill(new, identity)
        new.rename(path)
        _sync_folder(path.parent)
    except (OSError, sqlite3.Error) as error:
        _clear(new)
        raise told(path, "cannot be made", error) from error


def _clear(new: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        new.with_name(new.name + ending).unlink(missing_ok=True)


def _fill(new: Path, identity: Identity) -> None:
    _clear(new)
    # It holds faces that the players have not seen: not for everyone on the machine.
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
    """Bring a database from a version to the newest, each step whole or not at all."""
    for number, schema in enumerate(schemas()[version:], start=version + 1):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {number};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def examine(path: Path) -> tuple[Identity, int]:
    """
    Say whose journal a file is, and its version, without changing anything.

    The caller holds the writer's lock.

    Raises:
        UserError: It is no journal, damaged, or of a newer version.
    """
    with _looking(path) as connection:
        version = check_version(connection, path)
        check_soundness(connection, path)
        check_schema(connection, path, version)
        return read_identity(connection, path), version


@contextmanager
def _looking(path: Path) -> Iterator[sqlite3.Connection]:
    check_file(path)
    shm = path.with_name(path.name + "-shm")
    wal, had_shm = wal_of(path), shm.exists()
    # With nothing in the WAL the file alone is the database, and looking at it as immutable
    # makes no files beside it. A WAL must be read with it, and needs its index.
    hot = wal.exists() and wal.stat().st_size > 0
    try:
        with (
            readable(path),
            closing(connect(path, "mode=ro" if hot else "immutable=1")) as connection,
        ):
            yield connection
    finally:
        if hot and not had_shm:
            shm.unlink(missing_ok=True)


def check_file(path: Path) -> None:
    """Refuse what cannot be a journal before SQLite sees it."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise told(path, "cannot be read", error) from error
    if size is None:
        found = "is no file" if path.exists() else "does not exist"
        raise UserError(f"{path}: {found}; expected a journal")
    if size == 0:
        # SQLite takes an empty file for a new database, and the sequence would begin anew.
        raise UserError(
            f"{path}: is empty, which a journal never is: put a copy back, or move it away to"
            " begin a new journal"
        )


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal that this program can read."""
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


def check_soundness(connection: sqlite3.Connection, path: Path, *, thorough: bool = False) -> None:
    """Refuse a file whose pages do not hang together."""
    quick = not thorough and path.stat().st_size >= _FULL_CHECK_BELOW
    check = "quick_check" if quick else "integrity_check"
    said = connection.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if said != "ok":
        raise UserError(_damaged(path, f"it is damaged: {' '.join(said.split())}"))


def check_schema(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Refuse a file with other tables, indexes or triggers than its version has."""
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
    # Not SQLite's own: its statistics, say, are there once somebody asked for them.
    return set(
        connection.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE substr(name, 1, 7) <> 'sqlite_'"
        )
    )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file that it cannot read into one line."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise UserError(_damaged(path, in_words(error))) from error
        raise told(path, "cannot be read", error) from error


def _damaged(path: Path, detail: str) -> str:
    return (
        f"{path}: cannot be read: {detail}; nothing was changed: put a copy back, or move it"
        " away to begin a new journal"
    )


def read_identity(connection: sqlite3.Connection, path: Path) -> Identity:
    """Return whose journal it is."""
    rows = connection.execute('SELECT id, site, "table", created FROM meta').fetchall()
    if [row[0] for row in rows] != [1]:
        raise UserError(_damaged(path, "it does not say whose it is"))
    return Identity(*rows[0][1:])
