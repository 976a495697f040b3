"""The watchdog: systemd is notified only while every thread runs its loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import structlog

from drivers import Reader
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.process import notify_systemd
from shoe_daemon.service.state import StatePublisher

_log = structlog.get_logger(__name__)

_NOTIFY_INTERVAL_S: Final = 1.0


class Watchdog:
    """
    Notifies systemd that the daemon works, with its status.

    A disconnected reader or broker is no reason for a restart; a hung thread is.
    """

    def __init__(self, readers: Sequence[Reader], publisher: Publisher | None) -> None:
        self._readers = readers
        self._publisher = publisher
        self._checked_at = 0.0
        self._hung: list[str] = []

    def feed(self, state: StatePublisher) -> None:
        """Check all threads and notify systemd; called by the core after its work."""
        now = time.monotonic()
        if now - self._checked_at < _NOTIFY_INTERVAL_S:
            return
        self._checked_at = now
        hung = self._hung_threads(now)
        if not hung:
            notify_systemd("WATCHDOG=1", f"STATUS={state.summary}")
        elif hung != self._hung:
            _log.critical("threads_hung", threads=hung)
        self._hung = hung

    def _hung_threads(self, now: float) -> list[str]:
        hung = [
            each.name
            for each in self._readers
            if each.alive and now - each.last_loop > each.hung_after_s
        ]
        if self._publisher is not None and not self._publisher.health.alive:
            hung.append("mqtt")
        return hung
