"""
Finds the speed of a serial line and writes its configuration; lists the serial ports.

A reader sends only when a card is drawn, and at a wrong speed its bytes are garbage. So a speed is
kept while nothing arrives, and abandoned after some bytes without a frame.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from serial.tools.list_ports import comports

from drivers import (
    Driver,
    EndOfCaptureError,
    Frame,
    FrameKind,
    LineError,
    open_transport,
    raised_at,
)
from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.settings.toml import toml_value
from shoe_daemon.table.observations import Gap, Unreadable, encode_observation

SPEEDS: Final = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200)
"""Usual speeds of serial readers in bit/s."""

MIN_VALID_FRAMES: Final = 6
"""Valid frames, without repeats, that prove a speed."""

MAX_UNDECODED_FRAMES: Final = 2
"""So many frames of bytes without a frame, and the next speed is tried."""

LINE_BYTES: Final = 32
"""Bytes per output line."""

_BARE_KEY: Final = re.compile("[a-z_]+")

MAX_GARBAGE_BYTES: Final = 256
"""Bytes outside frames printed per speed; further bytes are only counted."""


class Finding(Struct, frozen=True):
    """
    The result of listening to a line.

    Attributes:
        port: Its most stable name.
        speed: The speed of valid frames in bit/s; None if there were none, or if the line has no
            speed.
        frames: Valid frames without repeats.
        repeats: Repeated frames.
        strange: Bytes outside frames at the last speed.
        bytes: Bytes received at all speeds.
    """

    port: str
    speed: int | None = None
    frames: int = 0
    repeats: int = 0
    strange: int = 0
    bytes: int = 0


class ByteLog:
    """Decodes received bytes and describes them."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._decoder = driver.decoder()
        self._pending = b""
        self._shown = 0
        self._garbage_left = MAX_GARBAGE_BYTES
        self.frames = 0
        self.repeats = 0
        self.bytes = 0
        self._understood = 0

    @property
    def strange(self) -> int:
        """Number of bytes outside frames so far."""
        return self.bytes - self._understood

    def receive(self, data: bytes, now: float) -> list[str]:
        """Process bytes received at `now`; may be empty."""
        if not data and not self._pending:
            return []
        self.bytes += len(data)
        self._pending += data
        try:
            frames = self._decoder.feed(data, now)
        except Exception as error:  # noqa: BLE001 - a driver that breaks its promise
            return self._failed(error)
        lines = [line for frame in frames for line in self._take(frame)]
        return lines if data else [*lines, *self._garbage("bytes", len(self._pending))]

    def _take(self, frame: Frame) -> list[str]:
        # At a wrong speed text looks damaged, or like a card that was not read.
        is_uncertain = any(isinstance(each, Gap | Unreadable) for each in frame.observations)
        self.frames += frame.kind is FrameKind.FRAME and not is_uncertain
        self.repeats += frame.kind is FrameKind.REPEAT
        if frame.kind is FrameKind.FRAME and is_uncertain:
            lines = [_frame_text(frame)] if self.frames else self._garbage("bytes", len(frame.raw))
        elif frame.kind is FrameKind.NOISE:
            lines = self._garbage(frame.kind, len(frame.raw), frame.note)
        else:
            self._understood += len(frame.raw)
            lines = [_frame_text(frame)]
        self._drop(len(frame.raw))
        return lines

    def _drop(self, count: int) -> None:
        self._pending = self._pending[count:]
        self._shown = max(0, self._shown - count)

    def _garbage(self, kind: str, count: int, note: str = "") -> list[str]:
        """Describe the first `count` pending bytes, up to the limit."""
        new = self._pending[self._shown : count]
        self._shown = max(self._shown, count)
        if not new or not self._garbage_left:
            return []
        shown = new[: self._garbage_left]
        self._garbage_left -= len(shown)
        starts = range(0, len(shown), LINE_BYTES)
        lines = [f"{kind:7} {_hex(shown[start : start + LINE_BYTES])}" for start in starts]
        lines[-1] += f"  {note}" if note else ""
        if not self._garbage_left:
            lines.append("more bytes outside of frames are only counted")
        return lines

    def _failed(self, error: Exception) -> list[str]:
        lines = self._garbage("bytes", len(self._pending))
        self._drop(len(self._pending))
        self._decoder = self._driver.decoder()
        what = f"{describe_exception(error)} ({raised_at(error)})"
        return [*lines, f"the decoder of {self._driver.name} failed: {what}"]


def speeds_of(port: str, usual: int) -> tuple[int, ...]:
    """Return the speeds to try, the usual one first; only that one if the line has no speed."""
    # A pseudo-terminal, raw TCP and a capture have no speed.
    is_serial = port.startswith("rfc2217:") or (
        port.startswith("/") and Path("/dev/pts") not in Path(port).resolve().parents
    )
    others = SPEEDS if is_serial else ()
    return (usual, *(speed for speed in others if speed != usual))


