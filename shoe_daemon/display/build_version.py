"""
Which display this is: another word after every upgrade, which tells open pages that they
are old.
"""

from __future__ import annotations

import hashlib
from typing import Final

from shoe_daemon import __version__
from shoe_daemon.display.languages import FOLDER
from shoe_daemon.display.static_pages import PAGES, STATIC

__all__ = ["version"]

_LENGTH: Final = 12


def version() -> str:
    """
    Return a word for the program and all that its pages are made of, as they are now.
    """
    found = hashlib.sha256(__version__.encode())
    for folder in (PAGES, STATIC, FOLDER):
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            found.update(f"\0{path.relative_to(folder)}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:_LENGTH]
