"""The program with a real broker and a real webhook: from an open irregularity to the message."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shoe_daemon.cli import main
from shoe_daemon.mqtt.documents import ActiveAlerts, Status, encode_message
from shoe_daemon.notify.config import load_notify
from shoe_daemon.notify.service import topic_filters
from shoe_daemon.settings.loader import has_section
from tests.brokers import Listener, Mosquitto
from tests.commands.command_table import open_pit
from tests.commands.test_hold_from import misdeal
from tests.each_case import each_case
from tests.mqtt.sample_broker import SYSTEMD
from tests.notify.open_alerts import open_alert
from tests.notify.webhook_server import WebhookServer
from tests.service.daemon_process import SHOE_DAEMON, ServiceManager
from tests.waiting import PATIENCE, wait_for

ROOT = "shoe/v1/casino/table-7"


def configure(folder: Path, port: int, url: str, more: str = "", mqtt: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    secret = folder / "floor.secret"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    path = folder / "notify.toml"
    path.write_text(
        f'[mqtt]\nport = {port}\n{mqtt}\n[[notify.to]]\nid = "floor"\nwebhook = "{url}"\n'
        f'secret_file = "floor.secret"\n{more}\n'
    )
    return path


class Program:
    """`shoe-daemon notify` as a process."""

    def __init__(self, config: Path) -> None:
        self.log = config.with_name("notify.log")
        socket = config.with_name("notify.sock")
        socket.unlink(missing_ok=True)
        self.manager = ServiceManager(str(socket))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                (*SHOE_DAEMON, "notify", "--config", str(config)),
                stderr=log,
                env={"NOTIFY_SOCKET": self.manager.address, "PATH": "/usr/bin:/bin"},
            )

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.log.read_text()


@contextmanager
def running(config: Path) -> Iterator[Program]:
    program = Program(config)
    try:
        wait_for(lambda: program.manager.heard("READY=1"), "the program")
        yield program
    finally:
        program.process.kill()
        program.process.wait()
        program.manager.__exit__()


def publish(broker: Listener, *numbers: int, severity: int = 3, prefix: str = "") -> None:
    """Publish the open irregularities of table-7."""
    alerts = tuple(open_alert(each, severity=severity).alert for each in numbers)
    document = ActiveAlerts(alerts=alerts, seq=9, session="s")
    broker.publish(f"{ROOT}/{prefix}alert/active", encode_message(document), retain=True)


@pytest.fixture
def table(mosquitto: Mosquitto) -> Iterator[Listener]:
    with Listener(mosquitto.port, "nothing") as listener:
        status = Status(name="Baccarat 7", seq=9, session="s", state="online")
        listener.publish(f"{ROOT}/status", encode_message(status), retain=True)
        yield listener


def ids(webhook: WebhookServer) -> list[list[int]]:
    return [[each["alert"]["data"]["id"] for each in body["alerts"]] for body in webhook.accepted]


@pytest.mark.mosquitto
def test_a_failure_is_shown_and_ends_by_itself(
    tmp_path: Path, mosquitto: Mosquitto, table: Listener, webhook: WebhookServer
) -> None:
    webhook.status = 503
    figures = tmp_path / "n/figures.prom"
    metrics = '[metrics]\ntextfile = "figures.prom"'
    config = configure(tmp_path / "n", mosquitto.port, webhook.url, metrics)
    with running(config) as program:
        publish(table, 1)
        wait_for(lambda: "floor FAILS (attempt 1): the webhook" in program.manager.status, "it")
        assert '"notification_failed"' in program.log.read_text()
        state = json.loads((tmp_path / "n/notify-state.json").read_bytes())
        assert state["recipients"]["floor"]["failures"] == 1
        found = CliRunner().invoke(main, ["doctor", "--config", str(config), "--json"])
        bad = [each for each in json.loads(found.stdout) if each["verdict"] == "bad"]
        assert [each["about"] for each in bad] == ["to floor"]
        assert "fails since" in bad[0]["text"]
        assert found.exit_code == 1
        webhook.status = 204
        wait_for(lambda: "FAILS" not in program.manager.status, "the next attempt")
        assert ids(webhook) == [[1], [1]]
        assert webhook.accepted[0]["alerts"][0]["name"] == "Baccarat 7"
        assert "shoe_notify_broker_connected" in figures.read_text()
        program.stop()


@pytest.mark.mosquitto
def test_a_restart_sends_nothing_twice(
    tmp_path: Path, mosquitto: Mosquitto, table: Listener, webhook: WebhookServer
) -> None:
    config = configure(tmp_path / "n", mosquitto.port, webhook.url)
    with running(config) as program:
        publish(table, 1)
        wait_for(lambda: "notification_sent" in program.log.read_text(), "the message")
        program.stop()
    with running(config) as program:
        wait_for(lambda: "1 open alerts" in program.manager.status, "the retained alert")
        publish(table, 1, 2)
        wait_for(lambda: len(webhook.received) == 2, "the new one")
        assert ids(webhook) == [[1], [2]]
        program.stop()


@pytest.mark.mosquitto
def test_only_valid_public_alerts_are_sent_and_a_lost_broker_is_shown(
    tmp_path: Path, mosquitto: Mosquitto, table: Listener, webhook: WebhookServer
) -> None:
    config = configure(tmp_path / "n", mosquitto.port, webhook.url)
    assert topic_filters(load_notify(config).config) == [
        "shoe/v1/+/+/status",
        "shoe/v1/+/+/alert/active",
    ]
    with running(config) as program:
        publish(table, 1, prefix="staff/")
        for payload in (b"nonsense", b"{}", b"\xff", b'{"alerts":[{}],"seq":1,"session":"s"}'):
            table.publish(f"{ROOT}/alert/active", payload, retain=True)
        wait_for(lambda: "message_invalid" in program.log.read_text(), "a line in the log")
        publish(table, 2)
        wait_for(lambda: webhook.received, "the public one")
        assert ids(webhook) == [[2]]
        mosquitto.kill()
        wait_for(lambda: "no broker, nothing is sent" in program.manager.status, "the loss")
        program.stop()


def test_a_test_message_reaches_every_recipient(tmp_path: Path, webhook: WebhookServer) -> None:
    config = configure(tmp_path, 1, webhook.url)
    result = CliRunner().invoke(main, ["notify", "--config", str(config), "--test"])
    assert result.output == "ok  floor\n"
    assert webhook.accepted[0]["kind"] == "test"
    webhook.status = 500
    result = CliRunner().invoke(main, ["notify", "--config", str(config), "--test"])
    assert result.exit_code == 1
    assert "!!  floor: the webhook answers 500" in result.output


def check(file: Path) -> Result:
    return CliRunner().invoke(main, ["check-config", str(file)])


def test_the_sample_is_valid(tmp_path: Path) -> None:
    sample = SYSTEMD / "notify.toml"
    assert has_section(sample, "notify")
    path = tmp_path / "notify.toml"
    path.write_bytes(sample.read_bytes())
    result = check(path)
    assert result.exit_code == 0, result.output
    assert "floor: to https://alerts.casino.example/…, severity 2 and" in result.output
    assert result.output.count("note      ") == 2  # credentials of the unit
    unit = (SYSTEMD / "shoe-notify.service").read_text(encoding="utf-8")
    for name in ("notify.password", "floor.secret"):
        assert f"\nLoadCredential={name}:/etc/shoe-daemon/{name}\n" in unit
        assert f"\nSetCredential={name}:\\n\n" in unit


@each_case(
    "line, reason",
    [
        ('address_file = "x"', "notify.to 'floor': expected exactly one of webhook and"),
        ('quiet_hours = ["8-9"]', "notify.to 'floor': quiet_hours: '8-9'; expected two times"),
        ('tables = ["Table 7"]', "notify.to 'floor': tables: 'Table 7'; expected a table's id"),
        ("severity = 6", "severity: 6; expected a whole number of at most 5"),
        (
            '[[notify.to]]\nid = "floor"\nwebhook = "http://x"',
            "given twice; expected each id",
        ),
        ('[[notify.to]]\nid = "b"\nwebhook = "http://x"', "secret_file: missing; expected the"),
        (
            '[[notify.to]]\nid = "b"\nsecret_file = "x"\nwebhook = "ftp://x/"',
            "webhook: 'ftp://x/'; expected https://HOST/PATH",
        ),
        (
            '[[notify.to]]\nid = "b"\nsecret_file = "x"\nwebhook = "https://me:pw@x/"',
            "webhook: contains a password",
        ),
        ('[notify]\ntime_zone = "Nowhere"', "notify"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, line: str, reason: str) -> None:
    result = check(configure(tmp_path, 1883, "https://x/", line))
    assert result.exit_code == 2
    assert reason in result.stderr
    assert "pw" not in result.stderr.replace("expected https", "")
    assert result.stderr.count("\n") == 1


def test_without_a_recipient_there_is_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notify.toml"
    path.write_text("[notify]\n")
    assert "notify.to: none; expected at least one" in check(path).stderr
    path.write_text('[notify]\ntime_zone = "Nowhere"\n')
    assert "notify.time_zone: 'Nowhere'; expected a name such as" in check(path).stderr


@pytest.mark.mosquitto
def test_a_misdeal_at_a_real_table_is_sent_until_a_person_acknowledges_it(
    tmp_path: Path, mosquitto: Mosquitto, webhook: WebhookServer
) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    more = "repeat_every = 1\nseverity = 1"
    config = configure(tmp_path / "n", mosquitto.port, webhook.url, more)
    with open_pit(folder, mosquitto.port, "") as pit, running(config) as program:
        misdeal(pit)
        told = pit.of("event/irregularity")[0].json["data"]
        wait_for(lambda: len(webhook.received) >= 3, "a message and two repeats")
        repeats = [each["alerts"][0]["repeat"] for each in webhook.accepted[:3]]
        assert repeats == [0, 1, 2]
        assert webhook.accepted[0]["alerts"][0]["alert"]["data"] == told
        assert pit.order("acknowledge", irregularity=told["id"])["ok"]
        wait_for(lambda: "0 open alerts" in program.manager.status, "the acknowledgement")
        assert all(each == [told["id"]] for each in ids(webhook))
        program.stop()
