"""The figures of a table in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from shoe_daemon.service.metrics import (
    UNKNOWN_OUTCOME,
    BrokerFigures,
    Figures,
    ForwardFigures,
    ReaderFigures,
)
from shoe_daemon.service.state_publisher import DeviceState

_TABLE: Final = ("site", "table")
_SEVERITIES: Final = (1, 2, 3, 4, 5)
_OUTCOMES: Final = (*(each.value for each in Outcome), UNKNOWN_OUTCOME)


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
        """Give every metric."""
        figures = self._figures
        yield self._gauge("build_info", "Version of the daemon.", 1, version=figures.version)
        yield self._gauge(
            "start_time_seconds", "Start of the daemon, Unix time.", figures.started_at
        )
        yield self._gauge(
            "metrics_time_seconds", "When these figures were collected, Unix time.", figures.at
        )
        yield self._gauge("alarm", "1 while an alarm is shown.", figures.alarm is not None)
        yield from self._play(figures)
        yield from self._journal(figures)
        if figures.broker is not None:
            yield from self._broker(figures.broker)
        yield from self._readers(figures.readers)
        yield from self._forwards(figures.forwards)
        lamps = [((name,), works) for name, works in figures.lamps.items()]
        yield self._gauges("lamp_connected", "1 while the lamp is switched.", ("lamp",), lamps)
        witnesses = [((name,), works) for name, works in figures.witnesses.items()]
        yield self._gauges(
            "witness_recording", "1 while the witness has video.", ("witness",), witnesses
        )

    def _play(self, figures: Figures) -> Iterator[Metric]:
        yield self._counter("cards", "Cards dealt to hands since the start.", figures.cards)
        rounds = [((each,), figures.rounds.get(each, 0)) for each in _OUTCOMES]
        yield self._counters("rounds", "Finished rounds since the start.", ("outcome",), rounds)
        raised = _by_severity(figures.irregularities)
        yield self._counters(
            "irregularities", "Irregularities since the start.", ("severity",), raised
        )
        is_open = _by_severity(figures.open_irregularities)
        about = "Irregularities that are open, without those for staff only."
        yield self._gauges("open_irregularities", about, ("severity",), is_open)
        yield self._gauge("held_results", "Results that wait for a person.", figures.held)
        yield self._gauge("on_hold", "1 while the whole table is on hold.", figures.on_hold)

    def _journal(self, figures: Figures) -> Iterator[Metric]:
        about = "Events in the journal, since its beginning."
        yield self._counter("journal_events", about, figures.seq)
        about = "1 while the journal can be written."
        yield self._gauge("journal_writable", about, figures.journal_writable)
        yield self._gauge(
            "waiting_inputs", "Frames and orders not yet processed.", figures.waiting_inputs
        )
        bounds = [*map(str, figures.write_bounds_s), "+Inf"]
        buckets = list(zip(bounds, accumulate(map(float, figures.write_counts)), strict=True))
        times = HistogramMetricFamily(
            "shoe_journal_write_seconds", "Durable writes to the journal.", labels=_TABLE
        )
        times.add_metric(self._table, buckets, figures.write_sum_s)
        yield times

    def _broker(self, broker: BrokerFigures) -> Iterator[Metric]:
        about = "1 while the broker has accepted the connection."
        yield self._gauge("broker_connected", about, broker.connected)
        about = "Events that the broker has not acknowledged."
        yield self._gauge("outgoing_events", about, broker.queued)
        about = "Messages that were sent and are not acknowledged."
        yield self._gauge("outgoing_in_flight", about, broker.in_flight)

    def _readers(self, readers: Iterable[ReaderFigures]) -> Iterator[Metric]:
        states = [
            ((reader.id, state), reader.state == state)
            for reader in readers
            for state in get_args(DeviceState)
        ]
        about = "1 for the state that the reader is in."
        yield self._gauges("reader_state", about, ("reader", "state"), states)
        frames = [((each.id,), each.last_frame) for each in readers if each.last_frame is not None]
        about = "When a valid frame was last received, Unix time."
        yield self._gauges("reader_last_frame_time_seconds", about, ("reader",), frames)
        for name, about in (
            ("bytes", "Bytes received."),
            ("frames", "Valid frames, repeats included."),
            ("noise", "Bytes that belonged to no valid frame."),
            ("repeats", "Frames that only repeated the one before."),
            ("failures", "Lost and refused lines."),
        ):
            values = [((each.id,), getattr(each, name)) for each in readers]
            yield self._counters(f"reader_{name}", about, ("reader",), values)

    def _forwards(self, forwards: Iterable[ForwardFigures]) -> Iterator[Metric]:
        about = "1 while the copy of a reader's line is open."
        is_open = [((each.id,), each.open) for each in forwards]
        yield self._gauges("forward_open", about, ("reader",), is_open)
        about = "Reads of a line that a receiver of its copy did not get."
        dropped = [((each.id,), each.dropped) for each in forwards]
        yield self._counters("forward_dropped_reads", about, ("reader",), dropped)

    def _gauge(self, name: str, about: str, value: float, **labels: str) -> Metric:
        return self._gauges(name, about, tuple(labels), [(tuple(labels.values()), value)])

    def _gauges(
        self,
        name: str,
        about: str,
        labels: tuple[str, ...],
        values: Iterable[tuple[tuple[str, ...], float]],
    ) -> Metric:
        family = GaugeMetricFamily(f"shoe_{name}", about, labels=(*_TABLE, *labels))
        return self._filled(family, values)

    def _counter(self, name: str, about: str, value: float) -> Metric:
        return self._counters(name, about, (), [((), value)])

    def _counters(
        self,
        name: str,
        about: str,
        labels: tuple[str, ...],
        values: Iterable[tuple[tuple[str, ...], float]],
    ) -> Metric:
        family = CounterMetricFamily(f"shoe_{name}", about, labels=(*_TABLE, *labels))
        return self._filled(family, values)

    def _filled(
        self,
        family: GaugeMetricFamily | CounterMetricFamily,
        values: Iterable[tuple[tuple[str, ...], float]],
    ) -> Metric:
        for each, value in values:
            family.add_metric((*self._table, *each), value)
        return family


def _by_severity(counts: dict[int, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((str(each),), counts.get(each, 0)) for each in _SEVERITIES]
