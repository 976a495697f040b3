"""Figures of the notifications in Prometheus' text format."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from shoe_daemon import __version__
from shoe_daemon.notify.decisions import Decisions


def metrics_text(decisions: Decisions, now: dt.datetime, *, broker_connected: bool) -> bytes:
    """Return the figures of a moment; the only label is the id of a configured recipient."""
    registry = CollectorRegistry()
    registry.register(_NotifyCollector(decisions, now, broker_connected=broker_connected))
    return generate_latest(registry)


class _NotifyCollector(Collector):
    def __init__(self, decisions: Decisions, now: dt.datetime, *, broker_connected: bool) -> None:
        self._decisions, self._now = decisions, now
        self._broker_connected = broker_connected

    def collect(self) -> Iterator[Metric]:
        """Give every metric."""
        build = GaugeMetricFamily(
            "shoe_notify_build_info", "Version of the program.", labels=("version",)
        )
        build.add_metric((__version__,), 1)
        yield build
        about = "When these figures were collected, Unix time."
        yield GaugeMetricFamily("shoe_notify_metrics_time_seconds", about, self._now.timestamp())
        about = "1 while the program is connected to the broker."
        yield GaugeMetricFamily("shoe_notify_broker_connected", about, self._broker_connected)
        about = "Open irregularities of all tables, without those for staff only."
        yield GaugeMetricFamily("shoe_notify_open_alerts", about, self._decisions.open_count)
        accepted = CounterMetricFamily(
            "shoe_notify_accepted", "Accepted notifications, ever.", labels=("recipient",)
        )
        failures = GaugeMetricFamily(
            "shoe_notify_failures",
            "Failed attempts since the last accepted notification.",
            labels=("recipient",),
        )
        waiting = GaugeMetricFamily(
            "shoe_notify_waiting", "Irregularities that are to be sent.", labels=("recipient",)
        )
        for name, state in self._decisions.states.items():
            accepted.add_metric((name,), state.accepted)
            failures.add_metric((name,), state.failures)
            waiting.add_metric((name,), len(self._decisions.due(name, self._now)))
        yield from (accepted, failures, waiting)
