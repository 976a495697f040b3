"""Pages out of a template of blocks; whatever is not markup is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Final

from shoe_daemon.report.wording import plain

_BLOCK: Final = re.compile(r"^<!-- block: (\w+) -->\n", re.MULTILINE)


class Html(str):
    """Markup that was made by `fill`, and need not be escaped again."""

    __slots__ = ()


@cache
def blocks(name: str) -> dict[str, Template]:
    """Read a template of this package: its blocks by their names."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    _, *parts = _BLOCK.split(text)
    names, bodies = parts[::2], parts[1::2]
    return {each: Template(body.strip("\n")) for each, body in zip(names, bodies, strict=True)}


def fill(template: str, block: str, **values: object) -> Html:
    """
    Fill a block; every value that is no `Html` is escaped.

    Raises:
        KeyError: The block has a place for which there is no value.
    """
    safe = {
        name: value if isinstance(value, Html) else escape(plain(str(value)), quote=True)
        for name, value in values.items()
    }
    return Html(blocks(template)[block].substitute(safe))


def joined(parts: Iterable[Html]) -> Html:
    """Put markup together."""
    return Html("\n".join(parts))
