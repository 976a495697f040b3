"""The parts of the daemon: each module of this package is one, and its `make` creates it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from shoe_daemon.service.part import Part, Surroundings

MAKERS: Final[tuple[Callable[[Surroundings], Part | None], ...]] = tuple(
    import_module(f"{__name__}.{module.name}").make for module in iter_modules(__path__)
)
"""Each returns its part, or None where the configuration asks for none."""
