"""promtool accepts the metrics of daemon and display, the alert rules and the dashboard."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from drivers import Counts
from shoe_daemon.display.metrics import metrics_text
from shoe_daemon.display.streams import StreamRegistry
from shoe_daemon.display.views import JsonViews
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Link, Message, Moment
from shoe_daemon.mqtt.publisher import Health
from shoe_daemon.notify.decisions import Decisions, Failure, RecipientRules
from shoe_daemon.notify.metrics import metrics_text as notify_text
from shoe_daemon.service.metrics import Figures, ForwardFigures, ReaderFigures
from shoe_daemon.service.prometheus import table_text
from tests.floor.table_messages import alert, payload, topic
from tests.notify.open_alerts import open_alert

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples/prometheus"
CACHE = ROOT / "build/prometheus"


@pytest.fixture(scope="session")
def promtool() -> str:
    """The program, unpacked beside the system if it is not installed."""
    found = shutil.which("promtool")
    if found is not None:
        return found
    CACHE.mkdir(parents=True, exist_ok=True)
    program = CACHE / "tree/usr/bin/promtool"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _unpack()
    return str(program)


def _unpack() -> None:
    """Unpack Debian's package alone: the program needs no library."""
    if shutil.which("apt-get") is None:
        pytest.skip("promtool is missing: install prometheus")
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", "prometheus"]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["unknown"])[-1]
        pytest.skip(f"prometheus cannot be downloaded: {reason}")
    for package in CACHE.glob("prometheus_*.deb"):
        subprocess.run(["dpkg", "-x", package, CACHE / "tree"], check=True)
        package.unlink()


def run(promtool: str, *command: str, text: str = "") -> str:
    """Run promtool beside the examples; return its output, and fail with it."""
    done = subprocess.run(
        [promtool, *command],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=EXAMPLES,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def table_metrics() -> str:
    counts = Counts(bytes=1, frames=1)
    reader = ReaderFigures(id="shoe", state="connected", counts=counts, last_frame=1.5)
    broker = Health(
        alive=True,
        connected=True,
        cursor=9,
        last_loop=1.5,
        in_flight=0,
        last_error=None,
        has_subscribers=None,
        queued=0,
        since=1.5,
    )
    figures = Figures(
        at=2.5,
        started_at=1.5,
        site="casino",
        table="table-7",
        alarm=None,
        broker=broker,
        cards=4,
        forwards=(ForwardFigures(id="shoe", open=True, dropped=2),),
        held=0,
        irregularities={3: 1},
        journal_writable=True,
        lamps={"tower": True},
        witnesses={"pit": True},
        on_hold=False,
        open_irregularities={3: 1},
        readers=(reader,),
        rounds={"player": 1},
        seq=9,
        waiting_inputs=0,
        write_counts=(1,) * 12,
        write_sum_s=0.5,
    )
    return table_text(figures).decode()


def display_metrics() -> str:
    tables = Floor()
    moment = Moment(1.0, "2026-11-23T12:00:00Z")
    tables.set_link(Link(connected=True, since="2026-11-23T12:00:00Z"), 1.0)
    for suffix, more in (("state", {}), ("status", {}), ("alert/active", {"alerts": [alert()]})):
        tables.receive(Message(topic(suffix), payload(suffix, **more)), moment)
    streams = StreamRegistry(tables, JsonViews(tables, []), lambda: "now")
    return metrics_text(tables, streams).decode()


def notify_metrics() -> str:
    decisions = Decisions([RecipientRules(id="floor")])
    decisions.set_alerts("casino", "table-7", [open_alert(1)])
    now = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
    notification = decisions.take("floor", now)
    assert notification is not None
    decisions.finish(notification, now, Failure("refused"))
    return notify_text(decisions, now, broker_connected=True).decode()


def names(text: str) -> set[str]:
    """Return the names of all samples."""
    return {re.split(r"[{ ]", line)[0] for line in text.splitlines() if line[:1].isalpha()}


@pytest.mark.parametrize("metrics", [table_metrics, display_metrics, notify_metrics])
def test_the_metrics_are_accepted(promtool: str, metrics: object) -> None:
    assert callable(metrics)
    assert run(promtool, "check", "metrics", text=metrics()) == ""


def test_the_display_counts_tables_and_alerts() -> None:
    text = display_metrics()
    assert 'shoe_display_tables{freshness="live"} 1.0' in text
    assert 'shoe_display_table_live{site="house",table="table-1"} 1.0' in text
    counts = re.findall(r'shoe_display_open_alerts\{severity="\w+"\} (\S+)', text)
    assert sorted(map(float, counts)) == [0, 0, 0, 0, 0, 1]


def test_a_failing_recipient_is_counted() -> None:
    text = notify_metrics()
    assert 'shoe_notify_failures{recipient="floor"} 1.0' in text
    assert 'shoe_notify_accepted_total{recipient="floor"} 0.0' in text
    assert 'shoe_notify_waiting{recipient="floor"} 1.0' in text
    assert "shoe_notify_open_alerts 1.0" in text


def test_the_rules_are_accepted_and_fire_when_they_should(promtool: str) -> None:
    run(promtool, "check", "rules", "shoe-rules.yml")
    run(promtool, "test", "rules", "shoe-rules-test.yml")


def dashboard() -> list[str]:
    """Return every expression of the dashboard, without its variables."""
    panels = json.loads((EXAMPLES / "shoe-dashboard.json").read_text())["panels"]
    targets = [target["expr"] for panel in panels for target in panel["targets"]]
    return [re.sub(r"\$\w+", "x", each) for each in targets]


def test_the_dashboard_has_expressions_that_prometheus_accepts(
    promtool: str, tmp_path: Path
) -> None:
    rules = [{"record": f"x:{n}", "expr": each} for n, each in enumerate(dashboard())]
    assert len(rules) > 10
    file = tmp_path / "rules.yml"
    # JSON is YAML.
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    run(promtool, "check", "rules", str(file))


def test_rules_and_dashboard_name_metrics_that_exist() -> None:
    known = names(table_metrics()) | names(display_metrics()) | names(notify_metrics())
    rules = (EXAMPLES / "shoe-rules.yml").read_text()
    expressions = re.findall(r"expr: (?:>-\n)?((?:.|\n(?=  ))*?)\n +(?:for|labels):", rules)
    used = {
        name
        for each in (*expressions, *dashboard())
        for name in re.findall(r"\b(?:shoe|process)_\w+", each)
    }
    assert len(expressions) == rules.count("alert:")
    assert used <= known, used - known
