"""The person at the terminal: what is shown, asked and typed in a calibration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Queue
from threading import Thread
from typing import Final

from shoe_daemon.errors import UserError

_POLL_INTERVAL_S: Final = 0.3
"""Interval at which a closed terminal is noticed."""


class Terminal:
    """
    Shows lines, asks questions, and takes what is typed meanwhile.

    Args:
        show: Prints a line.
        lines: What is typed, until the terminal is closed.
        answers: Where the lines are put; a page may put answers there too.

    Attributes:
        is_closed: True once all lines are among the answers.
    """

    def __init__(
        self, show: Callable[[str], None], lines: Iterable[str], answers: Queue[str] | None = None
    ) -> None:
        self.show = show
        self.is_closed = False
        self._answers = Queue[str]() if answers is None else answers
        Thread(target=self._listen, args=(lines,), daemon=True).start()

    def _listen(self, lines: Iterable[str]) -> None:
        with contextlib.suppress(ValueError):  # standard input was closed
            for line in lines:
                self._answers.put(line.strip())
        self.is_closed = True

    def ask(self, question: str, advice: str = "") -> str:
        """Show a question, and wait for its answer; a `UserError` if the terminal is closed."""
        self.show(question)
        while True:
            is_last = self.is_closed
            try:
                return self._answers.get(timeout=_POLL_INTERVAL_S)
            except Empty:
                if is_last:
                    raise UserError(f"nobody answers: the terminal is closed{advice}") from None

    def typed(self) -> Iterator[str]:
        """Yield what was typed so far, and not asked for."""
        with contextlib.suppress(Empty):
            while True:
                yield self._answers.get_nowait()
