"""Logs certificates that will expire, once a day."""

from __future__ import annotations

import datetime as dt
import time
from typing import Final

import structlog

from shoe_daemon.mqtt.certificate_alerts import certificate_alerts
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.publisher import Publisher

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 86_400.0


class CertificateWatch:
    """
    Checks the broker's files and certificate at the start, once a day, and when the broker shows
    another certificate.

    Attributes:
        alerts: One sentence for each fault; for the unit's status.
    """

    def __init__(self, settings: MqttSettings | None, publisher: Publisher | None) -> None:
        self.alerts: list[str] = []
        self._settings = settings
        self._publisher = publisher
        self._logged_at = float("-inf")
        self._broker_certificate: bytes | None = None

    def check(self) -> None:
        """Check if it is time to, and log each alert: once a day, and new ones at once."""
        if self._settings is None or self._publisher is None:
            return
        is_day_over = time.monotonic() - self._logged_at >= _INTERVAL_S
        shown = self._publisher.broker_certificate
        if not is_day_over and shown in {None, self._broker_certificate}:
            return
        self._broker_certificate = shown
        before = [] if is_day_over else self.alerts
        self.alerts = certificate_alerts(self._settings, shown, dt.datetime.now(dt.UTC))
        for alert in self.alerts:
            if alert not in before:
                _log.warning("certificate_alert", reason=alert)
        if is_day_over:
            self._logged_at = time.monotonic()
