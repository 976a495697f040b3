"""
The connection to the broker follows the configuration, reports its failures, and no message ends
the display.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
from msgspec.structs import replace

from shoe_daemon.floor.feed import Feed
from shoe_daemon.floor.messages import topic_filters
from shoe_daemon.floor.table import Link
from shoe_daemon.mqtt.settings import MqttSettings, TlsSettings
from tests.brokers import Listener, Mosquitto, Refusing, Relay, mosquitto, set_password
from tests.display.display_process import Browser, Display
from tests.display.test_display_server import Table
from tests.floor.table_messages import alert, payload, roads, topic
from tests.mqtt.memory_journal import QUICK as QUICK_WAITS
from tests.mqtt.sample_broker import rights_of
from tests.mqtt.test_tls import Papers
from tests.volume import sample, volume
from tests.waiting import wait_for

__all__ = ["mosquitto"]

pytestmark = pytest.mark.mosquitto


def folder_of(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker with the sample's rights; everybody's password is the name."""
    folder = tmp_path_factory.mktemp("guarded")
    passwords, ours = folder / "passwords", folder / "rights"
    for user in ("table-1", "board", "pit-display"):
        set_password(passwords, user, user)
    ours.write_text(rights_of("table-1").replace("casino", "house"), "utf-8")
    lines = f"allow_anonymous false\npassword_file {passwords}\nacl_file {ours}"
    with Mosquitto(folder, lines) as broker:
        yield broker


@pytest.fixture
def table_account(guarded: Mosquitto) -> Iterator[Listener]:
    """The account of table-1, which takes its table away in the end."""
    own = {"username": "table-1", "password": "table-1"}
    with Listener(guarded.port, topic("#"), **own) as listener:
        yield listener
        for each in {message.topic for message in listener.messages}:
            listener.publish(each, b"", retain=True)


STAFF = "[display.pit]\nbehind_proxy = true\nstaff_alerts = true\n"


def with_account(folder: Path, user: str, port: int) -> Display:
    """Return a display with an account's password and the pages of staff, not yet started."""
    folder.mkdir()
    (folder / "secret").write_text(f"{user}\n", encoding="utf-8")
    text = f'username = "{user}"\npassword_file = "secret"\n{STAFF}'
    return Display(folder, port, text)


def test_alerts_for_staff_arrive_with_the_rights_of_the_sample_and_nothing_breaks_without(
    tmp_path: Path, guarded: Mosquitto, table_account: Listener
) -> None:
    board = with_account(tmp_path / "board", "board", guarded.port)
    (board.folder / "secret").write_text("wrong\n", encoding="utf-8")
    pit = with_account(tmp_path / "pit", "pit-display", guarded.port)
    with board, pit:
        wait_for(lambda: board.health()["broker"]["detail"])
        assert board.health()["broker"]["detail"] == "the broker refuses us: Not authorized"
        # Files are read again for every connection.
        (board.folder / "secret").write_text("board\n", encoding="utf-8")
        table = Table(table_account)
        table.say("staff/alert/active", alerts=[alert(8)])
        table.begin()
        for display, missing in ((board, True), (pit, False)):
            with Browser(display, "/pit/live") as browser:
                browser.wait("row", "fresh", "is", value="live")
                browser.wait("row", "staff_alerts_missing", value=missing)
                shown = [each["data"]["id"] for each in browser.latest["row"]["alerts"]]
                assert shown == ([] if missing else [8])
            for page in ("/", "/table/table-1", "/table/table-1/history"):
                body = display.ask(page).body
                assert b"staff_only" not in body.replace(b"alert_staff_only", b"")


def test_a_tables_own_account_clears_all_of_it_when_the_table_is_taken_away(
    guarded: Mosquitto, table_account: Listener
) -> None:
    table = Table(table_account)
    table.say("staff/alert/active")
    table.begin()
    table_account.wait(topic("status"))
    for each in {message.topic for message in table_account.messages}:
        table_account.publish(each, b"", retain=True)
    table.say("status")
    theirs = {"username": "pit-display", "password": "pit-display"}
    with Listener(guarded.port, name="late", **theirs) as late:
        late.wait(topic("status"))
        assert {each.topic for each in late.messages} == {topic("status")}


