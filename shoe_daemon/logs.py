"""Log output: fields for systemd's journal, JSON lines for a file, colours for a terminal."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import socket
import sys
from collections.abc import Iterator, MutableMapping
from typing import Any, Final, TextIO

import structlog

_WRITE_TIMEOUT_S: Final = 0.05
"""A blocked stderr stalls the caller for this time; then the line is dropped."""


_JOURNAL_SOCKET: Final = "/run/systemd/journal/socket"
_JOURNAL_FIELDS: Final = ("site", "table", "round")
"""Keys of a log event that are fields of their own: SHOE_SITE, SHOE_TABLE, SHOE_ROUND."""

_PRIORITIES: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


def configure_logging(*, quiet: bool = False, debug: bool = False) -> None:
    """
    Configure structlog for this process; with `quiet`, only warnings and errors are logged, with
    `debug`, the way of each card.

    Where stderr is connected to systemd's journal, each log event is one entry with fields.
    """
    level = logging.WARNING if quiet else logging.DEBUG if debug else logging.INFO
    log = _JournalLog() if _is_journal(sys.stderr) else _NonBlockingLog(sys.stderr)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _renderer(log),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(log),  # type: ignore[arg-type]
    )


def _renderer(log: _JournalLog | _NonBlockingLog) -> Any:  # noqa: ANN401 - structlog's processors
    if isinstance(log, _JournalLog):
        return journal_entry
    return structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else _JSON


_JSON: Final = structlog.processors.JSONRenderer()


def is_debugging() -> bool:
    """Return whether the log was configured to have level debug."""
    log = structlog.get_logger(__name__)
    return structlog.is_configured() and bool(log.is_enabled_for(logging.DEBUG))


@contextlib.contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Log warnings and errors to stderr meanwhile: stdout is for programs."""
    with _configuration_restored():
        configure_logging(quiet=True)
        yield


@contextlib.contextmanager
def no_logs() -> Iterator[None]:
    """Drop log events meanwhile: the program prints messages of its own."""
    with _configuration_restored():
        structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
        yield


@contextlib.contextmanager
def _configuration_restored() -> Iterator[None]:
    before = structlog.get_config() if structlog.is_configured() else None
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)


def journal_entry(logger: object, name: str, event: MutableMapping[str, Any]) -> str:
    """
    Return a log event as an entry of systemd's journal: a line for each field.

    Its ``MESSAGE`` is a line for people, ``link_up reader=shoe failures=0``; with the environment
    ``SHOE_LOG=json`` the JSON line that a file would get.
    """
    fields: dict[str, Any] = {f"SHOE_{key.upper()}": event.get(key) for key in _JOURNAL_FIELDS}
    fields["PRIORITY"] = _PRIORITIES.get(event.get("level", ""), _PRIORITIES["info"])
    fields["SYSLOG_IDENTIFIER"] = "shoe-daemon"
    is_json = os.environ.get("SHOE_LOG") == "json"
    fields["MESSAGE"] = str((_JSON if is_json else _readable)(logger, name, event))
    present = {key: value for key, value in fields.items() if value is not None}
    return "".join(f"{key}={_one_line(value)}\n" for key, value in present.items())


def _readable(_logger: object, _name: str, event: MutableMapping[str, Any]) -> str:
    """Return the event and its facts; the entry has the time, the level and the table already."""
    left_out = {"event", "level", "timestamp", *_JOURNAL_FIELDS}
    facts = {key: value for key, value in event.items() if key not in left_out}
    shown = (f"{key}={_quoted(str(value))}" for key, value in facts.items())
    return " ".join((str(event["event"]), *shown))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if " " in text or not text else text


def _one_line(value: object) -> str:
    return str(value).replace("\n", " ")


def _is_journal(file: TextIO) -> bool:
    """True when systemd connected a file to its journal (``$JOURNAL_STREAM``)."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class _JournalLog:
    """Sends entries to systemd's journal; drops them while it is not running or blocked."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0)

    def write(self, entry: str) -> None:
        """Send an entry; WriteLogger's newline at its end separates the last field."""
        with contextlib.suppress(OSError):
            self._socket.sendto(entry.encode(), _JOURNAL_SOCKET)

    def flush(self) -> None:
        """Do nothing: an entry is sent at once."""


class _NonBlockingLog:
    """
    Writes log lines and drops them while the output is blocked, full or gone; the number of
    dropped lines is logged when it accepts lines again. A fault of the output ends no program.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        # Unbuffered: what a full disk refuses would be kept and refused again at each line.
        self._raw = getattr(file.buffer, "raw", file.buffer)
        self._dropped = 0
        self._is_cut = False

    def write(self, line: str) -> None:
        """Write a line, or drop it."""
        dropped = {"event": "log_lines_dropped", "count": self._dropped, "level": "warning"}
        told = f"{json.dumps(dropped)}\n{line}" if self._dropped else line
        data = ("\n" * self._is_cut + told).encode()
        try:
            written = self._raw.write(data) if _has_room(self._file) else 0
        except OSError:
            written = 0
        if written == len(data):
            self._dropped, self._is_cut = 0, False
        else:
            self._dropped += 1
            self._is_cut = self._is_cut or bool(written)

    def flush(self) -> None:
        """Do nothing: a line is written at once."""


def _has_room(file: TextIO) -> bool:
    poll = select.poll()
    try:
        poll.register(file, select.POLLOUT)
    except (OSError, ValueError):  # no file descriptor, as in a test
        return True
    return bool(poll.poll(_WRITE_TIMEOUT_S * 1000))
