"""The back office's database: the connection, its checks, and the transaction that copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any, Final, Self

import msgspec
import psycopg
from msgspec import Struct

from shoe_daemon.journal.chain import Identity
from shoe_daemon.journal.reader import EventRow, NextEvents
from shoe_daemon.postgres import DatabaseError, connect, explained
from shoe_daemon.table import is_staff

COPY: Final = "COPY shoe.event (journal, seq, at, shoe, round, type, data) FROM STDIN"
COPY_STAFF: Final = "COPY shoe.staff_event (journal, seq, at, shoe, round, type, data) FROM STDIN"


class Position(Struct, frozen=True):
    """The row of a journal, and the last event that is copied."""

    journal: int
    seq: int


class Database:
    """An open connection, which may add events."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._months: set[str] = set()

    @classmethod
    def connect(cls, database: str, password: str | None) -> Self:
        """
        Connect as `postgres.connect`.

        Raises:
            DatabaseError: It cannot be reached, or has no schema or another one.
        """
        options = {"application_name": "shoe-daemon forward"}
        return cls(connect(database, password, **options))

    def register(self, identity: Identity) -> Position:
        """Return the position of a journal; a new one gets a row."""
        key = (identity.site, identity.table, identity.created)
        with explained():
            self._connection.execute(
                "INSERT INTO shoe.journal (site, table_id, created) VALUES (%s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                key,
            )
        position = self.find(identity)
        if position is None:
            raise DatabaseError(f"the row of journal {identity.site}/{identity.table} is missing")
        return position

    def find(self, identity: Identity) -> Position | None:
        """Return the position of a journal; None if it was never copied."""
        with explained():
            row = self._connection.execute(
                "SELECT id, seq FROM shoe.journal"
                " WHERE site = %s AND table_id = %s AND created = %s",
                (identity.site, identity.table, identity.created),
            ).fetchone()
        return None if row is None else Position(*row)

    def copy(
        self, position: Position, span: NextEvents, pages: Iterable[Sequence[EventRow]]
    ) -> Position | None:
        """
        Add the events after a position in one transaction; None if another process moved it.

        `span` is what `pages` have. The server stores a page while the next one is read.

        Raises:
            DatabaseError: They are not added, or the connection broke during the commit: then the
                position in the database says which.
        """
        with explained():
            self._add_months(set(span.months))
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE shoe.journal SET seq = %s, at = %s, copied = now()"
                    " WHERE id = %s AND seq = %s",
                    (span.last_seq, span.last_at, position.journal, position.seq),
                )
                if cursor.rowcount == 0:
                    return None
                staff: list[bytes] = []
                with cursor.copy(COPY) as copy:
                    for page in pages:
                        public, hidden = copy_text(position.journal, page)
                        copy.write(public)
                        staff.append(hidden)
                if any(staff):
                    with cursor.copy(COPY_STAFF) as copy:
                        copy.write(b"".join(staff))
        return Position(position.journal, span.last_seq)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _add_months(self, months: set[str]) -> None:
        for month in sorted(months - self._months):
            self._connection.execute("SELECT shoe.add_month(%s)", (f"{month}-01T00:00:00Z",))
            self._months.add(month)


class _Body(Struct):
    data: msgspec.Raw


_decode = msgspec.json.Decoder(_Body).decode


def copy_text(journal: int, rows: Iterable[EventRow]) -> tuple[bytes, bytes]:
    """
    Return public events, and those for staff, in the text format of COPY.

    JSON has no tabs and line ends of its own, so only backslashes need an escape.
    """
    public: list[bytes] = []
    staff: list[bytes] = []
    for row in rows:
        (staff if is_staff(row.type) else public).append(_line(journal, row))
    return b"".join(public), b"".join(staff)


def _line(journal: int, row: EventRow) -> bytes:
    shoe = "\\N" if row.shoe is None else row.shoe
    number = "\\N" if row.round is None else row.round
    lead = f"{journal}\t{row.seq}\t{row.at}\t{shoe}\t{number}\t{row.type}\t"
    data = bytes(_decode(row.body).data)
    if b"\\" in data:
        data = data.replace(b"\\", b"\\\\")
    return lead.encode() + data + b"\n"


def schema() -> str:
    """Return the SQL that the owner of the database runs once."""
    # The copy itself does without.
    from shoe_daemon.display.log.derived import postgres_schema  # noqa: PLC0415

    text = resources.files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
    return text.replace("-- TABLES OF THE LOG\n", postgres_schema())
