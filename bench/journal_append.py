"""
Duration of a journal append, compared with bare SQLite inserts of the same bytes.

`python -m bench.journal_append [--appends N] [--folder F]`: both alternate in one run on one disk,
with fsync (as in the daemon) and without it (our own code). A typical frame: 12 raw bytes, one
card, and its card_dealt, draw_due and round_started.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from shoe_daemon.game import Card, Slot
from shoe_daemon.journal import Entry, Head, Journal, Step, StoredEvent
from shoe_daemon.table import CardDealt, CardDrawn, Event, EventData, RoundStarted
from shoe_daemon.table.next_card import FIRST_FOUR_DUE

AT = "2026-11-21T09:34:46.120Z"
SITE, TABLE = "casino", "table-7"
FRAME = b"\x02P1H10-7c\r\n\x03"
KINDS: tuple[EventData, ...] = (
    RoundStarted(),
    CardDealt(None, Card("10H"), 0, Slot.P1),
    FIRST_FOUR_DUE[1].event,
)
WARM_UP = 50


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=2000)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    arguments = parser.parse_args()
    print(f"{arguments.appends} appends of one frame, milliseconds       p50      p99")
    for durable in (True, False):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            ours, bare = measure(Path(folder), arguments.appends, durable=durable)
        name = "with fsync" if durable else "without"
        for what, times in (("journal", ours), ("bare insert", bare)):
            print(f"  {name:<12}{what:<32}{_p50(times):>9.3f}{_p99(times):>9.3f}")
        ratio, more = _p50(ours) / _p50(bare), _p50(ours) - _p50(bare)
        print(f"  {name:<12}ratio {ratio:.2f}, {1000 * more:.0f} us more")


def measure(folder: Path, appends: int, *, durable: bool) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each append, and of each bare insert."""
    ours, bare = [], []
    with (
        Journal.open(folder / "journal", SITE, TABLE, durable=durable) as journal,
        closing(_bare(folder / "bare", durable=durable)) as connection,
    ):
        for number in range(WARM_UP + appends):
            entry = _entry(journal.head)
            start = time.perf_counter()
            stored = journal.append([entry])
            middle = time.perf_counter()
            _insert(connection, stored)
            end = time.perf_counter()
            if number >= WARM_UP:
                ours.append(1000 * (middle - start))
                bare.append(1000 * (end - middle))
    return ours, bare


def _entry(head: Head) -> Entry:
    card = CardDrawn(at=AT, source="angel", card=Card("10H"), slot=Slot.P1)
    events = [
        Event(AT, data, 1, "1.0", head.seq + place, 1, SITE, TABLE, data.type)
        for place, data in enumerate(KINDS, start=1)
    ]
    return Entry(FRAME, [Step(card, events)])


def _bare(path: Path, *, durable: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, bytes BLOB)")
    return connection


def _insert(connection: sqlite3.Connection, stored: list[StoredEvent]) -> None:
    body = FRAME + b"".join(event.body for event in stored)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO bare (bytes) VALUES (?)", (body,))
    connection.execute("COMMIT")


def _p50(times: list[float]) -> float:
    return statistics.median(times)


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[-1]


if __name__ == "__main__":
    main()
