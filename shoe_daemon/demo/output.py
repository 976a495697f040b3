"""Output of the demo: a picture on a terminal, lines of text otherwise."""

from __future__ import annotations

import time
from typing import Final, Self

import click

from shoe_daemon.demo.runner import News
from shoe_daemon.demo.view import draw
from shoe_daemon.demo.view_model import Addresses, Health, RecentEvents, order_line
from shoe_daemon.display.terminal.screen import Screen
from shoe_daemon.event_text import event_lines
from shoe_daemon.table import PublicTable

__all__ = ["Output", "open_output"]

_LAST_PICTURE_S: Final = 2.0


class Output:
    """
    Shows events as lines of text.

    Attributes:
        last_picture_s: Seconds for which the last picture stays when the demo ends by itself.
    """

    last_picture_s = 0.0

    def __enter__(self) -> Self:
        """Prepare the terminal."""
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal."""

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

    last_picture_s = _LAST_PICTURE_S

    def __init__(self, table: PublicTable, house: str, addresses: Addresses) -> None:
        self._screen = Screen()
        self._recent = RecentEvents(time.monotonic)
        self._table, self._house, self._addresses = table, house, addresses
        self._shown: object = None

    def __enter__(self) -> Self:
        """Prepare the terminal."""
        self._screen.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal."""
        self._screen.__exit__()

    def add(self, news: News) -> None:
        """Process events and commands."""
        for event in news.events:
            self._recent.note(event)
        if news.answered is not None:
            self._recent.note_order(news.answered)
        self._table = news.table or self._table

    def show(self, health: Health) -> None:
        """Show the current state, if it has changed."""
        view = self._recent.view(self._table, self._house, health, self._addresses)
        current = view, self._screen.size
        if current != self._shown:
            self._shown = current
            self._screen.show(draw(view, *self._screen.size))


def open_output(table: PublicTable, house: str, addresses: Addresses, *, plain: bool) -> Output:
    """Choose a picture if standard output is a terminal that supports it."""
    if plain or not Screen.is_supported():
        return Output()
    return ScreenOutput(table, house, addresses)
