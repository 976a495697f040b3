"""
Commands to the shoe, and its refusals. Nothing is sent unless it is configured.

    STX | 'O' 'P' | type, 2 ASCII | data, 2 ASCII digits | ETX | BCC 2 ASCII hex

The shoe answers within three seconds. One source only knows of these commands.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from drivers.angel_eye_ii.frame_codec import ETX, block_check

__all__ = ["CONFIRM", "LOCK", "UNLOCK", "ShoeCommand", "cancel_error", "text_of_nak"]

REPLY_TIMEOUT_S: Final = 3.0

_HEAD: Final = b"\x02OP"
_FRAME_BYTES: Final = 10

_NAKS: Final = {
    0x01: "overrun, framing or parity",
    0x02: "checksum",
    0x03: "no ETX",
    0x11: "length or format",
    0x12: "address",
    0x13: "command",
    0x14: "type",
    0x21: "busy",
    0x22: "write in progress",
    0xFF: "other",
}


class ShoeCommand(Struct, frozen=True):
    """
    One command.

    Attributes:
        type: Two letters: ``LK`` key lock, ``EC`` cancel error, ``GP`` game process.
        data: 0 to 99.
    """

    type: str
    data: int

    def to_bytes(self, *, bcc_with_start: bool = True) -> bytes:
        """Return the frame; with `bcc_with_start` the checksum includes STX."""
        frame = _HEAD + b"%s%02d%c" % (self.type.encode("ascii"), self.data, ETX)
        return frame + block_check(frame if bcc_with_start else frame[1:])

    @classmethod
    def from_bytes(cls, frame: bytes) -> ShoeCommand | None:
        """Parse a frame, in either form of the checksum; None if it is no command."""
        body, received = frame[:-2], frame[-2:]
        data = body[5:7]
        whole = len(frame) == _FRAME_BYTES and body[:3] == _HEAD and body[-1] == ETX
        if not whole or received not in {block_check(body), block_check(body[1:])}:
            return None
        if not (data.isdigit() and body[3:5].isalnum()):
            return None
        return cls(body[3:5].decode("ascii"), int(data))


LOCK: Final = ShoeCommand("LK", 2)
UNLOCK: Final = ShoeCommand("LK", 1)
CONFIRM: Final = ShoeCommand("GP", 0)


def cancel_error(code: int) -> ShoeCommand:
    """Return the command that cancels an error, 0 to 99, as if at the shoe."""
    return ShoeCommand("EC", code)


def text_of_nak(code: int) -> str:
    """Return the reason of a NAK as text."""
    return f"{code:02X} {_NAKS.get(code, 'unknown')}"
