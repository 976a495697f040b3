"""A minimal RTSP camera: JPEG over RTP (RFC 2435), interleaved in the RTSP connection."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from tests.fakes.loopback_server import LoopbackServer, read_request

__all__ = ["RtspCamera", "StreamState"]

_PACKET: Final = 1400
_CLOCK: Final = 90_000
_JPEG: Final = 26
_SOI: Final = 2
_DQT, _SOS, _SOF = 0xDB, 0xDA, 0xC0
_TABLE: Final = 64
_SDP: Final = (
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=table\r\nt=0 0\r\n"
    "m=video 0 RTP/AVP 26\r\nc=IN IP4 0.0.0.0\r\na=control:track\r\n"
)


class StreamState(Enum):
    """The camera's behaviour on a connection."""

    SENDING = auto()
    SILENT = auto()
    """Keeps the connection open without sending pictures."""

    NO_REPLY = auto()
    """Accepts the connection without replying."""


class _Scan(NamedTuple):
    width: int
    height: int
    tables: bytes
    data: bytes


class RtspCamera(LoopbackServer):
    """
    Sends pictures at a fixed rate to each client.

    Attributes:
        state: May change at any time.
        refusal: Status line in reply to DESCRIBE; empty to describe the stream.
    """

    def __init__(self, picture: Callable[[], bytes], fps: float = 25.0) -> None:
        super().__init__()
        self.state = StreamState.SENDING
        self.refusal = ""
        self._picture = picture
        self._span = 1 / fps

    @property
    def url(self) -> str:
        """The `port` of a configuration."""
        return f"camera:rtsp://{self.address}/table"

    def serve(self, connection: socket.socket, _number: int, /) -> None:
        """Reply to requests until PLAY, then send pictures."""
        playing = False
        while not playing:
            playing = self._answer(connection, read_request(connection))
        sequence, began = 0, time.monotonic()
        while True:
            if self.state is StreamState.SENDING:
                stamp = int((time.monotonic() - began) * _CLOCK)
                for packet in _packets(self._picture(), sequence, stamp):
                    connection.sendall(packet)
                    sequence += 1
            if _is_gone(connection, self._span):
                return

    def _answer(self, connection: socket.socket, question: str) -> bool:
        verb = question.partition(" ")[0]
        number = next(
            (line[5:].strip() for line in question.split("\r\n") if line.startswith("CSeq:")), "0"
        )
        if self.state is StreamState.NO_REPLY:
            return False
        status, more, body = "200 OK", "", ""
        if verb == "DESCRIBE" and self.refusal:
            status = self.refusal
        elif verb == "DESCRIBE":
            more, body = "Content-Type: application/sdp\r\n", _SDP
        elif verb == "SETUP":
            more = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"
        lines = f"RTSP/1.0 {status}\r\nCSeq: {number}\r\nSession: 1\r\n{more}"
        connection.sendall(f"{lines}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return verb == "PLAY"


def _is_gone(connection: socket.socket, seconds: float) -> bool:
    """
    Wait for some seconds; return whether the client disconnected. Received data is discarded.
    """
    heard, _, _ = select.select([connection], [], [], seconds)
    return bool(heard) and not connection.recv(_PACKET)


def _packets(jpeg: bytes, sequence: int, stamp: int) -> Iterator[bytes]:
    scan = _scan(jpeg)
    for at in range(0, len(scan.data), _PACKET):
        piece = scan.data[at : at + _PACKET]
        last = at + _PACKET >= len(scan.data)
        head = struct.pack(
            "!BBHII", 0x80, _JPEG | 0x80 * last, (sequence + at // _PACKET) & 0xFFFF, stamp, 1
        )
        # 4:2:0 sampling, with quantisation tables in the stream.
        head += struct.pack("!IBBBB", at, 1, 255, scan.width // 8, scan.height // 8)
        if at == 0:
            head += struct.pack("!BBH", 0, 0, len(scan.tables)) + scan.tables
        yield struct.pack("!cBH", b"$", 0, len(head) + len(piece)) + head + piece


def _scan(jpeg: bytes) -> _Scan:
    """Parse a JPEG as OpenCV writes it."""
    at, tables, width, height = _SOI, b"", 0, 0
    while True:
        kind, length = jpeg[at + 1], struct.unpack_from("!H", jpeg, at + 2)[0]
        body = jpeg[at + 4 : at + 2 + length]
        at += 2 + length
        if kind == _DQT:
            step = 1 + _TABLE
            tables += b"".join(body[n + 1 : n + step] for n in range(0, len(body), step))
        elif kind == _SOF:
            height, width = struct.unpack_from("!HH", body, 1)
        elif kind == _SOS:
            return _Scan(width, height, tables, jpeg[at:-2])
