"""
Angel Eye frames and commands: finds them in bytes, checks and parses them; no state.

    report   ENQ | seq | code, data n bytes | ETX | BCC        shoe -> host
    command  STX | 'O' 'P' | type, 2 ASCII | data, 2 ASCII digits | ETX | BCC
    reply    STX | n bytes | ETX | BCC                         shoe -> host, on a command
    ACK, or NAK and one error byte                             shoe -> host, on a command

    seq    one ASCII digit: 0 at boot, then 1 to 9, and 1 again after 9
    BCC    two ASCII hex digits, upper case: XOR of all from seq to ETX inclusive
           (replies: from after STX, or with it; the documents disagree, so both are accepted)

ENQ never occurs inside a frame: payload bytes are ASCII or have bit 7 set. An ENQ
therefore always begins a frame, whatever is half-received.

Commands are sent only if configured; the shoe answers within three seconds. Only one source
describes them.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import reduce
from operator import xor
from typing import Final, NamedTuple

from msgspec import Struct

ENQ: Final = 0x05
STX: Final = 0x02
ETX: Final = 0x03
ACK: Final = 0x06
NAK: Final = 0x15

MAX_FRAME: Final = 128
"""Limit of a frame without an end, in bytes; the longest known frame has eleven."""

_BCC_BYTES: Final = 2
_ZERO: Final = 0x30
_MIN_REPORT_BYTES: Final = 6
_STARTS: Final = re.compile(b"[\x05\x02]")
_STARTS_WITH_ANSWERS: Final = re.compile(b"[\x05\x02\x06\x15]")


class Shape(StrEnum):
    """The kind of a piece of bytes, by its framing."""

    REPORT = "report"
    REPLY = "reply"
    ACK = "ack"
    NAK = "nak"
    NOISE = "noise"


class Piece(NamedTuple):
    """
    The first piece of a buffer: a frame, an answer, or noise.

    Attributes:
        length: Number of bytes, 1 to `MAX_FRAME`.
        shape: Its kind.
        note: The reason why it is noise.
    """

    length: int
    shape: Shape
    note: str = ""


class Report(Struct, frozen=True):
    """
    One report of the shoe.

    Attributes:
        seq: 0 to 9; other values are kept, but are no sequence numbers.
        code: One character: ``S``, ``D``, ``I`` ...
        data: The bytes after the code, 0 to 122.
    """

    seq: int
    code: str
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the frame as the shoe sends it."""
        body = bytes([(self.seq + _ZERO) & 0xFF]) + self.code.encode("latin-1") + self.data
        checked = body + bytes([ETX])
        return bytes([ENQ]) + checked + block_check(checked)


def block_check(checked: bytes) -> bytes:
    """Return the BCC of these bytes: their XOR as two upper-case hex digits."""
    return b"%02X" % reduce(xor, checked, 0)


def parse_report(raw: bytes) -> Report:
    """Parse a frame for which `split` has returned `REPORT`."""
    return Report(raw[1] - _ZERO, chr(raw[2]), raw[3 : -1 - _BCC_BYTES])


def blank_reply(raw: bytes) -> bytes:
    """Return a reply of the same length and form of BCC that shows nothing."""
    start, checked = raw[:1], raw[1:-_BCC_BYTES]
    hides = b"?" * (len(checked) - 1) + checked[-1:]
    with_start = raw[-_BCC_BYTES:] == block_check(start + checked)
    return start + hides + block_check(start + hides if with_start else hides)


def split(buffer: bytes | bytearray, *, answers: bool = False) -> Piece | None:
    """
    Return the first piece of a buffer; None where more bytes are needed.

    The pieces do not depend on how the stream was divided. A buffer of `MAX_FRAME`
    bytes or more always gives one.

    Args:
        buffer: The bytes that were received and not yet split.
        answers: Whether a lone ACK or NAK can be an answer. If no command was ever
            sent they are noise, which often contains them.
    """
    found = (_STARTS_WITH_ANSWERS if answers else _STARTS).search(buffer)
    start = min(found.start() if found else len(buffer), MAX_FRAME)
    if start and (found or start == MAX_FRAME):
        return Piece(start, Shape.NOISE, "no frame begins")
    if not found:
        return None
    if buffer[0] == ACK:
        return Piece(1, Shape.ACK)
    if buffer[0] == NAK:
        return _negative_answer(buffer)
    return _frame(buffer)


def _negative_answer(buffer: bytes | bytearray) -> Piece | None:
    if len(buffer) == 1:
        return None
    if buffer[1] == ENQ:
        return Piece(1, Shape.NOISE, "cut short by another frame")
    return Piece(2, Shape.NAK)


def _frame(buffer: bytes | bytearray) -> Piece | None:
    etx = buffer.find(ETX, 1, MAX_FRAME - _BCC_BYTES)
    end = etx + 1 + _BCC_BYTES if etx >= 0 else MAX_FRAME
    again = buffer.find(ENQ, 1, end)
    if again >= 0:
        return Piece(again, Shape.NOISE, "cut short by another frame")
    if len(buffer) < end:
        return None
    if etx < 0:
        return Piece(MAX_FRAME, Shape.NOISE, f"no end within {MAX_FRAME} bytes")
    return _check_frame(bytes(buffer[:end]))


def _check_frame(frame: bytes) -> Piece:
    checked, received = frame[1:-_BCC_BYTES], frame[-_BCC_BYTES:]
    length, expected = len(frame), block_check(checked)
    if frame[0] == STX:
        if received in {expected, block_check(frame[:-_BCC_BYTES])}:
            return Piece(length, Shape.REPLY)
    elif received == expected:
        if length >= _MIN_REPORT_BYTES:
            return Piece(length, Shape.REPORT)
        return Piece(length, Shape.NOISE, "a frame without a report in it")
    note = f"checksum {received.decode('latin-1')!a}, reckoned {expected.decode()}"
    return Piece(length, Shape.NOISE, note)


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
        data: 0 to 99. Of ``LK`` 1 unlocks and 2 locks, of ``EC`` it is the error, of ``GP`` 0
            confirms.
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


def text_of_nak(code: int) -> str:
    """Return the reason of a NAK as text."""
    return f"{code:02X} {_NAKS.get(code, 'unknown')}"
