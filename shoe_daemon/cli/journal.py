"""
`shoe-daemon journal`: verify, export, count and report what a table's journal holds; back it up,
restore it, and remove old shoes.

All commands but `restore` and `prune` may be used while the daemon writes.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
import msgspec

from shoe_daemon.cli.options import COUNT, EXISTING_FOLDER, FILE, FOLDER, JSON_OBJECT, PATH
from shoe_daemon.cli.terminal import progress_display, table_lines
from shoe_daemon.errors import UserError, one_line, os_errors_at

if TYPE_CHECKING:
    from shoe_daemon.journal.summary import Summary

_JOURNAL = click.argument("file", type=click.Path(path_type=Path, readable=False))

_LAST: Final = "last"
_RED_CARD: Final = re.compile(r"(?:10|[2-9AJQK])?[♥♦]")


@click.group()
def command() -> None:
    """Verify, export, count and report what a table's journal holds."""


@command.command()
@_JOURNAL
@click.option(
    "--refold",
    is_flag=True,
    help="Decode the raw bytes and fold the observations again, and compare the results.",
)
@click.option("--head", metavar="HEX", help="A head hash noted elsewhere; it must be found.")
@click.option("--key", type=FILE, metavar="PEM", help="The public key; each ended shoe is signed.")
@click.option(
    "--clips", type=FOLDER, metavar="FOLDER", help="Compare the video clips in a folder too."
)
@JSON_OBJECT
@click.pass_context
def verify(ctx: click.Context, /, **options: Any) -> None:  # noqa: ANN401 - options, by name
    """
    Walk the hash chain and print each place where it breaks.

    A chain that was cut at its end is valid: --head or --key proves the end. With --key,
    compare it with the signatures that the daemon made at the end of each shoe: a chain
    that was computed again has no valid signatures.

    Ends with 1 where it is broken or not proved, and with 2 where FILE is no journal.
    """
    from shoe_daemon.cli.verify import verify_journal

    ctx.exit(verify_journal(**options))


@command.command()
@click.argument("folder", type=EXISTING_FOLDER)
def keygen(folder: Path) -> None:
    """
    Write a new key that signs a journal into FOLDER: journal.key and journal-public.pem.

    Keep journal.key on the table's computer only, and journal-public.pem with those who
    verify journals. Existing keys are never overwritten.
    """
    from shoe_daemon.cli.verify import MISSING_KEYS_EXTRA

    try:
        from shoe_daemon.journal.keys import make_keys
    except ImportError as error:
        raise UserError(MISSING_KEYS_EXTRA) from error
    private, public = make_keys(folder)
    click.echo(f"{private}: the private key; the table signs with it (journal.key_file)")
    click.echo(f"{public}: the public key; `journal verify --key` compares with it")


@command.command(context_settings={"show_default": False})
@_JOURNAL
@click.option("--observations", "what", flag_value="observations", help="What `replay` takes.")
@click.option(
    "--events", "what", flag_value="events", default=True, help="What was said (default)."
)
@click.option("--shoe", type=COUNT, metavar="N", help="Only this shoe.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    help="Where to, not stdout.",
)
def export(file: Path, what: str, shoe: int | None, out: Path) -> None:
    """
    Print events or observations as they are stored, one a line.

    With --shoe, the observations begin with the session that the shoe was dealt under.
    """
    from shoe_daemon.journal.reader import open_read_only

    with open_read_only(file) as reader:
        lines = reader.observation_lines if what == "observations" else reader.event_lines
        with _output(out) as output:
            output.writelines(line + b"\n" for line in lines(shoe))
            output.flush()


@contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    """Open stdout for ``-``, or a file that replaces `path` only if everything was written."""
    if str(path) == "-":
        yield sys.stdout.buffer
        return
    with _replacing(path) as descriptor, os.fdopen(descriptor, "wb") as file:
        yield file


@command.command()
@_JOURNAL
@JSON_OBJECT
def stats(file: Path, *, as_json: bool) -> None:
    """Count shoes, rounds, irregularities and what else is in FILE."""
    from shoe_daemon.journal.reader import open_read_only
    from shoe_daemon.journal.summary import summarise

    with open_read_only(file) as reader:
        summary = summarise(reader)
    if as_json:
        click.echo(msgspec.json.encode(summary, order="sorted"))
    else:
        click.echo("\n".join(summary_lines(file, summary)))


