"""
Capture files: the bytes that a reader sent, with their times, and their observations.

A capture is text: a header, then one line for each read, with its time in seconds::

    # name: table-7
    # driver: angel-eye-ii
    # date: 2026-11-23T13:45:00.000000Z
    0.000000 05 30 53 03 36 30
    4.471234 05 31 44 C0 AD 03 31 42  # a comment
    9.120000 lost  # /dev/shoe/table-7: Input/output error
    9.640000 back
    20.000000 end

Times count from the date, or from 1970 without one. All lines have times, or none has.
Without times, each frame gets one: 1970-01-01T00:00:00Z plus its number in milliseconds. Frames
are counted from 1, without repeats and noise: a clean copy of a noisy capture gives the same
observations.

Files that end in ``.cap`` or ``.hex`` are read as text; any other file, such as ``.bin``, has the
bytes themselves.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from drivers.driver import Driver, Frame, FrameKind
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import Card
from shoe_daemon.table.observations import Gap, GapDetail, Link, Observation, Tick

CAPTURE_SUFFIX: Final = ".cap"
HEX_SUFFIX: Final = ".hex"
TEXT_SUFFIXES: Final = (CAPTURE_SUFFIX, HEX_SUFFIX)
CAPTURE_SUFFIXES: Final = (*TEXT_SUFFIXES, ".bin")

_HEADER_LINE: Final = re.compile(r"#\s*([a-z][a-z ]*):\s*(.*)")
_TIME: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,6})")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_YEAR: Final = 9000
_LINE_BYTES: Final = 16
_MAX_SILENCE_S: Final = 60.0
"""Silence after the last read that ends any frame that ends by silence."""


class Mark(StrEnum):
    """An event of the line in place of bytes: it was lost, is back, or the capture ended."""

    LOST = "lost"
    BACK = "back"
    END = "end"


class CaptureLine(Struct, frozen=True):
    """
    One line of a capture.

    Attributes:
        data: The bytes of one read.
        at_us: Microseconds since the start of the capture, from 0; None without times.
        mark: In place of bytes; only with a time.
        comment: For people; of a lost line, the reason.
    """

    data: bytes = b""
    at_us: int | None = None
    mark: Mark | None = None
    comment: str = ""

    def __str__(self) -> str:
        time = "" if self.at_us is None else f"{self.at_us // 10**6}.{self.at_us % 10**6:06}"
        comment = " ".join(self.comment.split())
        text = " ".join(part for part in (time, self.mark or self.data.hex(" ").upper()) if part)
        return f"{text}  # {comment}" if comment else text


class Capture(Struct, frozen=True):
    """
    A capture in memory.

    Attributes:
        lines: In order; their times never go back.
        header: What the first lines say, such as ``driver`` and ``date``.
        start: The date of the header; 1970 without one.
        note: For people: a torn end that was left out. Empty if nothing was.
    """

    lines: tuple[CaptureLine, ...]
    header: Mapping[str, str] = {}
    start: datetime = _EPOCH
    note: str = ""

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(line.data for line in self.lines)

    @property
    def options(self) -> dict[str, Any]:
        """The driver's options, in JSON in the header; a `UserError` if they are anything else."""
        text = self.header.get("options", "{}")
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise UserError(f"options: {text}: {error}; expected an object in JSON") from error

    @property
    def has_times(self) -> bool:
        """True if the lines have times."""
        return bool(self.lines) and self.lines[0].at_us is not None


