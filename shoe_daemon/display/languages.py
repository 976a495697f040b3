"""
The words of the pages: one file a language in ``languages/``, found by being there.

English is the measure. What another file lacks, or fills in with other
placeholders, is said in English; `faults` names it, and a test has none of it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game.reading import read_as, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "BASE",
    "FOLDER",
    "GLYPHS",
    "Glyphs",
    "Language",
    "faults",
    "language",
    "languages",
    "load",
]

BASE: Final = "en"
"""The language that every other one translates."""

Glyphs = Literal["chinese", "letters"]
GLYPHS: Final[tuple[Glyphs, ...]] = ("chinese", "letters")
"""What may stand in the discs of the roads: 莊閒和, or B P T."""

FOLDER: Final = Path(__file__).with_name("languages")
"""The languages that come with the project."""

STAFF_ONLY: Final = (
    "action_",
    "alert",
    "broker",
    "device_",
    "effect_",
    "event",
    "faults",
    "filter_",
    "house_",
    "irregularity_",
    "link_",
    "order",
    "pit",
    "policy",
    "proposal",
    "reader",
    "severity",
    "shows_only",
    "sound_",
    "status_",
    "tag_",
    "unverified",
    "verified",
)
"""How keys begin that the pages of the pit alone show."""

_CODE: Final = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")

_Text = Annotated[str, Meta(min_length=1)]


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _Text
    lang: _Text
    glyphs: Glyphs
    words: dict[str, _Text]


class Language(Struct, frozen=True, kw_only=True):
    """
    One language of the pages.

    Attributes:
        code: What the address and the configuration call it: ``zh-hant``.
        name: What it calls itself.
        lang: The same for the browser, ``zh-Hant``.
        glyphs: What its discs show where nobody says otherwise.
        words: A sentence for every key of the English file, with placeholders in braces.
    """

    code: str
    name: str
    lang: str
    glyphs: Glyphs
    words: Mapping[str, str]


def for_players(words: Mapping[str, str]) -> dict[str, str]:
    """
    Return the words that the players' pages need: all but what only staff are told.
    """
    return {key: text for key, text in words.items() if not key.startswith(STAFF_ONLY)}


@cache
def languages() -> Mapping[str, Language]:
    """
    Return all languages by their codes, English first.
    """
    return load(FOLDER)


def language(code: str | None, otherwise: str = BASE) -> Language:
    """
    Return the language of a code; another one where there is none of that code.
    """
    known = languages()
    return known.get(code or "") or known.get(otherwise) or known[BASE]


def load(folder: Path) -> Mapping[str, Language]:
    """
    Read a folder of languages; each has all words, in English where it has none of its own.

    Raises:
        UserError: A file is no language, in one line.
    """
    files = _files(folder)
    base = files[BASE].words
    return MappingProxyType({code: _complete(code, files[code], base) for code in files})


def faults(folder: Path) -> list[str]:
    """
    Say in lines what the languages lack, or say that English does not.
    """
    files = _files(folder)
    base = files[BASE].words
    return [
        f"{code}.toml: {line}"
        for code, file in files.items()
        for line in _differences(file.words, base)
    ]


def _files(folder: Path) -> dict[str, _File]:
    paths = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if BASE not in paths:
        raise UserError(f"{folder}: {BASE}.toml is missing; all other languages rest upon it")
    return {code: _read(paths[code]) for code in (BASE, *(each for each in paths if each != BASE))}


def _read(path: Path) -> _File:
    if not _CODE.fullmatch(path.stem):
        raise UserError(
            f"{path}: expected the name of a language, such as pt.toml or zh-hant.toml"
        )
    return read_as(_File, read_toml(path, "the words of a language"), str(path))


def _complete(code: str, file: _File, base: Mapping[str, str]) -> Language:
    fitting = {key: text for key, text in file.words.items() if _fits(text, base.get(key))}
    words = MappingProxyType({**base, **fitting})
    return Language(code=code, name=file.name, lang=file.lang, glyphs=file.glyphs, words=words)


def _fits(text: str, base: str | None) -> bool:
    return base is not None and _placeholders(text) == _placeholders(base)


def _placeholders(text: str) -> list[str]:
    return sorted(set(_PLACEHOLDER.findall(text)))


def _differences(words: Mapping[str, str], base: Mapping[str, str]) -> Iterator[str]:
    for key in base:
        if key not in words:
            yield f"{key} is missing; it is shown in English"
        elif not _fits(words[key], base[key]):
            wanted = _placeholders(base[key])
            yield f"{key} has other placeholders than {wanted}; it is shown in English"
    for key in words:
        if key not in base:
            yield f"{key} is not in {BASE}.toml; it is shown nowhere"
