"""The same log in PostgreSQL: the events of a file are copied there, and the rest is derived."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from shoe_daemon.display.log.postgres import PostgresLog, derive
from shoe_daemon.display.log.sql import Database
from shoe_daemon.forward.database import schema
from tests.fakes.postgres import PASSWORD, Server

DERIVED = ("duty", "entry", "round", "round_card")


def copy_events(path: Path, server: Server, name: str) -> PostgresLog:
    """Make a database with the events of a file, as `shoe-daemon forward` copies them."""
    server.make_database(schema(), name)
    with closing(sqlite3.connect(path)) as log, server.connect(database=name) as target:
        moment = "timestamptz 'epoch' + %s * interval '1 microsecond'"
        for id_, site, table, head, latest in log.execute("SELECT * FROM journal ORDER BY id"):
            target.execute(
                "INSERT INTO shoe.journal (id, site, table_id, created, seq, at)"  # noqa: S608
                f" OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, {moment}, %s, {moment})",  # noqa: RUF100, S608
                (id_, site, table, id_, head, latest),
            )
        events = log.execute(
            "SELECT id >> 40, id & (1 << 40) - 1, at, shoe, round & 65535, type, data FROM event"
        ).fetchall()
        for at in {row[2] for row in events}:
            target.execute(f"SELECT shoe.add_month({moment})", (at,))
        with target.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO shoe.event VALUES (%s, %s, {moment}, %s, %s, %s, %s)",  # noqa: S608
                events,
            )
    return PostgresLog(server.dsn("board", name), lambda: PASSWORD)


def derive_all(log: PostgresLog) -> None:
    """Derive from all events."""
    with log.open() as database:
        while derive(database):
            pass


def content(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that is derived."""
    return {
        name: sorted(database.execute(f"SELECT * FROM {name}"), key=str)  # noqa: S608
        for name in DERIVED
    }
