"""Logs certificates that will expire, once a day."""

from __future__ import annotations

import datetime as dt
import time
from typing import Final

import structlog

from shoe_daemon.mqtt.certificates import certificate_alerts
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.part import Part, Surroundings

_log = structlog.get_logger(__name__)

_LOG_INTERVAL_S: Final = 86_400.0

_CHECK_INTERVAL_S: Final = 60.0
"""A certificate that was replaced is no alert any longer."""


def make(daemon: Surroundings) -> Part | None:
    """Return the watch over the broker's certificates, if there is a broker."""
    return None if daemon.publisher is None else CertificateWatch(daemon.publisher)


class CertificateWatch(Part):
    """
    Checks the broker's files and certificate once a minute, and when the broker shows another
    certificate.

    Attributes:
        alerts: One sentence for each fault; for the unit's status.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.alerts: list[str] = []
        self._publisher = publisher
        self._checked_at = self._logged_at = float("-inf")
        self._broker_certificate: bytes | None = None

    def check(self) -> None:
        """Check if it is time to, and log each alert: once a day, and new ones at once."""
        now, shown = time.monotonic(), self._publisher.broker_certificate
        is_due = now - self._checked_at >= _CHECK_INTERVAL_S
        if not is_due and shown in {None, self._broker_certificate}:
            return
        self._checked_at, self._broker_certificate = now, shown
        is_day_over = now - self._logged_at >= _LOG_INTERVAL_S
        logged = set() if is_day_over else set(map(_without_days, self.alerts))
        self.alerts = certificate_alerts(self._publisher.broker, shown, dt.datetime.now(dt.UTC))
        for alert in self.alerts:
            if _without_days(alert) not in logged:
                _log.warning("certificate_alert", reason=alert)
        if is_day_over:
            self._logged_at = now


def _without_days(alert: str) -> str:
    """Return an alert without its number of days, which changes every day."""
    return alert.rpartition(", in ")[0] or alert
