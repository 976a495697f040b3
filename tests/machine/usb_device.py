"""
USB devices made of software: the guest's own drivers take them for real ones.

They speak usbredir to qemu's device `usb-redir`. Closing the connection is pulling the cable.
Protocol: "USB network redirection protocol description" 0.7 (usbredir).
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from pathlib import Path
from typing import Final, Self

FULL_SPEED, HIGH_SPEED = 1, 2

# Packets of usbredir.
_HELLO, _DEVICE_CONNECT, _INTERFACES, _ENDPOINTS = 0, 1, 4, 5
_SET_CONFIGURATION, _GET_CONFIGURATION, _CONFIGURATION_STATUS = 6, 7, 8
_SET_ALTERNATIVE, _GET_ALTERNATIVE, _ALTERNATIVE_STATUS = 9, 10, 11
_START_INTERRUPTS, _STOP_INTERRUPTS, _INTERRUPTS_STATUS = 15, 16, 17
_CONTROL: Final = 100
_SUCCESS, _STALL = 0, 4
_CAPABILITIES: Final = (1, 4, 5, 6)
"""Version of devices, sizes of packets, 64-bit ids, 32-bit lengths of bulk packets."""

_MAX_ENDPOINTS: Final = 32
_DEVICE, _CONFIGURATION = 0x100, 0x200
_INTERFACE_KIND, _ENDPOINT_KIND = 4, 5
_GET_DESCRIPTOR: Final = 6


def descriptor(*content: int) -> bytes:
    """Return a descriptor: its length and its content."""
    return bytes([len(content) + 1, *content])


def number(size: int, value: int) -> list[int]:
    """Return the bytes of a number in a descriptor."""
    return list(value.to_bytes(size, "little"))


def text(text: str) -> bytes:
    """Return the descriptor of a text."""
    return bytes([2 + 2 * len(text), 3]) + text.encode("utf-16le")


class UsbDevice:
    """
    A device that is plugged in, for a `with` block.

    Args:
        address: The socket of qemu's device.
        descriptors: All its descriptors, by type and index, as a host asks for them.
        speed: `FULL_SPEED` or `HIGH_SPEED`.
    """

    def __init__(self, address: Path, descriptors: dict[int, bytes], speed: int) -> None:
        self._address = address
        self._descriptors = descriptors
        self._speed = speed
        self._line = socket.socket(socket.AF_UNIX)
        self._has_long_ids = False
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._line.connect(str(self._address))
        capabilities = struct.pack("<I", sum(1 << each for each in _CAPABILITIES))
        self.send(_HELLO, 0, b"device".ljust(64, b"\0") + capabilities)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._thread.join(30)
        self._line.close()

    def control(
        self, request: int, kind: int, value: int, index: int, data: bytes
    ) -> bytes | None:
        """Answer a request of its class; None refuses it. `data` is what the host wrote."""
        raise NotImplementedError

    def packet(self, kind: int, number: int, body: bytes) -> None:
        """Take a packet of another kind than control."""

    def alternative_chosen(self) -> None:
        """Forget what was requested of an interface."""

    def seconds_until_work(self) -> float:
        """Return after which time `work` is due."""
        return 0.5

    def work(self) -> None:
        """Send what is due."""

    def send(self, kind: int, number: int, body: bytes) -> None:
        """Send a packet."""
        head = "<IIQ" if self._has_long_ids else "<III"
        self._line.sendall(struct.pack(head, kind, len(body), number) + body)

    def _serve(self) -> None:
        pending = b""
        with contextlib.suppress(OSError):
            while True:
                if select.select([self._line], [], [], self.seconds_until_work())[0]:
                    data = self._line.recv(65536)
                    if not data:
                        return
                    pending = self._take(pending + data)
                self.work()

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
            self.send(_CONFIGURATION_STATUS, number, bytes([_SUCCESS, body[0]]))
        elif kind == _GET_CONFIGURATION:
            self.send(_CONFIGURATION_STATUS, number, bytes([_SUCCESS, 1]))
        elif kind == _SET_ALTERNATIVE:
            self.alternative_chosen()
            self.send(_ALTERNATIVE_STATUS, number, bytes([_SUCCESS, body[0], body[1]]))
        elif kind == _GET_ALTERNATIVE:
            self.send(_ALTERNATIVE_STATUS, number, bytes([_SUCCESS, body[0], 0]))
        elif kind in {_START_INTERRUPTS, _STOP_INTERRUPTS}:
            self.send(_INTERRUPTS_STATUS, number, bytes([_SUCCESS, body[0]]))
        elif kind == _CONTROL:
            self._control(number, body)
        else:
            self.packet(kind, number, body)

    def _connect(self) -> None:
        """Introduce the device, as its descriptors do."""
        configuration = self._descriptors[_CONFIGURATION]
        interfaces: list[bytes] = []
        kinds, intervals, owners, sizes = ([0] * _MAX_ENDPOINTS for _ in range(4))
        kinds[:] = [255] * _MAX_ENDPOINTS
        for each in (0, 16):  # control, out and in
            kinds[each], sizes[each] = 0, 64
        while configuration:
            part = configuration[: configuration[0]]
            configuration = configuration[configuration[0] :]
            if part[1] == _INTERFACE_KIND:
                interfaces.append(bytes([part[2], *part[5:8]]))
            elif part[1] == _ENDPOINT_KIND:
                place = (part[2] & 0x80) >> 3 | part[2] & 0x0F
                kinds[place], intervals[place] = part[3] & 3, part[6]
                owners[place] = interfaces[-1][0]
                sizes[place] = int.from_bytes(part[4:6], "little")
        columns = b"".join(bytes(each).ljust(32, b"\0") for each in zip(*interfaces, strict=True))
        self.send(_INTERFACES, 0, struct.pack("<I", len(interfaces)) + columns)
        endpoints = bytes(kinds + intervals + owners) + struct.pack("<32H", *sizes)
        self.send(_ENDPOINTS, 0, endpoints)
        device = self._descriptors[_DEVICE]
        self.send(_DEVICE_CONNECT, 0, bytes([self._speed]) + device[4:7] + device[8:14])

    def _control(self, number: int, body: bytes) -> None:
        endpoint, request, kind, _, value, index, length = struct.unpack_from("<4B3H", body)
        if kind & 0x9E == 0x80 and request == _GET_DESCRIPTOR:
            answer = self._descriptors.get(value)
        elif kind & 0x9F == 0x80 and request == 0:
            answer = b"\0\0"
        else:
            answer = self.control(request, kind, value, index, body[10:])
        writes = not kind & 0x80
        status = _STALL if answer is None and not writes else _SUCCESS
        answer = (answer or b"")[:length]
        count = length if writes else len(answer)
        head = struct.pack("<4B3H", endpoint, request, kind, status, value, index, count)
        self.send(_CONTROL, number, head + answer)
