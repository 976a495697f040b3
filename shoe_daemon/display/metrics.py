"""Figures of the display for Prometheus, at `/metrics` of a listener on loopback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, get_args

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from shoe_daemon import __version__
from shoe_daemon.display.browser_streams import StreamRegistry
from shoe_daemon.display.floor_model import FloorModel
from shoe_daemon.display.http_app import SecurityHeaders
from shoe_daemon.display.table_model import FreshnessState
from shoe_daemon.mqtt.topics import ALERTS

__all__ = ["metrics_app", "metrics_text"]

_SEVERITIES: Final = ("1", "2", "3", "4", "5")
_OTHER: Final = "other"
"""Severity of an alert outside the known ones: publishers are not trusted."""


def metrics_app(tables: FloorModel, streams: StreamRegistry) -> ASGIApp:
    """Return the application with the one address `/metrics`; only known by names of loopback."""
    registry = _registry(tables, streams)

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return SecurityHeaders(Starlette(routes=[Route("/metrics", metrics)]), ())


def metrics_text(tables: FloorModel, streams: StreamRegistry) -> bytes:
    """Return the figures in Prometheus' text format."""
    return generate_latest(_registry(tables, streams))


def _registry(tables: FloorModel, streams: StreamRegistry) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_DisplayCollector(tables, streams))
    ProcessCollector(registry=registry)
    return registry


class _DisplayCollector(Collector):
    """
    All metrics of the display.

    One metric has a label for each table, of which the display stores a limited number; all other
    labels have fixed values. Alerts for staff only are not counted.
    """

    def __init__(self, tables: FloorModel, streams: StreamRegistry) -> None:
        self._tables, self._streams = tables, streams

    def collect(self) -> Iterator[Metric]:
        """Give every metric."""
        tables = self._tables
        build = GaugeMetricFamily(
            "shoe_display_build_info", "Version of the display.", labels=("version",)
        )
        build.add_metric((__version__,), 1)
        yield build
        about = "1 while the display is connected to the broker."
        yield GaugeMetricFamily("shoe_display_broker_connected", about, tables.link.connected)
        about = "Pages that are connected."
        yield GaugeMetricFamily("shoe_display_browsers", about, len(self._streams))
        yield CounterMetricFamily(
            "shoe_display_faults", "Invalid messages since the start.", tables.faults.total
        )
        yield self._table_states()
        yield self._live_tables()
        yield self._open_alerts()

    def _table_states(self) -> Metric:
        states = Counter(each.freshness.state for each in self._tables)
        family = GaugeMetricFamily(
            "shoe_display_tables", "Tables by freshness.", labels=("freshness",)
        )
        for state in get_args(FreshnessState):
            family.add_metric((state,), states[state])
        return family

    def _live_tables(self) -> Metric:
        family = GaugeMetricFamily(
            "shoe_display_table_live", "1 while the table is live.", labels=("site", "table")
        )
        for each in self._tables:
            family.add_metric((each.site, each.table), each.freshness.state == "live")
        return family

    def _open_alerts(self) -> Metric:
        counts = Counter(
            str(alert.data.severity)
            for table in self._tables
            if (active := table.body(ALERTS)) is not None
            for alert in active.alerts
        )
        family = GaugeMetricFamily(
            "shoe_display_open_alerts",
            "Open irregularities of all tables, without those for staff only.",
            labels=("severity",),
        )
        for severity in _SEVERITIES:
            family.add_metric((severity,), counts.pop(severity, 0))
        family.add_metric((_OTHER,), counts.total())
        return family
