"""Urls of lines without their passwords."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["redact_url"]

_LOGIN: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRET: Final = re.compile(
    r"(?i)([?&;](?:[a-z]+[_-])?(?:user(?:name)?|usr|login|pass(?:word|wd)?|pwd?|token|key|secret|auth)=)"
    r"[^&;#\s]*"
)


def redact_url(url: str) -> str:
    """Return a url without its user name and password."""
    return _SECRET.sub(r"\1…", _LOGIN.sub("", url))
