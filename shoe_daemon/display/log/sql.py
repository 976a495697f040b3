"""The database of the log, as its pages use it, and SQLite's side; the other is `postgres`."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from msgspec import Struct

QUERY_LIMIT_S: Final = 2.0
_PROGRESS_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock."""


class SearchTimeoutError(Exception):
    """A search took longer than its limit."""


class UnreadableError(Exception):
    """The log cannot be read now."""


class Rows(Protocol):
    """The answer to a query."""

    def fetchone(self) -> Any:  # noqa: ANN401 - a row
        """Return the next row; None after the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Any: ...  # noqa: ANN401


class Database(Protocol):
    """
    A connection, for one thread at a time. `?` stands for a value.

    The SQL of the log means the same in SQLite and PostgreSQL; the hints `INDEXED BY` and
    `NOT INDEXED` are for SQLite alone.
    """

    def execute(self, query: str, values: Sequence[object] = (), /) -> Rows:
        """Run a statement."""

    def executemany(self, query: str, rows: Iterable[Sequence[object]], /) -> object:
        """Run a statement for each row."""

    def search(self, query: str, values: Sequence[object]) -> list[Any]:
        """
        Return the rows of a query.

        Raises:
            SearchTimeoutError: It took longer than `QUERY_LIMIT_S`.
        """

    def close(self) -> None:
        """Close the connection."""


class LogStatus(Struct):
    """
    State of the log, as its pages report it.

    Attributes:
        moved_aside: Time at which a damaged database was replaced; None if none was.
        failure: Why nothing can be stored; None while it can.
        refused: Why missing events cannot be requested; None if that is unknown.
    """

    moved_aside: int | None = None
    failure: str | None = None
    refused: str | None = None


class Log(Protocol):
    """
    The log as its pages know it.

    Attributes:
        copied: The last event of each table that the back office's database has, by keys; None
            without a database.
    """

    status: LogStatus
    copied: dict[str, int] | None

    def open(self) -> AbstractContextManager[Database]:
        """
        Open the database for reading, for one thread at a time.

        Raises:
            UnreadableError: It cannot be read, also later within the block.
        """


class Sqlite(sqlite3.Connection):
    """A connection to a file."""

    def search(self, query: str, values: Sequence[object]) -> list[Any]:
        """Return the rows of a query; see `Database`."""
        until = time.monotonic() + QUERY_LIMIT_S
        self.set_progress_handler(lambda: time.monotonic() > until, _PROGRESS_STEPS)
        try:
            return self.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise SearchTimeoutError from error
            raise
