"""
The demo from its first line to its summary.
"""

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

from shoe_daemon.demo.footer import NO_BROKER_FOR_A_TABLE
from shoe_daemon.demo.output import Audience, audience_for
from shoe_daemon.demo.runner import Stage
from shoe_daemon.demo.settings import DemoSettings, house_of
from shoe_daemon.demo.summary import Tally
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.shutdown_signals import stop_on_signals

__all__ = ["perform"]

_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a stop, and a terminal that goes away."""

_TURN: Final = 0.1
_SETTLES: Final = 10.0
"""Seconds within which all that was dealt comes through …"""

_HURRY: Final = 1.0
"""… and for which it is waited where somebody wants an end."""


def perform(settings: DemoSettings) -> int:
    """
    Run the demo to its end; 1 where something else was shown than was dealt.

    Raises:
        UserError: The house, the folder, or the broker.
    """
    tally = Tally()
    with stop_on_signals(*_ENDS) as stopping, _folder(settings.keep) as folder, _log(folder):
        house = house_of(settings)
        with Stage(settings, house, folder) as stage:
            _introduce(stage, settings)
            with audience_for(stage.table, house.name, stage.places, plain=settings.plain) as who:
                _attend(stage, who, tally, stopping)
            health = stage.health
        stage.referee.finish(interrupted=stage.dealer.interrupted)
        for line in tally.lines(house.decks, health, stage.subscriber.documents, stage.referee):
            click.echo(line)
        if settings.keep is not None:
            click.echo(f"journal kept: {stage.places.journal}")
    return 0 if stage.referee.content else 1


def _introduce(stage: Stage, settings: DemoSettings) -> None:
    places, root = stage.places, stage.places.topics.removesuffix("/#")
    if places.camera:
        click.echo(f"camera:   {places.shoe}, above a simulated table")
    else:
        click.echo(f"shoe:     {places.shoe}, a simulated Angel Eye II in {settings.mode} mode")
    click.echo(f"house:    {stage.house.name}; seed {stage.seed}")
    click.echo(f"journal:  {places.journal}")
    click.echo(f"broker:   {places.host}:{places.port}; {NO_BROKER_FOR_A_TABLE}")
    click.echo(f"topics:   {root}/state, …/alert/active, …/result/last, …/status, …/event/#")
    click.echo(f"to watch: {places.subscribe}")
    if places.board:
        click.echo(f"Board:    {places.table_page}   Pit: {places.pit_page}")
    else:
        click.echo(places.no_board)
    if places.camera:
        click.echo(f"Camera:   {places.camera}   what it sees, and what was read")
    click.echo("Ctrl-C ends it")


def _attend(stage: Stage, who: Audience, tally: Tally, stopping: Event) -> None:
    """
    Tell the audience what happens, until all is over and told.
    """
    until: float | None = None
    while True:
        for news in stage.news(_TURN):
            who.tell(news)
            for event in news.events:
                tally.note(event)
                stage.referee.show(event)
        who.show(stage.health)
        now = time.monotonic()
        if stopping.is_set() and not stage.dealer.interrupted:
            stage.dealer.stop()
            until = now + _HURRY
        elif until is None and stage.dealer.over:
            until = now + _SETTLES
        if until is not None and (stage.settled or now > until):
            break
    if not stopping.is_set():
        stopping.wait(who.linger)


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """
    Give the folder that was asked for, or one that is removed.
    """
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
def _log(folder: Path) -> Iterator[None]:
    """
    Keep everybody's log out of the picture: it goes to a file beside the journal.
    """
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
            logger_factory=structlog.WriteLoggerFactory(file),
        )
        try:
            yield
        finally:
            structlog.reset_defaults()
            logging.getLogger().removeHandler(handler)
            handler.close()
