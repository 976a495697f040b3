"""
`Driver`, the base class of all drivers: a decoder for one protocol, and the settings of its line.

A driver has no rules of the game. Its decoder is sans-I/O: it receives bytes and the
time at which they were read, and returns frames; it opens nothing, reads no
clock, and raises nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

from msgspec import Meta, Struct

from shoe_daemon.game import Card
from shoe_daemon.table.observations import Observation, Signal


class FrameKind(StrEnum):
    """
    The kind of a piece of bytes.

    ``frame``: a valid frame; ``repeat``: a copy of an earlier frame; ``noise``:
    anything else. Repeats and noise are only counted.
    """

    FRAME = "frame"
    REPEAT = "repeat"
    NOISE = "noise"


# Without the collector: a frame is in no cycle, and a replay makes millions of them.
class Frame(Struct, frozen=True, gc=False):
    """
    A piece of bytes and its observations.

    Attributes:
        raw: The bytes as received; empty for changes of the line itself.
        kind: Their kind.
        observations: In order; without `at` and `source`.
        received: When the last byte was received (monotonic seconds).
        note: For people: the reason why the bytes are noise.
        answer: Sent to the reader once the frame was passed on: an ACK or a NAK. Empty for
            every driver that only listens.
    """

    raw: bytes
    kind: FrameKind
    observations: tuple[Observation, ...] = ()
    received: float = 0.0
    note: str = ""
    answer: bytes = b""


class Maturity(StrEnum):
    """
    The evidence for a driver's protocol.

    ``proven``: checked against bytes of a real reader; ``documented``: from documents of the
    maker or of others who read it, never tried on a real one; ``assumed``: no document describes
    it fully.
    """

    PROVEN = "proven"
    DOCUMENTED = "documented"
    ASSUMED = "assumed"


class Decoder(Protocol):
    """Decodes bytes to frames. Memory is bounded, nothing is raised."""

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """
        Decode the next bytes, received at `now` (monotonic seconds).

        The frames do not depend on how the bytes are divided into calls. Without bytes it
        means: the line was silent until `now`. Only a protocol whose frames end by silence
        uses that; its frames depend on the times of the bytes.
        """

    def reset(self) -> None:
        """Forget a half-received frame: the line was closed meanwhile."""


class LineSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The settings of a serial line; ignored on ``socket://``.

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
        """Reject invalid stop bits."""
        if self.stopbits not in {1, 1.5, 2}:
            msg = f"Expected `1`, `1.5` or `2` stop bits, got `{self.stopbits}`"
            raise ValueError(msg)

    @property
    def framing(self) -> str:
        """Data bits, parity and stop bits as people write them: ``8N1``."""
        return f"{self.bytesize}{self.parity}{self.stopbits:g}"

    def __str__(self) -> str:
        """Format speed and framing as people write them: ``9600 8N1``."""
        return f"{self.baudrate} {self.framing}"


class Transport(Protocol):
    """An open line. Every failure is a `drivers.transport.LineError`."""

    def read(self) -> bytes:
        """
        Return received bytes at once; nothing after a fifth of a second of silence.

        Raises:
            LineError: The line is lost.
        """

    def check(self) -> None:
        """
        Check that the line still exists: an unplugged one may only be silent.

        Raises:
            LineError: It does not.
        """

    def write(self, data: bytes) -> None:
        """
        Send bytes to the reader.

        Raises:
            LineError: They cannot be sent.
        """

    def close(self) -> None:
        """Close the line; nothing is raised."""


class NoOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of a driver that has none."""