def test_refused_subscriptions_for_staff_cost_nothing_else(tmp_path: Path) -> None:
    """A table that was taken away meanwhile is still found out."""
    refused = ("shoe/v1/+/+/staff/alert/active", "shoe-notify/v1/+")
    with (
        Refusing(folder_of(tmp_path, "mosquitto"), *refused) as broker,
        Relay(broker.port) as relay,
        Listener(broker.port, "nothing") as listener,
        Display(tmp_path / "display", relay.port, STAFF, patch=QUICK) as display,
    ):
        table = Table(listener)
        table.begin()
        table.begin("gone")
        wait_for(lambda: display.health()["live"] == 2)
        wait_for(lambda: "subscription_refused" in display.said())
        with relay.closed():
            wait_for(lambda: not display.health()["broker"]["connected"])
            for suffix in ("roads", "state", "status"):
                listener.publish(topic(suffix, "gone"), b"", retain=True)
        wait_for(lambda: display.health()["tables"] == 1)


@pytest.mark.parametrize("protocol", sample(("3.1.1", "5"), 2))
def test_a_refused_subscription_is_tried_again_until_it_is_granted(
    tmp_path: Path, protocol: str
) -> None:
    text = f'protocol = "{protocol}"\n[display]\n'
    patch = "from shoe_daemon.limits import RetryDelay\nRetryDelay.next = lambda _: 0.2\n"
    with (
        Refusing(folder_of(tmp_path, "mosquitto")) as broker,
        Listener(broker.port, "nothing") as listener,
        Display(tmp_path / "display", broker.port, text, patch=patch) as display,
    ):
        Table(listener).begin()
        wait_for(lambda: "subscription_refused" in display.said())
        assert display.health()["live"] == 0
        broker.grant()
        wait_for(lambda: display.health()["live"] == 1)
        assert display.said().count('"broker_connected"') == 1


class Links:
    """A feed in this process, and the changes of its connection."""

    def __init__(self, settings: MqttSettings) -> None:
        self._all = [Link()]
        filters = topic_filters(settings.prefix, None)
        self._feed = Feed(settings, filters, lambda: None, timeouts=QUICK_WAITS)

    def __enter__(self) -> Self:
        self._feed.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._feed.stop()

    @property
    def latest(self) -> Link:
        if (link := self._feed.inbox.take().link) is not None:
            self._all.append(link)
        return self._all[-1]


def test_a_lost_line_keeps_the_moment_when_it_was_lost(mosquitto: Mosquitto) -> None:
    with Links(MqttSettings(host="127.0.0.1", port=mosquitto.port)) as links:
        wait_for(lambda: links.latest.connected)
        mosquitto.kill()
        wait_for(lambda: links.latest.detail == "the line is closed")
        lost = links.latest
        wait_for(lambda: links.latest.detail != lost.detail)
        assert lost.since is not None
        assert links.latest.since == lost.since


class StrictRelay(Relay):
    """A relay to a broker that closes connections subscribing to the topics of notifiers."""

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if b"shoe-notify/" in data:
                    self.cut()
                sink.sendall(data)


