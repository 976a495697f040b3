"""Contents of a terminal after all that was written there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len

from tests.demo.demo_process import Terminal
from tests.waiting import PATIENCE, wait_for

__all__ = ["PATIENCE", "WATCH", "Screen"]

WATCH = (sys.executable, "-m", "shoe_daemon", "watch")

_PIECE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\x1b(?![\[])|\r|\n|([^\x1b\r\n]+)")
_UNFINISHED = re.compile(r"\x1b(\[\??[0-9;]*)?\Z")


class Screen(Terminal):
    """
    `watch` on a terminal that knows what stands where.

    Attributes:
        other: The other screen is shown, that programs take for themselves.
        cursor: The cursor is to be seen.
    """

    def __init__(self, folder: Path, *arguments: str, columns: int = 80, rows: int = 24) -> None:
        self.other, self.cursor = False, True
        self._at = self._x = self._y = 0
        self._cells = _blank(columns, rows)
        super().__init__(folder, *arguments, rows=rows, columns=columns, command=WATCH)

    def resize(self, columns: int, rows: int) -> None:
        """Make it larger or smaller; what stood there is gone."""
        self._read_on()
        self._cells = _blank(columns, rows)
        super().resize(columns, rows)

    @property
    def text(self) -> str:
        """The text that stands there now."""
        self._read_on()
        return "\n".join("".join(row) for row in self._cells)

    def wait_until(self, text: str) -> None:
        """Wait until a text stands there."""
        wait_for(lambda: text in self.text, f"{text!r} in\n{self.text}", timeout=PATIENCE)

    def wait_until_it_is(self, text: str) -> None:
        """Wait until nothing but this stands there."""
        try:
            wait_for(lambda: self.text == text, timeout=PATIENCE)
        except AssertionError:
            assert self.text == text

    def _read_on(self) -> None:
        written = bytes(self._bytes)[self._at :].decode(errors="ignore")
        unfinished = _UNFINISHED.search(written)
        if unfinished:
            written = written[: unfinished.start()]
        self._at += len(written.encode())
        for mark, numbers, verb, text in _pieces(written):
            if verb:
                self._obey(mark + verb, numbers)
            else:
                self._write(text)

    def _obey(self, verb: str, numbers: str) -> None:
        if verb in {"?h", "?l"}:
            self.other = verb == "?h" if numbers == "1049" else self.other
            self.cursor = verb == "?h" if numbers == "25" else self.cursor
        elif verb == "H":
            row, _, column = numbers.partition(";")
            self._x, self._y = int(column or 1) - 1, int(row or 1) - 1
        else:
            assert verb == "m", (verb, numbers)

    def _write(self, text: str) -> None:
        for sign in text:
            if sign == "\r":
                self._x = 0
            elif sign == "\n":
                self._y += 1
            else:
                self._put(sign)

    def _put(self, sign: str) -> None:
        wide = cell_len(sign) > 1
        if self._y < len(self._cells) and self._x + wide < len(self._cells[0]):
            self._cells[self._y][self._x] = sign
            if wide:
                self._cells[self._y][self._x + 1] = ""
        self._x += 1 + wide


def _blank(columns: int, rows: int) -> list[list[str]]:
    return [[" "] * columns for _ in range(rows)]


def _pieces(written: str) -> Iterator[tuple[str, str, str, str]]:
    for found in _PIECE.finditer(written):
        mark, numbers, verb, text = found.groups()
        yield mark or "", numbers or "", verb or "", text or found[0]
