"""`shoe-daemon display` and `watch`: show boards to browsers, or in the terminal."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import click
import msgspec
from msgspec import Struct

from shoe_daemon.cli.options import (
    BROKER,
    LETTERS,
    PATH,
    PROTOCOL,
    Number,
    broker_address,
    config_option,
    import_structlog_alone,
    require_modules,
)
from shoe_daemon.display.log.derived import SeqRange
from shoe_daemon.display.log.store import HistoryStore, logged_event
from shoe_daemon.display.log.summaries import LoggedEvent
from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader, StoredEvent
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.process import TERMINAL_ENDS, stop_on_signals
from shoe_daemon.table import is_staff

if TYPE_CHECKING:
    from shoe_daemon.display.config import DisplayConfig, DisplaySetup
    from shoe_daemon.display.terminal.watch import TableFeed
    from shoe_daemon.mqtt.settings import MqttSettings

Protocol = Literal["5", "3.1.1"]
"""A version of MQTT."""


@click.group(
    "display",
    short_help="Show tables to browsers: boards and the pit.",
    invoke_without_command=True,
)
@config_option("The display's configuration; see `check-config`.")
@BROKER
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="The address for browsers, in place of the file's; 127.0.0.1:8080 without a file.",
)
@click.pass_context
def display(
    context: click.Context, file: Path | None, broker: str | None, listen: str | None
) -> None:
    """
    Show any number of tables to browsers, until SIGTERM or Ctrl-C.

    /table/ID is a table's board, /table/ID/history its rounds, /pit all tables.
    It reads from the MQTT broker. It publishes requests of events that its log lacks, and
    operators' orders where [display.orders] has an operators file; nothing else.
    """
    if context.invoked_subcommand is not None:
        return
    import_structlog_alone()
    require_modules(
        ("starlette", "uvicorn"),
        "the display needs {}, an extra: pip install 'shoe-daemon[display]'",
    )
    from shoe_daemon.display.server import Display
    from shoe_daemon.logs import configure_logging

    configure_logging()
    Display(_display_setup(file, broker, listen)).run()


@display.command("import", short_help="Add journals to the log of the pit.")
@click.argument(
    "journals",
    metavar="JOURNAL...",
    nargs=-1,
    required=True,
    type=PATH,
)
@config_option("The display's configuration, with [display.history].", required=True)
def import_journals(journals: tuple[Path, ...], file: Path) -> None:
    """
    Add the public events of JOURNALs to the log of the pit; what it has already stays as it is.

    The display and the tables may be running.
    """
    import_structlog_alone()
    from shoe_daemon.display.config import LogFile, load_display
    from shoe_daemon.display.log.store import HistoryStore

    setup = load_display(file, inspecting=True)
    if setup.history is None or not isinstance(setup.history.log, LogFile):
        raise UserError(
            f"{file}: display.history.file is missing; expected a database's name (one of"
            " PostgreSQL is filled by shoe-daemon forward)"
        )
    log = setup.history.log.path
    try:
        with HistoryStore(log) as store:
            for path in journals:
                with _progress_bar(path) as show:
                    found = import_journal(store, path, show)
                click.echo(f"{path}: {found.name}, {found.events} events, {found.new} of them new")
    except sqlite3.DatabaseError as error:
        raise UserError(
            f"{log}: {error}; delete it, or start the display, which moves it aside"
        ) from error


@contextmanager
def _progress_bar(path: Path) -> Iterator[Callable[[int, int], None]]:
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=1, label=path.name, file=sys.stderr, hidden=hidden) as bar:

        def show(done: int, end: int) -> None:
            bar.length = end
            bar.update(done - bar.pos)

        yield show


def _display_setup(file: Path | None, broker: str | None, listen: str | None) -> DisplaySetup:
    from msgspec.structs import replace

    from shoe_daemon.display.config import DisplayConfig, load_display, set_up_display

    config = DisplayConfig() if file is None else load_display(file, serving=True).config
    if broker is not None:
        host, port = broker_address(broker)
        config = replace(config, mqtt=replace(config.mqtt, host=host, port=port))
    if listen is not None:
        config = replace(config, display=replace(config.display, listen=listen))
    return set_up_display(config, Path() if file is None else file.parent, serving=True)


@click.command("watch", short_help="Show the board of a table in this terminal.")
@click.argument("table", required=False)
@BROKER
@config_option("The configuration of a display, or of the table itself.")
@PROTOCOL
@click.option("--once", is_flag=True, help="Print one picture, and end.")
@click.option(
    "--wait",
    type=Number(0.1, 600),
    default=5.0,
    metavar="SECONDS",
    help="With --once: for so long the table may keep silent.",
)
@LETTERS
def watch(table: str | None, *, once: bool, letters: bool, **given: Any) -> None:  # noqa: ANN401 - click's options
    """
    Show the board of TABLE, live, until Ctrl-C: its cards as they come, what is due,
    the results, all five roads.

    TABLE is the table's id, or site.id. Without it, the only table is shown; where
    there are several, they are listed. The broker is 127.0.0.1:1883 unless told.
    """
    import_structlog_alone()
    require_modules(("rich",), "watch needs {}, an extra: pip install 'shoe-daemon[display]'")
    from shoe_daemon.display.terminal.appearance import LETTERS, chinese, plain
    from shoe_daemon.display.terminal.screen import Screen, has_colours
    from shoe_daemon.display.terminal.watch import watch as watch_live
    from shoe_daemon.display.terminal.watch import watch_once
    from shoe_daemon.logs import no_logs

    click.get_current_context().with_resource(no_logs())  # no lines in the picture
    feed, configured = _table_feed(given["file"], given["broker"], given["protocol"])
    symbols = LETTERS if letters else chinese()
    if not has_colours():
        symbols = plain(symbols)
    name = table or configured
    if once:
        if not (sys.stdout.encoding or "").lower().startswith("utf"):
            raise UserError(
                f"watch: the encoding here is {sys.stdout.encoding}; expected UTF-8, LANG=C.UTF-8"
            )
        found = watch_once(feed, name, symbols, given["wait"])
    elif not Screen.is_supported():
        raise UserError("watch: this is no terminal with UTF-8; expected one, or --once")
    else:
        with stop_on_signals(*TERMINAL_ENDS) as stopping:
            found = watch_live(feed, name, symbols, lambda: not stopping.is_set())
    for line in found:
        click.echo(line)


def _table_feed(
    file: Path | None, broker: str | None, protocol: Protocol | None
) -> tuple[TableFeed, str | None]:
    from shoe_daemon.display.terminal.watch import TableFeed

    config, table = configured_broker(file, broker, protocol)
    site, stale_after = config.display.site, config.display.stale_after
    return TableFeed(config.mqtt, site, stale_after=stale_after), table


def configured_broker(
    file: Path | None, broker: str | None, protocol: Protocol | None
) -> tuple[DisplayConfig, str | None]:
    """
    Return the configuration of a display with its checked broker; options take precedence. A
    table's configuration gives only its broker, and its id.
    """
    from msgspec.structs import replace

    from shoe_daemon.display.config import DisplayConfig

    config, table = (DisplayConfig(), None) if file is None else _read_config(file)
    mqtt: MqttSettings = config.mqtt
    if broker is not None:
        host, port = broker_address(broker)
        mqtt = replace(mqtt, host=host, port=port)
    if protocol is not None:
        mqtt = replace(mqtt, protocol=protocol)
    mqtt = mqtt.checked(Path() if file is None else file.parent)
    mqtt.check_prefix()
    return replace(config, mqtt=mqtt), table


def _read_config(file: Path) -> tuple[Any, str | None]:
    """Read the configuration of a display or a table; return also the table's id."""
    from shoe_daemon.config.sections import Config
    from shoe_daemon.display.config import DisplayConfig
    from shoe_daemon.settings.toml import convert_toml, read_toml

    mapping = read_toml(file, "a display's or a table's configuration")
    if "table" not in mapping:
        return convert_toml(DisplayConfig, mapping, str(file)), None
    table = convert_toml(Config, mapping, str(file))
    if table.mqtt is None:
        raise UserError(f"{file}: mqtt is missing; expected a broker")
    return DisplayConfig(mqtt=table.mqtt), f"{table.site}.{table.table.id}"