def load_capture(path: Path) -> Capture:
    """
    Read a capture.

    The last line of a ``.cap`` file that has no end is left out, with a note: a power cut may
    have torn it.

    Raises:
        UserError: The file cannot be read, or a line is invalid; the line is named.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error
    if path.suffix not in TEXT_SUFFIXES:
        return Capture((CaptureLine(content),))
    note = ""
    if path.suffix == CAPTURE_SUFFIX:
        # After a power cut, a file may end in zeros in place of its last lines.
        whole, end, _ = content.rstrip(b"\0").rpartition(b"\n")
        if whole + end != content:
            lost = len(content) - len(whole + end)
            number = (whole + end).count(b"\n") + 1
            note = f"line {number} is torn: its {lost} bytes were left out"
        content = whole
    return _parse(path, content.decode("utf-8-sig", "replace").splitlines(), note)


def read_capture(path: Path) -> bytes:
    """Return the bytes of a capture; raises as `load_capture`."""
    return load_capture(path).data


def _parse(path: Path, texts: list[str], note: str) -> Capture:
    header: dict[str, str] = {}
    lines: list[CaptureLine] = []
    for number, text in enumerate(texts, 1):
        found = None if lines else _HEADER_LINE.fullmatch(text.strip())
        if found:
            header.setdefault(found[1], found[2].strip())
            continue
        line = _line(text, f"{path}:{number}")
        if line is None:
            continue
        if lines:
            _check_order(lines[-1], line, f"{path}:{number}")
        lines.append(line)
    capture = Capture(tuple(lines), header, _EPOCH, note)
    if "date" in header and capture.has_times:
        return replace(capture, start=_date(header["date"], str(path)))
    return capture


def _date(text: str, place: str) -> datetime:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        date = datetime.min  # noqa: DTZ901 - rejected below
    if date.tzinfo is None or not _EPOCH.year < date.year < _MAX_YEAR:
        example = "2026-11-23T13:45:00.000000Z"
        raise UserError(f"{place}: date: {text!r}; expected a time in UTC, such as {example}")
    return date.astimezone(UTC)


def _line(text: str, place: str) -> CaptureLine | None:
    """Parse a line; None if it has no content."""
    body, _, comment = text.partition("#")
    body, at_us = body.strip(), None
    if not body:
        return None
    found = _TIME.match(body)
    if found and (found.end() == len(body) or body[found.end()].isspace()):
        at_us = int(found[1]) * 10**6 + int(found[2].ljust(6, "0"))
        body = body[found.end() :].strip()
        if body in set(Mark):
            return CaptureLine(b"", at_us, Mark(body), comment.strip())
    try:
        return CaptureLine(bytes.fromhex(body), at_us, None, comment.strip())
    except ValueError:
        raise UserError(f"{place}: expected bytes as two hex digits each, got {body!r}") from None


def _check_order(before: CaptureLine, line: CaptureLine, place: str) -> None:
    if (before.at_us is None) != (line.at_us is None):
        said = "a time; expected none, as on the lines before"
        if line.at_us is None:
            said = "no time; expected one, such as 4.470000"
        raise UserError(f"{place}: {said}")
    if line.at_us is not None and before.at_us is not None and line.at_us < before.at_us:
        time, earlier = str(line).split()[0], str(before).split()[0]
        raise UserError(
            f"{place}: time {time}; expected {earlier} or later, as on the line before"
        )


def write_hex(path: Path, header: Mapping[str, str], frames: Iterable[tuple[bytes, str]]) -> None:
    """Write a capture without times: a header, then one line per frame with its comment."""
    write_capture(path, header, (CaptureLine(raw, comment=note) for raw, note in frames))


def write_capture(path: Path, header: Mapping[str, str], lines: Iterable[CaptureLine]) -> None:
    """Write a capture as text, in place of a file of this name."""
    texts = [*header_lines(header), *map(str, lines)]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8", errors="replace")


def header_lines(header: Mapping[str, str]) -> list[str]:
    """Return the header as text."""
    return [f"# {key}: {' '.join(value.split())}" for key, value in header.items()]


class CaptureWriter:
    """
    A new capture that grows line by line; a crash leaves all lines that were written.

    A line that cannot be written in full is taken back.

    Args:
        path: A file that does not exist; only its owner may read it.
        header: The first lines.

    Raises:
        UserError: The file exists, or cannot be created.
        OSError: The header cannot be written: the disk is full.
    """

    def __init__(self, path: Path, header: Mapping[str, str]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except FileExistsError:
            raise UserError(f"{path}: the file exists; expected a new name") from None
        except OSError as error:
            raise UserError(f"{path}: {one_line(error)}") from error
        self._size = 0
        self._synced = 0
        try:
            self._append("\n".join(header_lines(header)))
        except OSError:
            self.close()
            raise

    def write(self, line: CaptureLine) -> None:
        """Append a line; an `OSError` if it cannot be written: the disk is full."""
        self._append(str(line))

    def _append(self, text: str) -> None:
        data = f"{text}\n".encode("utf-8", "replace")
        written = 0
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += written

    def sync(self) -> None:
        """Wait until the disk has all lines, safe from a power cut; an `OSError` if it fails."""
        size = self._size
        if size != self._synced:
            os.fdatasync(self._descriptor)
            self._synced = size

    def free_bytes(self) -> int:
        """Return how much can still be written to the disk."""
        disk = os.fstatvfs(self._descriptor)
        return disk.f_bavail * disk.f_frsize

    def close(self) -> None:
        """Close the file; nothing is raised."""
        with contextlib.suppress(OSError):
            self.sync()
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


# Decoding


def frames_of(driver: Driver, capture: bytes | Capture) -> list[Frame]:
    """
    Decode a whole capture; without times, as received at time 0.

    A lost line and its return are frames without bytes, as from the reader's thread; a half
    frame before them is forgotten.
    """
    lines = (CaptureLine(capture),) if isinstance(capture, bytes) else capture.lines
    decoder = driver.decoder()
    frames: list[Frame] = []
    now = 0.0
    for line in lines:
        now = (line.at_us or 0) / 1e6
        observations: tuple[Observation, ...] = ()
        if line.mark is None:
            frames += decoder.feed(line.data, now)
            continue
        frames += decoder.feed(b"", now)
        match line.mark:
            case Mark.LOST:
                observations = (Link(up=False, detail=line.comment or None),)
            case Mark.BACK:
                decoder.reset()
                observations = (Link(up=True), Gap(detail=GapDetail.RECONNECT))
            case Mark.END:
                observations = (Tick(),)
        frames.append(Frame(b"", FrameKind.FRAME, observations, now))
    return frames + decoder.feed(b"", now + _MAX_SILENCE_S)


def lines_of_frames(driver: Driver | None, data: bytes) -> Iterator[CaptureLine]:
    """Yield bytes as lines without times, one for each frame; 16 bytes each without a driver."""
    for frame in frames_of(driver, data) if driver is not None else ():
        yield CaptureLine(frame.raw, comment=frame.note)
        data = data[len(frame.raw) :]
    for at in range(0, len(data), _LINE_BYTES):
        yield CaptureLine(data[at : at + _LINE_BYTES])


def observations_of(driver: Driver, capture: bytes | Capture) -> Iterator[Observation]:
    """Yield the observations of a whole capture, each with its `at`."""
    has_times = isinstance(capture, Capture) and capture.has_times
    start = capture.start if isinstance(capture, Capture) and has_times else _EPOCH
    frames = (frame for frame in frames_of(driver, capture) if frame.kind is FrameKind.FRAME)
    latest = 0
    for number, frame in enumerate(frames, 1):
        # A driver that does not set the time of a frame must not set it back.
        latest = max(latest, int(frame.received * 1000)) if has_times else number
        time = (start + timedelta(milliseconds=latest)).replace(tzinfo=None)
        at = f"{time.isoformat(timespec='milliseconds')}Z"
        yield from (replace(observation, at=at) for observation in frame.observations)


# Other cards

_MAX_PENDING_BYTES: Final = 65_536


def random_permutation() -> dict[Card, Card]:
    """Return another card for each card; no card stands for itself."""
    cards, chance = list(Card), random.SystemRandom()
    for last in range(len(cards) - 1, 0, -1):  # Sattolo's shuffle gives one cycle of all cards
        other = chance.randrange(last)
        cards[last], cards[other] = cards[other], cards[last]
    return dict(zip(Card, cards, strict=True))


def blank(raw: bytes, keep: bytes = b"") -> bytes:
    """
    Return as many bytes that show no card: ``?`` for each printable character of ASCII, FF for
    each byte from 80 on, and SUB (1A) for each other one.

    The bytes of `keep` stay, such as line ends. Only those that no card contains.
    """
    return raw.translate(_blank_table(keep))


@cache
def _blank_table(keep: bytes) -> bytes:
    classes = b"\x1a" * 0x20 + b"?" * 0x5F + b"\x1a" + b"\xff" * 0x80
    return bytes(each if each in keep else classes[each] for each in range(256))


class Anonymiser:
    """
    Gives the lines of a capture other cards, by the driver's knowledge of its frames.

    A line is returned once its frames are whole. Times stay; comments are left out. Bytes of
    which the driver does not know whether they show a card become blanks. Memory is bounded.

    Raises:
        UserError: The driver cannot do it.
    """

    def __init__(self, driver: Driver, permutation: Mapping[Card, Card]) -> None:
        if not driver.anonymises:
            what = f"driver {driver.name!r} cannot replace the cards in its bytes"
            raise UserError(f"--anonymise: {what}")
        self._driver = driver
        self._method = driver.anonymised
        self._permutation = permutation
        self._decoder = driver.decoder()
        self._pending = b""
        self._lines: deque[_OpenLine] = deque()
        self._latest = 0.0

    def take(self, line: CaptureLine) -> list[CaptureLine]:
        """Take the next line; return those that are complete."""
        if line.mark is not None:
            lines = self.finish()
            self._decoder.reset()
            return [*lines, replace(line, comment="")]
        self._pending += line.data
        self._latest = (line.at_us or 0) / 1e6
        self._lines.append(_OpenLine(line.at_us, len(line.data)))
        self._decode(line.data, self._latest)
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._give_up()
        return self._complete()

    def finish(self) -> list[CaptureLine]:
        """Return the lines that were not complete; a half frame becomes blanks."""
        self._decode(b"", self._latest + _MAX_SILENCE_S)
        self._give_up()
        return self._complete()

    def _decode(self, data: bytes, now: float) -> None:
        try:
            frames = self._decoder.feed(data, now)
        except Exception:  # noqa: BLE001 - a driver that breaks its promise; nothing may show
            self._give_up()
            return
        for raw in (frame.raw for frame in frames if frame.raw):
            if not self._pending.startswith(raw):
                self._give_up()
                return
            self._replace(raw)

    def _give_up(self) -> None:
        """Show nothing of the bytes that are no frame yet."""
        self._decoder = self._driver.decoder()
        self._replace(self._pending)

    def _replace(self, raw: bytes) -> None:
        try:
            shown = self._method(raw, self._permutation)
        except Exception:  # noqa: BLE001 - as above
            shown = None
        self._distribute(len(raw), blank(raw) if shown is None else shown)

    def _distribute(self, count: int, shown: bytes) -> None:
        """Give the lines of the next `count` pending bytes what is shown in their place."""
        self._pending = self._pending[count:]
        for line in self._lines:
            if not count:
                break
            used = min(count, line.missing)
            count -= used
            line.missing -= used
            part = shown[:used] if count else shown
            shown = shown[len(part) :]
            line.shown += part

    def _complete(self) -> list[CaptureLine]:
        lines = []
        while self._lines and not self._lines[0].missing:
            line = self._lines.popleft()
            lines.append(CaptureLine(line.shown, line.at_us))
        return lines


class _OpenLine(Struct):
    """A line whose bytes are not all replaced yet."""

    at_us: int | None
    missing: int
    shown: bytes = b""