def listen(
    port: str, driver: Driver, seconds: float, echo: Callable[[str], None], stopping: Event
) -> Finding:
    """
    Listen for at most `seconds`, and report each line of output.

    Raises:
        UserError: The line cannot be opened, or is lost.
    """
    speeds = speeds_of(port, driver.line.baudrate)
    has_speeds, name, received = len(speeds) > 1, stable_name(port), 0
    end = time.monotonic() + seconds
    max_undecoded = MAX_UNDECODED_FRAMES * driver.frame_bytes
    for speed in cycle(speeds):
        echo(f"listening at {speed} bit/s" if has_speeds else "listening")
        log, is_garbage = ByteLog(driver), False
        try:
            with closing(open_transport(port, replace(driver.line, baudrate=speed))) as line:
                while not (is_garbage or stopping.is_set() or time.monotonic() >= end):
                    for line_text in log.receive(line.read(), time.monotonic()):
                        echo(line_text)
                    if log.frames >= MIN_VALID_FRAMES:
                        break
                    is_garbage = has_speeds and not log.frames and log.strange >= max_undecoded
        except EndOfCaptureError:
            is_garbage = False
        except LineError as error:
            raise UserError(str(error)) from error
        received += log.bytes
        if not is_garbage:
            found = speed if log.frames and has_speeds else None
            return Finding(name, found, log.frames, log.repeats, log.strange, received)
        echo("no valid frame among these bytes")
    raise AssertionError("a cycle has no end")


def configuration(
    finding: Finding,
    driver: Driver,
    reader_id: str,
    options: Mapping[str, Any] | None = None,
    line: Mapping[str, Any] | None = None,
) -> str:
    """
    Return the configuration of a reader on a line, with options of its driver and settings of the
    line: by default the speed of the finding.
    """
    if line is None:
        line = {"baudrate": finding.speed} if finding.speed else {}
    lines = [
        "[[reader]]",
        f"id = {toml_value(reader_id)}",
        f"driver = {toml_value(driver.name)}",
        f"port = {toml_value(finding.port)}",
    ]
    lines += toml_table("reader.line", line) if line else []
    lines += toml_table("reader.options", options or {})
    return "\n".join(lines)


def toml_table(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table and those below it, after an empty line each."""
    below = {key: value for key, value in table.items() if isinstance(value, dict)}
    lines = [
        f"{_toml_key(key)} = {toml_value(value)}"
        for key, value in table.items()
        if key not in below
    ]
    head = ["", f"[{name}]", *lines] if lines or (table and not below) else []
    for key, value in below.items():
        head += toml_table(f"{name}.{_toml_key(key)}", value)
    return head


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def silence_hints(port: str) -> list[str]:
    """Return what to check if no byte was received."""
    common = [
        "Is the reader on? Most send only when a card is drawn, or when they are switched on.",
        "Does another program, such as the daemon, read the same line?",
    ]
    if port.startswith(("socket:", "rfc2217:")):
        return [
            *common,
            "Is the device server in TCP server mode, and is this the port of the right socket?",
            "Does the device server allow only one client, and has another one connected?",
            "Is the reader's cable in that socket of the device server?",
        ]
    return [
        *common,
        "Is this the right port? `shoe-daemon calibrate serial` lists those that are there.",
        "Is the cable crossed (null modem) where it must be straight, or the other way round?",
        "Is the level right: RS-232, not RS-485 or TTL?",
        "Does the reader wait for handshake lines (rtscts, dsrdtr, xonxoff of [reader.line])?",
        "A wrong speed is not the cause: bytes come at any speed, though as garbage.",
    ]


def _frame_text(frame: Frame) -> str:
    observations = "  ".join(encode_observation(each).decode() for each in frame.observations)
    more = "" if len(frame.raw) <= LINE_BYTES else f" … {len(frame.raw)} bytes"
    raw = f"{frame.kind:7} {_hex(frame.raw[:LINE_BYTES])}{more}"
    return "  ".join(part for part in (raw, observations, frame.note) if part)


def _hex(data: bytes) -> str:
    return data.hex(" ").upper()


STABLE_FOLDERS: Final = ("/dev/shoe", "/dev/serial/by-id", "/dev/serial/by-path")
"""Folders of stable names, best first: chosen by hand, by device, by socket."""


class Port(Struct, frozen=True):
    """
    One serial port.

    Attributes:
        device: Its current path, such as ``/dev/ttyUSB0``.
        description: The adapter's description.
        stable: Its stable names, best first.
    """

    device: str
    description: str
    stable: tuple[str, ...]


def list_ports() -> list[Port]:
    """Return the existing ports, ordered by path."""
    return [
        Port(found.device, found.description or "", stable_names(found.device))
        for found in sorted(comports(), key=lambda found: found.device)
    ]


def stable_names(device: str, folders: Iterable[str] = STABLE_FOLDERS) -> tuple[str, ...]:
    """Return a port's stable names, best first."""
    target = os.path.realpath(device)
    names: list[str] = []
    for folder in folders:
        links = sorted(Path(folder).iterdir()) if Path(folder).is_dir() else []
        names += [str(link) for link in links if os.path.realpath(link) == target]
    return tuple(names)


def stable_name(port: str) -> str:
    """Return a port's best stable name, or the given name."""
    if not port.startswith("/") or port.startswith(STABLE_FOLDERS):
        return port
    return next(iter(stable_names(port)), port)
