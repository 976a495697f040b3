"""The figures of a table in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final, get_args

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector, CollectorRegistry

from shoe_daemon.game import Outcome
from shoe_daemon.mqtt.publisher import Health
from shoe_daemon.service.core import WRITE_BOUNDS_S
from shoe_daemon.service.metrics import UNKNOWN_OUTCOME, Figures
from shoe_daemon.service.state import DeviceState

_TABLE: Final = ("site", "table")
_SEVERITIES: Final = (1, 2, 3, 4, 5)
_OUTCOMES: Final = (*(each.value for each in Outcome), UNKNOWN_OUTCOME)
_READER_COUNTS: Final = {
    "bytes": "Bytes received.",
    "frames": "Valid frames, repeats included.",
    "noise": "Bytes that belonged to no valid frame.",
    "repeats": "Frames that only repeated the one before.",
    "failures": "Lost and refused lines.",
}

Values = float | Mapping[str, float] | Mapping[tuple[str, str], float]
"""A value, or one for each value of the further label, or of both."""


def table_text(figures: Figures) -> bytes:
    """Return the figures in the text format; each has the labels `site` and `table`."""
    registry = CollectorRegistry()
    registry.register(_FiguresCollector(figures))
    return generate_latest(registry)


class _FiguresCollector(Collector):
    """All metrics of one table. Labels have fixed values, or ids of the configuration."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._table = (figures.site, figures.table)

    def collect(self) -> Iterator[Metric]:
        figures = self._figures
        about = "Version of the daemon."
        yield self._gauge("build_info", about, {figures.version: 1}, "version")
        about = "Start of the daemon, Unix time."
        yield self._gauge("start_time_seconds", about, figures.started_at)
        about = "When these figures were collected, Unix time."
        yield self._gauge("metrics_time_seconds", about, figures.at)
        yield self._gauge("alarm", "1 while an alarm is shown.", figures.alarm is not None)
        yield from self._play(figures)
        yield from self._journal(figures)
        if figures.broker is not None:
            yield from self._broker(figures.broker)
        yield from self._readers(figures)
        about = "1 while the lamp is switched."
        yield self._gauge("lamp_connected", about, figures.lamps, "lamp")
        about = "1 while the witness has video."
        yield self._gauge("witness_recording", about, figures.witnesses, "witness")

    def _play(self, figures: Figures) -> Iterator[Metric]:
        yield self._counter("cards", "Cards dealt to hands since the start.", figures.cards)
        rounds = {each: figures.rounds.get(each, 0) for each in _OUTCOMES}
        yield self._counter("rounds", "Finished rounds since the start.", rounds, "outcome")
        raised = _by_severity(figures.irregularities)
        about = "Irregularities since the start."
        yield self._counter("irregularities", about, raised, "severity")
        is_open = _by_severity(figures.open_irregularities)
        about = "Irregularities that are open, without those for staff only."
        yield self._gauge("open_irregularities", about, is_open, "severity")
        yield self._gauge("held_results", "Results that wait for a person.", figures.held)
        yield self._gauge("on_hold", "1 while the whole table is on hold.", figures.on_hold)

    def _journal(self, figures: Figures) -> Iterator[Metric]:
        about = "Events in the journal, since its beginning."
        yield self._counter("journal_events", about, figures.seq)
        about = "1 while the journal can be written."
        yield self._gauge("journal_writable", about, figures.journal_writable)
        about = "Frames and orders not yet processed."
        yield self._gauge("waiting_inputs", about, figures.waiting_inputs)
        bounds = [*map(str, WRITE_BOUNDS_S), "+Inf"]
        buckets = list(zip(bounds, accumulate(map(float, figures.write_counts)), strict=True))
        times = HistogramMetricFamily(
            "shoe_journal_write_seconds", "Durable writes to the journal.", labels=_TABLE
        )
        times.add_metric(self._table, buckets, figures.write_sum_s)
        yield times

    def _broker(self, broker: Health) -> Iterator[Metric]:
        about = "1 while the broker has accepted the connection."
        yield self._gauge("broker_connected", about, broker.connected)
        about = "Events that the broker has not acknowledged."
        yield self._gauge("outgoing_events", about, broker.queued)
        about = "Messages that were sent and are not acknowledged."
        yield self._gauge("outgoing_in_flight", about, broker.in_flight)

    def _readers(self, figures: Figures) -> Iterator[Metric]:
        readers, forwards = figures.readers, figures.forwards
        states = {
            (each.id, state): each.state == state
            for each in readers
            for state in get_args(DeviceState)
        }
        about = "1 for the state that the reader is in."
        yield self._gauge("reader_state", about, states, "reader", "state")
        frames = {each.id: each.last_frame for each in readers if each.last_frame is not None}
        about = "When a valid frame was last received, Unix time."
        yield self._gauge("reader_last_frame_time_seconds", about, frames, "reader")
        for name, about in _READER_COUNTS.items():
            counts = {each.id: getattr(each.counts, name) for each in readers}
            yield self._counter(f"reader_{name}", about, counts, "reader")
        is_open = {each.id: each.open for each in forwards}
        about = "1 while the copy of a reader's line is open."
        yield self._gauge("forward_open", about, is_open, "reader")
        dropped = {each.id: each.dropped for each in forwards}
        about = "Reads of a line that a receiver of its copy did not get."
        yield self._counter("forward_dropped_reads", about, dropped, "reader")

    def _gauge(self, name: str, about: str, values: Values, *labels: str) -> Metric:
        family = GaugeMetricFamily(f"shoe_{name}", about, labels=(*_TABLE, *labels))
        return self._filled(family, values)

    def _counter(self, name: str, about: str, values: Values, *labels: str) -> Metric:
        family = CounterMetricFamily(f"shoe_{name}", about, labels=(*_TABLE, *labels))
        return self._filled(family, values)

    def _filled(self, family: GaugeMetricFamily | CounterMetricFamily, values: Values) -> Metric:
        if not isinstance(values, Mapping):
            family.add_metric(self._table, values)
            return family
        for key, value in values.items():
            more = (key,) if isinstance(key, str) else key
            family.add_metric((*self._table, *more), value)
        return family


def _by_severity(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(each): counts.get(each, 0) for each in _SEVERITIES}
