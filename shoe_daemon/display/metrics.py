"""Figures of the display for Prometheus, at `/metrics` of a listener on loopback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

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
from shoe_daemon.display.app import SecurityHeaders
from shoe_daemon.display.streams import StreamRegistry
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import FreshnessState
from shoe_daemon.mqtt.topics import ALERTS

_SEVERITIES: Final = ("1", "2", "3", "4", "5")
_OTHER: Final = "other"
"""Severity of an alert outside the known ones: publishers are not trusted."""


def metrics_app(tables: Floor, streams: StreamRegistry) -> ASGIApp:
    """Return the application with the one address `/metrics`; only known by names of loopback."""

    async def metrics(_request: Request) -> Response:
        return Response(metrics_text(tables, streams), media_type=CONTENT_TYPE_LATEST)

    return SecurityHeaders(Starlette(routes=[Route("/metrics", metrics)]), ())


def metrics_text(tables: Floor, streams: StreamRegistry) -> bytes:
    """Return the figures in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_DisplayCollector(tables, streams))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _DisplayCollector(Collector):
    """
    All metrics of the display.

    One metric has a label for each table, of which the display stores a limited number; all other
    labels have fixed values. Alerts for staff only are not counted.
    """

    def __init__(self, tables: Floor, streams: StreamRegistry) -> None:
        self._tables, self._streams = tables, streams

    def collect(self) -> Iterator[Metric]:
        """Give every metric."""
        tables = self._tables
        yield _by_labels(
            "build_info", "Version of the display.", ("version",), {(__version__,): 1}
        )
        about = "1 while the display is connected to the broker."
        yield GaugeMetricFamily("shoe_display_broker_connected", about, tables.link.connected)
        about = "Pages that are connected."
        yield GaugeMetricFamily("shoe_display_browsers", about, len(self._streams))
        yield CounterMetricFamily(
            "shoe_display_faults", "Invalid messages since the start.", tables.faults.total
        )
        states = Counter(each.freshness.state for each in tables)
        by_state = {(state,): states[state] for state in get_args(FreshnessState)}
        yield _by_labels("tables", "Tables by freshness.", ("freshness",), by_state)
        live = {(each.site, each.table): each.freshness.state == "live" for each in tables}
        yield _by_labels("table_live", "1 while the table is live.", ("site", "table"), live)
        counts = Counter(
            str(alert.data.severity)
            for table in tables
            if (active := table.body(ALERTS)) is not None
            for alert in active.alerts
        )
        alerts = {(severity,): counts.pop(severity, 0) for severity in _SEVERITIES}
        alerts[_OTHER,] = counts.total()
        about = "Open irregularities of all tables, without those for staff only."
        yield _by_labels("open_alerts", about, ("severity",), alerts)


def _by_labels(
    name: str, about: str, labels: tuple[str, ...], values: Mapping[Any, float]
) -> Metric:
    family = GaugeMetricFamily(f"shoe_display_{name}", about, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
