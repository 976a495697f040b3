"""
Who watches: a picture on a terminal, or lines of text for anything else.
"""

from __future__ import annotations

import time
from typing import Final, Protocol, Self

import click

from shoe_daemon.demo.runner import News
from shoe_daemon.demo.view import draw
from shoe_daemon.demo.view_model import Health, Keeper, Places, order_line
from shoe_daemon.display.terminal.screen import Screen
from shoe_daemon.event_text import event_lines
from shoe_daemon.table import PublicTable

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
            for line in event_lines(event):
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
        self._screen = Screen()
        self._keeper = Keeper(time.monotonic)
        self._table, self._house, self._places = table, house, places

    def __enter__(self) -> Self:
        """
        Take the terminal.
        """
        self._screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Give the terminal back as it was.
        """
        self._screen.__exit__()

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
        self._screen.show(draw(board, *self._screen.size))


def audience_for(table: PublicTable, house: str, places: Places, *, plain: bool) -> Audience:
    """
    Choose a picture where there is a terminal that can show it.
    """
    return Lines() if plain or not Screen.able() else Picture(table, house, places)
