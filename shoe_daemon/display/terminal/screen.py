"""
A whole terminal, kept as a canvas says; printed with rich, an extra.
"""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from typing import Self

from rich.console import Console
from rich.control import Control
from rich.segment import Segment, Segments
from rich.style import Style as RichStyle

from shoe_daemon.display.terminal.canvas import Canvas
from shoe_daemon.display.terminal.styles import Style

__all__ = ["Screen", "print_canvas", "segments"]


class Screen:
    """
    The terminal from `__enter__` to `__exit__`: only what has changed is drawn.
    """

    def __init__(self) -> None:
        self._console = _console()
        self._shown: Canvas | None = None
        self._changes = ExitStack()

    @staticmethod
    def able() -> bool:
        """
        Tell whether there is a terminal that can show it.
        """
        console = _console()
        return console.is_terminal and not console.is_dumb_terminal and _has_signs(console)

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

    @property
    def size(self) -> tuple[int, int]:
        """
        Columns and rows, at this moment.
        """
        size = self._console.size
        return size.width, size.height

    def show(self, canvas: Canvas) -> None:
        """
        Draw a canvas, where it differs from what is drawn.
        """
        changed = [
            segment
            for row in canvas.changes(self._shown)
            for segment in (Control.move_to(0, row).segment, *segments(canvas, row))
        ]
        if changed:
            self._print(changed)
        self._shown = canvas

    def _print(self, changed: Iterable[Segment]) -> None:
        self._console.print(Segments(changed), end="", crop=False, soft_wrap=True)


def print_canvas(canvas: Canvas) -> None:
    """
    Print a canvas once, row by row, wherever standard output goes.
    """
    console = _console()
    for row in range(canvas.height):
        line = Segments([*segments(canvas, row), Segment.line()])
        console.print(line, end="", crop=False, soft_wrap=True)


def segments(canvas: Canvas, row: int) -> Iterator[Segment]:
    """
    Give a row as rich prints it.
    """
    for text, style in canvas.runs(row):
        yield Segment(text, _rich(style))


@lru_cache(maxsize=1000)
def _rich(style: Style) -> RichStyle:
    return RichStyle(
        color=style.color,
        bgcolor=style.bgcolor,
        bold=style.bold or None,
        underline=style.underline or None,
    )


def _console() -> Console:
    return Console(file=sys.stdout, highlight=False)


def _has_signs(console: Console) -> bool:
    return console.encoding.startswith("utf")


@contextlib.contextmanager
def _silent_keyboard() -> Iterator[None]:
    """
    Let nothing typed appear, or stop what has the terminal; Ctrl-C works.
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
        # What was typed meanwhile was for this program, not for the shell.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)
