"""Writes the metrics and the health of the daemon into files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from shoe_daemon.config.sections import MetricsSettings
from shoe_daemon.service.metrics import Figures, MetricsWriter, TableMetrics, health_json
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import Event


def make(daemon: Surroundings) -> Part | None:
    """Return the writer of the metrics, if a file is configured."""
    files = _files(daemon.setup.config.metrics)
    return _Metrics(daemon, MetricsWriter(files)) if files else None


class _Metrics(Part):
    def __init__(self, daemon: Surroundings, writer: MetricsWriter) -> None:
        self._daemon = daemon
        self._writer = writer
        self._metrics = TableMetrics(
            daemon.core,
            daemon.state,
            daemon.readers,
            daemon.publisher,
            working=self._working_of,
        )

    def start(self) -> None:
        self._writer.start()

    def on_events(self, events: Sequence[Event]) -> None:
        self._metrics.count(events)
        if not events:
            self.check()

    def check(self) -> None:
        if self._writer.is_due:
            self._writer.write(self._metrics.figures(self._daemon.waiting()))

    def _working_of(self, name: str) -> dict[str, bool]:
        return {
            key: works
            for part in self._daemon.parts
            if part.name == name
            for key, works in part.working.items()
        }


def _files(settings: MetricsSettings) -> dict[Path, Callable[[Figures], bytes]]:
    files: dict[Path, Callable[[Figures], bytes]] = {}
    if settings.textfile is not None:
        # Tables without this file need neither the extra nor its memory.
        from shoe_daemon.service.prometheus import table_text  # noqa: PLC0415

        files[Path(settings.textfile)] = table_text
    if settings.health_file is not None:
        files[Path(settings.health_file)] = health_json
    return files
