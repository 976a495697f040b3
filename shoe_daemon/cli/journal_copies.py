"""`shoe-daemon journal backup`, `restore` and `prune`: copies of a journal, and retention."""

from __future__ import annotations

import re
import time
from pathlib import Path

import click

from shoe_daemon.cli.shared_options import FILE
from shoe_daemon.cli.terminal_text_and_input import progress_display
from shoe_daemon.errors import UserError

_JOURNAL = click.argument("file", type=click.Path(path_type=Path, readable=False))


@click.command()
@_JOURNAL
@click.argument("target", type=click.Path(path_type=Path))
def backup(file: Path, target: Path) -> None:
    """
    Copy FILE to TARGET while the daemon runs, and verify the copy.

    TARGET is a new file, or a folder for a file named by table and time. It appears only
    when it is complete, verified and on the disk. Ends with 1 if the copy is not valid.
    """
    from shoe_daemon.journal.backup import back_up

    with progress_display("verifying the copy") as progress:
        path, head = back_up(file, target, progress)
    click.echo(f"{path}: good, up to event {head.seq:,}, head {head.hash.hex()}")


@click.command()
@click.argument("backup_file", metavar="BACKUP", type=FILE)
@_JOURNAL
@click.option(
    "--published",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="The last event that any subscriber has seen, where the clock cannot tell.",
)
def restore(backup_file: Path, file: Path, published: int | None) -> None:
    """
    Put BACKUP in the place of the lost journal FILE. The daemon must not run.

    Events after the backup are lost, but others have seen their numbers. Therefore the
    next event gets a number that none of them can have: ten for each second since the
    backup, or more than --published.
    """
    from shoe_daemon.journal.backup import restore as put_back

    with progress_display("verifying the backup") as progress:
        done = put_back(backup_file, file, published, progress)
    click.echo(
        f"{file}: restored up to event {done.head.seq:,} of {done.at}; the next event is"
        f" {done.next_seq:,}. The numbers between them stay unused: the lost journal may have"
        " published them."
    )


@click.command()
@_JOURNAL
@click.option(
    "--older-than", "age", required=True, metavar="DAYS", help="Such as 400d: the age of an end."
)
@click.option("--compact", is_flag=True, help="Make the file smaller; needs room for a copy.")
def prune(file: Path, age: str, *, compact: bool) -> None:
    """
    Remove the shoes of FILE that ended more than DAYS ago. The daemon must not run.

    The rest stays provable: FILE notes where it begins, and keeps all signatures. The last
    shoe, and events that the broker has not acknowledged, are never removed.
    """
    from shoe_daemon.journal.prune import remove_old_shoes
    from shoe_daemon.table import from_microseconds

    now = time.time_ns() // 1000
    before = from_microseconds(now - _days(age) * 86_400_000_000)
    done = remove_old_shoes(file, before, from_microseconds(now), compact=compact)
    begins = "" if done.anchor is None else f"; it begins after event {done.anchor.seq:,}"
    click.echo(f"{file}: {done.shoes:,} shoes removed that ended before {before}{begins}")


def _days(age: str) -> int:
    found = re.fullmatch(r"(\d{1,5})d?", age)
    if found is None or int(found[1]) == 0:
        raise UserError(f"--older-than {age}: expected a number of days, such as 400d")
    return int(found[1])
