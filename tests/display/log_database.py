"""The same log in PostgreSQL: the events of a file are copied there, and the rest is derived."""

from __future__ import annotations

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
    server.copy_log(path, name)
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
