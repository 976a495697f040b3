"""
Text files of many parts: a line `## name` begins a part.

`python -m tests.golden.parts FILE NAME` replaces a part by the text on stdin, or adds it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

HEADER: Final = re.compile(r"^## (\S+)\n", re.MULTILINE)


def read_parts(path: Path) -> dict[str, str]:
    """Return the text of each part by its name; a file that is missing has no parts."""
    if not path.exists():
        return {}
    _, *pieces = HEADER.split(path.read_bytes().decode())
    texts = (text.removesuffix("\n") for text in pieces[1::2])
    return dict(zip(pieces[::2], texts, strict=True))


def write_parts(path: Path, parts: dict[str, str]) -> None:
    """Write parts in the order of their names, each with an empty line after it."""
    text = "".join(f"## {name}\n{parts[name]}\n" for name in sorted(parts))
    path.write_bytes(text.encode())


if __name__ == "__main__":
    _file, _name = sys.argv[1:]
    write_parts(Path(_file), read_parts(Path(_file)) | {_name: sys.stdin.read()})
