"""The running program: copies its journals in turn, and waits while the database is away."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Final

import structlog

from shoe_daemon.config.sections import DatabaseSettings
from shoe_daemon.config.table import JournalToForward
from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.forward.database import Database
from shoe_daemon.forward.source import BATCH, Figures, Lag, Source
from shoe_daemon.limits import LoggedFailure, LogRateLimit, RetryDelay
from shoe_daemon.postgres import DatabaseError
from shoe_daemon.process import notify_systemd
from shoe_daemon.settings.files import read_secret, replace_file

_log = structlog.get_logger(__name__)

_METRICS_S: Final = 10.0
_METRICS_MODE: Final = 0o644
"""node_exporter reads the file as another user."""
READY_TIMEOUT_S: Final = 2.0


class Forwarder:
    """Copies the journals of some tables into one database, on the calling thread."""

    def __init__(self, journals: Sequence[JournalToForward]) -> None:
        settings = {each.settings for each in journals}
        if len(settings) != 1:
            raise UserError(
                "[forward]: differs between the tables; expected the same section in each, or a"
                " process for each database"
            )
        (self._settings,) = settings
        self._folder = journals[0].folder
        self._sources = {each: Source(each.journal) for each in journals}
        self._database: Database | None = None
        self._connection_log = LoggedFailure(_log, "database_failed", "database_connected")
        self._may_log = LogRateLimit()
        self._delay = RetryDelay()
        self._metrics_at = 0.0

    def run(self, stopping: Event) -> None:
        """Copy until `stopping` is set, and then once more."""
        _log.info("forwarder_started", tables=[str(each.journal) for each in self._sources])
        notify_systemd("READY=1", timeout_s=READY_TIMEOUT_S)
        while not stopping.is_set():
            wait = self._turn(stopping)
            self._write_metrics()
            notify_systemd("WATCHDOG=1", f"STATUS={self.summary}")
            stopping.wait(wait)
        notify_systemd("STOPPING=1")
        if self.connected:  # `init --remove` has ended the table: its last events
            self._turn(stopping)
        self.close()
        _log.info("stopped")

    def run_once(self) -> int:
        """
        Copy all events that the journals have; return their number.

        Raises:
            UserError: A journal cannot be read, or the database cannot be used.
        """
        database, copied = self._connected(), 0
        for source in self._sources.values():
            while count := source.copy_batch(database):
                copied += count
        return copied

    def close(self) -> None:
        """Close the journals and the connection."""
        for source in self._sources.values():
            source.close()
        self._disconnect()

    @property
    def figures(self) -> list[Figures]:
        """The lag of each table."""
        return [
            Figures(each.site, each.table, self._lag(source))
            for each, source in self._sources.items()
        ]

    @property
    def summary(self) -> str:
        """The state on one line, for systemd."""
        lags = [each.lag for each in self.figures]
        if self._database is None or None in lags:
            return "no database, or a journal is missing; see the log"
        known = [lag for lag in lags if lag is not None]
        seconds = max(lag.seconds for lag in known)
        return f"{sum(lag.events for lag in known):,} events to copy, oldest {seconds:.0f} s"

    @property
    def connected(self) -> bool:
        """True while there is a connection."""
        return self._database is not None

    def _turn(self, stopping: Event) -> float:
        """Copy what there is; return the seconds to wait."""
        try:
            database = self._connected()
            is_behind = True
            while is_behind:
                is_behind = False
                for source in self._sources.values():
                    is_behind |= self._copy(source, database) and not stopping.is_set()
                    notify_systemd("WATCHDOG=1")
        except DatabaseError as error:
            self._disconnect()
            self._connection_log.failed(time.monotonic(), reason=str(error))
            return self._delay.next()
        self._connection_log.succeeded()
        self._delay.reset()
        return self._settings.every

    def _copy(self, source: Source, database: Database) -> bool:
        """Copy a batch; return whether there is more. A journal's fault does not stop others."""
        try:
            count = source.copy_batch(database)
        except DatabaseError:
            raise
        except UserError as error:
            if self._may_log(str(source.path), time.monotonic()):
                _log.warning("journal_not_copied", reason=str(error))
            return False
        self._may_log.reset(str(source.path))
        return count == BATCH

    def _connected(self) -> Database:
        if self._database is None:
            try:
                self._database = connect(self._settings, self._folder)
            except DatabaseError:
                raise
            except UserError as error:  # a password file, which a person may still put there
                raise DatabaseError(str(error)) from error
        return self._database

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None
        for source in self._sources.values():
            source.forget_position()

    def _lag(self, source: Source) -> Lag | None:
        try:
            return source.lag()
        except UserError:
            return None

    def _write_metrics(self) -> None:
        if self._settings.textfile is None or time.monotonic() < self._metrics_at:
            return
        self._metrics_at = time.monotonic() + _METRICS_S
        try:
            # Only here: without this file the program does not need the extra.
            from shoe_daemon.forward.metrics import metrics_text  # noqa: PLC0415

            text = metrics_text(self.figures, connected=self.connected)
            replace_file(self._folder / self._settings.textfile, text, _METRICS_MODE)
        except (OSError, ImportError) as error:
            if self._may_log("metrics_not_written", time.monotonic()):
                _log.warning("metrics_not_written", reason=describe_exception(error))


def connect(settings: DatabaseSettings, folder: Path) -> Database:
    """
    Connect as a section ``[forward]`` says; `folder` is that of the configuration.

    Raises:
        DatabaseError: The database cannot be used.
        UserError: The password cannot be read.
    """
    password = None
    if settings.password_file is not None:
        password = read_secret(settings.password_file, folder, "forward.password_file")
    return Database.connect(settings.database, password)
