"""Figures of `shoe-daemon forward` in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from shoe_daemon.forward.source import Figures


def metrics_text(figures: Sequence[Figures], *, connected: bool) -> bytes:
    """Return the figures of a moment; a table whose lag is unknown is missing."""
    registry = CollectorRegistry()
    registry.register(_ForwardCollector(figures, connected=connected))
    return generate_latest(registry)


class _ForwardCollector(Collector):
    def __init__(self, figures: Sequence[Figures], *, connected: bool) -> None:
        self._figures, self._connected = figures, connected

    def collect(self) -> Iterator[Metric]:
        """Give every metric."""
        about = "1 while `shoe-daemon forward` is connected to its database."
        yield GaugeMetricFamily("shoe_database_connected", about, self._connected)
        labels = ("site", "table")
        about = "Events of the journal that the database lacks."
        events = GaugeMetricFamily("shoe_database_lag_events", about, labels=labels)
        about = "Age of the oldest event that the database lacks; 0 without one."
        seconds = GaugeMetricFamily("shoe_database_lag_seconds", about, labels=labels)
        for each in self._figures:
            if each.lag is not None:
                events.add_metric((each.site, each.table), each.lag.events)
                seconds.add_metric((each.site, each.table), each.lag.seconds)
        yield from (events, seconds)
