"""Removes old shoes from the journal of a running table."""

from __future__ import annotations

import time
from typing import Final

import structlog

from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.journal.prune import remove_oldest_shoe
from shoe_daemon.service.core import Core
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import from_microseconds, to_microseconds

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 3600.0
"""Between two looks for old shoes."""

_FIRST_S: Final = 600.0
"""After a start: the computer's clock may be wrong until a time server has set it."""

_PAUSE_S: Final = 1.0
"""Between two removals, of some 8 ms each: a card must never wait for many."""

_DAY_US: Final = 86_400_000_000


def make(daemon: Surroundings) -> Part | None:
    """Return the retention of the journal, if it is limited."""
    days = daemon.setup.config.journal.days
    return None if days is None else JournalRetention(daemon.core, days)


class JournalRetention(Part):
    """
    Removes shoes that ended more than `days` ago, one at a time, between two rounds.

    Days are counted by the table's time, which never goes back, or by the wall clock if that is
    earlier: a clock that was ahead for a moment must not remove the shoes of yesterday. A shoe
    that cannot be removed is logged, and tried again in an hour: no card waits for it.
    """

    def __init__(self, core: Core, days: int) -> None:
        self._core = core
        self._days = days
        self._due = time.monotonic() + _FIRST_S

    def check(self) -> None:
        """Remove a shoe if it is time to."""
        if time.monotonic() < self._due:
            return
        played = self._core.table.state.round
        if played is not None and not played.ended and not played.finished:
            return
        self._due = time.monotonic() + (_PAUSE_S if self._remove(self._days) else _INTERVAL_S)

    def _remove(self, days: int) -> bool:
        clock = self._core.clock
        now = clock.at()
        today = min(to_microseconds(now), clock.wall_us())
        before = from_microseconds(today - days * _DAY_US)
        try:
            shoe = remove_oldest_shoe(self._core.journal.path, before, now)
        except JournalUnwritable as error:
            _log.warning("old_shoe_not_removed", reason=str(error))
            return False
        if shoe is not None:
            _log.info("old_shoe_removed", shoe=shoe, ended_before=before)
        return shoe is not None
