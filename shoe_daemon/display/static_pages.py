"""
Static files and pages: HTML with one data block, in which nothing can become markup.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["PAGES", "STATIC", "File", "Shelf", "data_block", "render"]

_HERE: Final = Path(__file__).parent
PAGES: Final = _HERE / "pages"
STATIC: Final = _HERE / "static"

_PLACEHOLDER: Final = re.compile(r"\{\{(?:(lang|page)|static:([\w./-]+))\}\}")
_NAME: Final = re.compile(r"[\w-]+(/[\w-]+)*(\.[\w-]+)+", re.ASCII)
_TEXT: Final = ("text/", "application/json", "text/javascript", "image/svg")
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}
_ESCAPED: Final = {
    ord(sign): f"\\u{ord(sign):04x}" for sign in ("<", ">", "&", "\u2028", "\u2029")
}

_encode = msgspec.json.Encoder(order="sorted").encode


class File(NamedTuple):
    """
    A file as it is sent.

    Attributes:
        version: Another one for other bytes.
        zipped: The same, compressed; None where that saves nothing.
    """

    content: bytes
    kind: str
    version: str
    zipped: bytes | None


class Shelf:
    """
    The files of a folder, kept in memory and read again when they have changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[tuple[int, int], File]] = {}

    def get(self, name: str) -> File | None:
        """
        Return a file, or None where there is none of that name, or no name at all.
        """
        path = self._folder / name
        kind = _TYPES.get(path.suffix)
        if kind is None or not _NAME.fullmatch(name):
            return None
        try:
            stat = path.stat()
            mark = (stat.st_mtime_ns, stat.st_size)
            kept = self._kept.get(name)
            if kept is None or kept[0] != mark:
                kept = self._kept[name] = (mark, _file(path.read_bytes(), kind))
        except OSError:
            return None
        return kept[1]


def _file(content: bytes, kind: str) -> File:
    zipped = gzip.compress(content, mtime=0) if kind.startswith(("text/", "image/svg")) else None
    if zipped is not None and len(zipped) >= len(content):
        zipped = None
    return File(content, kind, hashlib.sha256(content).hexdigest()[:12], zipped)


def render(page: File, static: Shelf, lang: str, block: str) -> bytes:
    """
    Fill a page's placeholders in.
    """

    def filled(found: re.Match[str]) -> str:
        if found[1] == "lang":
            return lang
        if found[1] == "page":
            return block
        file = static.get(found[2])
        return f"/static/{found[2]}" + ("" if file is None else f"?v={file.version}")

    return _PLACEHOLDER.sub(filled, page.content.decode()).encode()


def data_block(facts: Mapping[str, Any]) -> str:
    """
    Write what a page begins with, so that no markup can arise from any name in it.
    """
    return _encode(facts).decode().translate(_ESCAPED)