@command.command()
@_JOURNAL
@click.argument("shoe", default=_LAST, metavar="[ID|last]")
@click.option("--html", type=FILE, metavar="OUT", help="One page to print, instead of text.")
@click.option("--no-verify", is_flag=True, help="Do not verify the chain: quicker, less proof.")
@JSON_OBJECT
@click.pass_context
def shoe(  # noqa: PLR0913 - as many as there are options
    ctx: click.Context,
    file: Path,
    shoe: str,
    html: Path | None,
    *,
    no_verify: bool,
    as_json: bool,
) -> None:
    """
    Report on one shoe: its rounds, cards and irregularities.

    For staff only: a report names faces that the players may not have seen. Ends with 1
    where the journal's chain is broken.
    """
    from shoe_daemon.report.journal import read_shoe

    number = _shoe_number(shoe)
    with progress_display("verifying the chain") as progress:
        found = read_shoe(file, number, progress=None if no_verify else progress)
    if html is not None:
        from shoe_daemon.report.page import shoe_page

        write_page(html, shoe_page(found))
        click.echo(f"{html}: the report on shoe {found.shoe}", err=as_json)
    if as_json:
        click.echo(msgspec.json.encode(found, order="sorted"))
    elif html is None:
        from shoe_daemon.report.text import shoe_text

        # click removes the colour if stdout is not a terminal.
        click.echo(_RED_CARD.sub(_red, shoe_text(found)))
    ctx.exit(1 if found.proof is not None and found.proof.refuted else 0)


def _shoe_number(text: str) -> int | None:
    if text == _LAST:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise UserError(f"{text}: expected the number of a shoe, or `{_LAST}`")
    return int(text)


def _red(found: re.Match[str]) -> str:
    return click.style(found[0], fg="red")


def write_page(path: Path, page: str) -> None:
    """Write a page atomically, without access for other users, as the journal."""
    with _replacing(path) as descriptor, os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(page)


@contextmanager
def _replacing(path: Path) -> Iterator[int]:
    """
    Open a new file, which replaces `path` unless an error comes; others cannot read it. A link is
    followed, and a device or a pipe is written, not replaced.
    """
    path = path.resolve() if path.is_symlink() and path.is_file() else path
    if path.exists() and not path.is_file():
        with os_errors_at(f"{path}: cannot be written"):
            yield os.open(path, os.O_WRONLY)
        return
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
        new.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {one_line(error)}") from error
    finally:
        with suppress(OSError):
            new.unlink()


@command.command()
@_JOURNAL
@JSON_OBJECT
@click.pass_context
def integrity(ctx: click.Context, file: Path, *, as_json: bool) -> None:
    """
    Look over past shoes for repeats and for factory order.

    Ends with 1 where something was found that chance hardly gives. A shoe that
    is still under way is never looked at.
    """
    from shoe_daemon.report.integrity import integrity_text, read_integrity

    found = read_integrity(file)
    if as_json:
        answer = msgspec.to_builtins(found) | {"clean": found.clean}
        click.echo(msgspec.json.encode(answer, order="sorted"))
    else:
        click.echo(integrity_text(found))
    ctx.exit(0 if found.clean else 1)


def summary_lines(file: Path, summary: Summary) -> Iterator[str]:
    """Yield the statistics of a journal as `stats` prints them."""
    yield f"{file}: {summary.site}/{summary.table}"
    yield ""
    yield from table_lines(_overview(summary))
    numbers = {name: f"{number:,}" for name, number in summary.irregularities.items()}
    width = max(map(len, numbers.values()), default=0)
    counters = {
        source or "the reader": f"{counter.repeats:,} repeats, {counter.noise:,} of noise, "
        f"{counter.bytes:,} bytes"
        for source, counter in summary.counters.items()
    }
    consumers = {
        consumer: f"up to event {seq:,}, {summary.seq - seq:,} to come"
        for consumer, seq in summary.cursors.items()
    }
    for title, rows in (
        ("irregularities", {name: f"{text:>{width}}" for name, text in numbers.items()}),
        ("only counted", counters),
        ("consumers", consumers),
    ):
        if rows:
            yield ""
            yield f"  {title}"
            yield from table_lines(rows.items(), indent="    ")


def _overview(summary: Summary) -> list[tuple[str, str]]:
    times = "nothing yet"
    if summary.first_at and summary.last_at:
        times = f"{_time(summary.first_at)} to {_time(summary.last_at)} UTC"
    removed = f"; shoes up to {summary.removed:,} were removed" if summary.removed else ""
    return [
        ("made", f"{_time(summary.created)} UTC, in form {summary.version}"),
        ("holds", times),
        ("shoes", f"{summary.shoes:,}{removed}"),
        ("rounds", f"{summary.rounds:,} finished, {summary.aborted:,} aborted"),
        ("events", f"{sum(summary.events.values()):,}, the last is {summary.seq:,}"),
        ("observations", f"{summary.observations:,}, with {summary.captures:,} captures of bytes"),
        ("size", _size(summary.size)),
        ("head", summary.hash),
    ]


def _time(at: str) -> str:
    return at[:19].replace("T", " ")


def _size(size: int) -> str:
    for unit, amount in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= amount:
            return f"{size / amount:.1f} {unit}"
    return f"{size} bytes"


@command.command()
@_JOURNAL
@click.argument("target", type=PATH)
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


@command.command()
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


@command.command()
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
