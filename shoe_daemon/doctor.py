"""The checks of `doctor`: a table's journal, disk, readers and broker, or a display."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from drivers import LineError, OpensLine, StoresEvidence, open_transport, redact_url
from shoe_daemon.config import Reading, Setup
from shoe_daemon.display.display_config import DisplaySettings, DisplaySetup
from shoe_daemon.doctor_broker import Finding, display_broker, table_broker
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import IRREGULARITIES
from shoe_daemon.table import RoundEnd, undetectable_kinds

_SLOW_WRITE_S: Final = 0.05
"""A durable write that takes longer delays the table."""

_MIN_FREE_BYTES: Final = 500_000_000
_TEST_WRITES: Final = 15
_UNSTABLE_NAMES: Final = ("/dev/ttyUSB", "/dev/ttyACM")


def examine(setup: Setup) -> Iterator[Finding]:
    """
    Check everything that a table depends on. Nothing is changed, except for a file
    beside the journal that is written to time the disk, and removed.
    """
    for note in setup.notes:
        yield Finding("file", "note", note)
    yield from _check_journal(setup.journal, setup.service)
    for reader in setup.readers:
        yield _check_reader(reader)
        if isinstance(reader.driver, StoresEvidence):
            yield _check_evidence(f"reader {reader.id}", reader.driver.evidence)
    if not setup.readers:
        yield Finding("reader", "bad", "none is configured: nothing will be seen")
    yield from table_broker(setup)
    yield from _undetected(setup)


def examine_display(setup: DisplaySetup) -> Iterator[Finding]:
    """Check everything that a display depends on. Nothing is changed."""
    for note in setup.notes:
        yield Finding("file", "note", note)
    display = setup.config.display
    yield _check_listen(display)
    if display.open_pit:
        text = f"open to everybody who reaches {display.listen}: set [display.pit]"
        yield Finding("pit", "bad", text)
    yield from display_broker(setup)


def _check_listen(display: DisplaySettings) -> Finding:
    host, port = display.address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"{display.listen} is in use: by the running display, or another program"
            return Finding("listen", "note", text)
        text = f"{display.listen}: {one_line(error)}"
        return Finding("listen", "bad", text)
    return Finding("listen", "good", f"{display.listen} is free")


def _check_journal(path: Path, service: str | None) -> Iterator[Finding]:
    # systemd creates the service's folder when it starts; until then the disk is the same.
    folder = next(each for each in path.parents if service is None or os.path.isdir(each))  # noqa: PTH112
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):  # noqa: PTH112
        if service is None:
            yield Finding("journal", "bad", f"{folder} is no folder that can be written")
        else:
            text = f"{path} of shoe-daemon@{service}: not tested; only root can write there"
            yield Finding("journal", "note", text)
        return
    room = shutil.disk_usage(folder).free
    verdict: Literal["good", "bad"] = "good" if room > _MIN_FREE_BYTES else "bad"
    owner = "" if service is None else f" of shoe-daemon@{service}"
    yield Finding("journal", verdict, f"{path}{owner}, {room // 1_000_000:,} MB free")
    median, slowest = _time_writes(folder)
    text = f"a durable write takes {median * 1000:.1f} ms, at most {slowest * 1000:.1f} ms"
    yield Finding("disk", "good" if median < _SLOW_WRITE_S else "bad", text)


def _time_writes(folder: Path) -> tuple[float, float]:
    spans = []
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "trial.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE trial (body BLOB)")
        for _ in range(_TEST_WRITES):
            start = time.perf_counter()
            connection.execute("INSERT INTO trial VALUES (?)", (b"x" * 500,))
            spans.append(time.perf_counter() - start)
        connection.close()
    return statistics.median(spans), max(spans)


def _check_reader(reader: Reading) -> Finding:
    about = f"reader {reader.id}"
    own = reader.driver if isinstance(reader.driver, OpensLine) else None
    try:
        if own is not None:
            own.open_line(reader.port).close()
        else:
            open_transport(reader.port, reader.line).close()
    except (LineError, UserError) as error:
        return Finding(about, "bad", str(error))
    shown = redact_url(reader.port)
    if reader.port.startswith(_UNSTABLE_NAMES):
        text = "may be another device after the next start: name it by /dev/serial/by-id"
        return Finding(about, "note", f"{shown} opens, but {text}")
    advice = "listen to it with `calibrate serial`" if own is None else own.look
    return Finding(about, "good", f"{shown} opens; {advice}")


def _check_evidence(about: str, folder: Path | None) -> Finding:
    if folder is None:
        text = "keeps no pictures of what it reads: no dispute can be looked at"
        return Finding(about, "note", text)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        text = f"cannot keep pictures of what it reads: {there} is no folder that can be written"
        return Finding(about, "bad", text)
    count = sum(1 for _ in folder.glob("*.jpg"))
    return Finding(about, "good", f"keeps pictures of what it reads in {folder}: {count:,} there")


def _undetected(setup: Setup) -> Iterator[Finding]:
    for kind, why in undetectable_kinds(setup.house, setup.options).items():
        what = IRREGULARITIES[kind].text.rstrip(".")
        yield Finding("blind", "note", f"{kind} ({what[0].lower()}{what[1:]}): {why}")
    if setup.options.round_end is RoundEnd.QUIET:
        gap = f"{setup.options.quiet_gap:g}"
        yield Finding(
            "blind",
            "note",
            f"a card too many {gap} s or more after the last begins the next round",
        )
