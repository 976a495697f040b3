"""
JSON lines of a camera, and the observations that they mean.

    {"say":"placed","slot":"P1","card":"AS","confidence":0.99,"blur":0.008,"late":96,
     "patch":"20260504-211503.250-P1-AS.jpg"}

The journal stores these lines unchanged, as the recogniser's output.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec import Struct

from drivers.driver import Frame, FrameKind
from drivers.text import LineDecoder, noise
from shoe_daemon.game import Card, Slot
from shoe_daemon.table import observations

if TYPE_CHECKING:  # OpenCV is loaded only with a camera
    from drivers.camera.image import VideoFrame

MAX_LINE_BYTES: Final = 4096
"""Longer lines are noise."""

_NOISE_NOTE: Final = "no line of a camera"


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
        card: The accepted card.
        best: The most likely card where none was accepted; for people only.
        confidence: From 0 to 1.
        blur: As a share of the card's width.
        late: Milliseconds since the card came to rest, or left the shoe.
        patch: File with the picture of the card.
        fps: Frames per second, with ``watching``.
        note: For people.
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


class CameraDecoder(LineDecoder):
    """Decodes lines into frames. Does no I/O, raises nothing, buffers at most one line."""

    def __init__(self) -> None:
        super().__init__(b"\n", MAX_LINE_BYTES, _NOISE_NOTE)

    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        frames += (_frame(piece + b"\n", now) for piece in pieces)


def _frame(line: bytes, now: float) -> Frame:
    try:
        statement = _decoder.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return noise(line, now, _NOISE_NOTE)
    if statement.say is Say.WATCHING:
        return Frame(line, FrameKind.REPEAT, (), now)
    observation = _observation(statement)
    said = () if observation is None else (observation,)
    return Frame(line, FrameKind.FRAME, said, now, statement.note or "")


def _observation(statement: Statement) -> observations.Observation | None:
    """Return what a statement means; None for an incomplete one."""
    slot, card = statement.slot, statement.card
    said: observations.Observation | None = None
    match statement.say:
        case Say.PLACED if slot is not None and card is not None:
            said = observations.Placed(slot=slot, card=card)
        case Say.CARD if card is not None:
            said = observations.CardDrawn(card=card, slot=slot)
        case Say.CARD | Say.UNREADABLE:
            said = observations.Unreadable(slot=slot)
        case Say.CLEARED:
            said = observations.TableCleared()
        case Say.DOUBLE_FEED:
            text = "two cards left the shoe together"
            said = _device_error(statement, observations.Cause.OTHER, text)
        case Say.RETURNED:
            text = "a card was pushed back into the shoe"
            said = _device_error(statement, observations.Cause.CARD_RETURNED, text)
        case Say.OVER:
            said = observations.DeviceErrorCleared()
        case Say.MISSED:
            said = observations.Gap(detail=observations.GapDetail.LOST_FRAMES)
    return said


def _device_error(
    statement: Statement, cause: observations.Cause, text: str
) -> observations.DeviceError:
    note = statement.note or text
    return observations.DeviceError(cause=cause, code=statement.say.value, text=note)