class Driver(ABC):
    """
    The base of all drivers: what a reader has beyond the defaults, its driver replaces.

    A driver is found in `OWN_DRIVERS`, or by an entry point of group ``shoe_daemon.drivers``.
    A subclass may replace a property by a class variable. What it replaces also says what it can
    do, see `__init_subclass__`.
    """

    name: ClassVar[str]
    """The driver's name in a configuration: ``angel-eye-ii``."""

    options_type: ClassVar[type[Struct]] = NoOptions
    """The driver's options, all with defaults; unknown keys forbidden."""

    likely_options: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    """Options that `calibrate serial` tries without ``--driver``."""

    maturity: ClassVar[Maturity | None] = None
    """Shown by `check-config` and `doctor` unless proven; None if not declared."""

    simulator: ClassVar[str] = ""
    """``module:Class`` of a `Simulator` in `drivers.simulators`; empty for none."""

    hung_after_s: ClassVar[float] = 30.0
    """
    A reader's thread whose read takes so many seconds hangs. Opening a serial line takes less,
    even if it waits for a name server.
    """

    frame_bytes: ClassVar[int] = 8
    """The usual length of a frame, for `calibrate serial`."""

    look: ClassVar[str] = ""
    """Way for a person to inspect the data of the driver's own kind of line, for `doctor`."""

    opens_line: ClassVar[bool] = False
    learns_codes: ClassVar[bool] = False
    stores_evidence: ClassVar[bool] = False
    anonymises: ClassVar[bool] = False

    options: Any
    """The options, of `options_type`."""

    def __init_subclass__(cls) -> None:
        """Derive what the driver can do from what it replaces."""
        super().__init_subclass__()
        cls.opens_line = cls.open_line is not Driver.open_line
        cls.learns_codes = cls.code_in is not Driver.code_in
        cls.stores_evidence = cls.evidence is not Driver.evidence
        cls.anonymises = cls.anonymised is not Driver.anonymised

    def __init__(self, options: Struct | None = None) -> None:
        """Create the driver with options of `options_type`, by default its defaults."""
        self.options = self.options_type() if options is None else options

    @abstractmethod
    def decoder(self) -> Decoder:
        """Return a new decoder."""

    @property
    def line(self) -> LineSettings:
        """The factory settings of such a reader."""
        return LineSettings()

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Signals besides the cards: a table derives from them what it cannot detect."""
        return ()

    def recognises(self, raw: bytes) -> bool | None:  # noqa: ARG002 - for those that replace it
        """
        Return whether a frame is one of this reader, with these options, byte for byte.

        None: the protocol has a checksum, and every frame is. Without one, replace this: it
        distinguishes frames from other text.
        """
        return None

    # A driver with files, and for its own kind of line

    def beside(self, folder: Path, journal: Path) -> Self:  # noqa: ARG002 - as above
        """
        Return the driver with the files that its options name.

        Args:
            folder: Paths without a leading slash are relative to this folder of the configuration.
            journal: Files that belong to the journal are stored beside it.
        """
        return self

    def check_url(self, url: str) -> None:
        """
        Check the url and the files of the options, without opening the driver's own kind of line.

        Raises:
            UserError: One of them is invalid.
        """
        raise NotImplementedError

    def open_line(self, url: str) -> Transport:
        """
        Open the driver's own kind of line, in place of one of `drivers.open_transport`.

        Raises:
            UserError: The url or the options are invalid.
            LineError: The line cannot be opened now.
        """
        raise NotImplementedError

    @property
    def evidence(self) -> Path | None:
        """The folder for photos of the cards that it reads; None if no photos are stored."""
        return None

    def share_frames(self, receive: Callable[[Any], None]) -> None:  # noqa: B027 - nothing to share
        """
        Pass each frame of all lines that are opened from now on to `receive`, as it arrives.

        For a driver that reads a camera. Frames that are not read, because the reader is busy,
        are passed too. `receive` is called on a thread of the camera: it must return at once, and
        not change the frame.
        """

    # Journals and captures

    @property
    def recorded_options(self) -> dict[str, Any] | None:
        """
        The options with the content of the files that the decoder depends on: enough to decode
        the journal again. None if the options as configured are enough.
        """
        return None

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes | None:
        """
        Return bytes of the same meaning with other cards, for captures that are given away.

        Args:
            raw: One piece of bytes as the decoder returned it: a frame, a repeat or noise.
            permutation: The other card of each card.

        Returns:
            Bytes that the decoder reads as the same, but with the other cards. Bytes that may
            show a card, and whose card is not known, are `drivers.blank`; None does the same
            for all of them.
        """
        raise NotImplementedError

    @property
    def anonymised_options(self) -> dict[str, Any] | None:
        """
        Options that decode the anonymised bytes, without secrets and tables of cards; None if
        the options as configured do.
        """
        return self.recorded_options

    # A table of codes and cards that can be learned from the reader

    def code_in(self, raw: bytes) -> str | None:
        """Return the code in a frame, as a table has it; None for a card that was not read."""
        raise NotImplementedError

    def codes(self) -> dict[str, Card]:
        """
        Return the table, its codes as `code_in` returns them; empty if there is none.

        Raises:
            UserError: The file of the table cannot be read.
        """
        return {}

    @property
    def table_file(self) -> Path | None:
        """The file of the table; None without one."""
        return None

    def without_table(self) -> Self:
        """Return the driver without its table."""
        return self

    @property
    def unique_codes(self) -> bool:
        """True if every card has a code of its own, the `tag` of its observations."""
        return False

    @property
    def code_settings(self) -> dict[str, Any]:
        """Options that determine the codes, where they are not the default."""
        return {}

    # A reader that types codes as a keyboard, whose layout decides which letters come

    @property
    def typed_codes(self) -> Mapping[str, Card]:
        """The codes and their cards; a `UserError` if the table cannot be read."""
        return {}

    @property
    def may_exchange_cards(self) -> bool:
        """True if another layout would show aces as queens, and none was checked or learned."""
        return False
