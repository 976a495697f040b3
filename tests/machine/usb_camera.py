"""
A USB camera made of software: the guest's own driver (uvcvideo) takes it for a real one.

It speaks usbredir to qemu's device `usb-redir`: a UVC 1.0 camera, high speed, one bulk endpoint,
pictures as JPEG. Closing the connection is pulling the cable.

Protocols: "USB network redirection protocol description" 0.7 (usbredir), and "USB Device Class
Definition for Video Devices" 1.0a.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

WIDTH, HEIGHT = 640, 480
_VENDOR, _PRODUCT = 0x1D6B, 0x0102
_MAX_PACKET: Final = 512
_VIDEO_ENDPOINT: Final = 0x81
_TICKS_PER_S: Final = 10_000_000
_FRAME_BYTES: Final = WIDTH * HEIGHT * 2

# Packets of usbredir.
_HELLO, _DEVICE_CONNECT, _INTERFACES, _ENDPOINTS = 0, 1, 4, 5
_SET_CONFIGURATION, _GET_CONFIGURATION, _CONFIGURATION_STATUS = 6, 7, 8
_SET_ALTERNATIVE, _GET_ALTERNATIVE, _ALTERNATIVE_STATUS = 9, 10, 11
_CANCEL, _CONTROL, _BULK = 21, 100, 101
_SUCCESS, _CANCELLED, _STALL = 0, 1, 4
_CAPABILITIES: Final = (1, 4, 5, 6)
"""Version of devices, sizes of packets, 64-bit ids, 32-bit lengths of bulk packets."""


def _descriptor(*content: int) -> bytes:
    return bytes([len(content) + 1, *content])


def _number(size: int, value: int) -> list[int]:
    return list(value.to_bytes(size, "little"))


def _text(text: str) -> bytes:
    return bytes([2 + 2 * len(text), 3]) + text.encode("utf-16le")


def _descriptors(serial: str, fps: int) -> dict[int, bytes]:
    """Return all descriptors of the camera, by type and index."""
    interval = _TICKS_PER_S // fps
    camera = _descriptor(0x24, 2, 1, *_number(2, 0x0201), *[0] * 8, 3, 0, 0, 0)
    output = _descriptor(0x24, 3, 2, *_number(2, 0x0101), 0, 1, 0)
    units = _number(2, 13 + len(camera) + len(output))
    control = _descriptor(0x24, 1, 0x00, 0x01, *units, *_number(4, 48_000_000), 1, 1)
    picture = _descriptor(0x24, 6, 1, 1, 1, 1, 0, 0, 0, 0)
    rates = (*_number(4, _FRAME_BYTES * 8), *_number(4, _FRAME_BYTES * 8 * fps))
    size = _descriptor(
        *(0x24, 7, 1, 0, *_number(2, WIDTH), *_number(2, HEIGHT), *rates),
        *(*_number(4, _FRAME_BYTES), *_number(4, interval), 1, *_number(4, interval)),
    )
    colour = _descriptor(0x24, 0x0D, 1, 1, 4)
    formats = _number(2, 14 + len(picture) + len(size) + len(colour))
    header = _descriptor(0x24, 1, 1, *formats, _VIDEO_ENDPOINT, 0, 2, 0, 0, 0, 1, 0)
    body = b"".join(
        (
            _descriptor(11, 0, 2, 0x0E, 3, 0, 0),
            _descriptor(4, 0, 0, 0, 0x0E, 1, 0, 0) + control + camera + output,
            _descriptor(4, 1, 0, 1, 0x0E, 2, 0, 0) + header + picture + size + colour,
            _descriptor(5, _VIDEO_ENDPOINT, 2, *_number(2, _MAX_PACKET), 0),
        )
    )
    identity = (*_number(2, _VENDOR), *_number(2, _PRODUCT), 0x00, 0x01, 1, 2, 3, 1)
    return {
        0x100: _descriptor(1, 0x00, 0x02, 0xEF, 2, 1, 64, *identity),
        0x200: _descriptor(2, *_number(2, 9 + len(body)), 2, 1, 0, 0x80, 250) + body,
        0x300: b"\x04\x03\x09\x04",
        0x301: _text("Test bench"),
        0x302: _text("Top camera"),
        0x303: _text(serial),
    }


class UsbCamera:
    """
    A camera that is plugged in, for a `with` block.

    Args:
        address: The socket of qemu's device.
        frame: Returns the JPEG that the camera sees now.
        serial: Its serial number.
        fps: Pictures a second.

    Attributes:
        sent: Pictures sent so far.
    """

    def __init__(
        self, address: Path, frame: Callable[[], bytes], serial: str, fps: int = 5
    ) -> None:
        self.sent = 0
        self._address = address
        self._frame = frame
        self._fps = fps
        self._descriptors = _descriptors(serial, fps)
        self._line = socket.socket(socket.AF_UNIX)
        self._has_long_ids = False
        self._requests: list[tuple[int, int, int]] = []
        self._picture = b""
        self._toggle = 0
        self._next = 0.0
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._line.connect(str(self._address))
        capabilities = struct.pack("<I", sum(1 << each for each in _CAPABILITIES))
        self._send(_HELLO, 0, b"camera".ljust(64, b"\0") + capabilities)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._thread.join(30)
        self._line.close()

    def _send(self, kind: int, number: int, body: bytes) -> None:
        head = "<IIQ" if self._has_long_ids else "<III"
        self._line.sendall(struct.pack(head, kind, len(body), number) + body)

    def _serve(self) -> None:
        pending = b""
        with contextlib.suppress(OSError):
            while True:
                due = max(0.0, self._next - time.monotonic()) if self._requests else 0.5
                if select.select([self._line], [], [], 0 if self._picture else due)[0]:
                    data = self._line.recv(65536)
                    if not data:
                        return
                    pending = self._take(pending + data)
                self._send_picture()

    def _take(self, data: bytes) -> bytes:
        """Answer all whole packets and return the rest."""
        while True:
            head = struct.Struct("<IIQ" if self._has_long_ids else "<III")
            if len(data) < head.size:
                return data
            kind, length, number = head.unpack_from(data)
            if len(data) < head.size + length:
                return data
            self._answer(kind, number, data[head.size : head.size + length])
            data = data[head.size + length :]

    def _answer(self, kind: int, number: int, body: bytes) -> None:
        if kind == _HELLO:
            self._has_long_ids = len(body) > 64 and bool(body[64] & 1 << 5)
            self._connect()
        elif kind == _SET_CONFIGURATION:
            self._send(_CONFIGURATION_STATUS, number, bytes([_SUCCESS, body[0]]))
        elif kind == _GET_CONFIGURATION:
            self._send(_CONFIGURATION_STATUS, number, bytes([_SUCCESS, 1]))
        elif kind == _SET_ALTERNATIVE:
            self._requests.clear()
            self._picture = b""
            self._send(_ALTERNATIVE_STATUS, number, bytes([_SUCCESS, body[0], body[1]]))
        elif kind == _GET_ALTERNATIVE:
            self._send(_ALTERNATIVE_STATUS, number, bytes([_SUCCESS, body[0], 0]))
        elif kind == _CANCEL:
            self._cancel(number)
        elif kind == _BULK:
            endpoint, _, low, _, high = struct.unpack_from("<BBHIH", body)
            self._requests.append((number, endpoint, low | high << 16))
        elif kind == _CONTROL:
            self._control(number, *struct.unpack_from("<4B3H", body))

    def _connect(self) -> None:
        def table(*values: int) -> bytes:
            return bytes(values).ljust(32, b"\0")

        classes = table(0, 1) + table(0x0E, 0x0E) + table(1, 2) + table(0, 0)
        self._send(_INTERFACES, 0, struct.pack("<I", 2) + classes)
        kinds, owners, sizes = [255] * 32, [0] * 32, [0] * 32
        kinds[0] = kinds[16] = 0  # control
        sizes[0] = sizes[16] = 64
        kinds[17], owners[17], sizes[17] = 2, 1, _MAX_PACKET  # bulk, into the host
        endpoints = bytes(kinds) + bytes(32) + bytes(owners) + struct.pack("<32H", *sizes)
        self._send(_ENDPOINTS, 0, endpoints)
        speed = 2  # high
        identity = struct.pack("<4B3H", speed, 0xEF, 2, 1, _VENDOR, _PRODUCT, 0x0100)
        self._send(_DEVICE_CONNECT, 0, identity)

    def _cancel(self, number: int) -> None:
        for request in [each for each in self._requests if each[0] == number]:
            self._requests.remove(request)
            self._picture = b""
            self._send(_BULK, number, struct.pack("<BBHIH", request[1], _CANCELLED, 0, 0, 0))

    def _control(  # noqa: PLR0913, PLR0917 - the fields of a control transfer
        self, number: int, endpoint: int, request: int, kind: int, _: int, value: int, index: int,
        length: int,
    ) -> None:  # fmt: skip
        answer = self._control_answer(request, kind, value, index)
        writes = not kind & 0x80
        status = _STALL if answer is None and not writes else _SUCCESS
        body = (answer or b"")[:length]
        count = length if writes else len(body)
        head = struct.pack("<4B3H", endpoint, request, kind, status, value, index, count)
        self._send(_CONTROL, number, head + body)

    def _control_answer(self, request: int, kind: int, value: int, index: int) -> bytes | None:
        if (kind, request) == (0x80, 6):
            return self._descriptors.get(value)
        if kind & 0x9F == 0x80 and request == 0:
            return b"\0\0"
        if kind == 0xA1 and index == 1 and value >> 8 in {1, 2}:
            interval = _TICKS_PER_S // self._fps
            state = (1, 1, 1, interval, 0, 0, 0, 0, 0, _FRAME_BYTES, 1 << 20)
            settings = struct.pack("<HBBI5HII", *state)
            return {0x86: b"\3", 0x85: struct.pack("<H", len(settings))}.get(request, settings)
        return None

    def _send_picture(self) -> None:
        while self._requests:
            if not self._picture:
                if time.monotonic() < self._next:
                    return
                self._picture = self._next_picture()
            number, endpoint, length = self._requests.pop(0)
            part, self._picture = self._picture[:length], self._picture[length:]
            size = struct.pack("<BBHIH", endpoint, 0, len(part) & 0xFFFF, 0, len(part) >> 16)
            self._send(_BULK, number, size + part)

    def _next_picture(self) -> bytes:
        picture = bytes([2, 0x82 | self._toggle]) + self._frame()
        self._toggle ^= 1
        self._next = time.monotonic() + 1 / self._fps
        self.sent += 1
        # A short packet ends the picture.
        return picture + b"\0" if len(picture) % _MAX_PACKET == 0 else picture
