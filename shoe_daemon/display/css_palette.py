"""Colours of the pages by name, read from `static/palette.css`: for boards outside a browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

__all__ = ["PALETTE", "PALETTE_FILE", "read_palette"]

PALETTE_FILE: Final = Path(__file__).parent / "static" / "palette.css"

_VARIABLE: Final = re.compile(r"--([a-z0-9-]+): (#[0-9a-f]{3}|#[0-9a-f]{6});")


def read_palette(css: str) -> dict[str, str]:
    """Return the opaque colours of a style sheet as ``#rrggbb``, by the names of its variables."""
    return {
        name: value
        if len(value) > len("#rgb")
        else "#" + "".join(2 * digit for digit in value[1:])
        for name, value in _VARIABLE.findall(css)
    }


PALETTE: Final[Mapping[str, str]] = MappingProxyType(
    read_palette(PALETTE_FILE.read_text(encoding="utf-8"))
)
