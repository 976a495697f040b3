"""Output of pictures: live on the whole terminal, or as rows."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from typing import Final, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.segment import Segment, Segments

Rows = list[list[Segment]]

_RENDERER: Final = Console(
    file=StringIO(), color_system="truecolor", legacy_windows=False, _environ={}
)


def render_rows(picture: RenderableType, width: int, height: int | None = None) -> Rows:
    """Lay out a picture in rows of exactly `width` columns; without a height, all that it has."""
    options = _RENDERER.options.update(width=width)
    if height is not None:
        options = options.update_height(height)
    return _RENDERER.render_lines(picture, options, pad=True)


def text_of(row: list[Segment]) -> str:
    """Return the characters of a row."""
    return "".join(segment.text for segment in row)


def has_colours() -> bool:
    """Tell whether standard output shows colours."""
    return _console().color_system is not None


def print_rows(rows: Rows) -> None:
    """Print rows to standard output, in the colours that it shows."""
    segments = [segment for row in rows for segment in (*row, Segment.line())]
    _console().print(Segments(segments), end="", crop=False, soft_wrap=True)


class Screen:
    """The whole terminal, from `__enter__` to `__exit__`."""

    def __init__(self) -> None:
        self._console = _console()
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._changes = ExitStack()

    @staticmethod
    def is_supported() -> bool:
        """Tell whether standard output is a terminal with UTF-8."""
        console = _console()
        usable = console.is_terminal and not console.is_dumb_terminal
        return usable and console.encoding.startswith("utf")

    def __enter__(self) -> Self:
        """Switch to the alternate screen; hide the cursor and typed characters."""
        with ExitStack() as changes:
            changes.enter_context(_silent_keyboard())
            changes.enter_context(self._live)
            self._changes = changes.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._changes.close()

    @property
    def size(self) -> tuple[int, int]:
        """Current columns and rows."""
        size = self._console.size
        return size.width, size.height

    def show(self, picture: RenderableType) -> None:
        """Draw a picture that fills the terminal."""
        self._live.update(picture, refresh=True)


def _console() -> Console:
    """Open standard output; without colours where they are not wanted or not possible."""
    terminal = sys.stdout.isatty()
    known = os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("NO_COLOR")
    return Console(
        file=sys.stdout,
        force_terminal=terminal,
        color_system="auto" if terminal and known else None,
        highlight=False,
    )


@contextlib.contextmanager
def _silent_keyboard() -> Iterator[None]:
    """Hide typed characters and disable Ctrl-Z; Ctrl-C works."""
    try:
        before = termios.tcgetattr(sys.stdin)
    except (OSError, ValueError, termios.error):  # standard input is no terminal
        yield
        return
    silent = [*before[:6], [*before[6]]]
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    silent[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        # Characters typed meanwhile were not meant for the shell.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)
