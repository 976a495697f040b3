"""
What a driver is: a decoder for one wire, and what the line needs to carry it.

A driver knows no baccarat. Its decoder is sans-I/O: it is fed bytes, with the
moment at which they came, and returns frames; it opens nothing, reads no
clock, and raises nothing whatever the bytes.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Protocol, Self, runtime_checkable

from msgspec import Meta, Struct

from shoe_daemon.table.observations import Observation, Signal


class FrameKind(StrEnum):
    """
    What a stretch of bytes turned out to be.

    ``frame``: valid, with what it says; ``repeat``: a frame said before;
    ``noise``: anything else. Only counts are kept of repeats and noise.
    """

    FRAME = "frame"
    REPEAT = "repeat"
    NOISE = "noise"


class Frame(Struct, frozen=True):
    """
    A stretch of bytes and what it means.

    Attributes:
        raw: The bytes as they came; empty for what the line itself says.
        kind: What they are.
        observations: In order; not yet stamped with `at` and `source`.
        received: Seconds of the monotonic clock when the last byte came.
        note: For people: why noise is noise.
    """

    raw: bytes
    kind: FrameKind
    observations: tuple[Observation, ...] = ()
    received: float = 0.0
    note: str = ""


class Decoder(Protocol):
    """
    Bytes in, frames out. Memory is bounded, nothing is ever raised.
    """

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """
        Take the next bytes, received at `now` (monotonic seconds).

        However the bytes are cut into calls, the frames are the same.
        """
        ...

    def reset(self) -> None:
        """
        Forget a half-received frame: the line was closed in between.
        """
        ...


class LineSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    How the serial line is set. Device servers ignore it on ``socket://``.

    Attributes:
        baudrate: Bits a second.
        parity: None, even, odd, mark or space.
        stopbits: 1, 1.5 or 2.
    """

    baudrate: Annotated[int, Meta(ge=1, le=4_000_000)] = 9600
    bytesize: Literal[5, 6, 7, 8] = 8
    parity: Literal["N", "E", "O", "M", "S"] = "N"
    stopbits: float = 1
    xonxoff: bool = False
    rtscts: bool = False
    dsrdtr: bool = False

    def __post_init__(self) -> None:
        """
        Refuse stop bits that no line has.
        """
        if self.stopbits not in {1, 1.5, 2}:
            msg = f"Expected `1`, `1.5` or `2` stop bits, got `{self.stopbits}`"
            raise ValueError(msg)


class Driver(Protocol):
    """
    One reader family; found by an entry point of group ``shoe_daemon.drivers``.
    """

    name: ClassVar[str]
    """The profile's id, as in a configuration: ``angel-eye-ii``."""

    line: ClassVar[LineSettings]
    """The settings such a reader leaves the factory with."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        """
        What it can tell beside the cards, so that a table knows what it cannot see.
        """
        ...

    options_type: ClassVar[type[Struct]]
    """The driver's own options, all with defaults; unknown keys forbidden."""

    def __init__(self, options: Struct) -> None:
        """
        Take options of `options_type`.
        """
        ...

    def decoder(self) -> Decoder:
        """
        Return a fresh decoder.
        """
        ...


class Transport(Protocol):
    """
    An open line. Whatever goes wrong with it is a `drivers.transport.LineError`.
    """

    def read(self) -> bytes:
        """
        Return what has come, at once; nothing after a fifth of a second of silence.

        Raises:
            LineError: The line is gone.
        """
        ...

    def check(self) -> None:
        """
        Ask whether the line still stands: an unplugged one may just be silent.

        Raises:
            LineError: It does not.
        """
        ...

    def write(self, data: bytes) -> None:
        """
        Send bytes to the reader.

        Raises:
            LineError: They cannot be sent.
        """
        ...

    def close(self) -> None:
        """
        Give the line back; nothing is raised.
        """
        ...


@runtime_checkable
class OpensLine(Protocol):
    """
    A driver whose reader hangs on no serial line: it opens its own kind of line.
    """

    @property
    def look(self) -> str:
        """
        How a person looks at what comes over such a line: a part of a sentence.
        """
        ...

    def check_url(self, url: str) -> None:
        """
        Look whether this can name a line, without opening anything.

        Raises:
            UserError: What is wrong with it, or with what the options name.
        """
        ...

    def open_line(self, url: str) -> Transport:
        """
        Open it.

        Raises:
            UserError: The name or the options cannot be right.
            LineError: It cannot be opened now.
        """
        ...


@runtime_checkable
class NamesFiles(Protocol):
    """
    A driver whose options name files.
    """

    def beside(self, folder: Path, journal: Path) -> Self:
        """
        Return the driver that looks for its files where the configuration lies.

        Args:
            folder: Paths without a leading slash start here.
            journal: What is kept for the journal lies beside this file.
        """
        ...


@runtime_checkable
class KeepsPictures(Protocol):
    """
    A driver that keeps pictures of what it read, for people to look at.
    """

    @property
    def evidence(self) -> Path | None:
        """
        The folder; None where none are kept.
        """
        ...
