"""
The notifier tells the pit which recipients fail, and nothing secret; the pit shows it until it is
repaired, and also that a notifier ended without being stopped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from shoe_daemon.cli import main
from shoe_daemon.display.config import DisplayConfig, DisplaySettings, set_up_display
from shoe_daemon.display.languages import languages
from shoe_daemon.display.server import Display as DisplayServer
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.messages import MAX_PAYLOAD_BYTES
from shoe_daemon.floor.table import Link, Message
from shoe_daemon.mqtt.documents import (
    SIZE_LIMIT,
    NotifierStatus,
    RecipientStatus,
    notifier_status,
)
from shoe_daemon.mqtt.schemas import schema_of
from shoe_daemon.mqtt.topics import notifiers
from shoe_daemon.notify.config import load_notify
from shoe_daemon.notify.decisions import FAILED, RecipientState
from shoe_daemon.notify.senders import FAILURES
from shoe_daemon.notify.service import Notifier, load_state
from tests.brokers import Listener, Mosquitto
from tests.display.display_process import Browser, Display
from tests.floor.table_messages import ModelFeeder, at
from tests.mqtt.sample_broker import SampleBroker
from tests.notify.test_notify import configure, publish, running, table
from tests.notify.webhook_server import WebhookServer
from tests.volume import sample
from tests.waiting import wait_for

__all__ = ["table"]

TOPIC = "shoe-notify/v1/notify"


def faults(pit: Browser) -> list[tuple[str, str | None, str | None]]:
    """Return notifier, recipient and code of what the pit shows."""
    found = pit.latest.get("pit", {}).get("notifications", [])
    return [(each["notifier"], each["recipient"], each["detail_code"]) for each in found]


def status(
    *failing: str, state: str = "online", site: str | None = None, heartbeat: int = 10
) -> bytes:
    """Return a notifier's document."""
    recipients = tuple(
        RecipientStatus(
            attempts=7,
            detail="connection refused",
            detail_code="notify_refused",
            detail_values={},
            failing_since="2026-11-23T13:04:09.000Z",
            id=each,
            waiting=1,
        )
        for each in failing
    )
    return notifier_status(
        NotifierStatus(
            at="2026-11-23T13:04:20.000Z",
            heartbeat=heartbeat,
            recipients=recipients,
            site=site,
            state=state,  # type: ignore[arg-type]  # of a test
        )
    )


@pytest.mark.mosquitto
def test_the_pit_shows_a_failure_without_a_secret_until_a_message_arrives(
    tmp_path: Path, mosquitto: Mosquitto, table: Listener, webhook: WebhookServer
) -> None:
    webhook.status = 503
    url = f"{webhook.url}/a-secret-path"
    config = configure(tmp_path / "n", mosquitto.port, url, mqtt="heartbeat = 1")
    with (
        Listener(mosquitto.port, "shoe-notify/#", name="auditor") as auditor,
        Display(tmp_path / "display", mosquitto.port) as display,
        Browser(display, "/pit/live") as pit,
        running(config) as program,
    ):
        publish(table, 1, 2)
        wait_for(lambda: faults(pit) == [("notify", "floor", "notify_status")], "the failure")
        (shown,) = pit.latest["pit"]["notifications"]
        assert shown["detail"] == "its service answers 503"
        assert shown["detail_values"] == {"status": 503}
        assert shown["attempts"] >= 1
        assert shown["since"].endswith("Z")
        for page in ("/", "/table/table-7", "/table/table-7/dealer", "/health"):
            assert b"its service answers 503" not in display.ask(page).body
        told = len(auditor.of(TOPIC))
        wait_for(lambda: len(auditor.of(TOPIC)) > told, "a heartbeat")
        assert auditor.of(TOPIC)[-1].json["recipients"][0]["waiting"] == 2
        webhook.status = 204
        wait_for(lambda: faults(pit) == [], "the recovery")
        program.stop()
        wait_for(lambda: auditor.of(TOPIC)[-1].payload == b"", "cleared at the stop")
    for each in auditor.of(TOPIC):
        assert each.qos == 1
        for secret in ("a-secret-path", "127.0.0.1", "floor.secret", str(tmp_path)):
            assert secret.encode() not in each.payload
        if each.payload:
            Draft202012Validator(schema_of("notifier")).validate(each.json)


