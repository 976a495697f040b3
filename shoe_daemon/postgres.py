"""Connections to PostgreSQL, and its errors on one line. psycopg is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from shoe_daemon.errors import UserError, one_line

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION: Final = 1
"""That of `shoe-daemon forward --schema`."""

_DEFAULTS: Final[dict[str, str | int | None]] = {
    "connect_timeout": 5,
    # Of several hosts the one that can be written.
    "target_session_attrs": "read-write",
    # A server that vanished is noticed within 15 seconds.
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}
_HINT: Final = "shoe-daemon forward --schema | psql DATABASE"


class DatabaseError(UserError):
    """The database cannot be used now; one line."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_status=1)


def check_database(database: str, section: str) -> None:
    """
    Check the connection string in a section of a configuration.

    Raises:
        UserError: It is not valid, or has a password, or psycopg is missing.
    """
    if find_spec("psycopg") is None:
        raise UserError(f"{section}: needs psycopg: pip install 'shoe-daemon[forward]'")
    try:
        from psycopg import ProgrammingError  # noqa: PLC0415 - an extra
        from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError(f"{section}: needs libpq: apt-get install libpq5") from error
    try:
        given = conninfo_to_dict(database)
    except ProgrammingError as error:
        raise UserError(
            f"{section}.database: {one_line(error)}; expected host=… dbname=…"
        ) from error
    if "password" in given:
        raise UserError(
            f"{section}.database: has a password; expected it in {section}.password_file"
        )


def connect(database: str, password: str | None, **options: str) -> psycopg.Connection[Any]:
    """
    Connect, and check the version of the schema.

    Args:
        database: A connection string of libpq, without a password.
        password: None for an account without.
        options: Further parameters of libpq.

    Raises:
        DatabaseError: It cannot be reached, or has no schema or another one.
    """
    import psycopg  # noqa: PLC0415 - an extra
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415 - an extra

    given = _DEFAULTS | options | conninfo_to_dict(database)
    if password is not None:
        given["password"] = password
    with explained():
        connection = psycopg.connect(make_conninfo("", **given), autocommit=True)
    try:
        _check_version(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: psycopg.Connection[Any]) -> None:
    with explained():
        row = connection.execute("SELECT version FROM shoe.version").fetchone()
    version = None if row is None else row[0]
    if version != SCHEMA_VERSION:
        raise DatabaseError(
            f"the database has schema version {version}; expected {SCHEMA_VERSION}: use the"
            " program of that version"
        )


@contextmanager
def explained() -> Iterator[None]:
    """Raise an error of the server, or of the way to it, as a `DatabaseError`."""
    import psycopg  # noqa: PLC0415 - an extra
    from psycopg import errors  # noqa: PLC0415 - an extra

    try:
        yield
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise DatabaseError(f"the database has no schema of shoe-daemon: {_HINT}") from error
    except errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"{one_line(error)}: the account lacks a role (GRANT shoe_forward, or for a display"
            " GRANT shoe_log, TO ACCOUNT), or the schema is missing"
        ) from error
    except (psycopg.Error, OSError) as error:
        raise DatabaseError(one_line(error)) from error
