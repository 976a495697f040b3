"""The line of a driver in which its decoder raised an error."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["raised_at"]

_STDLIB: Final = Path(sysconfig.get_path("stdlib"))
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
