"""
The cases of the golden corpus, and the text that the product makes of each.

All that is imported from the product stands at the top of this file.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, closing
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import click
import msgspec
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game import POLICY_IDS
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.reader import fold_table
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.shoe import report_on
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table import Event, encode_event
from shoe_daemon.table.observations import (
    AnyObservation,
    Command,
    Session,
    decode_observation,
)
from shoe_daemon.table.options import Options
from shoe_daemon.table.state import TableState
from shoe_daemon.table.table import Table, was_applied
from tests.golden import service_documents
from tests.golden.parts import read_parts
from tests.public_json import encode_public_table
from tests.table.dealer import refusal_text

HERE: Final = Path(__file__).parent
TESTS: Final = HERE.parent
EXPECTED: Final = HERE / "expected"
COLUMNS: Final = 80

SESSION: Final = "golden"
HEARTBEAT_S: Final = 10
PUBLISHED: Final = "1970-01-01T00:00:00.000Z"
"""The moment at which every document is published."""

SHORT: Final = 40
"""Bytes; a value of this length is repeated in full."""

TOPICS: Final = Topics("site", "table")

READING_VERSION: Final = re.compile(r'(report by |"reported_by":"|; version )[0-9][^"\s<]*')
"""The version that reads a journal; it changes with every release."""

FILE_SIZE: Final = re.compile(r'"size":\d+')
"""The size of a database depends on the version of SQLite."""

Documents = dict[str, dict[str, bytes]]
"""The fields of retained documents by the end of their topics."""

JOURNAL_COMMANDS: Final = (
    "verify {} --refold",
    "stats {} --json",
    "export {} --observations",
    "export {} --events",
    "integrity {}",
    "integrity {} --json",
)
REPORT_FORMS: Final = ("", "--json", "--html shoe.html")


class Log(NamedTuple):
    """An observation log."""

    title: str
    observations: list[AnyObservation]


def read_logs(text: str) -> list[Log]:
    """Read the logs of a case."""
    logs: list[Log] = []
    for line in text.split("\n"):
        if line.startswith("#") or not logs:
            logs.append(Log(line.lstrip("# "), []))
        if line.strip() and not line.startswith("#"):
            logs[-1].observations.append(decode_observation(line))
    return logs


@cache
def log_texts() -> dict[str, str]:
    """Return the observation logs of each case, as text."""
    return {
        name if name == path.stem else f"{path.stem}/{name}": text
        for path in sorted((HERE / "logs").glob("*.jsonl"))
        for name, text in read_parts(path).items()
    }


def all_logs() -> list[Log]:
    """Read the observation logs of all cases."""
    return [log for text in log_texts().values() for log in read_logs(text)]


def captures() -> list[Path]:
    """List the observations of all byte captures."""
    return sorted((TESTS / "captures").rglob("*.observations.jsonl"))


def journals() -> list[Path]:
    """List the journals, as SQL."""
    return [
        *sorted((TESTS / "journal" / "fixtures").glob("*.sql")),
        *sorted((HERE / "journals").glob("*.sql")),
    ]


def part_of(name: str) -> tuple[Path, str]:
    """Return the file with the expected text of a case, and the name of its part there."""
    subject, _, part = name.partition("/")
    return EXPECTED / f"{subject}.txt", part or subject


def cases() -> dict[str, Callable[[], str]]:
    """Return all cases: the name, and the function that makes the text."""
    made: dict[str, Callable[[], str]] = {}
    for name, text in log_texts().items():
        made[name] = partial(_logs, text)
    for path in captures():
        name = f"{path.parent.name}-{path.name.removesuffix('.observations.jsonl')}"
        made[f"captures/{name}"] = partial(_capture, path)
    for path in journals():
        made[f"journals/{path.stem}"] = partial(_journal, path)
    for path in sorted((HERE / "checkpoints").glob("*.txt")):
        for name, text in read_parts(path).items():
            made[f"checkpoints/{path.stem}-{name}"] = partial(_checkpoint, text)
    for policy in POLICY_IDS:
        made[f"policies/{policy}"] = partial(_proposals, policy)
    for number, line in enumerate(_command_lines(), 1):
        slug = re.sub(r"[^a-z0-9]+", "-", line.lower()).strip("-")[:50].strip("-")
        made[f"commands/{number:02}-{slug}"] = partial(_command, line)
    return made | {"help": _help_of_all_commands, "service_documents": service_documents.documents}


# Logs


def _logs(text: str) -> str:
    lines: list[str] = []
    opening: Documents = {}
    for log in read_logs(text):
        lines += [f"# {log.title}", *_transcript(log, Table(), opening)]
    return _text(lines)


def _capture(path: Path) -> str:
    """Fold a capture as `replay` does: only the bytes of a `.cap` file have times."""
    observations = [decode_observation(line) for line in path.read_bytes().splitlines()]
    timed = path.with_name(path.name.replace(".observations.jsonl", ".cap"))
    timeless = not timed.exists()
    table = Table(TableState(session=Session(options=Options(timeless=timeless))))
    return _text(_transcript(Log("", observations), table, {}))


def _checkpoint(text: str) -> str:
    """Restore a table from its checkpoint, and fold the observations after it."""
    checkpoint, _, following = text.partition("\n")
    try:
        table = Table.restore(base64.b64decode(checkpoint))
    except UserError as error:
        return f"{error}\n"
    (log,) = read_logs(following)
    return _text([f"# {log.title}", *_transcript(log, table, {})])


def _proposals(policy: str) -> str:
    return _text(_proposals_by_log(policy))


def _proposals_by_log(policy: str) -> Iterator[str]:
    """Yield all irregularities of the logs, each with what the policy proposes."""
    for text in read_parts(HERE / "logs" / "irregularities.jsonl").values():
        for log in read_logs(text):
            table = Table()
            for each in log.observations:
                events = table.apply(_under(policy, each))
                raised = [event for event in events if event.type.endswith("irregularity")]
                yield from map(_published, raised)


def _under(policy: str, observation: AnyObservation) -> AnyObservation:
    if isinstance(observation, Session):
        return msgspec.structs.replace(observation, policy=policy)
    return observation


def _transcript(log: Log, table: Table, opening: Documents) -> Iterator[str]:
    """
    Yield all that a table publishes, then the reports on its shoes.

    The first documents of a log are compared with those of the first log of the file, which
    `opening` holds or receives.
    """
    publisher = _Publisher(opening)
    said: list[CausedEvent] = []
    following = (*log.observations[1:], None)
    for number, observation in enumerate(log.observations, 1):
        order = observation if isinstance(observation, Command) else None
        cause = str(type(observation).__struct_config__.tag)
        words = [] if order is None else [order.name, *filter(None, [order.action])]
        yield " ".join([str(number), cause, *words])
        if order is not None and (refused := refusal_text(table, order) or order.refused):
            yield f"  refused: {refused}"
        events = table.apply(observation) if was_applied(following[number - 1]) else []
        yield from map(_published, events)
        said += [CausedEvent(event, number, cause, order) for event in events]
        publisher.show(table, number)
        yield from publisher.documents(events)
        opening.update({} if opening else publisher.before)
    yield from _reports(said)


def _published(event: Event) -> str:
    return f"  {_topic_of(event)} {encode_event(event).decode()}"


def _topic_of(event: Event) -> str:
    return TOPICS.event(event.type).removeprefix(f"{TOPICS.root}/")


def _reports(said: Sequence[CausedEvent]) -> Iterator[str]:
    # A shoe that began before a checkpoint is not reported.
    starts = [at for at, each in enumerate(said) if each.event.type == "shoe_started"]
    for first, end in pairwise([*starts, len(said)]):
        report = report_on(said[first:end], replaced=end < len(said))
        yield f"report on shoe {report.shoe}"
        yield from changed({}, fields(msgspec.json.encode(report, order="sorted")))


class _Publisher:
    """
    Takes the retained documents of a table as the daemon publishes them, without a broker.

    Attributes:
        before: The fields of each document as published last.
    """

    def __init__(self, before: Documents) -> None:
        self.before = dict(before)
        self.alarm = None
        self._waiting: dict[str, Any] = {}
        self._core = SimpleNamespace(
            alarm=None,
            flood=None,
            notice=None,
            clock_alarm=None,
            fault=None,
            journal=SimpleNamespace(head=SimpleNamespace(observation=0), signature=None),
            table=None,
        )
        self._daemon = StatePublisher(
            cast("Any", self._core), cast("Any", self), (), SESSION, HEARTBEAT_S
        )

    def show(self, table: Table, number: int) -> None:
        """Let the daemon's own code decide which documents are new."""
        self._core.table, self._core.journal.head.observation = table, number
        self._daemon.publish_if_changed()

    def retain(self, suffix: str, document: bytes | Callable[[str], bytes], _seq: int) -> None:
        """Take a document, or the function that makes it at the moment of publication."""
        self._waiting[suffix] = document

    def notify(self, _seq: int) -> None:
        """Ignore the number of the last event."""

    def documents(self, events: Sequence[Event]) -> Iterator[str]:
        """Yield what changed in each document that was published after these events."""
        shown = {_data(event): f"data of {_topic_of(event)}" for event in events}
        for suffix, document in self._waiting.items():
            now = fields(document if isinstance(document, bytes) else document(PUBLISHED))
            yield f"  {suffix}"
            yield from changed(self.before.get(suffix, {}), now, shown)
            shown |= {value: f"{suffix} {name}" for name, value in now.items()}
            self.before[suffix] = now
        self._waiting.clear()


