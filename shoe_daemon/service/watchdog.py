"""
The watchdog: fed by the core's own turns, and only while every thread turns too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import structlog

from drivers import Reader
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.state_publisher import Bulletin
from shoe_daemon.systemd_notify import tell_systemd

_log = structlog.get_logger(__name__)

_EVERY: Final = 1.0
_HUNG: Final = 30.0
"""Seconds after which a reader's thread that does not turn counts as hung: an
open that waits for a name server takes less."""


class Watch:
    """
    Tells the service manager that the daemon lives, and how it is.

    A dead reader or broker is no reason to be restarted; a thread that hangs is.
    """

    def __init__(self, readers: Sequence[Reader], publisher: Publisher | None) -> None:
        self._readers = readers
        self._publisher = publisher
        self._fed = 0.0
        self._told: list[str] = []

    def feed(self, bulletin: Bulletin) -> None:
        """
        Feed the watchdog, from the core's thread, after it has done its work.
        """
        now = time.monotonic()
        if now - self._fed < _EVERY:
            return
        self._fed = now
        hung = self._hung(now)
        if not hung:
            tell_systemd("WATCHDOG=1", f"STATUS={bulletin.summary}")
        elif hung != self._told:
            _log.critical("thread_hangs", threads=hung)
        self._told = hung

    def _hung(self, now: float) -> list[str]:
        hung = [each.name for each in self._readers if each.alive and now - each.beat > _HUNG]
        if self._publisher is not None and not self._publisher.health.alive:
            hung.append("mqtt")
        return hung