BATCH_SIZE: Final = 5000


class Imported(NamedTuple):
    """
    The result of an import.

    Attributes:
        name: ``site.table``.
        events: Public events of the journal.
        new: So many of them were not in the history.
    """

    name: str
    events: int
    new: int


class _Envelope(Struct, gc=False):
    at: str
    data: dict[str, Any]
    round: int | None
    seq: int
    shoe: int | None
    type: str


_decode = msgspec.json.Decoder(_Envelope).decode


def import_journal(
    store: HistoryStore, path: Path, progress: Callable[[int, int], None]
) -> Imported:
    """
    Add the public events of a journal to the history. It may be done again.

    Args:
        store: The history.
        path: The journal; a daemon may be writing it.
        progress: Receives the last imported number, and that of the journal's end.

    Raises:
        UserError: The journal cannot be read, or holds an event of another form.
    """
    with open_read_only(path) as reader:
        identity, end = reader.identity, reader.head().seq
        journal = _journal_of(store, reader, end)
        last, count, new = 0, 0, 0
        while last < end:
            stored = [each for each in reader.events(last, BATCH_SIZE) if each.seq <= end]
            until = stored[-1].seq if stored else end
            events = _public(stored, path)
            new += store.add_to_journal(journal, events, SeqRange(last + 1, until))
            count, last = count + len(events), until
            progress(last, end)
    return Imported(f"{identity.site}.{identity.table}", count, new)


def _journal_of(store: HistoryStore, reader: JournalReader, end: int) -> int:
    """Return the number of a journal in the history, by its first and its last events."""
    sample = [*reader.events(0), *reader.events(max(0, end - BATCH_SIZE), BATCH_SIZE)]
    identity = reader.identity
    return store.journal_with(identity.site, identity.table, _public(sample, reader.path))


def _public(stored: Iterable[StoredEvent], path: Path) -> list[LoggedEvent]:
    events = []
    for each in stored:
        if not is_staff(each.type):
            try:
                events.append(logged_event(_decode(each.body)))
            except (ValueError, KeyError) as error:
                raise UserError(f"{path}: event {each.seq}: {error}") from error
    return events
