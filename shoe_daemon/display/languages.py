"""
Words of the pages in all languages: one TOML file for each language in ``languages/``.

English is the reference. Words that another file lacks, or that have other placeholders, are
shown in English; a test finds them. Houses, wagers and irregularities declare their English names
themselves, and houses those of other languages: `declared_words`.

Tables publish sentences in English. The files of other languages translate them under
``[sentences]``: by their code if they have one (`shoe_daemon.table.detail_texts`, and the rulings
of policies), else by the English phrase itself. Other sentences are shown as published. Policies
have the Traditional Chinese of their rulings themselves: `declared_sentences`. ``[report]``
translates the report on a shift, which no script of a page needs.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    HOUSE_IDS,
    IRREGULARITIES,
    POLICY_IDS,
    WAGER_CATALOGUE,
    house_names,
    load_house,
    load_policy,
)
from shoe_daemon.settings.toml import convert_toml, read_toml
from shoe_daemon.table import DETAIL_VALUES

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE: Final = "en"
"""The reference language."""

Glyphs = Literal["chinese", "letters"]
GLYPHS: Final[tuple[Glyphs, ...]] = ("chinese", "letters")
"""Characters in the discs of the roads; each language file defines both sets."""

FOLDER: Final = Path(__file__).with_name("languages")
"""The language files of the project."""

STAFF_ONLY: Final = (
    "action_",
    "alert",
    "broker",
    "dealer_",
    "device_",
    "effect_",
    "event",
    "faults",
    "filter_",
    "give_",
    "house_",
    "irregularity_",
    "link_",
    "log_",
    "log_out",
    "notices",
    "notify_",
    "order",
    "pit",
    "policy",
    "proposal",
    "reader",
    "internal_error",
    "refused_",
    "severity",
    "sheet_",
    "shows_only",
    "sound_",
    "status_",
    "tag_",
    "unverified",
    "verified",
)
"""Prefixes of keys that only the pages of the pit use."""

PLAYER_SENTENCES: Final = ("cards_too_fast", "not_applied", "not_recorded", "reader_flood")
"""Codes of sentences that boards show: reasons for an outdated board."""

_CODE: Final = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")

_Text = Annotated[str, Meta(min_length=1)]


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: _Text
    lang: _Text
    glyphs: Glyphs
    words: dict[str, _Text]
    sentences: dict[str, _Text] = {}
    report: dict[str, _Text] = {}


class Language(Struct, frozen=True, kw_only=True):
    """
    One language of the pages.

    Attributes:
        code: Code in addresses and in the configuration: ``zh-hant``.
        name: Name in the language itself.
        lang: Code for the browser, ``zh-Hant``.
        glyphs: Default characters in the discs of the roads.
        words: A text for every key of the English file, with placeholders in braces.
        sentences: Sentences of tables, by code or English phrase; empty for English.
        report: What the report on a shift says, by English phrase; empty for English.
    """

    code: str
    name: str
    lang: str
    glyphs: Glyphs
    words: Mapping[str, str]
    sentences: Mapping[str, str] = MappingProxyType({})
    report: Mapping[str, str] = MappingProxyType({})

    def for_players(self) -> Language:
        """Return the language without the words and sentences for staff only."""
        words = {key: text for key, text in self.words.items() if not key.startswith(STAFF_ONLY)}
        sentences = {key: self.sentences[key] for key in PLAYER_SENTENCES if key in self.sentences}
        return replace(self, words=words, sentences=sentences, report={})

    @property
    def texts(self) -> list[str]:
        """All texts of the language but those of the report, for the fonts of its pages."""
        return [*self.words.values(), *self.sentences.values()]


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages by their codes, English first."""
    return load(FOLDER)


def language(code: str | None, otherwise: str = BASE) -> Language:
    """Return the language of a code, or else that of `otherwise`, or else English."""
    found = languages()
    return found.get(code or "") or found.get(otherwise) or found[BASE]


def load(folder: Path) -> Mapping[str, Language]:
    """
    Read a folder of language files; missing words are those of English.

    Raises:
        UserError: Invalid file, in one line.
    """
    files = _files(folder)
    base = {**files[BASE].words, **declared_words(BASE)}
    return MappingProxyType({code: _complete(code, files[code], base) for code in files})


def declared_words(code: str) -> dict[str, str]:
    """Return the names in a language that stand where the named thing is defined."""
    if code != BASE:
        names = {house: house_names(house).get(code) for house in HOUSE_IDS}
        return {_house_key(house): name for house, name in names.items() if name is not None}
    return {
        **{f"wager_{each.id}": each.name for each in WAGER_CATALOGUE.values()},
        **{f"irregularity_{kind}": facts.name for kind, facts in IRREGULARITIES.items()},
        **{_house_key(house): load_house(house).name for house in HOUSE_IDS},
    }


def _house_key(house: str) -> str:
    return f"house_{house.replace('-', '_')}"


def declared_sentences(code: str) -> dict[str, str]:
    """Return the rulings of policies in a language by their codes, if the policies have it."""
    if code != "zh-hant":
        return {}
    return {
        f"{policy}.{situation}.{ruling.action}": ruling.text_zh
        for policy in POLICY_IDS
        for situation, rulings in load_policy(policy).by_situation.items()
        for ruling in rulings
    }


def _files(folder: Path) -> dict[str, _File]:
    paths = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if BASE not in paths:
        raise UserError(
            f"{folder}: {BASE}.toml is missing; expected the reference of all other languages"
        )
    return {code: _read(paths[code]) for code in (BASE, *(each for each in paths if each != BASE))}


def _read(path: Path) -> _File:
    if not _CODE.fullmatch(path.stem):
        raise UserError(
            f"{path}: expected the name of a language, such as pt.toml or zh-hant.toml"
        )
    return convert_toml(_File, read_toml(path, "the words of a language"), str(path))


def _complete(code: str, file: _File, base: Mapping[str, str]) -> Language:
    words = {**declared_words(code), **file.words}
    fitting = {key: text for key, text in words.items() if _fits(text, base.get(key))}
    sentences = {**declared_sentences(code), **file.sentences}
    return Language(
        code=code,
        name=file.name,
        lang=file.lang,
        glyphs=file.glyphs,
        words=MappingProxyType({**base, **fitting}),
        sentences=MappingProxyType(
            {key: text for key, text in sentences.items() if _is_sentence(key, text)}
        ),
        report=MappingProxyType(file.report),
    )


def _fits(text: str, base: str | None) -> bool:
    return base is not None and _placeholders(text) == _placeholders(base)


def _is_sentence(code: str, text: str) -> bool:
    return _placeholders(text) == sorted(DETAIL_VALUES.get(code, ()))


def _placeholders(text: str) -> list[str]:
    return sorted(set(_PLACEHOLDER.findall(text)))
