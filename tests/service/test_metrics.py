"""The files about a running daemon: figures for Prometheus, and its state as JSON."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from drivers.driver import Frame, FrameKind
from shoe_daemon.service.metrics import Figures, TableMetrics, health_json
from shoe_daemon.service.prometheus import table_text
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table.observations import Observation, Result
from tests.brokers import Mosquitto
from tests.service.conftest import Run
from tests.service.daemon_process import Shoe, configure
from tests.service.test_processing_core import Bench
from tests.waiting import wait_for

SOON = "import shoe_daemon.service.metrics as metrics\nmetrics._INTERVAL_S = 0.05\n"
NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
TABLE = {"site": "hall", "table": "table-7"}


class MeasuredBench(Bench):
    """A core whose events are counted."""

    def start(self) -> None:
        """Start it, as after a kill."""
        super().start()
        state = StatePublisher(self.core, None, (), "start-1", heartbeat=10)
        self.metrics = TableMetrics(self.core, state, (), None)

    def see(self, *observations: Observation) -> list[str]:
        """Take a frame, and count what it caused."""
        frame = Frame(b"bytes", FrameKind.FRAME, observations, self.monotonic)
        events = self.core.process([("shoe", frame)])
        self.metrics.count(events)
        return [event.type for event in events]

    @property
    def figures(self) -> Figures:
        """The figures of this moment."""
        return self.metrics.figures(0)


def values(text: bytes | str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return every sample by its name and its labels besides site and table."""
    text = text if isinstance(text, str) else text.decode()
    return {
        (sample.name, frozenset(sample.labels.items() - TABLE.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: bytes | str, name: str, **labels: str) -> float:
    return values(text)[f"shoe_{name}", frozenset(labels.items())]


def test_the_figures_count_what_happened(tmp_path: Path) -> None:
    bench = MeasuredBench(configure(tmp_path / "table"))
    bench.deal(*NATURAL)
    bench.see(Result())
    bench.deal(*NATURAL, "P3:2C")
    text = table_text(bench.figures)
    assert value(text, "cards_total") == 8  # the last one belongs to no hand
    assert value(text, "rounds_total", outcome="player") == 2
    assert value(text, "rounds_total", outcome="tie") == 0
    opened = {each.data.severity for each in bench.core.table.state.alerts}
    assert opened
    for severity in range(1, 6):
        is_open = float(severity in opened)
        assert value(text, "open_irregularities", severity=str(severity)) == is_open
        assert value(text, "irregularities_total", severity=str(severity)) == is_open
    assert value(text, "journal_events_total") == bench.core.table.state.seq
    assert value(text, "journal_write_seconds_count") == sum(bench.core.write_times.counts) > 9
    assert value(text, "journal_write_seconds_sum") > 0
    bench.close()


def test_an_irregularity_for_staff_only_is_in_no_figure(tmp_path: Path) -> None:
    bench = MeasuredBench(configure(tmp_path / "table", 'house = "curator"'))
    bench.deal(*NATURAL)
    before = bench.figures
    bench.deal("P3:2C")
    assert [each.staff_only for each in bench.core.table.state.alerts] == [True]
    after = bench.figures
    assert after.open_irregularities == before.open_irregularities == {}
    assert after.irregularities == before.irregularities == {}
    assert (after.held, after.on_hold) == (before.held, before.on_hold)
    bench.close()


def test_the_health_is_ok_only_without_an_alarm(tmp_path: Path) -> None:
    bench = MeasuredBench(configure(tmp_path / "table"))
    facts = json.loads(health_json(bench.figures))
    assert facts["ok"] is True
    assert (facts["site"], facts["table"], facts["alarm"]) == ("hall", "table-7", None)
    bench.metrics._state.blocked = True  # noqa: SLF001 - the simplest alarm
    facts = json.loads(health_json(bench.figures))
    assert facts["ok"] is False
    assert facts["alarm"]
    bench.close()


def health(folder: Path) -> dict[str, Any]:
    """Return the health file; empty before it is written."""
    path = folder / "health.json"
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.mosquitto
def test_a_daemon_writes_both_files_and_survives_the_loss_of_their_folder(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe
) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    metrics = f'[metrics]\ntextfile = "{folder}/t.prom"\nhealth_file = "{folder}/health.json"'
    config = configure(tmp_path / "table", metrics, port=mosquitto.port, line=shoe.link)
    # `configure` adds [mqtt] and the reader after it.
    daemon = run(config, patch=SOON).wait_ready()
    shoe.wait_heard().draw(*NATURAL)
    wait_for(lambda: health(folder).get("ok"), "a healthy daemon")
    text = folder / "t.prom"
    wait_for(lambda: value(text.read_text(), "cards_total") == 4, "four cards")
    assert stat.S_IMODE(text.stat().st_mode) == 0o640
    assert value(text.read_text(), "broker_connected") == 1
    reader = {"reader": "shoe"}
    assert value(text.read_text(), "reader_state", state="connected", **reader) == 1
    assert value(text.read_text(), "reader_state", state="no-signal", **reader) == 0
    assert value(text.read_text(), "reader_frames_total", **reader) >= 4
    assert value(text.read_text(), "reader_last_frame_time_seconds", **reader) > 1e9
    mosquitto.kill()
    wait_for(lambda: value(text.read_text(), "broker_connected") == 0, "the loss of the broker")
    wait_for(lambda: health(folder)["ok"] is False, "the loss of the broker in the health file")
    away = folder.rename(tmp_path / "away")
    wait_for(lambda: "metrics_not_written" in daemon.log.read_text(), "a line in the log")
    away.rename(folder)
    text.unlink()
    wait_for(text.exists, "the file again")
    assert {each.name for each in folder.iterdir()} - {".t.prom.new", ".health.json.new"} == {
        "t.prom",
        "health.json",
    }
    assert daemon.stop() == 0


def test_a_table_is_read_without_prometheus_client(tmp_path: Path, run: Run) -> None:
    config = configure(tmp_path / "table", '[metrics]\ntextfile = "t.prom"')
    without = "import sys\nsys.modules['prometheus_client'] = None"
    daemon = run(config, patch=without).wait_ready()
    assert daemon.stop() == 0
    assert "pip install 'shoe-daemon[metrics]'" in daemon.log.read_text()