@pytest.mark.mosquitto
@pytest.mark.parametrize("protocol", sample(("3.1.1", "5"), 2))
def test_a_killed_notifier_is_shown_as_off_and_a_stopped_one_is_not(
    tmp_path: Path, mosquitto: Mosquitto, webhook: WebhookServer, protocol: str
) -> None:
    more = f'protocol = "{protocol}"\n[notify]\nid = "second"'
    config = configure(tmp_path / "n", mosquitto.port, webhook.url, mqtt=more)
    with (
        Display(tmp_path / "display", mosquitto.port) as display,
        Browser(display, "/pit/live") as pit,
        Listener(mosquitto.port, "shoe-notify/v1/second", name="auditor") as auditor,
    ):
        with running(config) as program:
            auditor.wait("second")
            program.process.kill()
            wait_for(lambda: faults(pit) == [("second", None, None)], "off")
            assert pit.latest["pit"]["notifications"][0]["since"] is not None
        with running(config) as program:
            wait_for(lambda: faults(pit) == [], "on again")
            program.stop()
        wait_for(lambda: auditor.of("second")[-1].payload == b"", "cleared")
        assert faults(pit) == []
        # A display that comes later knows neither of it.
        assert display.ask("/pit").block["first"]["pit"]["notifications"] == []


class Accounts:
    """A broker with the sample's rights, a notifier whose webhook fails, and an alert."""

    def __init__(self, folder: Path, url: str, *, old: bool) -> None:
        folder.mkdir()
        self.broker = SampleBroker(folder)
        rights = folder / "shoe.acl"
        if old:
            lines = rights.read_text("utf-8").splitlines(keepends=True)
            rights.write_text("".join(each for each in lines if "shoe-notify" not in each))
        for account in ("notify", "pit-display"):
            self.broker.add_account(account)
        self.config = configure(folder / "n", self.broker.port, url, mqtt=self.login("notify"))

    def login(self, account: str) -> str:
        file = self.broker.password_file(account)
        file.chmod(0o600)
        return f'username = "{account}"\npassword_file = "{file}"\n'


@pytest.fixture
def failing(webhook: WebhookServer) -> WebhookServer:
    webhook.status = 500
    return webhook


@pytest.mark.mosquitto
def test_the_sample_s_accounts_are_enough_and_only_those_for_staff_read_it(
    tmp_path: Path, failing: WebhookServer
) -> None:
    accounts = Accounts(tmp_path / "broker", failing.url, old=False)
    port = accounts.broker.port
    with (
        accounts.broker,
        accounts.broker.listen("table-7") as table,
        running(accounts.config) as program,
        Display(tmp_path / "a", port, f"{accounts.login('pit-display')}[display]\n") as display,
        Browser(display, "/pit/live") as pit,
        Display(tmp_path / "b", port, f"{accounts.login('board')}[display]\n") as board,
    ):
        publish(table, 1)
        wait_for(lambda: faults(pit) == [("notify", "floor", "notify_status")], "the failure")
        wait_for(lambda: board.health()["tables"], "the other display")
        assert board.ask("/pit").block["first"]["pit"]["notifications"] == []
        failing.status = 204
        wait_for(lambda: faults(pit) == [], "the recovery")
        program.stop()
        result = CliRunner().invoke(main, ["doctor", "--config", str(accounts.config)])
        assert result.exit_code == 0, result.output
        assert "2 filters are accepted, 1 retained documents" in result.output


@pytest.mark.mosquitto
def test_with_the_rights_of_an_older_broker_everything_else_works(
    tmp_path: Path, webhook: WebhookServer
) -> None:
    accounts = Accounts(tmp_path / "broker", webhook.url, old=True)
    login = accounts.login("pit-display")
    with (
        accounts.broker,
        accounts.broker.listen("table-7") as table,
        running(accounts.config) as program,
        Display(tmp_path / "a", accounts.broker.port, f"{login}[display]\n") as display,
    ):
        publish(table, 1)
        wait_for(lambda: webhook.received, "the message")
        wait_for(lambda: "announcement_refused" in program.log.read_text(), "a line in the log")
        wait_for(lambda: display.health()["broker"]["connected"], "the display")
        program.process.kill()
        program.process.wait()
        assert program.log.read_text().count("announcement_refused") == 1
        assert display.ask("/pit").block["first"]["pit"]["notifications"] == []


# --- without a broker ---


class Model(ModelFeeder):
    """A model that accepts what notifiers tell."""

    def hear(
        self, payload: bytes, *, name: str = "notify", after: float = 0, copy: bool = False
    ) -> list[str]:
        message = Message(f"shoe-notify/v1/{name}", payload, copy)
        return [each.what for each in self.tables.receive(message, at(after))]

    @property
    def shown(self) -> list[tuple[str, str | None]]:
        return [(each.notifier, each.recipient) for each in self.tables.notifier_faults]


@pytest.fixture
def model() -> Model:
    return Model(Floor(notifier_status=True, site="house"))


def test_a_notifier_without_a_heartbeat_is_off(model: Model) -> None:
    assert model.hear(status()) == []
    model.tables.advance_time(at(29).monotonic)
    assert model.shown == []
    assert [each.what for each in model.tables.advance_time(at(31).monotonic)] == ["pit"]
    assert model.shown == [("notify", None)]
    assert model.tables.notifier_faults[0].since == "2026-11-23T13:04:20.000Z"
    assert model.hear(status(), after=40) == ["pit"]
    assert model.shown == []


