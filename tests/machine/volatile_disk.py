"""
A disk with a volatile cache, over NBD: a written block is durable only after a flush.

Real disks have such a cache; a killed qemu alone loses nothing that the guest has written. At the
cut each block that was not flushed is kept or lost by the toss of a coin, and the disk is gone.

The protocol: https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
import struct
import threading
from pathlib import Path
from typing import Final, Self

_BLOCK: Final = 4096
_HAS_FLAGS, _SEND_FLUSH, _FIXED_NEWSTYLE = 1, 1 << 2, 1
_OPTION_MAGIC: Final = b"NBDMAGICIHAVEOPT"
_REPLY_MAGIC: Final = 0x3E889045565A9
_ANSWER_MAGIC: Final = 0x67446698
_ACK, _INFO, _UNSUPPORTED = 1, 3, 0x80000001
_ABORT, _OPTION_INFO, _GO = 2, 6, 7
_READ, _WRITE, _DISCONNECT, _FLUSH = range(4)


class VolatileDisk:
    """
    Serves one client, for a `with` block.

    Args:
        file: Its durable contents.
        address: Unix socket on which it listens.
        seed: Decides which blocks a cut keeps.

    Attributes:
        gone: Set when it was cut.
        lost: Blocks lost by the cut.
    """

    def __init__(self, file: Path, address: Path, *, seed: int) -> None:
        self._file = os.open(file, os.O_RDWR)
        self._size = os.fstat(self._file).st_size
        self._chance = random.Random(seed)
        self._cache: dict[int, bytes] = {}
        self._writes_left: int | None = None
        self._lock = threading.Lock()
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(address))
        self._door.listen(1)
        self._client: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.gone = threading.Event()
        self.lost = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._door, self._client):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        for end in (self._door, self._client):
            if end is not None:
                end.close()
        os.close(self._file)

    def cut_after(self, writes: int) -> None:
        """Cut it right after so many more writes, so that its cache is not empty."""
        with self._lock:
            self._writes_left = writes

    def cut(self) -> None:
        """Cut it now."""
        with self._lock:
            self._cut()

    def _cut(self) -> None:
        for number in sorted(self._cache):
            if self._chance.random() < 0.5:
                os.pwrite(self._file, self._cache[number], number * _BLOCK)
            else:
                self.lost += 1
        self._cache.clear()
        self.gone.set()

    def _serve(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._client, _ = self._door.accept()
            self._negotiate(self._client)
            while not self.gone.is_set():
                self._answer(self._client)
            self._client.shutdown(socket.SHUT_RDWR)

    def _negotiate(self, client: socket.socket) -> None:
        client.sendall(_OPTION_MAGIC + struct.pack(">H", _FIXED_NEWSTYLE))
        _receive(client, 4)  # the client's flags
        option = None
        while option != _GO:
            _, option, length = struct.unpack(">QII", _receive(client, 16))
            _receive(client, length)
            if option in {_OPTION_INFO, _GO}:
                size = struct.pack(">HQH", 0, self._size, _HAS_FLAGS | _SEND_FLUSH)
                _reply(client, option, _INFO, size)
                _reply(client, option, _ACK)
            elif option == _ABORT:
                raise EOFError
            else:
                _reply(client, option, _UNSUPPORTED)

    def _answer(self, client: socket.socket) -> None:
        _, _, kind, handle, offset, length = struct.unpack(">IHHQQI", _receive(client, 28))
        data, error = b"", 0
        if kind == _READ:
            data = self._read(offset, length)
        elif kind == _WRITE:
            self._write(offset, _receive(client, length))
        elif kind == _FLUSH:
            self._flush()
        elif kind == _DISCONNECT:
            raise EOFError
        else:
            error = errno.EINVAL
        if not self.gone.is_set():
            client.sendall(struct.pack(">IIQ", _ANSWER_MAGIC, error, handle) + data)

    def _block(self, number: int) -> bytes:
        kept = self._cache.get(number)
        return os.pread(self._file, _BLOCK, number * _BLOCK) if kept is None else kept

    def _read(self, offset: int, length: int) -> bytes:
        first, last = offset // _BLOCK, (offset + length - 1) // _BLOCK
        data = b"".join(self._block(number) for number in range(first, last + 1))
        return data[offset - first * _BLOCK :][:length]

    def _write(self, offset: int, data: bytes) -> None:
        while data:
            number, start = divmod(offset, _BLOCK)
            part = data[: _BLOCK - start]
            old = self._block(number)
            self._cache[number] = old[:start] + part + old[start + len(part) :]
            offset, data = offset + len(part), data[len(part) :]
        with self._lock:
            if self._writes_left is not None:
                self._writes_left -= 1
                if self._writes_left <= 0:
                    self._cut()

    def _flush(self) -> None:
        for number, data in self._cache.items():
            os.pwrite(self._file, data, number * _BLOCK)
        self._cache.clear()


def _receive(client: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = client.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _reply(client: socket.socket, option: int, kind: int, data: bytes = b"") -> None:
    client.sendall(struct.pack(">QIII", _REPLY_MAGIC, option, kind, len(data)) + data)
