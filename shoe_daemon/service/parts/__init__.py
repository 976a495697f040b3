"""The parts of the daemon, each in a module of its own; a new part is one more line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shoe_daemon.service.parts import (
    certificates,
    journal_check,
    lamps,
    metrics,
    retention,
    trace,
    witnesses,
)
from shoe_daemon.service.parts.part import Part, Surroundings

__all__ = ["MAKERS", "Part", "Surroundings"]

MAKERS: Final[tuple[Callable[[Surroundings], Part | None], ...]] = (
    trace.make,
    lamps.make,
    witnesses.make,
    certificates.make,
    retention.make,
    journal_check.make,
    metrics.make,
)
"""Each returns its part, or None where the configuration asks for none."""
