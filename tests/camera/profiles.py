"""
Simulated profiles from a cache: the picture of an empty table takes a second to render.

A cached profile is stored under the hash of all that it depends on: the settings, the sources
of `drivers`, and the versions of OpenCV and NumPy. Workers and later runs share the cache;
`make clean` removes it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

import drivers
from drivers.simulators.camera.files import PROFILE, write_simulated_profile
from drivers.simulators.camera.settings import Settings

__all__ = ["simulated_profile"]

_CACHE = Path(__file__).parents[2] / "build" / "test-profiles"


def simulated_profile(settings: Settings, folder: Path) -> Path:
    """Write the profile of these settings and its reference picture; return the profile's path."""
    key = hashlib.sha256(f"{_sources()} {settings!r}".encode()).hexdigest()[:32]
    cached = _CACHE / key
    if not cached.exists():
        _fill(cached, settings)
    shutil.copytree(cached, folder, dirs_exist_ok=True)
    return folder / PROFILE


def _fill(cached: Path, settings: Settings) -> None:
    """
    Render into a folder of this process, and move it into place; another worker may be first.
    """
    mine = cached.with_name(f"{cached.name}.{os.getpid()}")
    write_simulated_profile(settings, mine)
    try:
        mine.rename(cached)
    except OSError:
        shutil.rmtree(mine)


@lru_cache(maxsize=1)
def _sources() -> str:
    digest = hashlib.sha256(f"{cv2.__version__} {np.__version__}".encode())
    for path in sorted(Path(drivers.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