def _data(event: Event) -> bytes:
    return fields(encode_event(event), nested=False)["data"]


def fields(payload: bytes, *, nested: bool = True) -> dict[str, bytes]:
    """
    Return the exact bytes of each field of a JSON object, of each field of an object in it, and
    of each element of a list of objects.
    """
    found: dict[str, bytes] = {}
    parts = []
    for name, raw in msgspec.json.decode(payload, type=dict[str, msgspec.Raw]).items():
        value = bytes(raw)
        parts.append(b'"%s":%s' % (name.encode(), value))
        if value.startswith(b"[{"):
            elements = list(map(bytes, msgspec.json.decode(value, type=list[msgspec.Raw])))
            assert value == b"[" + b",".join(elements) + b"]"
            found[name] = b"%d elements" % len(elements)
            found |= {f"{name}[{place}]": each for place, each in enumerate(elements)}
        elif value.startswith(b'{"') and nested:
            inner = fields(value, nested=False)
            found[name] = b"object"
            found |= {f"{name}.{inner_name}": each for inner_name, each in inner.items()}
        else:
            found[name] = value
    assert payload == b"{" + b",".join(parts) + b"}", "nothing lies between the fields"
    return found


def changed(
    before: dict[str, bytes], now: dict[str, bytes], shown: dict[bytes, str] | None = None
) -> Iterator[str]:
    """
    Yield one line for each field that is new, changed or gone.

    A long value that stood in another field before, or was shown before, is not repeated.
    """
    known = {value: f"was {name}" for name, value in before.items()}
    known |= {value: f"= {name}" for value, name in (shown or {}).items()}
    for name, value in now.items():
        if before.get(name) != value:
            repeated = known.get(value) if len(value) > SHORT else None
            yield f"    {name} {repeated or value.decode()}"
    for name in before:
        if name not in now and not {"[", "."} & set(name):
            yield f"    {name} is gone"


