"""
Proof that the observations are what the raw bytes decode to.

The drivers are not known here: the caller provides a decoder for each reader of a session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.journal.journal_reader import Capture, ObservationRow
from shoe_daemon.journal.verify import Broken
from shoe_daemon.table import observations as seen
from shoe_daemon.table import to_microseconds

_UNRECORDED: Final = (
    "the session does not record its drivers: a version of the program before this record wrote it"
)


class RawDecoder(Protocol):
    """The decoder of one reader."""

    @property
    def limit(self) -> str | None:
        """What lies behind the bytes and cannot be compared; None if nothing does."""
        ...

    @property
    def other_version(self) -> str | None:
        """
        The two versions of the driver, where not the one that wrote the session is installed.
        """
        ...

    def decode(self, raw: bytes, seconds: float) -> Sequence[seen.Observation]:
        """Return the observations of one stored frame."""
        ...

    def reset(self) -> None:
        """Continue after a lost connection."""
        ...


DecoderOf = Callable[[seen.ReaderRecord], RawDecoder]
"""Makes the decoder of a reader; raises `UserError` if its driver cannot be used."""


class RawNote(Struct, frozen=True):
    """
    Captures that were not compared, or whose difference proves nothing.

    Attributes:
        source: The reader.
        reason: Why, as a part of a sentence.
        captures: How many.
        first: The first difference, where there is one.
    """

    source: str | None
    reason: str
    captures: int
    first: Broken | None = None


class RawVerdict(Struct, frozen=True):
    """
    The result of decoding the raw bytes again.

    Attributes:
        compared: Captures whose observations are as they decode today.
        notes: Captures about which nothing is proved.
    """

    compared: int
    notes: tuple[RawNote, ...]


class Difference(Exception):  # noqa: N818 - a finding, not a failure
    """The first place at which a journal is not what it comes to."""

    def __init__(self, row: str, what: str) -> None:
        super().__init__(what)
        self.broken = Broken(row, what)


class RawCheck:
    """Takes captures and observations in the order of the journal. Memory is bounded."""

    def __init__(self, decoder_of: DecoderOf) -> None:
        self._decoder_of = decoder_of
        self._decoders: dict[str | None, RawDecoder] = {}
        self._unusable: dict[str | None, str] = {}
        self._recorded = False
        self._open: Capture | None = None
        self._expected: deque[seen.Observation] = deque()
        self._compared = 0
        self._notes: dict[tuple[str | None, str], RawNote] = {}

    def capture(self, capture: Capture) -> None:
        """
        Decode the next raw bytes.

        Raises:
            Difference: The capture before has too few observations.
        """
        self.finish()
        decoder = self._decoders.get(capture.source)
        if decoder is None:
            self._note(capture.source, self._why_not(capture.source))
            return
        try:
            found = decoder.decode(capture.raw, to_microseconds(capture.at) / 1_000_000)
        except Exception as error:  # noqa: BLE001 - whatever a driver of somebody else raises
            self._drop(capture.source, f"its driver raises {describe_exception(error)}")
            self._note(capture.source, self._why_not(capture.source))
            return
        self._open = capture
        self._expected.extend(replace(o, at=capture.at, source=capture.source) for o in found)

    def observation(self, row: ObservationRow) -> None:
        """
        Compare the next observation.

        Raises:
            Difference: It is not what the bytes decode to.
        """
        observation = row.observation
        if isinstance(observation, seen.Tick):
            return  # the clock's, although a frame may have brought it
        if self._open is None or row.capture != self._open.id:
            self.finish()
            self._check_without_bytes(row)
        else:
            self._compare(row, self._open)
        if isinstance(observation, seen.Session):
            self._begin(observation)
        elif isinstance(observation, seen.Gap) and observation.detail is _RECONNECT:
            self._reset(observation.source)

    def finish(self) -> None:
        """
        End the capture in progress.

        Raises:
            Difference: It has too few observations.
        """
        capture, self._open = self._open, None
        if capture is None:
            return
        if self._expected:
            missing = self._expected[0]
            self._differs(capture, f"capture {capture.id}", f"{_line(missing)} is missing")
        else:
            self._compared += 1

    def verdict(self) -> RawVerdict:
        """Return the result so far."""
        return RawVerdict(self._compared, tuple(self._notes.values()))

    def _begin(self, session: seen.Session) -> None:
        self._decoders, self._unusable = {}, {}
        self._recorded = session.program is not None or bool(session.readers)
        for record in session.readers:
            try:
                self._decoders[record.id] = self._decoder_of(record)
            except UserError as error:
                self._unusable[record.id] = str(error)

    def _reset(self, source: str | None) -> None:
        if (decoder := self._decoders.get(source)) is not None:
            decoder.reset()

    def _compare(self, row: ObservationRow, capture: Capture) -> None:
        expected = self._expected.popleft() if self._expected else None
        stored = replace(row.observation, chain_head=None)
        if stored != expected:
            found = "nothing more" if expected is None else _line(expected)
            name = f"observation {row.id}"
            what = f"it is {_line(stored)}, but its raw bytes (capture {capture.id}) give {found}"
            self._open = None
            self._differs(capture, name, what)
        elif (limit := self._decoders[capture.source].limit) and not self._expected:
            self._note(capture.source, limit)

    def _check_without_bytes(self, row: ObservationRow) -> None:
        observation = row.observation
        if row.capture is not None or observation.source not in self._decoders:
            return
        if not _is_own(observation):
            raise Difference(
                f"observation {row.id}", f"it is {_line(observation)}, but has no raw bytes"
            )

    def _differs(self, capture: Capture, row: str, what: str) -> None:
        self._expected.clear()
        versions = self._decoders[capture.source].other_version
        if versions is None:
            raise Difference(row, what)
        self._note(capture.source, f"decoded otherwise, {versions}", Broken(row, what))

    def _drop(self, source: str | None, reason: str) -> None:
        del self._decoders[source]
        self._unusable[source] = reason

    def _why_not(self, source: str | None) -> str:
        if not self._recorded:
            return _UNRECORDED
        return self._unusable.get(source, "the session records no such reader")

    def _note(self, source: str | None, reason: str, first: Broken | None = None) -> None:
        before = self._notes.get((source, reason), RawNote(source, reason, 0, first))
        self._notes[source, reason] = replace(before, captures=before.captures + 1)


_RECONNECT: Final = seen.GapDetail.RECONNECT


def _is_own(observation: seen.Observation) -> bool:
    """Tell whether an observation comes from the daemon itself, or from its side of a line."""
    if isinstance(observation, seen.Gap):
        return observation.detail is not seen.GapDetail.LOST_FRAMES
    return isinstance(observation, seen.Session | seen.Command | seen.Link)


def _line(observation: seen.Observation) -> str:
    return seen.encode_observation(observation).decode()
