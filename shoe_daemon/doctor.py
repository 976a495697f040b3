"""
What is well with a table, what is not, and what it cannot see.
"""

from __future__ import annotations

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

from msgspec import Struct

from drivers.contract import KeepsPictures, OpensLine
from drivers.discretion import discreet
from drivers.transport import LineError, open_transport
from shoe_daemon.config import Reading, Setup
from shoe_daemon.errors import UserError
from shoe_daemon.game.irregularities import IRREGULARITIES
from shoe_daemon.table.detection import undetectable
from shoe_daemon.table.options import RoundEnd

_SLOW_DISK: Final = 0.05
"""Seconds for one durable write from which a table feels it."""

_LITTLE_ROOM: Final = 500_000_000
_WRITES: Final = 15
_BROKER_PATIENCE: Final = 3.0
_UNSTABLE: Final = ("/dev/ttyUSB", "/dev/ttyACM")


class Finding(Struct, frozen=True):
    """
    One thing that was looked at.

    Attributes:
        about: What.
        verdict: ``good``; ``note``: to be known; ``bad``: the table will suffer.
        text: One sentence.
    """

    about: str
    verdict: Literal["good", "note", "bad"]
    text: str


def examine(setup: Setup) -> Iterator[Finding]:
    """
    Look at everything that a table stands on. Nothing is changed, but for a
    file that is written beside the journal, to time the disk, and removed.
    """
    yield from _journal(setup.journal)
    for reader in setup.readers:
        yield _reader(reader)
        if isinstance(reader.driver, KeepsPictures):
            yield _evidence(f"reader {reader.id}", reader.driver.evidence)
    if not setup.readers:
        yield Finding("reader", "bad", "none is configured: nothing will be seen")
    yield from _broker(setup)
    yield from _blind(setup)


def _journal(path: Path) -> Iterator[Finding]:
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield Finding("journal", "bad", f"{folder} is no folder that can be written")
        return
    room = shutil.disk_usage(folder).free
    verdict: Literal["good", "bad"] = "good" if room > _LITTLE_ROOM else "bad"
    yield Finding("journal", verdict, f"{path}, {room // 1_000_000:,} MB free")
    middle, slowest = _time_writes(folder)
    text = f"a durable write takes {middle * 1000:.1f} ms, at most {slowest * 1000:.1f} ms"
    yield Finding("disk", "good" if middle < _SLOW_DISK else "bad", text)


def _time_writes(folder: Path) -> tuple[float, float]:
    spans = []
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "trial.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE trial (body BLOB)")
        for _ in range(_WRITES):
            start = time.perf_counter()
            connection.execute("INSERT INTO trial VALUES (?)", (b"x" * 500,))
            spans.append(time.perf_counter() - start)
        connection.close()
    return statistics.median(spans), max(spans)


def _reader(reader: Reading) -> Finding:
    about = f"reader {reader.id}"
    own = reader.driver if isinstance(reader.driver, OpensLine) else None
    try:
        if own is not None:
            own.open_line(reader.port).close()
        else:
            open_transport(reader.port, reader.line).close()
    except (LineError, UserError) as error:
        return Finding(about, "bad", str(error))
    shown = discreet(reader.port)
    if reader.port.startswith(_UNSTABLE):
        text = "may be another device after the next start: name it by /dev/serial/by-id"
        return Finding(about, "note", f"{shown} opens, but {text}")
    look = "listen to it with `calibrate serial`" if own is None else own.look
    return Finding(about, "good", f"{shown} opens; {look}")


def _evidence(about: str, folder: Path | None) -> Finding:
    if folder is None:
        text = "keeps no pictures of what it reads: no dispute can be looked at"
        return Finding(about, "note", text)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        text = f"cannot keep pictures of what it reads: {there} is no folder that can be written"
        return Finding(about, "bad", text)
    count = sum(1 for _ in folder.glob("*.jpg"))
    return Finding(about, "good", f"keeps pictures of what it reads in {folder}: {count:,} there")


def _broker(setup: Setup) -> Iterator[Finding]:
    mqtt = setup.config.mqtt
    if mqtt is None:
        yield Finding("broker", "note", "none is configured: nothing is published")
        return
    host, port = mqtt.address
    try:
        socket.create_connection((host, port), _BROKER_PATIENCE).close()
    except OSError as error:
        reason = error.strerror or str(error)
        yield Finding("broker", "bad", f"{host}:{port} cannot be reached: {reason}")
        return
    yield Finding("broker", "good", f"{host}:{port} answers")
    if mqtt.tls is None and host not in {"127.0.0.1", "localhost", "::1"}:
        yield Finding("broker", "note", "the line to it is open to whoever listens: no TLS")


def _blind(setup: Setup) -> Iterator[Finding]:
    for kind, why in undetectable(setup.house, setup.options).items():
        what = IRREGULARITIES[kind].text.rstrip(".")
        yield Finding("blind", "note", f"{kind} ({what[0].lower()}{what[1:]}): {why}")
    if setup.options.round_end is RoundEnd.QUIET:
        gap = f"{setup.options.quiet_gap:g}"
        yield Finding(
            "blind",
            "note",
            f"a card too many {gap} s or more after the last begins the next round",
        )