# Journals


def _journal(dump: Path) -> str:
    """Read a journal by the commands of the command line; then fold it from its checkpoint."""
    with TemporaryDirectory() as folder, chdir(folder):
        with closing(sqlite3.connect("table.journal")) as connection:
            connection.executescript(dump.read_text(encoding="utf-8"))
        path = Path("table.journal")
        lines = [run_command(f"journal {each.format(path)}") for each in JOURNAL_COMMANDS]
        for shoe in _shoes(path):
            lines += [run_command(f"journal shoe {path} {shoe} {form}") for form in REPORT_FORMS]
            lines.append(Path("shoe.html").read_text(encoding="utf-8"))
        lines.append(_folded(path))
    text = "\n".join(lines)
    text = READING_VERSION.sub(r"\1VERSION", text)
    return FILE_SIZE.sub('"size":SIZE', text)


def _shoes(path: Path) -> list[int]:
    with JournalReader(path) as reader:
        rows = reader.connection.execute("SELECT DISTINCT shoe FROM event WHERE shoe > 0")
        return sorted(row[0] for row in rows)


def _folded(path: Path) -> str:
    """Fold a journal from its last checkpoint, as a start of the daemon does."""
    with JournalReader(path) as reader:
        table = fold_table(reader)
    public = fields(encode_public_table(table.public()))
    return _text(["the table after a start", *changed({}, public)])


# The command line


def run_command(line: str) -> str:
    """Run a command and return its line, its output and its exit status."""
    runner = CliRunner(env={"COLUMNS": str(COLUMNS), "NO_COLOR": "1"})
    result = runner.invoke(main, shlex.split(line))
    end = f"exit status {result.exit_code}\n" if result.exit_code else ""
    output = result.stdout_bytes.decode() + result.stderr
    return f"$ shoe-daemon {line}\n{output}{end}"


def _command_lines() -> list[str]:
    return (HERE / "commands.txt").read_text(encoding="utf-8").splitlines()


def _command(line: str) -> str:
    """Run a command beside the captures and the logs that it names."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("captures").symlink_to(TESTS / "captures")
        for name in re.findall(r"golden/logs/(\S+)\.jsonl", line):
            path = Path(f"golden/logs/{name}.jsonl")
            path.parent.mkdir(parents=True)
            path.write_text(log_texts()[name], encoding="utf-8")
        return run_command(line)


def _help_of_all_commands() -> str:
    """
    Return the help text of every command.

    They are made in a process of their own: click remembers the option ``--help`` of a command,
    which differs where a test has called the command by itself.
    """
    return subprocess.run(
        [sys.executable, "-m", __name__],
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONUTF8": "1"},
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()


def _help(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    settings: dict[str, Any] = {"terminal_width": COLUMNS, **command.context_settings}
    context = click.Context(command, parent, name, **settings)
    yield f"$ {context.command_path} --help\n{command.get_help(context)}\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _help(found, context, each)


def _text(lines: Iterator[str] | Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write("\n".join(_help(main, None, "shoe-daemon")))
