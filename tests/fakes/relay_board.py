"""A relay board of the CH340 type on a pty: checks every command, and can be unplugged."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import tty
from pathlib import Path
from typing import NamedTuple, Self

_START = 0xA0
_COMMAND_BYTES = 4


class Switched(NamedTuple):
    """A channel was switched, at a time of `time.perf_counter`."""

    at: float
    channel: int
    on: bool


class RelayBoard:
    """
    The board behind a stable link.

    Attributes:
        link: The link.
        states: The channels, as they were last switched.
        switched: Every change of a channel, in order.
        commands: Number of valid commands.
        wrong: Bytes that are no valid command.
    """

    def __init__(self, link: Path) -> None:
        self.link = link
        self.states: dict[int, bool] = {}
        self.switched: list[Switched] = []
        self.commands = 0
        self.wrong: list[bytes] = []
        self._received = b""
        self._is_reading = threading.Event()
        self._is_reading.set()
        self._closing = os.pipe()
        self._line = threading.Lock()
        self._pty: tuple[int, int] | None = None
        self._path = Path()
        self.plug()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_reading.set()
        os.write(self._closing[1], b"x")
        self._thread.join()
        self.unplug()
        for descriptor in self._closing:
            os.close(descriptor)

    def plug(self) -> None:
        """Plug it in: all channels are off."""
        master, slave = os.openpty()
        tty.setraw(slave)
        with self._line:
            # Its own end stays open: a program that closes the line ends nothing here.
            self._pty, self._path = (master, slave), Path(os.ttyname(slave))
            self.states, self._received = {}, b""
            os.set_blocking(master, False)
            self.link.symlink_to(self._path)

    def unplug(self) -> None:
        """Unplug it; does nothing if it is."""
        with self._line:
            if self._pty is not None:
                self.link.unlink()
                for descriptor in self._pty:
                    os.close(descriptor)
            self._pty = None

    def stall(self) -> None:
        """Read nothing from now on, on a line that is full: it takes no byte."""
        self._is_reading.clear()
        assert self._pty is not None, "plug it in first"
        os.set_blocking(self._pty[1], False)
        # The kernel moves bytes on: the line is full once it has taken none for a while.
        while select.select([], [self._pty[1]], [], 0.1)[1]:
            with contextlib.suppress(BlockingIOError):
                os.write(self._pty[1], b"x")

    def _run(self) -> None:
        while not select.select([self._closing[0]], [], [], 0)[0]:
            self._is_reading.wait()
            with self._line:
                pty = self._pty
            if pty is None:
                select.select([self._closing[0]], [], [], 0.01)
                continue
            try:
                select.select([pty[0], self._closing[0]], [], [], 0.05)
                with self._line:
                    if self._pty == pty and self._is_reading.is_set():
                        self._take(os.read(pty[0], 4096))
            except (OSError, ValueError):
                continue  # nothing there, or unplugged meanwhile

    def _take(self, data: bytes) -> None:
        now = time.perf_counter()
        self._received += data
        while len(self._received) >= _COMMAND_BYTES:
            command, self._received = self._received[:4], self._received[4:]
            start, channel, state, checksum = command
            if (start, checksum) != (_START, (start + channel + state) % 256) or state > 1:
                self.wrong.append(command)
                continue
            self.commands += 1
            if self.states.get(channel, False) is not bool(state):
                self.switched.append(Switched(now, channel, bool(state)))
            self.states[channel] = bool(state)
