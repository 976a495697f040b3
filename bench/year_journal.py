"""
Time of what reads a long journal: `python -m bench.year_journal [--rounds N] [--folder F]`.

Writes a journal of N rounds of a table with a key (a year without a pause: 475,408) by the real
table and writer without fsync, in some four minutes for the year. Then measures a start of the
daemon up to READY, the check of the whole file, and the commands, each in a process of its own.
`cold` is after the file was removed from the file cache; the rest is warm where it fits into
memory. A journal in F that was written before is used again.

Aim: a start in 1 second and a report in 2, whatever the length.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from bench.harness import configuration, process_seconds, running_daemon
from bench.rounds_per_second import observations_of, rounds
from shoe_daemon.config.table import load_config
from shoe_daemon.game import DECK
from shoe_daemon.journal import Entry, Journal, Step
from shoe_daemon.journal.signatures import Signer
from shoe_daemon.table import Table, from_microseconds
from shoe_daemon.table import observations as seen

YEAR: Final = 475_408
_DECKS: Final = 8
_SECOND: Final = 1_000_000
_ROUND_S: Final = 66
_CARD_S: Final = 2
_RAW: Final = b"\x02P1H10-7c\r\n\x03"
_CLI: Final = (sys.executable, "-m", "shoe_daemon")
_CHECK: Final = """
import pathlib, sys
from shoe_daemon.journal.check import check_whole
check_whole(pathlib.Path(sys.argv[1]), lambda seconds: None)
"""
"""Without the pauses and the low priority of the daemon's check."""


Group = list[tuple[int, seen.Observation]]


def main() -> None:
    """Write the journal, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=YEAR // 40)
    parser.add_argument("--folder", type=Path, help="on the disk to measure; the journal stays")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = (arguments.folder or Path(place)).absolute()
        folder.mkdir(exist_ok=True)
        measure(folder, arguments.rounds)


def measure(folder: Path, number: int) -> None:
    """Measure a journal of so many rounds in a folder."""
    config = configuration(folder / "bench", None, None)
    path = load_config(config).journal
    if not path.exists():
        began = time.perf_counter()
        write(path, number)
        print(f"{number:,} rounds written in {time.perf_counter() - began:.0f} s")
    print(f"{path.stat().st_size / 1e6:,.0f} MB; seconds, and those of the processor")
    empty = configuration(folder / "empty", None, None)
    for name, which, is_cold in (
        ("start, empty journal", empty, False),
        ("start, cold", config, True),
        ("start", config, False),
    ):
        if is_cold:
            forget(path)
        with running_daemon(which) as ready:
            used = process_seconds(ready.process)
            print(f"  {name:<24}{ready.seconds:>8.2f}{used:>8.2f}", flush=True)
    now, copy = datetime.now(UTC), folder / "copy.db"
    copy.unlink(missing_ok=True)
    shift = (
        f"{now - timedelta(hours=13):%Y-%m-%dT%H:%M}Z",
        f"{now - timedelta(hours=1):%Y-%m-%dT%H:%M}Z",
    )
    commands: dict[str, tuple[object, ...]] = {
        "check of the whole file": (sys.executable, "-c", _CHECK, path),
        "journal shoe, cold": (*_CLI, "journal", "shoe", path),
        "journal shoe 2": (*_CLI, "journal", "shoe", path, 2),
        "report shift": (*_CLI, "report", "shift", path, "--from", shift[0], "--to", shift[1]),
        "journal export --shoe 2": (*_CLI, "journal", "export", path, "--shoe", 2),
        "journal stats": (*_CLI, "journal", "stats", path),
        "journal verify": (*_CLI, "journal", "verify", path),
        "journal backup": (*_CLI, "journal", "backup", path, copy),
        "journal prune, 10 days": (*_CLI, "journal", "prune", copy, "--older-than", age(number)),
    }
    for name, command in commands.items():
        if name.endswith("cold"):
            forget(path)
        print(f"  {name:<24}{run(*command)}", flush=True)


def age(number: int) -> str:
    """Return the age, in days, of all but the oldest ten days; at least 1."""
    return f"{max(1, number * _ROUND_S // 86_400 - 10)}d"


def run(*command: object) -> str:
    """Run a command; return its seconds, and those of the processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(each) for each in command], stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{seconds:>8.2f}{used:>8.2f}"


def forget(path: Path) -> None:
    """Remove a file from the file cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def write(path: Path, number: int) -> None:
    """Write the journal; its last round is a minute ago."""
    key = Ed25519PrivateKey.generate()
    signer = Signer(key.public_key().public_bytes_raw(), key.sign)
    first = time.time_ns() // 1000 - number * _ROUND_S * _SECOND
    table, table_id = Table(), "table"
    site = path.parent.name
    with Journal.open(path, site, table_id, durable=False, signer=signer) as journal:
        session = seen.Session(site=site, table=table_id, house="chickasaw", program="bench")
        opening: Group = [(first, session)]
        for group in chain([opening], _groups(first, number)):
            journal.append([_entry(table, at, each, journal) for at, each in group])


def _entry(table: Table, at: int, observation: seen.Observation, journal: Journal) -> Entry:
    stamped = replace(observation, at=from_microseconds(at))
    if table.may_finish_shoe(stamped):
        stamped = replace(stamped, chain_head=journal.public_hash)
    events = table.apply(stamped)
    started = any(event.type == "shoe_started" for event in events)
    raw = _RAW if isinstance(observation, seen.CardDrawn) else b""
    return Entry(raw, [Step(stamped, events, table.checkpoint() if started else None)])


def _groups(first: int, number: int) -> Iterator[Group]:
    """Yield the timed observations of one round after the other."""
    dice, done = random.Random(1), count(1)
    while True:
        shoe = dice.sample(DECK * _DECKS, len(DECK) * _DECKS)
        opening: list[seen.Observation] = [seen.Command(name="new_shoe")]
        for coup, cards in rounds(shoe):
            if (this := next(done)) > number:
                return
            began = first + this * _ROUND_S * _SECOND
            observations = [*opening, *observations_of(coup, cards)]
            opening = []
            yield [
                (began + place * _CARD_S * _SECOND, each)
                for place, each in enumerate(observations)
            ]


if __name__ == "__main__":
    main()
