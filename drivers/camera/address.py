"""
What stands behind ``camera:`` in a configuration.

    camera:/dev/video0          a camera of this machine; better a stable name below
                                /dev/v4l/by-id or /dev/v4l/by-path
    camera:rtsp://HOST/PATH     a stream, likewise http:// and https://
    camera:file:PATH            a video, once from its beginning to its end
    camera:folder:PATH          pictures, by their names
    camera:raw:PATH             raw pictures of a simulator, from a socket at this path
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from shoe_daemon.errors import UserError

__all__ = ["Address", "Kind", "parse_address"]

_HEAD: Final = "camera:"
_STREAMS: Final = ("rtsp://", "rtsps://", "http://", "https://")
_EXPECTED: Final = (
    "expected camera:/dev/…, camera:rtsp://…, camera:http://…, camera:file:PATH, "
    "camera:folder:PATH or camera:raw:PATH"
)


class Kind(StrEnum):
    """
    Where pictures come from.
    """

    DEVICE = "device"
    STREAM = "stream"
    FILE = "file"
    FOLDER = "folder"
    RAW = "raw"


class Address(Struct, frozen=True):
    """
    One source.

    Attributes:
        kind: What it is.
        where: Path or URL.
    """

    kind: Kind
    where: str

    def __str__(self) -> str:
        """
        The source as people may see it: without a password.
        """
        if self.kind is not Kind.STREAM:
            return self.where
        parts = urlsplit(self.where)
        if parts.username is None:
            return self.where
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def is_live(self) -> bool:
        """
        Whether pictures come by themselves, and those that nobody takes are past.
        """
        return self.kind in {Kind.DEVICE, Kind.STREAM, Kind.RAW}


def parse_address(url: str) -> Address:
    """
    Read a port of a configuration.

    Raises:
        UserError: It names no camera.
    """
    where = url.removeprefix(_HEAD)
    if url.startswith(_HEAD):
        for kind in (Kind.FILE, Kind.FOLDER, Kind.RAW):
            if where.startswith(f"{kind}:") and len(where) > len(kind) + 1:
                return Address(kind, where[len(kind) + 1 :])
        if where.startswith(_STREAMS) and urlsplit(where).hostname:
            return Address(Kind.STREAM, where)
        if where.startswith("/"):
            return Address(Kind.DEVICE, where)
    raise UserError(f"port {url!r}: {_EXPECTED}")
