"""
JSON lines of a camera, and the observations that they mean.

    {"say":"placed","slot":"P1","card":"AS","confidence":0.99,"blur":0.008,"late":96,
     "patch":"20260504-211503.250-P1-AS.jpg"}

The journal stores these lines unchanged, as the recogniser's output.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec import Struct

from drivers.driver_interface import Frame, FrameKind
from shoe_daemon.game import Card, Slot
from shoe_daemon.table import observations

if TYPE_CHECKING:  # OpenCV is loaded only with a camera
    from drivers.camera.sources.frame_capture_and_checks import VideoFrame

MAX_LINE_BYTES: Final = 4096
"""Longer lines are noise."""


class Say(StrEnum):
    """
    Kind of a statement.

    ``placed``: a card lies on a place and was read; ``card``: a card left the shoe;
    ``unreadable``: a card lies there, or left the shoe, and could not be read; ``cleared``:
    all cards were removed; ``double_feed``: two cards left the shoe together; ``returned``: a
    card went back into the shoe; ``over``: such an error ended; ``missed``: the camera could
    not see for a moment; ``watching``: no news, the camera works.
    """

    PLACED = "placed"
    CARD = "card"
    UNREADABLE = "unreadable"
    CLEARED = "cleared"
    DOUBLE_FEED = "double_feed"
    RETURNED = "returned"
    OVER = "over"
    MISSED = "missed"
    WATCHING = "watching"


class Statement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One line.

    Attributes:
        say: Kind of the statement.
        slot: The place.
        card: The accepted card.
        best: The most likely card where none was accepted; for people only.
        confidence: From 0 to 1.
        blur: As a share of the card's width.
        late: Milliseconds since the card came to rest, or left the shoe.
        patch: File with the picture of the card.
        fps: Frames per second, with ``watching``.
        note: Remark for people.
    """

    say: Say
    slot: Slot | None = None
    card: Card | None = None
    best: Card | None = None
    confidence: float | None = None
    blur: float | None = None
    late: int | None = None
    patch: str | None = None
    fps: float | None = None
    note: str | None = None


class Station(Protocol):
    """Turns frames of a camera into statements."""

    def process(self, frame: VideoFrame) -> list[Statement]:
        """
        Process the next frame.

        Raises:
            LineError: The camera can no longer be trusted.
        """

    def finish(self) -> list[Statement]:
        """Return the last statements; there are no more frames."""

    def close(self) -> None:
        """Release the resources."""


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Statement)


def encode_statement(statement: Statement) -> bytes:
    """Encode a statement as a line, with its line end."""
    return _encoder.encode(statement) + b"\n"


class CameraDecoder:
    """Decodes lines into frames. Does no I/O, raises nothing, buffers at most one line."""

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """Decode the next bytes; return the frames of the complete lines."""
        *lines, rest = (self._rest + data).split(b"\n")
        frames = [frame for line in lines for frame in self._line(line + b"\n", now)]
        heads, self._rest = _split_long(rest)
        self._too_long |= bool(heads)
        return frames + [_noise(head, now) for head in heads]

    def _line(self, line: bytes, now: float) -> list[Frame]:
        heads, tail = _split_long(line)
        # The end of an overlong line is noise too, whatever it looks like.
        is_rest, self._too_long = self._too_long or bool(heads), False
        last = _noise(tail, now) if is_rest else _frame(tail, now)
        return [*(_noise(head, now) for head in heads), last]

    def reset(self) -> None:
        """Discard an incomplete line."""
        self._rest, self._too_long = b"", False


def _split_long(data: bytes) -> tuple[list[bytes], bytes]:
    """
    Split off whole portions of an overlong line; the same portions however the bytes arrived.
    """
    heads = []
    while len(data) > MAX_LINE_BYTES:
        head, data = data[:MAX_LINE_BYTES], data[MAX_LINE_BYTES:]
        heads.append(head)
    return heads, data


def _noise(line: bytes, now: float) -> Frame:
    return Frame(line, FrameKind.NOISE, (), now, "no line of a camera")


def _frame(line: bytes, now: float) -> Frame:
    try:
        statement = _decoder.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _noise(line, now)
    if statement.say is Say.WATCHING:
        return Frame(line, FrameKind.REPEAT, (), now)
    return Frame(
        line,
        FrameKind.FRAME,
        _OBSERVATIONS_BY_SAY[statement.say](statement),
        now,
        statement.note or "",
    )


def _placed(statement: Statement) -> tuple[observations.Observation, ...]:
    if statement.slot is None or statement.card is None:
        return ()  # an incomplete line
    return (observations.Placed(slot=statement.slot, card=statement.card),)


def _card(statement: Statement) -> tuple[observations.Observation, ...]:
    if statement.card is None:
        return (observations.Unreadable(slot=statement.slot),)
    return (observations.CardDrawn(card=statement.card, slot=statement.slot),)


def _device_error(
    statement: Statement, cause: observations.Cause, text: str
) -> tuple[observations.Observation, ...]:
    note = statement.note or text
    return (observations.DeviceError(cause=cause, code=statement.say.value, text=note),)


_OBSERVATIONS_BY_SAY: Final[
    dict[Say, Callable[[Statement], tuple[observations.Observation, ...]]]
] = {
    Say.PLACED: _placed,
    Say.CARD: _card,
    Say.UNREADABLE: lambda statement: (observations.Unreadable(slot=statement.slot),),
    Say.CLEARED: lambda _: (observations.TableCleared(),),
    Say.DOUBLE_FEED: lambda statement: _device_error(
        statement, observations.Cause.OTHER, "two cards left the shoe together"
    ),
    Say.RETURNED: lambda statement: _device_error(
        statement, observations.Cause.CARD_RETURNED, "a card was pushed back into the shoe"
    ),
    Say.OVER: lambda _: (observations.DeviceErrorCleared(),),
    Say.MISSED: lambda _: (observations.Gap(detail=observations.GapDetail.LOST_FRAMES),),
    Say.WATCHING: lambda _: (),
}
