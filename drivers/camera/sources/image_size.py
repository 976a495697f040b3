"""
How large a picture in a file is, without decoding it, and without what decodes it.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["dimensions"]

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8"
_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Marks of a JPEG before the head that says its size."""

_BARE: Final = frozenset({0x01, *range(0xD0, 0xDA)})
"""Marks with nothing behind them."""


def dimensions(path: Path) -> tuple[int, int] | None:
    """
    Return width and height of a PNG or a JPEG; None where the file is neither.
    """
    try:
        with path.open("rb") as file:
            head = file.read(24)
            if head.startswith(_PNG) and head[12:16] == b"IHDR":
                width, height = struct.unpack("!II", head[16:24])
                return width, height
            if head.startswith(_JPEG):
                file.seek(2)
                return _of_jpeg(file)
    except (OSError, struct.error):
        pass
    return None


def _of_jpeg(file: BinaryIO) -> tuple[int, int] | None:
    while file.read(1) == b"\xff":
        mark = (file.read(1) or b"\xd9")[0]
        while mark == 0xFF:  # noqa: PLR2004 - it may be repeated
            mark = (file.read(1) or b"\xd9")[0]
        if mark in _FRAMES:
            height, width = struct.unpack("!HH", file.read(7)[3:])
            return width, height
        if mark not in _BARE:
            (length,) = struct.unpack("!H", file.read(2))
            file.seek(length - 2, 1)
    return None
