"""
The English sentences of a table, each with a code: ``detail_texts.toml``.

A sentence on the wire is always made from its code and its values, and both are published
beside it, so that a display can translate it. In a sentence

- ``{name}`` is replaced by the value of that name;
- a part in brackets is omitted if one of its values is null;
- ``{hand}`` is ``player`` or ``banker`` as a value, and a name in the sentence;
- ``{because}`` is the code of another sentence, one of `DRAW_CODES`, whose
  values stand beside it: it is inserted with a small first letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Final, NamedTuple

from msgspec import toml

from shoe_daemon.game import IRREGULARITIES, REPORTABLE_KINDS

DetailValue = str | int | None

_TEMPLATES: Final = toml.decode(
    Path(__file__).with_name("detail_texts.toml").read_bytes(),
    type=dict[str, dict[str, str]],
)

_IRREGULARITIES: Final = toml.decode(
    Path(__file__).with_name("irregularity_texts.toml").read_bytes(), type=dict[str, str]
)
"""Written by `make generate`, from the modules of `checks`."""

DETAIL_TEMPLATES: Final[dict[str, str]] = {
    **_TEMPLATES["draw"],
    **_IRREGULARITIES,
    **_TEMPLATES["person"],
    **{f"reported_{kind}": IRREGULARITIES[kind].text for kind in sorted(REPORTABLE_KINDS)},
    **_TEMPLATES["daemon"],
    **_TEMPLATES["refused"],
}
"""The sentence of every code. A display needs a translation of each."""

DRAW_CODES: Final = tuple(_TEMPLATES["draw"])
"""The codes of `draw_due`, the values of ``{because}``."""

HAND_NAMES: Final = {"player": "Player", "banker": "Banker"}
"""The text of ``{hand}`` in a sentence."""

_OPTIONAL_PATTERN: Final = re.compile(r"\[([^]]*)\]")


class Detail(NamedTuple):
    """A sentence with its code and its values."""

    code: str
    values: dict[str, DetailValue]
    text: str


def make_detail(code: str, /, **values: DetailValue) -> Detail:
    """Return the sentence of a code with these values."""
    # Cards and slots are written as plain text.
    plain = {
        name: str(value) if isinstance(value, str) else value
        for name, value in sorted(values.items())
    }
    return Detail(code, plain, detail_text(code, plain))


def uncoded_detail(text: str) -> Detail:
    """Return a sentence for programmers, without a code and without translations."""
    return Detail("", {}, text)


def detail_text(code: str, values: dict[str, DetailValue]) -> str:
    """Return the English sentence of a code with these values."""
    words = dict(values)
    because = words.pop("because", None)
    if because is not None:
        reason = detail_text(str(because), words)
        words["because"] = reason[0].lower() + reason[1:]
    if "hand" in words:
        words["hand"] = HAND_NAMES.get(str(words["hand"]), words["hand"])
    return fill_sentence(DETAIL_TEMPLATES[code], words)


def fill_sentence(template: str, words: Mapping[str, DetailValue]) -> str:
    """
    Return a sentence with these words, without the parts in brackets that lack one.

    Raises:
        KeyError: A word outside brackets is missing.
    """
    kept = _OPTIONAL_PATTERN.sub(lambda part: _optional_part(part[1], words), template)
    return kept.format_map(words)


def _optional_part(part: str, words: Mapping[str, DetailValue]) -> str:
    return "" if any(words.get(name) is None for name in _placeholder_names(part)) else part


@cache
def _placeholder_names(template: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


DETAIL_VALUES: Final[dict[str, tuple[str, ...]]] = {
    code: _placeholder_names(template) for code, template in DETAIL_TEMPLATES.items()
}
"""The names of the values of every code; ``because`` adds those of its code."""
