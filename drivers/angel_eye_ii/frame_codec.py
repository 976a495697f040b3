"""
Angel Eye frames to bytes and back; no state, no time, no meaning.

    report   ENQ | seq | code, data n bytes | ETX | BCC        shoe -> host
    reply    STX | n bytes | ETX | BCC                         shoe -> host, on a command
    ACK, or NAK and one error byte                             shoe -> host, on a command

    seq    one ASCII digit: 0 at boot, then 1 to 9, and 1 again after 9
    BCC    two ASCII hex digits, upper case: XOR of all from seq to ETX inclusive
           (replies: from after STX, or with it; the documents disagree, so both are taken)

ENQ never occurs inside a frame: payload bytes are ASCII or have bit 7 set. An ENQ
therefore always begins a frame, whatever is half-received.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import reduce
from operator import xor
from typing import Final, NamedTuple

from msgspec import Struct

__all__ = ["MAX_FRAME", "Report", "Shape", "Stretch", "block_check", "parse_report", "split"]

ENQ: Final = 0x05
STX: Final = 0x02
ETX: Final = 0x03
ACK: Final = 0x06
NAK: Final = 0x15

MAX_FRAME: Final = 128
"""Bytes after which a frame without an end is given up; the longest known has eleven."""

_BCC_LENGTH: Final = 2
_ZERO: Final = 0x30
_SHORTEST_REPORT: Final = 6
_STARTS: Final = re.compile(b"[\x05\x02]")
_STARTS_WITH_ANSWERS: Final = re.compile(b"[\x05\x02\x06\x15]")


class Shape(StrEnum):
    """
    What a stretch of bytes is, by its framing alone.
    """

    REPORT = "report"
    REPLY = "reply"
    ACK = "ack"
    NAK = "nak"
    NOISE = "noise"


class Stretch(NamedTuple):
    """
    The first bytes of a buffer, as far as they belong together.

    Attributes:
        length: How many bytes, 1 to `MAX_FRAME`.
        shape: What they are.
        note: Why noise is noise.
    """

    length: int
    shape: Shape
    note: str = ""


class Report(Struct, frozen=True):
    """
    One report of the shoe.

    Attributes:
        seq: 0 to 9; anything else is kept as it came and is no sequence number.
        code: One character: ``S``, ``D``, ``I`` ...
        data: What follows the code, 0 to 122 bytes.
    """

    seq: int
    code: str
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """
        Write the frame as the shoe sends it.
        """
        body = bytes([(self.seq + _ZERO) & 0xFF]) + self.code.encode("latin-1") + self.data
        checked = body + bytes([ETX])
        return bytes([ENQ]) + checked + block_check(checked)


def block_check(checked: bytes) -> bytes:
    """
    Return the BCC of these bytes: their XOR as two upper-case hex digits.
    """
    return b"%02X" % reduce(xor, checked, 0)


def parse_report(raw: bytes) -> Report:
    """
    Read a frame that `split` has called a report.
    """
    return Report(raw[1] - _ZERO, chr(raw[2]), raw[3 : -1 - _BCC_LENGTH])


def split(buffer: bytes | bytearray, *, answers: bool = False) -> Stretch | None:
    """
    Say what the first bytes of a buffer are; None where more are needed to tell.

    However a stream is cut, feeding its bytes through this gives the same
    stretches. A buffer of `MAX_FRAME` bytes or more always gives one.

    Args:
        buffer: What has come and was not taken yet.
        answers: Whether a lone ACK or NAK can be an answer. Where no command was
            ever sent they are noise, and noise is full of them.
    """
    found = (_STARTS_WITH_ANSWERS if answers else _STARTS).search(buffer)
    start = min(found.start() if found else len(buffer), MAX_FRAME)
    if start and (found or start == MAX_FRAME):
        return Stretch(start, Shape.NOISE, "no frame begins")
    if not found:
        return None
    if buffer[0] == ACK:
        return Stretch(1, Shape.ACK)
    if buffer[0] == NAK:
        return _negative_answer(buffer)
    return _frame(buffer)


def _negative_answer(buffer: bytes | bytearray) -> Stretch | None:
    if len(buffer) == 1:
        return None
    if buffer[1] == ENQ:
        return Stretch(1, Shape.NOISE, "cut short by another frame")
    return Stretch(2, Shape.NAK)


def _frame(buffer: bytes | bytearray) -> Stretch | None:
    etx = buffer.find(ETX, 1, MAX_FRAME - _BCC_LENGTH)
    end = etx + 1 + _BCC_LENGTH if etx >= 0 else MAX_FRAME
    again = buffer.find(ENQ, 1, end)
    if again >= 0:
        return Stretch(again, Shape.NOISE, "cut short by another frame")
    if len(buffer) < end:
        return None
    if etx < 0:
        return Stretch(MAX_FRAME, Shape.NOISE, f"no end within {MAX_FRAME} bytes")
    return _judge(bytes(buffer[:end]))


def _judge(frame: bytes) -> Stretch:
    checked, said = frame[1:-_BCC_LENGTH], frame[-_BCC_LENGTH:]
    length, right = len(frame), block_check(checked)
    if frame[0] == STX:
        if said in {right, block_check(frame[:-_BCC_LENGTH])}:
            return Stretch(length, Shape.REPLY)
    elif said == right:
        if length >= _SHORTEST_REPORT:
            return Stretch(length, Shape.REPORT)
        return Stretch(length, Shape.NOISE, "a frame without a report in it")
    note = f"checksum {said.decode('latin-1')!a}, reckoned {right.decode()}"
    return Stretch(length, Shape.NOISE, note)
