"""
A USB camera made of software: the guest's own driver (uvcvideo) takes it for a real one.

It is a UVC 1.0 camera, high speed, one bulk endpoint, pictures as JPEG. Document: "USB Device
Class Definition for Video Devices" 1.0a.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from tests.machine.usb_device import HIGH_SPEED, UsbDevice, descriptor, number, text

WIDTH, HEIGHT = 640, 480
_VENDOR, _PRODUCT = 0x1D6B, 0x0102
_MAX_PACKET: Final = 512
_VIDEO_ENDPOINT: Final = 0x81
_TICKS_PER_S: Final = 10_000_000
_MAX_PAYLOAD: Final = 1 << 20
_END_OF_FRAME, _ERROR = 0x82, 0x40
"""Bits of a payload's header."""

# Packets of usbredir.
_CANCEL, _BULK = 21, 101
_CANCELLED: Final = 1


class Tear(Enum):
    """
    A picture that is not whole: cut off, without a part in its middle, marked as faulty by the
    camera, or empty.
    """

    CUT = "cut"
    HOLED = "holed"
    MARKED = "marked"
    EMPTY = "empty"


class Picture(NamedTuple):
    """
    A picture of the camera.

    Attributes:
        jpeg: Its content.
        tear: How it is torn; None where it is whole.
        late_s: Seconds by which the next picture comes later than usual.
    """

    jpeg: bytes
    tear: Tear | None = None
    late_s: float = 0.0

    @property
    def payload(self) -> bytes:
        """The picture as it is sent."""
        flags = _END_OF_FRAME | (_ERROR if self.tear is Tear.MARKED else 0)
        half, jpeg = len(self.jpeg) // 2, self.jpeg
        if self.tear is Tear.CUT:
            jpeg = jpeg[:half]
        elif self.tear is Tear.HOLED:
            jpeg = jpeg[:half] + jpeg[half + half // 10 :]
        elif self.tear is Tear.EMPTY:
            jpeg = b""
        return bytes([2, flags]) + jpeg


def _descriptors(serial: str, fps: int, size: tuple[int, int]) -> dict[int, bytes]:
    """Return all descriptors of the camera, by type and index."""
    interval, frame_bytes = _TICKS_PER_S // fps, _frame_bytes(size)
    camera = descriptor(0x24, 2, 1, *number(2, 0x0201), *[0] * 8, 3, 0, 0, 0)
    output = descriptor(0x24, 3, 2, *number(2, 0x0101), 0, 1, 0)
    units = number(2, 13 + len(camera) + len(output))
    control = descriptor(0x24, 1, 0x00, 0x01, *units, *number(4, 48_000_000), 1, 1)
    picture = descriptor(0x24, 6, 1, 1, 1, 1, 0, 0, 0, 0)
    rates = (*number(4, frame_bytes * 8), *number(4, frame_bytes * 8 * fps))
    mode = descriptor(
        *(0x24, 7, 1, 0, *number(2, size[0]), *number(2, size[1]), *rates),
        *(*number(4, frame_bytes), *number(4, interval), 1, *number(4, interval)),
    )
    colour = descriptor(0x24, 0x0D, 1, 1, 4)
    formats = number(2, 14 + len(picture) + len(mode) + len(colour))
    header = descriptor(0x24, 1, 1, *formats, _VIDEO_ENDPOINT, 0, 2, 0, 0, 0, 1, 0)
    body = b"".join(
        (
            descriptor(11, 0, 2, 0x0E, 3, 0, 0),
            descriptor(4, 0, 0, 0, 0x0E, 1, 0, 0) + control + camera + output,
            descriptor(4, 1, 0, 1, 0x0E, 2, 0, 0) + header + picture + mode + colour,
            descriptor(5, _VIDEO_ENDPOINT, 2, *number(2, _MAX_PACKET), 0),
        )
    )
    identity = (*number(2, _VENDOR), *number(2, _PRODUCT), 0x00, 0x01, 1, 2, 3, 1)
    return {
        0x100: descriptor(1, 0x00, 0x02, 0xEF, 2, 1, 64, *identity),
        0x200: descriptor(2, *number(2, 9 + len(body)), 2, 1, 0, 0x80, 250) + body,
        0x300: b"\x04\x03\x09\x04",
        0x301: text("Test bench"),
        0x302: text("Top camera"),
        0x303: text(serial),
    }


def _frame_bytes(size: tuple[int, int]) -> int:
    return size[0] * size[1] * 2


class UsbCamera(UsbDevice):
    """
    A camera that is plugged in, for a `with` block.

    Args:
        address: The socket of qemu's device.
        frame: Returns the picture that the camera sees now.
        serial: Its serial number.
        fps: Pictures a second.
        size: Width and height of its pictures.

    Attributes:
        sent: Pictures sent so far.
    """

    def __init__(
        self,
        address: Path,
        frame: Callable[[], Picture],
        serial: str,
        fps: int = 5,
        size: tuple[int, int] = (WIDTH, HEIGHT),
    ) -> None:
        super().__init__(address, _descriptors(serial, fps, size), HIGH_SPEED)
        self.sent = 0
        self._frame = frame
        self._fps = fps
        self._frame_bytes = _frame_bytes(size)
        self._requests: list[tuple[int, int, int]] = []
        self._picture = b""
        self._toggle = 0
        self._next = 0.0

    def packet(self, kind: int, number: int, body: bytes) -> None:
        """Take a request for a part of a picture, or its end."""
        if kind == _CANCEL:
            self._cancel(number)
        elif kind == _BULK:
            endpoint, _, low, _, high = struct.unpack_from("<BBHIH", body)
            self._requests.append((number, endpoint, low | high << 16))

    def alternative_chosen(self) -> None:
        """Forget what was requested."""
        self._requests.clear()
        self._picture = b""

    def seconds_until_work(self) -> float:
        """Return after which time the next part of a picture is due."""
        if self._picture:
            return 0.0
        return max(0.0, self._next - time.monotonic()) if self._requests else 0.5

    def _cancel(self, number: int) -> None:
        for request in [each for each in self._requests if each[0] == number]:
            self._requests.remove(request)
            self._picture = b""
            self.send(_BULK, number, struct.pack("<BBHIH", request[1], _CANCELLED, 0, 0, 0))

    def control(
        self, request: int, kind: int, value: int, index: int, data: bytes
    ) -> bytes | None:
        """Answer a request for the settings of the stream."""
        del data
        if kind == 0xA1 and index == 1 and value >> 8 in {1, 2}:
            interval = _TICKS_PER_S // self._fps
            state = (1, 1, 1, interval, 0, 0, 0, 0, 0, self._frame_bytes, _MAX_PAYLOAD)
            settings = struct.pack("<HBBI5HII", *state)
            return {0x86: b"\3", 0x85: struct.pack("<H", len(settings))}.get(request, settings)
        return None

    def work(self) -> None:
        """Send what is due of a picture."""
        while self._requests:
            if not self._picture:
                if time.monotonic() < self._next:
                    return
                self._picture = self._next_picture()
            number, endpoint, length = self._requests.pop(0)
            part, self._picture = self._picture[:length], self._picture[length:]
            size = struct.pack("<BBHIH", endpoint, 0, len(part) & 0xFFFF, 0, len(part) >> 16)
            self.send(_BULK, number, size + part)

    def _next_picture(self) -> bytes:
        picture = self._frame()
        payload = bytearray(picture.payload)
        payload[1] |= self._toggle
        self._toggle ^= 1
        self._next = time.monotonic() + 1 / self._fps + picture.late_s
        self.sent += 1
        # A short packet ends the picture.
        return bytes(payload) + b"\0" if len(payload) % _MAX_PACKET == 0 else bytes(payload)