def test_a_broker_that_ends_a_forbidden_subscription_costs_nothing_else(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    with (
        StrictRelay(mosquitto.port) as relay,
        Listener(mosquitto.port, "nothing") as listener,
        Display(tmp_path / "display", relay.port) as display,
    ):
        Table(listener).begin()
        wait_for(lambda: "subscription_given_up" in display.said())
        wait_for(lambda: relay.accepted == 3 and display.health()["live"] == 1)


def test_tls_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    papers = Papers(tmp_path / "papers")
    certificate, key = papers.sign("broker")
    mine, my_key = papers.sign("board")
    lines = (
        f"cafile {papers.ca}\ncertfile {certificate}\nkeyfile {key}\n"
        "require_certificate true\nallow_anonymous true"
    )
    ours = TlsSettings(ca_file=str(papers.ca), cert_file=str(mine), key_file=str(my_key))
    others = TlsSettings(ca_file=str(Papers(tmp_path / "others").ca))
    with Mosquitto(folder_of(tmp_path, "mosquitto"), lines) as broker:
        settings = MqttSettings(host="127.0.0.1", port=broker.port, tls=ours)
        with Links(settings) as trusting, Links(replace(settings, tls=others)) as mistrusting:
            wait_for(lambda: trusting.latest.connected)
            wait_for(lambda: "certificate" in (mistrusting.latest.detail or "").lower())


def test_a_line_that_is_cut_again_and_again(mosquitto: Mosquitto, tmp_path: Path) -> None:
    began = time.monotonic()
    with (
        Relay(mosquitto.port) as relay,
        Listener(mosquitto.port, "nothing") as listener,
        Display(tmp_path / "display", relay.port) as display,
        Browser(display, "/table/table-1/live") as browser,
    ):
        table = Table(listener)
        table.begin()
        for seq in range(2, 5):
            browser.wait("board", "fresh", "is", value="live")
            before = len(browser.of("board"))
            relay.cut()
            # It may be back sooner than anybody sees that it was away.
            browser.wait_for_one("board", "fresh", "is", value="no_broker", after=before)
            table.say("state", seq=seq)
            browser.wait("board", "state", "seq", value=seq)
        assert display.health()["faults"] == 0
        minutes = (time.monotonic() - began) / 60
        assert display.said().count("broker_lost") <= 1 + minutes  # no more than one a minute


LASTING = "allow_anonymous true\npersistence true\nautosave_interval 1\nautosave_on_changes true"
QUICK = """
import shoe_daemon.floor.floor as tables
tables.MISSING_TABLE_TIMEOUT_S = 0.5
"""


def lasting(path: Path) -> Mosquitto:
    """Return a broker that remembers what is retained when it is killed, not yet started."""
    folder = folder_of(path, "mosquitto")
    return Mosquitto(folder, f"{LASTING}\npersistence_location {folder}/")


@pytest.mark.parametrize("protocol", sample(("3.1.1", "5"), 2))
def test_tables_that_were_taken_away_while_nobody_listened_are_gone_and_no_others(
    tmp_path: Path, protocol: str
) -> None:
    text = f'protocol = "{protocol}"\n[display]\ntables = ["waited"]\n'
    names = {f"table-{number}" for number in range(volume(25, 60))}
    with (
        lasting(tmp_path) as broker,
        Relay(broker.port) as relay,
        Listener(broker.port, "nothing") as listener,
        Display(tmp_path / "display", relay.port, text, patch=QUICK) as display,
        Browser(display, "/pit/live") as pit,
        Browser(display, "/table/gone/live") as board,
    ):
        table = Table(listener)
        for name in (*names, "gone", "waited"):
            table.say("roads", roads("BP"), table=name)
            table.say("state", table=name)
            table.say("status", state="offline", table=name)
        board.wait("board", "known", value=True)
        wait_for(lambda: display.health()["tables"] == len(names) + 2)
        with relay.closed():
            board.wait("board", "fresh", "is", value="no_broker")
            for name in ("gone", "waited"):
                for suffix in ("roads", "state", "status"):
                    listener.publish(topic(suffix, name), b"", retain=True)
        board.wait("board", "known", value=False)
        wait_for(lambda: display.health()["tables"] == len(names))
        # What the display knows the page hears a moment later.
        wait_for(lambda: len(pit.latest["pit"]["order"]) == len(names) + 1)
        wait_for(lambda: len(_gone(pit)) >= 2)
        assert _gone(pit) == {"house.gone", "house.waited"}
        order = pit.latest["pit"]["order"]
        assert set(order) == {"waited", *(f"house.{name}" for name in names)}
        said = [line for line in display.said().splitlines() if "tables_removed" in line]
        assert any("house.gone" in line for line in said)
        # It is as welcome as it was before.
        table.say("state", table="gone")
        board.wait("board", "known", value=True)


def _gone(pit: Browser) -> set[str]:
    # The one that was waited for went under its bare name when it came.
    return {each["key"] for each in pit.of("gone")} - {"waited"}


def test_a_publisher_that_sends_anything_ends_nothing_and_other_sites_are_not_heard(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    text = '[display]\nsite = "house"\n'
    chance = random.Random(1)
    kinds = ["state", "status", "roads", "history", "alert/active", "result/last", "device/x"]
    kinds += ["event/card_dealt", "event/x"]
    good = payload("state")
    with (
        Listener(mosquitto.port, "nothing") as listener,
        Display(tmp_path / "display", mosquitto.port, text) as display,
        Browser(display, "/pit/live") as pit,
    ):
        table = Table(listener)
        table.begin()
        listener.publish(topic("state", site="other"), payload("state", site="other"), retain=True)
        for number in range(volume(500, 1500)):
            table_id = f"table-{chance.randrange(400)}"
            start = chance.randrange(len(good))
            content = chance.choice(
                [os.urandom(50), good[:start], good[:start] + b"9" + good[start + 1 :], b"", b"[]"]
            )
            kind = chance.choice(kinds)
            listener._client.publish(topic(kind, table_id), content, 0, number % 3 == 0)  # noqa: SLF001 - without waiting
        listener._client.publish(topic("state"), b"x" * 200_000, 1)  # noqa: SLF001
        table.say("state", seq=7, table="table-1000")
        wait_for(
            lambda: any(each["key"] == "house.table-1000" for each in pit.of("row")),
        )
        assert "other.table-1" not in pit.latest["pit"]["order"]
        health = display.health()
        assert health["broker"]["connected"]
        assert health["faults"] > 100
        assert "Traceback" not in display.said()
        assert display.said().count('"event": "message_invalid"') <= 3
