"""Parts of error messages: urls without passwords, and where a decoder raised."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_LOGIN: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRET: Final = re.compile(
    r"(?i)([?&;](?:[a-z]+[_-])?(?:user(?:name)?|usr|login|pass(?:word|wd)?|pwd?|token|key|secret|auth)=)"
    r"[^&;#\s]*"
)


def redact_url(url: str) -> str:
    """Return a url without its user name and password."""
    return _SECRET.sub(r"\1…", _LOGIN.sub("", url))


_STDLIB: Final = Path(os.__file__).parent
_PACKAGES: Final = ("site-packages", "dist-packages")


def raised_at(error: BaseException) -> str:
    """Return ``FILE:LINE`` of the innermost call outside Python's own library."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_stdlib(frame.filename)] or list(frames)
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "unknown"


def _is_stdlib(filename: str) -> bool:
    path = Path(filename)
    if filename.startswith("<"):  # frozen modules
        return True
    return path.is_relative_to(_STDLIB) and not any(part in _PACKAGES for part in path.parts)
