"""The report on a shift in the language of its reader: English phrases are the keys."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from shoe_daemon.game import card_text
from shoe_daemon.table import DetailValue, fill_sentence

_EMPTY: Final[Mapping[str, str]] = MappingProxyType({})


class Translation(Struct, frozen=True):
    """
    The words of one language; missing ones are in English.

    Attributes:
        lang: The language as an HTML page names it, ``zh-Hant``.
        words: The words of the display's pages, by key; empty for English.
        phrases: Sentences by the English phrase, or by the code of a table's sentence.
    """

    lang: str = "en"
    words: Mapping[str, str] = _EMPTY
    phrases: Mapping[str, str] = _EMPTY

    def __call__(self, english: str, /, **values: object) -> str:
        """Return a phrase, with the values in place of ``{name}``."""
        text = self.phrases.get(english, english)
        if not values:
            return text
        try:
            return text.format_map(values)
        except (LookupError, ValueError, AttributeError):  # a translation with other names
            return english.format_map(values)

    def word(self, key: str, english: str) -> str:
        """Return a word of the display's pages, or else the English text."""
        return self.words.get(key, english)

    def counted(self, count: int, one: str, many: str) -> str:
        """Return a phrase with ``{count}``; a language without a phrase for one uses `many`."""
        english = one if count == 1 else many
        text = self.phrases.get(english) or self.phrases.get(many, english)
        return text.replace("{count}", f"{count:,}")

    def sentence(self, code: str, values: Mapping[str, DetailValue], english: str) -> str:
        """Return a sentence of a table by its code and values, or else the English sentence."""
        template = self.phrases.get(code)
        if template is None:
            return english
        words = {name: self._value(name, values) for name in values}
        try:
            return fill_sentence(template, words)
        except KeyError:
            return english

    def _value(self, name: str, values: Mapping[str, DetailValue]) -> DetailValue:
        value = values[name]
        if value is None:
            return None
        text = str(value)
        if name == "because":
            others = {key: each for key, each in values.items() if key != name}
            return self.sentence(text, others, text)
        if name == "card":
            return card_text(text)
        if name in {"slot", "laid"}:
            return self.word(f"slot_{text}", text)
        if name == "hand" or name.endswith(("_declared", "_cards")):
            return self.word(text, text)
        return value


ENGLISH: Final = Translation()