def test_a_retained_copy_counts_for_one_heartbeat(model: Model) -> None:
    model.hear(status("floor"), copy=True)
    assert model.shown == [("notify", "floor")]
    model.tables.advance_time(at(13).monotonic)
    assert model.shown == [("notify", None)]


def test_the_time_of_an_old_will_is_unknown(model: Model) -> None:
    model.hear(status(state="offline"), copy=True)
    assert model.tables.notifier_faults[0].since is None
    model.hear(status(state="offline"), after=5)
    assert model.tables.notifier_faults[0].since == at(5).wall


def test_a_heartbeat_that_changes_nothing_is_told_nobody(model: Model) -> None:
    assert model.hear(status("floor")) == ["pit"]
    assert model.hear(status("floor"), after=10) == []


def test_two_notifiers_are_two_and_a_cleared_one_is_gone(model: Model) -> None:
    model.hear(status("floor"))
    model.hear(status("duty"), name="another")
    assert model.shown == [("another", "duty"), ("notify", "floor")]
    assert model.hear(b"") == ["pit"]
    assert model.shown == [("another", "duty")]


def test_a_lost_broker_forgets_them(model: Model) -> None:
    model.hear(status("floor"))
    model.tables.set_link(Link(connected=False), at(1).monotonic)
    assert model.shown == []


def test_the_notifier_of_another_site_does_not_count(model: Model) -> None:
    assert model.hear(status("floor", site="other")) == []
    assert model.hear(status("floor", site="house")) == ["pit"]


@pytest.mark.parametrize(
    "payload",
    [
        b"nonsense",
        b"\xff",
        b"{}",
        b"[" * 5000,
        b"x" * (MAX_PAYLOAD_BYTES + 1),
        status("floor").replace(b'"1.0"', b'"2.0"'),
        status("floor").replace(b'"heartbeat":10', b'"heartbeat":0'),
        status("floor").replace(b"2026-11-23T13:04:09", b"yesterday"),
        status("floor").replace(b'"attempts":7', b'"attempts":"7"'),
    ],
)
def test_nonsense_is_counted_and_changes_nothing(model: Model, payload: bytes) -> None:
    model.hear(status("floor"))
    assert model.hear(payload) == ["pit"]
    assert model.tables.faults.total == 1
    assert model.shown == [("notify", "floor")]


def test_invented_notifiers_have_a_limit(model: Model) -> None:
    for number in range(100):
        model.hear(status("floor"), name=f"n-{number}")
    assert len(model.shown) == 20
    assert model.tables.faults.total == 80


def test_an_open_pit_asks_for_nothing_and_accepts_nothing() -> None:
    settings = DisplaySettings(listen="0.0.0.0:8080")
    display = DisplayServer(set_up_display(DisplayConfig(display=settings), Path()))
    display.tables.receive(Message(TOPIC, status("floor")), at(0))
    assert display.tables.notifier_faults == []
    assert display.tables.faults.total == 1


def test_the_topic_is_outside_every_tree_of_tables() -> None:
    assert notifiers() == "shoe-notify/v1"
    assert notifiers("casino/shoe") == "casino-notify/shoe"
    assert notifiers("floor") == "floor-notify"


def test_very_many_recipients_fit_the_failing_ones_first() -> None:
    told = json.loads(status(*(f"recipient-{number:03}" for number in range(500))))
    assert told["omitted"] + len(told["recipients"]) == 500
    assert len(json.dumps(told, separators=(",", ":"))) < SIZE_LIMIT
    assert told["recipients"][0]["id"] == "recipient-000"


@pytest.mark.parametrize("code", list(languages()))
def test_every_failure_has_a_sentence_in_every_language(code: str) -> None:
    words = languages()[code].words
    assert words.keys() >= FAILURES.keys()
    if code == "en":
        assert {key: words[key] for key in FAILURES} == FAILURES
    assert not FAILURES.keys() & languages()[code].for_players().words.keys()


def test_a_state_file_of_another_version_is_told_as_an_error(tmp_path: Path) -> None:
    config = configure(tmp_path, 1883, "https://x/")
    state = {"failures": 3, "failing_since": 9e30, "error": "a secret", "code": "other"}
    (tmp_path / "notify-state.json").write_text(json.dumps({"recipients": {"floor": state}}))
    assert isinstance(load_state(tmp_path / "notify-state.json")["floor"], RecipientState)
    notifier = Notifier(load_notify(config))
    (told,) = notifier.status().recipients
    assert (told.detail_code, told.attempts) == (FAILED, 3)
    assert told.detail == FAILURES[FAILED]
    assert told.failing_since is not None
