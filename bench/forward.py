"""
Speed and exactness of `shoe-daemon forward`: `python -m bench.forward [--events N]`.

Writes ten journals with N real events in all, then, each on a PostgreSQL of its own in a temporary
folder: a bare COPY of the same rows into the same tables in one transaction; one forwarder with
`--once`; a forwarder that is killed ten times, and its server five times; the promotion of a
standby that lacks a third of the events (at most 100,000). After each, the rows are compared with
the journals. Aim: 60 % of the bare COPY, 400 MB for a million events.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from bench.year_journal import write
from shoe_daemon.forward.database import COPY, COPY_STAFF, copy_text, schema
from shoe_daemon.journal.reader import EventRow, JournalReader
from tests.fakes.postgres import PASSWORD, Server, temporary_server

JOURNALS: Final = 10
_EVENTS_A_ROUND: Final = 17.9
_STANDBY_LACKS: Final = 100_000
CLI: Final = (sys.executable, "-m", "shoe_daemon", "forward")


def main() -> None:
    """Write the journals, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--events", type=int, default=200_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        number = write_journals(folder, arguments.events)
        print(f"{number:,} events in {JOURNALS} journals", flush=True)
        bare = measure_bare_copy(folder, number)
        measure_forwarder(folder, number, bare)
        measure_kills(folder)
        measure_standby(folder, number)


def write_journals(folder: Path, events: int) -> int:
    """Write the journals; return the number of their events."""
    rounds = max(1, round(events / JOURNALS / _EVENTS_A_ROUND))
    for number in range(JOURNALS):
        path = folder / f"site-{number}" / "journal.db"
        path.parent.mkdir()
        write(path, rounds)
    return sum(len(page) for path in journals(folder) for page in pages(path))


def journals(folder: Path) -> list[Path]:
    """Return the paths of the journals."""
    return sorted(folder.glob("*/journal.db"))


def pages(path: Path) -> Iterator[list[EventRow]]:
    """Yield the events of a journal."""
    with JournalReader(path) as reader:
        yield from reader.event_rows(0, reader.head().seq)


def configure(folder: Path, database: str) -> list[str]:
    """Write the configurations of the tables; return their paths."""
    (folder / "forward.password").write_text(PASSWORD)
    files = []
    for path in journals(folder):
        file = path.with_name("table.toml")
        file.write_text(
            f'site = "{path.parent.name}"\n[journal]\npath = "{path}"\n[forward]\n'
            f'database = "{database}"\npassword_file = "{folder}/forward.password"\nevery = 1\n'
        )
        files.append(str(file))
    return files


@contextmanager
def new_database() -> Iterator[Server]:
    """A server with an empty database."""
    with temporary_server() as server:
        server.make_database(schema())
        yield server


def connected(server: Server) -> psycopg.Connection[tuple[object, ...]]:
    """Connect as the owner."""
    return server.connect(database="shoe")


def measure_bare_copy(folder: Path, number: int) -> float:
    """Return the seconds of COPY alone, with rows that are ready in memory."""
    public, staff, months = [], [], set()
    for journal, path in enumerate(journals(folder), start=1):
        for page in pages(path):
            texts = copy_text(journal, page)
            public.append(texts[0])
            staff.append(texts[1])
            months |= {row.at[:7] for row in page}
    with new_database() as server, connected(server) as connection:
        for month in months:
            connection.execute("SELECT shoe.add_month(%s)", (f"{month}-01T00:00:00Z",))
        began = time.perf_counter()
        with connection.transaction(), connection.cursor() as cursor:
            for statement, lines in ((COPY, public), (COPY_STAFF, staff)):
                with cursor.copy(statement) as copy:
                    for text in lines:
                        copy.write(text)
        seconds = time.perf_counter() - began
    print(f"  bare COPY   {seconds:>7.1f} s {number / seconds:>9,.0f} events/s", flush=True)
    return seconds


