"""
What stands behind ``camera:`` in a configuration.

    camera:/dev/video0          a camera of this machine; better a stable name below
                                /dev/v4l/by-id or /dev/v4l/by-path
    camera:rtsp://HOST/PATH     a stream, likewise rtsps://, http:// and https://
    camera:file:PATH            a video, once from its beginning to its end
    camera:folder:PATH          pictures, by their names
    camera:raw:PATH             raw pictures of a simulator, from a socket at this path
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from drivers.redact import discreet
from shoe_daemon.errors import UserError

__all__ = ["Address", "Kind", "parse_address", "parse_source"]

_HEAD: Final = "camera:"
_STREAMS: Final = ("rtsp://", "rtsps://", "http://", "https://")
_FORMS: Final = ("/dev/…", "rtsp://…", "http://…", "file:PATH", "folder:PATH", "raw:PATH")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
"""What nobody types on purpose: it would end a line of a message, or a name."""

_CODED: Final = "; in a name or a password @ is written %40, / %2F, # %23, ? %3F"


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
        The source as people may see it: without a name and a password.
        """
        return discreet(self.where) if self.is_stream else self.where

    def known_to(self, username: str, password: str) -> Address:
        """
        Return the source as somebody who says who he is: where ``{username}`` and
        ``{password}`` stand, else before the host.

        Raises:
            UserError: None is asked for, or the address names somebody itself.
        """
        if not self.is_stream:
            raise UserError(f"{self}: expected a network camera: no other asks for a name")
        name, word = quote(username, safe=""), quote(password, safe="")
        if "{password}" in self.where:
            where = self.where.replace("{username}", name).replace("{password}", word)
            return Address(self.kind, where)
        parts = urlsplit(self.where)
        if parts.username is not None:
            raise UserError(f"{self}: its port names somebody too; expected it to do so once")
        return Address(self.kind, parts._replace(netloc=f"{name}:{word}@{parts.netloc}").geturl())

    @property
    def is_stream(self) -> bool:
        """
        Whether it is a network camera.
        """
        return self.kind is Kind.STREAM

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
    found = _found(url.removeprefix(_HEAD)) if url.startswith(_HEAD) else None
    if found is None:
        raise UserError(f"port {_shown(url, _HEAD)!r}: {_expected(url, _HEAD)}")
    return found


def parse_source(source: str) -> Address:
    """
    Read what a person names at the terminal; ``camera:`` before it may be left out.

    Raises:
        UserError: It names no camera.
    """
    where = source.removeprefix(_HEAD)
    found = _found(where)
    if found is None:
        raise UserError(f"source {_shown(where, '')!r}: {_expected(where, '')}")
    return found


def _found(where: str) -> Address | None:
    if _CONTROL.search(where):
        return None
    for kind in (Kind.FILE, Kind.FOLDER, Kind.RAW):
        if where.startswith(f"{kind}:") and len(where) > len(kind) + 1:
            return Address(kind, where[len(kind) + 1 :])
    if where.startswith(_STREAMS) and _has_host(where):
        return Address(Kind.STREAM, where)
    return Address(Kind.DEVICE, where) if where.startswith("/") else None


def _expected(url: str, head: str) -> str:
    *forms, last = (f"{head}{form}" for form in _FORMS)
    return f"expected {', '.join(forms)} or {last}{_CODED if '@' in url else ''}"


def _has_host(where: str) -> bool:
    try:
        parts = urlsplit(where)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False  # a bracket that is not closed, a port that is no number


def _shown(url: str, head: str) -> str:
    """
    Return what is no address so that no password is in it, wherever it stands.
    """
    _, somebody, rest = discreet(url).rpartition("@")
    return f"{head}…@{rest}" if somebody else rest
