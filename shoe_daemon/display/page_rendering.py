"""Static files and pages: HTML with one data block, in which no value can become markup."""

from __future__ import annotations

import gzip
import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from shoe_daemon import __version__
from shoe_daemon.display.languages import FOLDER, languages

__all__ = ["PAGES", "STATIC", "FileCache", "StaticFile", "data_block", "pages_version", "render"]

_HERE: Final = Path(__file__).parent
PAGES: Final = _HERE / "pages"
STATIC: Final = _HERE / "static"

VERSION_LENGTH: Final = 12

_PLACEHOLDER: Final = re.compile(r"\{\{(?:(lang|page)|words:(\w+)|static:([\w./-]+))\}\}")
_FILE_NAME: Final = re.compile(r"[\w-]+(/[\w-]+)*(\.[\w-]+)+", re.ASCII)
_MEDIA_TYPES: Final = {
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
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}

_encode = msgspec.json.Encoder(order="sorted").encode


class StaticFile(NamedTuple):
    """
    A file in memory.

    Attributes:
        version: Hash of the content.
        gzipped: The compressed content; None if compression saves nothing.
    """

    content: bytes
    media_type: str
    version: str
    gzipped: bytes | None


class FileCache:
    """The files of a folder, kept in memory and read again after a change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, tuple[tuple[int, int], StaticFile]] = {}

    def get(self, name: str) -> StaticFile | None:
        """Return a file; None if the name is invalid or unknown."""
        path = self._folder / name
        media_type = _MEDIA_TYPES.get(path.suffix)
        if media_type is None or not _FILE_NAME.fullmatch(name):
            return None
        try:
            stat = path.stat()
            modified = (stat.st_mtime_ns, stat.st_size)
            cached = self._files.get(name)
            if cached is None or cached[0] != modified:
                cached = self._files[name] = (modified, _file(path.read_bytes(), media_type))
        except OSError:
            return None
        return cached[1]


def _file(content: bytes, media_type: str) -> StaticFile:
    gzipped = None
    if media_type.startswith(("text/", "image/svg")):
        gzipped = gzip.compress(content, mtime=0)
    if gzipped is not None and len(gzipped) >= len(content):
        gzipped = None
    version = hashlib.sha256(content).hexdigest()[:VERSION_LENGTH]
    return StaticFile(content, media_type, version, gzipped)


def render(page: StaticFile, static: FileCache, lang: str, block: str) -> bytes:
    """
    Fill the placeholders of a page: language, data block, words in all languages, static files.
    """

    def fill(found: re.Match[str]) -> str:
        if found[1] == "lang":
            return lang
        if found[1] == "page":
            return block
        if found[2]:
            return _in_all_languages(found[2])
        file = static.get(found[3])
        return f"/static/{found[3]}" + ("" if file is None else f"?v={file.version}")

    return _PLACEHOLDER.sub(fill, page.content.decode()).encode()


def _in_all_languages(key: str) -> str:
    texts = dict.fromkeys(language.words[key] for language in languages().values())
    return html.escape(" ".join(texts))


def data_block(facts: Mapping[str, Any]) -> str:
    """Encode the data block of a page, so that no text in it can become markup."""
    return _encode(facts).decode().translate(_ESCAPED)


def pages_version() -> str:
    """
    Return a hash of the program's version and of everything that the pages consist of.

    Open pages compare it with their own, and reload after an upgrade.
    """
    found = hashlib.sha256(__version__.encode())
    for folder in (PAGES, STATIC, FOLDER):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            found.update(f"\0{path.relative_to(folder)}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:VERSION_LENGTH]
