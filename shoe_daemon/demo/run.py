"""Loop of the demo: shows the table as a board or as lines until the end, then the last line."""

from __future__ import annotations

import contextlib
import queue
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from shoe_daemon.demo.notes import Told, note_rows
from shoe_daemon.demo.parts import PERSON, PIN, SITE, TABLE, Demo
from shoe_daemon.demo.shoe import DemoSettings, house_of, simulator_of
from shoe_daemon.demo.supervisor import OPERATOR
from shoe_daemon.display.terminal.appearance import LETTERS, plain
from shoe_daemon.display.terminal.screen import Screen, has_colours
from shoe_daemon.display.terminal.watch import TableFeed, watch
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.event_text import event_lines
from shoe_daemon.game import House, find_policy
from shoe_daemon.logs import no_logs
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.process import TERMINAL_ENDS, stop_on_signals
from shoe_daemon.table import Event

_POLL_S: Final = 0.05


def run_demo(settings: DemoSettings) -> None:
    """
    Run the demo to its end.

    Raises:
        UserError: The house, the folder or the broker cannot be used, or a part has ended.
    """
    lines: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with (
        stop_on_signals(*TERMINAL_ENDS) as stopping,
        _folder(settings.keep) as folder,
        no_logs(),
    ):
        house = house_of(settings)
        find_policy(settings.policy)
        if not settings.camera:
            simulator_of(settings)
        as_text = settings.plain or settings.debug or not Screen.is_supported()
        note = lines.put if as_text else lambda _event: None
        with Demo(settings, house, folder, stopping, note) as demo:
            _introduce(demo, settings, house, folder)
            if as_text:
                _show_lines(demo, lines)
            else:
                _show_board(demo)
        if as_text:
            _print(lines)
        click.echo(last_line(demo))


def _introduce(demo: Demo, settings: DemoSettings, house: House, folder: Path) -> None:
    links, (host, port) = demo.links, demo.mqtt.address
    is_5 = demo.mqtt.protocol == "5"
    kind = "mosquitto" if is_5 else "inside this process, MQTT 3.1.1, no wills"
    after = f"{settings.decide_after:g} s"
    rows = {
        "Board": links.board,
        "Dealer": links.dealer,
        "Pit": links.pit,
        "Log": links.log,
        "Report": links.report,
        "Camera": links.camera,
        "Decide": f"{links.decide} as {PERSON}, PIN {PIN}; after {after} a script decides",
        "Shoe": f"{demo.shoe}; seed {demo.seed}",
        "House": f"{house.name}; policy {settings.policy}",
        "Broker": f"{host}:{port}, {kind}, no access control",
        "Watch": f"mosquitto_sub -h {host} -p {port} -v -t '{Topics(SITE, TABLE).root}/#'",
        "Folder": str(folder),
    }
    for name, text in rows.items():
        if text:
            click.echo(f"{name + ':':<9}{text}")
    click.echo("Ctrl-C ends it")


def _show_lines(demo: Demo, lines: queue.SimpleQueue[Event]) -> None:
    while demo.going() and not demo.dealer.over:
        _print(lines)
        time.sleep(_POLL_S)


def _print(lines: queue.SimpleQueue[Event]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            for line in event_lines(lines.get_nowait()):
                click.echo(line)


def _show_board(demo: Demo) -> None:
    supervisor = demo.supervisor
    # The introduction can be read until then.
    while demo.going() and not supervisor.reader_up.wait(_POLL_S):
        pass

    def told() -> Told:
        left = supervisor.seconds_left
        return Told(
            demo.links,
            demo.dealer.lying,
            None if left is None else float(round(left)),
            len(supervisor.caught),
            supervisor.last,
        )

    symbols = LETTERS if has_colours() else plain(LETTERS)
    watch(
        TableFeed(demo.mqtt, SITE),
        TABLE,
        symbols,
        demo.going,
        lambda state, width: note_rows(told(), state, width),
    )


def last_line(demo: Demo) -> str:
    """State in one line what was dealt, caught and decided."""
    supervisor = demo.supervisor
    at_once = f", {min(demo.warm_up, demo.dealer.rounds)} of them at once" if demo.warm_up else ""
    names = {PERSON: "by you", OPERATOR: "by the script", None: "by the equipment"}
    counts = Counter(names.get(who, f"by {who}") for who in supervisor.closed.values())
    decided = ", ".join(f"{count} {who}" for who, count in sorted(counts.items()))
    still = len(supervisor.caught - supervisor.closed.keys())
    return (
        f"{_many(demo.dealer.rounds, 'round')} dealt{at_once}; "
        f"{_many(len(supervisor.caught), 'irregularity', 'irregularities')} caught"
        f"{f'; decided: {decided}' if decided else ''}{f'; {still} still open' if still else ''}"
    )


def _many(count: int, what: str, more: str = "") -> str:
    return f"{count} {what if count == 1 else more or f'{what}s'}"


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Open the requested folder, or a temporary one."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="shoe-demo-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--keep {keep}: {one_line(error)}") from error
    if (keep / "journal.db").exists():
        raise UserError(f"--keep {keep}: it has a journal already; name another folder")
    yield keep.absolute()
