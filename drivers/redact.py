"""
The name of a line as people may see it: without the passwords that are in it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["discreet"]

_USER: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRET: Final = re.compile(
    r"(?i)([?&;](?:[a-z]+[_-])?(?:user(?:name)?|usr|login|pass(?:word|wd)?|pwd?|token|key|secret|auth)=)"
    r"[^&;#\s]*"
)


def discreet(url: str) -> str:
    """
    Return the name without who logs in there, and with what.
    """
    return _SECRET.sub(r"\1…", _USER.sub("", url))
