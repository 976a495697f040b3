"""Loop of the demo: shows events as a picture or as lines until the end, then a summary."""

from __future__ import annotations

import contextlib
import logging
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Final

import click
import structlog

from shoe_daemon.demo.parts import DemoRunner, News
from shoe_daemon.demo.shoe import DemoSettings, house_of, simulator_of
from shoe_daemon.demo.summary import summary
from shoe_daemon.demo.view import BROKER_LIMITS, draw
from shoe_daemon.demo.view_model import Health, RecentEvents, order_line
from shoe_daemon.display.terminal.screen import Screen
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.event_text import event_lines
from shoe_daemon.logs import configure_logging
from shoe_daemon.process import stop_on_signals

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a service stop, and a closed terminal."""

_REFRESH_S: Final = 0.1
_DRAIN_S: Final = 10.0
"""Seconds in which the last events reach the subscriber, after the last round …"""

_DRAIN_AFTER_SIGNAL_S: Final = 1.0
"""… and after a signal."""


class Output:
    """
    Shows events as lines of text.

    Attributes:
        last_picture_s: Seconds for which the last picture stays when the demo ends by itself.
    """

    last_picture_s = 0.0

    def add(self, news: News) -> None:
        """Process events and commands."""
        for event in news.events:
            for line in event_lines(event):
                click.echo(line)
        if news.answered is not None and (ordered := order_line(news.answered)) is not None:
            click.echo(ordered)

    def show(self, health: Health) -> None:
        """Show the current state."""


class ScreenOutput(Output):
    """Shows a picture on the whole terminal."""

    last_picture_s = 2.0

    def __init__(self, runner: DemoRunner, screen: Screen) -> None:
        self._screen = screen
        self._recent = RecentEvents(time.monotonic)
        self._runner, self._table = runner, runner.table
        self._shown: object = None

    def add(self, news: News) -> None:
        """Process events and commands."""
        for event in news.events:
            self._recent.note(event)
        if news.answered is not None:
            self._recent.note_order(news.answered)
        self._table = news.table or self._table

    def show(self, health: Health) -> None:
        """Show the current state, if it has changed."""
        runner = self._runner
        view = self._recent.view(self._table, runner.house.name, health, runner.addresses)
        current = view, self._screen.size
        if current != self._shown:
            self._shown = current
            self._screen.show(draw(view, *self._screen.size))


def run_demo(settings: DemoSettings) -> int:
    """
    Run the demo to its end; return 1 if the table shown differs from the cards dealt.

    Raises:
        UserError: The house, the folder or the broker cannot be used.
    """
    with (
        stop_on_signals(*_ENDS) as stopping,
        _folder(settings.keep) as folder,
        _log(None if settings.debug else folder),
    ):
        house = house_of(settings)
        with DemoRunner(settings, house, folder) as runner:
            _introduce(runner, settings)
            as_text = settings.plain or settings.debug or not Screen.is_supported()
            with contextlib.nullcontext() if as_text else Screen() as screen:
                output = Output() if screen is None else ScreenOutput(runner, screen)
                _show(runner, output, stopping)
            health = runner.health
        runner.check.finish(interrupted=runner.dealer.interrupted)
        for line in summary(runner.check, house.decks, health, runner.subscriber.documents):
            click.echo(line)
        if settings.keep is not None:
            click.echo(f"journal kept: {runner.addresses.journal}")
    return 0 if runner.check.passed else 1


def _introduce(runner: DemoRunner, settings: DemoSettings) -> None:
    addresses, root = runner.addresses, runner.addresses.topics.removesuffix("/#")
    if addresses.camera:
        click.echo(f"camera:   {addresses.shoe}, above a simulated table")
    else:
        about = simulator_of(settings).about
        click.echo(f"shoe:     {addresses.shoe}, simulated: {about}, in {settings.mode} mode")
    click.echo(f"house:    {runner.house.name}; seed {runner.seed}")
    click.echo(f"journal:  {addresses.journal}")
    click.echo(f"broker:   {addresses.host}:{addresses.port}; {BROKER_LIMITS}")
    click.echo(f"topics:   {root}/state, …/alert/active, …/result/last, …/status, …/event/#")
    click.echo(f"to watch: {addresses.subscribe}")
    if addresses.board:
        click.echo(f"Board:    {addresses.table_page}   Pit: {addresses.pit_page}")
        if addresses.decide:
            click.echo(f"Decide:   {addresses.decide}")
    else:
        click.echo(addresses.no_board)
    if addresses.camera:
        click.echo(f"Camera:   {addresses.camera}   what it sees, and what was read")
    click.echo("Ctrl-C ends it")


def _show(runner: DemoRunner, output: Output, stopping: Event) -> None:
    """Show events until the demo has ended and all of them are published."""
    until: float | None = None
    while True:
        for news in runner.news(_REFRESH_S):
            output.add(news)
            for event in news.events:
                runner.check.show(event)
        output.show(runner.health)
        now = time.monotonic()
        if stopping.is_set() and not runner.dealer.interrupted:
            runner.dealer.stop()
            until = now + _DRAIN_AFTER_SIGNAL_S
        elif until is None and runner.dealer.over:
            until = now + _DRAIN_S
        if until is not None and (runner.settled or now > until):
            break
    if not stopping.is_set():
        stopping.wait(output.last_picture_s)


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
        raise UserError(f"--keep {keep}: it holds a journal already; name another folder")
    yield keep.absolute()


@contextlib.contextmanager
def _log(folder: Path | None) -> Iterator[None]:
    """Redirect all logs to a file in the folder; without one log everything to the terminal."""
    if folder is None:
        configure_logging(debug=True)
        try:
            yield
        finally:
            structlog.reset_defaults()
        return
    handler = logging.FileHandler(folder / "demo.log")
    logging.getLogger().addHandler(handler)
    with (folder / "demo.log").open("a", encoding="utf-8") as file:
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            logger_factory=structlog.WriteLoggerFactory(file),
        )
        try:
            yield
        finally:
            structlog.reset_defaults()
            logging.getLogger().removeHandler(handler)
            handler.close()
