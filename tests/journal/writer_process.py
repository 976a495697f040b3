"""
A writer to be killed: appends as fast as possible and prints acknowledgements.

`python -m tests.journal.writer_process FILE`: one line `observation seq` after each append.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from tests.journal.journal_entries import entry, open_journal


def main(path: Path) -> None:
    """Write until killed."""
    chance = random.Random()
    with open_journal(path) as journal:
        while True:
            for _ in range(chance.randrange(3)):
                journal.count("angel", noise=1)
            journal.append([entry(journal.head)])
            if chance.random() < 0.2:
                journal.set_cursor("mqtt", journal.head.seq)
            line = f"{journal.head.observation} {journal.head.seq}\n"
            os.write(sys.stdout.fileno(), line.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
