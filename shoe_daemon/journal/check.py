"""
The check of a whole journal: `python -m shoe_daemon.journal.check FILE`.

The daemon runs it as a process of its own, which ends with its parent. It prints the last event
that it has verified; it ends with 1 and prints one line where the file is damaged.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError
from shoe_daemon.journal import database
from shoe_daemon.journal.chain import Head
from shoe_daemon.journal.part import Part, journal_start, next_shoe
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.start_check import verify_part

_OTHER_TABLES: Final = ("counter", "cursor", "signature")
"""Tables that are not part of the chain."""


def check_whole(path: Path, pause: Callable[[float], None]) -> int:
    """
    Verify the chain of a journal shoe by shoe, and the tables outside the chain.

    Each shoe is read in a snapshot of its own, so that a writer's checkpoint waits for some
    milliseconds only. `pause` is called after each with the seconds that it took.

    Returns:
        The last event that was verified.

    Raises:
        UserError: The journal is damaged or cannot be read.
    """
    with JournalReader(path) as reader, database.explain_read_errors(path):
        for table in _OTHER_TABLES:
            database.check_integrity(reader.connection, path, table=table)
        head, is_last = Head(0, 0, 0, b""), False
        while not is_last:
            began = time.perf_counter()
            with reader.snapshot():
                beginning = journal_start(reader.connection, reader.identity)
                # The daemon may have removed this shoe meanwhile.
                is_removed = beginning.observation >= head.observation
                start = beginning if is_removed else head
                end = next_shoe(reader.connection, start.observation)
                verify_part(reader, Part(start, end, "shoe"))
                is_last, head = end is None, end or reader.head()
            pause(time.perf_counter() - began)
        return head.seq


def _pause(seconds: float) -> None:
    """Leave the processor and the disk to the others for as long as they were used."""
    time.sleep(seconds)
    if os.getppid() != _parent:
        sys.exit(1)


def _main(path: Path) -> None:
    with suppress(OSError):  # a sandbox may forbid it: it also pauses
        # The processor and, by it, the disk only when no other process wants them.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        sys.stdout.write(str(check_whole(path, _pause)))
    except UserError as error:
        sys.stdout.write(str(error))
        sys.exit(1)


if __name__ == "__main__":
    _parent: Final = os.getppid()
    _main(Path(sys.argv[1]))
