"""Static files and pages: HTML with one data block, in which no value can become markup."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound
from markupsafe import Markup

from shoe_daemon import __version__
from shoe_daemon.display.languages import FOLDER, languages

_HERE: Final = Path(__file__).parent
PAGES: Final = _HERE / "pages"
STATIC: Final = _HERE / "static"

VERSION_LENGTH: Final = 12
_ACCENTS: Final = ("gold", "gold-bright")
"""The colours of the palette that a house may replace."""

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
_IMPORT: Final = re.compile(rb'^(?:import\b|\}).* from "\./([\w-]+\.js)";$', re.MULTILINE)
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


class Modules:
    """
    The scripts of a folder, all of one version; read again after a change.

    A module imports others by their names alone. The version is in the folder of the address, so
    all modules of a page are of the version with which the page was sent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: list[tuple[str, int, int]] = []
        self._files: dict[str, StaticFile] = {}
        self._imports: dict[str, list[str]] = {}
        self._version = ""

    def get(self, version: str, name: str) -> StaticFile | None:
        """Return a module; None if it is unknown, or if the version is not the present one."""
        self._read()
        return self._files.get(name) if version == self._version else None

    def addresses(self, name: str) -> list[str]:
        """
        Return the addresses of a module and of all that it imports, itself first.

        Raises:
            KeyError: A module is missing.
        """
        self._read()
        found = [name]
        for each in found:
            found += [other for other in self._imports[each] if other not in found]
        return [f"/static/modules/{self._version}/{each}" for each in found]

    def _read(self) -> None:
        stats = [(path.name, path.stat()) for path in os.scandir(self._folder)]
        scripts = [each for each in stats if each[0].endswith(".js")]
        seen = sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in scripts)
        if seen == self._seen:
            return
        media_type = _MEDIA_TYPES[".js"]
        files = {name: _file((self._folder / name).read_bytes(), media_type) for name, *_ in seen}
        self._imports = {
            name: list(dict.fromkeys(each.decode() for each in _IMPORT.findall(file.content)))
            for name, file in files.items()
        }
        self._version = _hash("".join(f"{name} {files[name].version}" for name in files).encode())
        self._seen, self._files = seen, files


def _file(content: bytes, media_type: str) -> StaticFile:
    gzipped = None
    if media_type.startswith(("text/", "image/svg")):
        gzipped = gzip.compress(content, mtime=0)
    if gzipped is not None and len(gzipped) >= len(content):
        gzipped = None
    return StaticFile(content, media_type, _hash(content), gzipped)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:VERSION_LENGTH]


class Brand:
    """
    The house on its boards: its name, and the addresses of logo and style sheet; None without.

    Args:
        name: The name.
        colour: ``#rrggbb`` in place of gold.
        logo: The file of the logo.

    Raises:
        OSError: The logo cannot be read.
    """

    def __init__(self, name: str | None, colour: str | None, logo: Path | None) -> None:
        self.name, self._files = name, dict[str, StaticFile]()
        if colour is not None:
            names = "".join(f"--{each}: {colour}; " for each in _ACCENTS)
            self._files["brand.css"] = _file(f":root {{ {names}}}\n".encode(), "text/css")
        if logo is not None:
            file = _file(logo.read_bytes(), _MEDIA_TYPES[logo.suffix])
            self._files[f"logo{logo.suffix}"] = file

    def get(self, name: str) -> StaticFile | None:
        """Return a file by its name; None if there is none."""
        return self._files.get(name)

    @property
    def style(self) -> str | None:
        """The address of the style sheet."""
        return self._address(".css")

    @property
    def logo(self) -> str | None:
        """The address of the logo."""
        return self._address(".svg") or self._address(".png")

    def _address(self, suffix: str) -> str | None:
        found = (name for name in self._files if name.endswith(suffix))
        name = next(found, None)
        return None if name is None else f"/brand/{name}?v={self._files[name].version}"


class PageTemplates:
    """The templates of the pages; a changed file is read again."""

    def __init__(self, static: FileCache, modules: Modules, brand: Brand) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(PAGES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["brand"] = brand
        self._environment.globals["words"] = _in_all_languages
        self._static = static
        self._environment.globals["static"] = self.address
        self._environment.globals["modules"] = modules.addresses

    def address(self, name: str) -> str:
        """Return the address of a static file, with its version."""
        file = self._static.get(name)
        return f"/static/{name}" + ("" if file is None else f"?v={file.version}")

    def render(self, page: str, lang: str, block: str) -> bytes | None:
        """
        Return a page by its name without `.html`; None if its file is missing. `block` is the
        result of `data_block`.
        """
        try:
            template = self._environment.get_template(f"{page}.html")
        except TemplateNotFound:
            return None
        return template.render(lang=lang, data=Markup(block)).encode()  # noqa: S704 - escaped


def _in_all_languages(key: str) -> str:
    return " ".join(dict.fromkeys(language.words[key] for language in languages().values()))


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
