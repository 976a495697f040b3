"""
Scans a deck: the codes of a line or a capture, and what a person types meanwhile, go to the
learning or the verification of a deck.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from msgspec import Struct

from calibration.deck_learning import DeckError
from calibration.terminal import Terminal
from drivers import (
    Driver,
    Frame,
    FrameKind,
    LineError,
    LineSettings,
    Mark,
    Transport,
    load_capture,
    open_transport,
)
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Gap

_FILE: Final = "file:"
_REOPEN_S: Final = 1.0
_LAST_SILENCE_S: Final = 60.0


class _Scanning(Protocol):
    """A deck that is being scanned; a method may raise `DeckError`."""

    @property
    def is_complete(self) -> bool: ...
    def prompt(self) -> list[str]: ...
    def take(self, code: str) -> list[str]: ...
    def undo(self) -> list[str]: ...


class Scan(Struct, frozen=True, kw_only=True):
    """
    The reader, and the person who scans.

    Attributes:
        port: The line, or a capture.
        driver: One that learns codes, without its table.
        line: Settings of the line.
        stopping: Ends the scanning.
        terminal: Where a person types ``u`` to take the last card back, ``stop`` to end.
        fail: Whether a `DeckError` is raised, instead of printed.
        seconds: Ends it after so long; None for never.
    """

    port: str
    driver: Driver
    line: LineSettings
    stopping: Event
    terminal: Terminal
    fail: bool = False
    seconds: float | None = None

    @property
    def is_capture(self) -> bool:
        """True if the codes come from a capture."""
        return self.port.startswith(_FILE)

    def open(self) -> Transport:
        """Open the line; raise a `LineError` if it cannot be opened now."""
        if self.driver.opens_line:
            return self.driver.open_line(self.port)
        return open_transport(self.port, self.line)


def scan_deck(scan: Scan, scanning: _Scanning, changed: Callable[[], None] = lambda: None) -> bool:
    """
    Scan cards until all were scanned, the capture ends, or a person stops.

    A line that is lost is opened again. What a driver answers its reader is sent. `changed` is
    called after each card that was learned or taken back. Returns whether all were scanned.

    Raises:
        UserError: The line cannot be opened; or a `DeckError`.
    """
    scanner = _Scanner(scan, scanning, changed)
    end = None if scan.seconds is None else time.monotonic() + scan.seconds
    scanner.show_prompt()
    with contextlib.closing(_captured(scan) if scan.is_capture else _received(scan)) as reads:
        for transport, data, now in reads:
            for frame in scanner.decode(data, now):
                if frame.answer and transport is not None:
                    with contextlib.suppress(LineError):  # the next read reports it
                        transport.write(frame.answer)
                scanner.take(frame)
            if not scanning.is_complete and any(map(scanner.obey, scan.terminal.typed())):
                return False
            is_late = end is not None and time.monotonic() >= end
            is_done = scanning.is_complete and not scan.is_capture
            if is_done or scan.stopping.is_set() or is_late:
                break
    if scanner.codes_left:
        raise DeckError(
            f"{scanner.codes_left} more codes follow the last card; expected none: is --decks "
            "right?"
        )
    return scanning.is_complete


class _Scanner:
    """
    Gives the frames of a reader, and what a person types, to a deck that is scanned.

    Attributes:
        codes_left: Number of codes that a capture has after the last card.
    """

    def __init__(self, scan: Scan, scanning: _Scanning, changed: Callable[[], None]) -> None:
        driver = scan.driver
        if not driver.learns_codes:
            raise UserError(
                f"driver {driver.name!r} has no table of codes: its reader names the cards"
            )
        self._code_in = driver.code_in
        self._decoder = driver.decoder()
        self._scanning = scanning
        self._echo = scan.terminal.show
        self._changed = changed
        self._fail = scan.fail
        self.codes_left = 0

    def decode(self, data: bytes | None, now: float) -> list[Frame]:
        """Decode bytes; None: the line was lost."""
        if data is None:
            self._decoder.reset()
            return []
        return self._decoder.feed(data, now)

    def take(self, frame: Frame) -> None:
        """Take a frame; a repeat is not a card. Before the first known code, codes are noise."""
        if frame.kind is FrameKind.REPEAT or not frame.raw:
            return
        is_damaged = any(isinstance(each, Gap) for each in frame.observations)
        code = None if is_damaged else self._code_in(frame.raw)
        if self._scanning.is_complete:
            self.codes_left += code is not None and self._fail
        elif code is not None:
            self._do(lambda: self._scanning.take(code))
        elif frame.observations:
            shown = frame.raw[:32].hex(" ").upper()
            self._echo(f"  !!  no code could be read in {shown}: scan that card again")

    def obey(self, command: str) -> bool:
        """Obey what was typed; return whether it ends the scanning."""
        match command.lower():
            case "u" | "undo":
                self._do(self._scanning.undo)
            case "stop" | "q" | "quit":
                return True
            case "":
                self.show_prompt()
            case _:
                self._echo(f"  !!  {command!r}; expected u (undo), stop, or Enter")
        return False

    def _do(self, action: Callable[[], list[str]]) -> None:
        try:
            lines = action()
        except DeckError as fault:
            if self._fail:
                raise
            lines = [f"  !!  {fault}"]
        else:
            self._changed()
        for line in lines:
            self._echo(line)
        self.show_prompt()

    def show_prompt(self) -> None:
        """Show which card is next."""
        for line in () if self._scanning.is_complete else self._scanning.prompt():
            self._echo(line)


_Reads = Generator[tuple[Transport | None, bytes | None, float]]
"""The open line, the bytes of each read with their time; None in place of bytes for a loss."""


def _captured(scan: Scan) -> _Reads:
    now = 0.0
    for read in load_capture(Path(scan.port.removeprefix(_FILE))).lines:
        # Without times, each read is a card of its own.
        now = now + _LAST_SILENCE_S if read.at_us is None else read.at_us / 1e6
        yield None, None if read.mark is Mark.LOST else read.data, now
    yield None, b"", now + _LAST_SILENCE_S


def _received(scan: Scan) -> _Reads:
    try:
        transport = scan.open()
    except LineError as error:
        raise UserError(str(error)) from error
    try:
        while True:
            try:
                yield transport, transport.read(), time.monotonic()
                continue
            except LineError as error:
                scan.terminal.show(
                    f"  !!  {error}; the cards so far are kept, the line is opened again"
                )
            transport.close()
            yield None, None, time.monotonic()
            while (again := _opened_again(scan)) is None:
                yield None, b"", time.monotonic()
                scan.stopping.wait(_REOPEN_S)
            transport = again
            scan.terminal.show("      the line is back: go on with the card that is asked for")
    finally:
        transport.close()


def _opened_again(scan: Scan) -> Transport | None:
    try:
        return scan.open()
    except LineError:
        return None
