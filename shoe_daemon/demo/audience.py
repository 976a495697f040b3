"""
Who watches: a picture on a terminal, or lines of text for anything else.
"""

from __future__ import annotations

import contextlib
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final, Protocol, Self

import click
from rich.console import Console
from rich.control import Control
from rich.segment import Segments

from shoe_daemon.demo.board import Health, Keeper, Places, order_line
from shoe_daemon.demo.canvas import Canvas
from shoe_daemon.demo.stage import News
from shoe_daemon.demo.view import draw
from shoe_daemon.narration import tell
from shoe_daemon.table.snapshot import PublicTable

__all__ = ["Audience", "Lines", "Picture", "audience_for"]

_LINGER: Final = 2.0
"""Seconds for which the last picture stays when the demo ends by itself."""


class Audience(Protocol):
    """
    Told what happens, on the thread that made it.
    """

    linger: float

    def __enter__(self) -> Self:
        """
        Make ready.
        """
        ...

    def __exit__(self, *_: object) -> None:
        """
        Leave everything as it was.
        """
        ...

    def tell(self, news: News) -> None:
        """
        Tell what has happened.
        """
        ...

    def show(self, health: Health) -> None:
        """
        Show how it stands now, if that is not shown already.
        """
        ...


class Lines:
    """
    Tells in lines.
    """

    linger = 0.0

    def __enter__(self) -> Self:
        """
        Nothing has to be made ready.
        """
        return self

    def __exit__(self, *_: object) -> None:
        """
        Nothing was changed.
        """

    def tell(self, news: News) -> None:
        """
        Write a line for each event that does not go without saying.
        """
        for event in news.events:
            for line in tell(event):
                click.echo(line)
        if news.said is not None and (ordered := order_line(news.said)) is not None:
            click.echo(ordered)

    def show(self, health: Health) -> None:
        """
        Lines stay where they are.
        """


class Picture:
    """
    Draws the table on the whole terminal, and only what has changed of it.
    """

    linger = _LINGER

    def __init__(self, table: PublicTable, house: str, places: Places) -> None:
        self._console = Console(file=sys.stdout, highlight=False)
        self._keeper = Keeper(time.monotonic)
        self._table, self._house, self._places = table, house, places
        self._shown: Canvas | None = None
        self._changes = ExitStack()

    def __enter__(self) -> Self:
        """
        Take the terminal: another screen, no cursor, nothing that is typed appears.
        """
        with ExitStack() as changes:
            changes.enter_context(_silent_keyboard())
            changes.callback(self._console.show_cursor, show=True)
            changes.callback(self._console.set_alt_screen, enable=False)
            self._console.set_alt_screen(enable=True)
            self._console.show_cursor(show=False)
            self._changes = changes.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Give the terminal back as it was.
        """
        self._changes.close()

    def tell(self, news: News) -> None:
        """
        Remember what happened.
        """
        for event in news.events:
            self._keeper.note(event)
        if news.said is not None:
            self._keeper.note_order(news.said)
        self._table = news.table or self._table

    def show(self, health: Health) -> None:
        """
        Draw the table, where it differs from what is drawn.
        """
        board = self._keeper.board(self._table, self._house, health, self._places)
        size = self._console.size
        canvas = draw(board, size.width, size.height)
        segments = [
            segment
            for row in canvas.changes(self._shown)
            for segment in (Control.move_to(0, row).segment, *canvas.segments(row))
        ]
        if segments:
            self._console.print(Segments(segments), end="", crop=False, soft_wrap=True)
        self._shown = canvas


def audience_for(table: PublicTable, house: str, places: Places, *, plain: bool) -> Audience:
    """
    Choose a picture where there is a terminal that can show it.
    """
    console = Console(file=sys.stdout)
    able = console.is_terminal and not console.is_dumb_terminal
    if plain or not able or not console.encoding.startswith("utf"):
        return Lines()
    return Picture(table, house, places)


@contextlib.contextmanager
def _silent_keyboard() -> Iterator[None]:
    """
    Let nothing typed appear, or stop the demo while it has the terminal; Ctrl-C works.
    """
    try:
        before = termios.tcgetattr(sys.stdin)
    except (OSError, ValueError, termios.error):  # no terminal to type at
        yield
        return
    silent = [*before[:6], [*before[6]]]
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    silent[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        # What was typed meanwhile was for the demo, not for the shell.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)