def measure_forwarder(folder: Path, number: int, bare: float) -> None:
    """Measure one forwarder, and the size of the database."""
    with new_database() as server:
        files = configure(folder, server.dsn("floor"))
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*CLI, "--once", *files], check=True, stdout=subprocess.DEVNULL)
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"  forwarder   {seconds:>7.1f} s {number / seconds:>9,.0f} events/s,"
            f" {100 * bare / seconds:.0f} % of the bare COPY, its processor {cpu:.1f} s"
        )
        print(f"  size        {size(server) / number:>7,.0f} MB for a million events")
        print(f"  rows        {compared(folder, server)}", flush=True)


def size(server: Server) -> int:
    """Return the bytes of all partitions with their indexes."""
    query = "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
    with connected(server) as connection:
        row = connection.execute(f"{query} JOIN pg_class c ON c.oid = inhrelid AND relkind = 'r'")
        return int(str((row.fetchone() or (0,))[0]))


def compared(folder: Path, server: Server) -> str:
    """Compare each row with its event."""
    wrong = total = 0
    with connected(server) as connection:
        for path in journals(folder):
            with JournalReader(path) as reader:
                identity = reader.identity
            stored = connection.execute(
                "SELECT e.seq, type, data::text FROM (TABLE shoe.event UNION ALL"
                " TABLE shoe.staff_event) AS e JOIN shoe.journal AS j ON j.id = e.journal"
                " WHERE site = %s AND table_id = %s ORDER BY e.seq",
                (identity.site, identity.table),
            ).fetchall()
            events = [row for page in pages(path) for row in page]
            total += len(stored)
            wrong += abs(len(stored) - len(events))
            wrong += sum(
                (row.seq, row.type) != (seq, kind) or str(data).encode() not in row.body
                for row, (seq, kind, data) in zip(events, stored, strict=False)
            )
    return f"{total:,} in the database, {wrong} missing, double or different"


def copied(server: Server) -> int:
    """Return how many events the database has by its cursors."""
    with connected(server) as connection:
        row = connection.execute("SELECT coalesce(sum(seq), 0) FROM shoe.journal").fetchone()
    return int(str((row or (0,))[0]))


def wait_for_more(server: Server, than: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the forwarder has copied more, or has ended."""
    while copied(server) <= than and process.poll() is None:
        time.sleep(0.01)


def measure_kills(folder: Path) -> None:
    """Kill the forwarder ten times and the server five times."""
    dice = random.Random(1)
    with new_database() as server:
        files = configure(folder, server.dsn("floor"))
        kills = ["forwarder"] * 10 + ["server"] * 5
        dice.shuffle(kills)
        for victim in kills:
            before = copied(server)
            with subprocess.Popen(
                [*CLI, "--once", *files], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                wait_for_more(server, before, process)
                time.sleep(dice.uniform(0, 0.05))
                if victim == "server":
                    server.kill()
                    server.start()
                process.kill()
        subprocess.run([*CLI, "--once", *files], check=True, stdout=subprocess.DEVNULL)
        print(f"  after 10 kills of the forwarder, 5 of the server: {compared(folder, server)}")


def measure_standby(folder: Path, number: int) -> None:
    """Promote a standby that lacks the last events."""
    with (
        new_database() as primary,
        tempfile.TemporaryDirectory(prefix="shoe-standby-") as place,
    ):
        files = configure(folder, primary.dsn("floor"))
        lacking = min(_STANDBY_LACKS, number // 3)
        with subprocess.Popen(
            [*CLI, *files], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wait_for_more(primary, number - lacking - 1, process)
            process.kill()
        standby = primary.copy_to(Path(place))
        had = copied(primary)
        subprocess.run([*CLI, "--once", *files], check=True, stdout=subprocess.DEVNULL)
        primary.kill()
        standby.start()
        try:
            with standby.connect() as connection:
                connection.execute("SELECT pg_promote()")
            hosts = f"host={primary.folder},{standby.folder} port={primary.port},{standby.port}"
            files = configure(folder, f"{hosts} dbname=shoe user=floor")
            subprocess.run([*CLI, "--once", *files], check=True, stdout=subprocess.DEVNULL)
            rows = compared(folder, standby)
        finally:
            standby.stop()
    print(f"  after the promotion of a standby {number - had:,} events behind: {rows}", flush=True)


if __name__ == "__main__":
    main()
