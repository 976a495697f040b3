"""Checks of the back office's database: that it can be used, and how far behind it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from shoe_daemon.config.sections import DatabaseSettings
from shoe_daemon.config.table import Setup
from shoe_daemon.display.config import DisplaySetup, LogDatabase
from shoe_daemon.display.log.sql import UnreadableError
from shoe_daemon.doctor.finding import Finding
from shoe_daemon.errors import UserError
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.settings.files import MissingCredentialError

_MAX_LAG_S: Final = 60.0
_MAX_BEHIND: Final = 100_000


def check_forward_database(setup: Setup) -> Iterator[Finding]:
    """Connect as `shoe-daemon forward` does, and compare the database with the journal."""
    settings = setup.config.forward
    if settings is None:
        return
    try:
        yield _compared(setup, settings)
    except MissingCredentialError as error:
        yield Finding("forward", "note", str(error))
    except UserError as error:
        yield Finding("forward", "bad", str(error))


def _compared(setup: Setup, settings: DatabaseSettings) -> Finding:
    try:
        from shoe_daemon.forward.service import connect  # noqa: PLC0415 - an extra
        from shoe_daemon.forward.source import lag_after  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError(f"needs psycopg and libpq5: {error}") from error
    with (
        closing(connect(settings, setup.beside)) as database,
        open_read_only(setup.journal) as reader,
    ):
        position = database.find(reader.identity)
        lag = lag_after(reader, 0 if position is None else position.seq)
    if position is None:
        return Finding("forward", "bad", "the database answers, but has nothing of this journal")
    if lag.events == 0:
        return Finding("forward", "good", "the database has every event")
    text = f"the database lacks {lag.events:,} events, the oldest of {lag.seconds:.0f} s ago"
    return Finding("forward", "good" if lag.seconds < _MAX_LAG_S else "bad", text)


def check_log_database(setup: DisplaySetup) -> Iterator[Finding]:
    """Connect as the display does, and count the events from which its log is not yet derived."""
    if setup.history is None or not isinstance(setup.history.log, LogDatabase):
        return
    from shoe_daemon.display.log.postgres import PostgresLog  # noqa: PLC0415 - an extra

    log = setup.history.log
    try:
        with PostgresLog(log.database, log.password).open() as database:
            behind = database.behind()
    except UnreadableError as error:
        yield Finding("log", "bad", str(error))
        return
    text = f"the database answers; {behind:,} events are not in the log yet"
    yield Finding("log", "good" if behind < _MAX_BEHIND else "bad", text)
