"""From the broker to the browser, through the real server: completely, at once, and safely."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.web import CONTENT_SECURITY_POLICY
from tests.brokers import Listener, Mosquitto, free_port
from tests.display.display_process import PATIENCE, Browser, Display
from tests.display.test_static_pages import NASTY
from tests.floor.table_messages import alert, event, payload, roads, topic
from tests.mqtt.sample_broker import SampleBroker
from tests.report.test_html_report import read
from tests.volume import volume
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Table:
    """Speaks at the broker in the place of daemons, and remembers the topics of its documents."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._topics = set[str]()

    def say(
        self,
        suffix: str,
        content: bytes | None = None,
        *,
        retain: bool = True,
        table: str = "table-1",
        **more: Any,  # noqa: ANN401 - fields of the document
    ) -> None:
        if suffix == "state":
            # It speaks only when it is told to: on a slow machine that may be rarely.
            more = {"published": now(), "table": table, "heartbeat": 600, **more}
        name = topic(suffix, table)
        self._topics.add(name)
        self._listener.publish(name, content or payload(suffix, **more), retain=retain)

    def begin(self, table: str = "table-1") -> None:
        self.say("state", table=table)
        self.say("roads", roads("BP"), table=table)
        self.say("status", table=table)

    def clear(self) -> None:
        """Take all tables away."""
        for each in sorted(self._topics):
            self._listener.publish(each, b"", retain=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker that no test kills."""
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


@pytest.fixture(scope="module")
def shared_display(
    broker: Mosquitto, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Display]:
    with Display(tmp_path_factory.mktemp("shared"), broker.port) as display:
        wait_for(lambda: display.health()["broker"]["connected"], "the broker")
        yield display


@pytest.fixture(scope="module")
def limited_display(
    broker: Mosquitto, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Display, int]]:
    """A display with two streams, and the port of its metrics."""
    port = free_port()
    text = f'[display]\nstreams = 2\n[metrics]\nlisten = "127.0.0.1:{port}"\n'
    with Display(tmp_path_factory.mktemp("limited"), broker.port, text) as display:
        yield display, port


@pytest.fixture
def table(broker: Mosquitto) -> Iterator[Table]:
    """Tables that are taken away after the test."""
    with Listener(broker.port, "nothing") as listener:
        table = Table(listener)
        yield table
        table.clear()


@pytest.fixture
def display(shared_display: Display) -> Display:
    """A display without a table."""
    wait_for(lambda: shared_display.health()["tables"] == 0, "the end of other tests' tables")
    return shared_display


def faults(display: Display) -> int:
    """Return how many messages were wrong since the display's start."""
    found: int = display.health()["faults"]
    return found


def test_metrics_are_on_a_listener_of_loopback_and_nowhere_else(
    limited_display: tuple[Display, int], table: Table
) -> None:
    display, port = limited_display
    table.begin()
    wait_for(lambda: display.health()["live"] == 1, "a live table")

    def ask(host: str, path: str = "/metrics") -> tuple[int, str]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as line:
            line.request("GET", path, headers={"Host": host})
            answer = line.getresponse()
            return answer.status, answer.read().decode()

    status, metrics = ask(f"127.0.0.1:{port}")
    assert status == 200
    assert 'shoe_display_table_live{site="house",table="table-1"} 1.0' in metrics
    assert "process_resident_memory_bytes" in metrics
    assert ask("evil.example")[0] == 421
    assert ask("localhost", "/pit")[0] == 404
    assert display.ask("/metrics").status == 404


def test_a_page_and_its_stream_begin_with_the_same_and_change_at_once(
    display: Display, table: Table
) -> None:
    table.begin()
    wait_for(lambda: display.health()["live"])
    block = display.ask("/table/table-1").block
    assert block["live"] == "/table/house.table-1/live"
    assert block["key"] == "house.table-1"
    assert (block["language"], block["glyphs"]) == ("en", "letters")
    assert block["first"]["board"]["fresh"] == {"is": "live", "since": None}
    with Browser(display, block["live"]) as browser:
        browser.wait("board", "known", value=True)
        wait_for(lambda: "beat" in browser.latest)
        for name in ("board", "roads"):
            assert browser.latest[name] == block["first"][name]
        table.say("state", seq=2, name="Now")
        browser.wait("board", "state", "name", value="Now")
        before = faults(display)
        table.say("state", seq=1)
        wait_for(lambda: faults(display) == before + 1, "a number that went back")
        table.say("status", state="offline")
        browser.wait("board", "fresh", "is", value="offline")
        assert browser.of("history") == []


def test_the_history_comes_to_who_asks_for_it(display: Display, table: Table) -> None:
    table.begin()
    table.say("history", shoe=4)
    wait_for(
        lambda: display.ask("/table/table-1/history").block["first"].get("history"),
    )
    block = display.ask("/table/table-1/history?lang=zh-hant&glyphs=letters").block
    assert (block["language"], block["glyphs"]) == ("zh-hant", "letters")
    with Browser(display, block["live"]) as browser:
        browser.wait("history", "shoe", value=4)


def test_the_pit_has_every_table_and_one_table_its_events(display: Display, table: Table) -> None:
    for name in ("table-10", "table-1", "table-2"):
        table.begin(name)
    table.say("alert/active", alerts=[alert()], omitted=0)
    table.say("device/shoe")
    wait_for(lambda: display.health()["live"] == 3)
    first = display.ask("/pit").block["first"]
    order = ["house.table-1", "house.table-2", "house.table-10"]
    assert first["pit"]["order"] == [each["key"] for each in first["rows"]] == order
    with Browser(display, "/pit/live") as pit, Browser(display, "/pit/table/table-1/live") as room:
        wait_for(lambda: "beat" in room.latest, "all that it begins with")
        room.wait("alerts", "omitted", value=0)
        assert room.latest["alerts"]["alerts"][0]["data"]["proposals"]
        assert room.latest["events"]["events"] == []
        before = faults(display)
        table.say("event/round_started", event(2), retain=False)
        wait_for(lambda: room.of("event"))
        assert room.of("event")[0]["event"]["seq"] == 2
        table.say("state", b"{", table="table-2")
        wait_for(lambda: pit.latest["pit"]["faults"]["total"] > before, "the fault")
        wait_for(lambda: any(row["faults"] for row in pit.of("row")))
        assert pit.latest["pit"]["faults"]["last"][-1]["topic"] == topic("state", "table-2")
        assert pit.of("event") == []
        block = display.ask("/pit/table/table-1").block
        assert [each["seq"] for each in block["first"]["events"]["events"]] == [2]


def test_names_never_become_markup(display: Display, table: Table) -> None:
    before = faults(display)
    table.begin()
    table.begin("table-2")
    table.say("state", seq=2, name=NASTY, limits={NASTY: NASTY}, table="table-2")
    table.say("roads", b'{"bead":"</script><script>"}', table="table-2")
    wait_for(lambda: faults(display) == before + 1)
    for page in ("/table/{}", "/table/{}/history", "/pit/table/{}"):
        plain, nasty = (display.ask(page.format(name)) for name in ("table-1", "table-2"))
        assert read(plain.body.decode()).tags == read(nasty.body.decode()).tags
        assert nasty.block["first"]["board"]["state"]["name"] == NASTY
    assert b"alert(1)</script>" not in display.ask("/pit").body
    assert b"alert(1)</script>" not in display.ask("/").body


def test_every_answer_is_guarded(display: Display) -> None:
    style = display.ask("/static/board.css")
    asked = [
        (200, display.ask("/")),
        (200, display.ask("/table/x")),
        (200, display.ask("/pit")),
        (200, display.ask("/health")),
        (200, display.ask("/table/x/live", method="HEAD")),
        (404, display.ask("/static/../app.py")),
        (404, display.ask("/static/%2e%2e/app.py")),
        (404, display.ask("/nowhere")),
        (404, display.ask("/table/T<b>")),
        (404, display.ask("/table/T/live")),
        (405, display.ask("/", method="POST", body="x" * 100_000)),
        (405, display.ask("/table/x", method="DELETE")),
        (405, display.ask("/pit", method="OPTIONS")),
        (421, display.ask("/pit", Host="evil.example")),
        (421, display.ask("/pit", Host="127.0.0.1.evil.example:80")),
        (200, display.ask("/pit", Host=f"localhost:{display.port}")),
        (200, display.ask("/pit", Host="[::1]")),
    ]
    for status, answer in asked:
        assert answer.status == status
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "server" not in answer.headers
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    # Of a file that is no document a browser heeds these only, and a page has dozens.
    same = display.ask("/static/board.css", If_None_Match=style.headers["etag"])
    for status, answer in ((200, style), (304, same)):
        assert answer.status == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_static_files_are_kept_by_browsers_while_they_are_the_same(display: Display) -> None:
    page = display.ask("/table/x").body.decode()
    address = page.partition('href="/static/board.css')[2].partition('"')[0]
    named = display.ask(f"/static/board.css{address}")
    assert "immutable" in named.headers["cache-control"]
    assert display.ask("/static/board.css").headers["cache-control"] == "no-cache"
    assert display.ask("/static/board.css?v=old").headers["cache-control"] == "no-cache"
    module = page.partition('type="module" src="')[2].partition('"')[0]
    assert "immutable" in display.ask(module).headers["cache-control"]
    assert display.ask(re.sub(r"modules/\w+", "modules/old", module)).status == 404
    zipped = display.ask("/static/board.css", Accept_Encoding="gzip")
    assert zipped.headers["content-encoding"] == "gzip"
    assert len(zipped.body) < len(named.body) / 2


def test_a_stream_is_kept_by_nobody_in_between(display: Display) -> None:
    with Browser(display, "/table/x/live") as browser:
        assert browser.headers["content-type"].startswith("text/event-stream")
        assert browser.headers["cache-control"] == "no-cache, no-transform"
        assert browser.headers["x-accel-buffering"] == "no"


def test_the_broker_comes_late_is_killed_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "mosquitto").mkdir()
    mosquitto = Mosquitto(tmp_path / "mosquitto")
    with (
        Display(tmp_path / "display", mosquitto.port) as display,
        Browser(display, "/table/table-1/live") as browser,
        Browser(display, "/pit/live") as pit,
        mosquitto,
    ):
        browser.wait("board", "fresh", "is", value="unknown")
        assert browser.of("board")[0]["fresh"] == {"is": "no_broker", "since": None}
        with Listener(mosquitto.port, "nothing") as listener:
            Table(listener).begin()
        browser.wait("board", "fresh", "is", value="live")
        # A monitor that reads only the status sees a loss; the body is the same in both cases.
        connected = display.ask("/health")
        assert connected.status == 200
        before = now()
        mosquitto.kill()
        browser.wait("board", "fresh", "is", value="no_broker")
        assert browser.latest["board"]["fresh"]["since"] >= before
        assert browser.latest["board"]["state"]["seq"] == 1
        pit.wait("pit", "broker", "connected", value=False)
        assert pit.latest["pit"]["broker"]["detail"]
        lost = display.ask("/health")
        assert (lost.status, json.loads(lost.body)["broker"]["connected"]) == (503, False)
        assert json.loads(lost.body).keys() == json.loads(connected.body).keys()
        mosquitto.start()
        pit.wait("pit", "broker", "connected", value=True)
        browser.wait("board", "fresh", "is", value="live")
        assert not browser.ended.is_set()
        with Listener(mosquitto.port, "nothing", name="again") as listener:
            Table(listener).say("state", seq=2, name="Back")
        browser.wait("board", "state", "name", value="Back")


def test_it_tells_the_service_manager_speaks_to_no_broker_stops_and_comes_back(
    tmp_path: Path, broker: Mosquitto, table: Table
) -> None:
    table.begin()
    with Listener(broker.port) as everything, Display(tmp_path, broker.port) as display:
        manager = display.manager
        wait_for(lambda: manager.status == "connected, 1 tables, 0 browsers")
        wait_for(lambda: manager.heard("WATCHDOG=1") >= 2)
        with contextlib.ExitStack() as browsers:
            open_ones = [
                browsers.enter_context(Browser(display, path))
                for path in ("/table/table-1/live", "/pit/live", "/pit/table/table-1/live") * 5
            ]
            for browser in open_ones:
                wait_for(lambda b=browser: "beat" in b.latest)  # type: ignore[misc]
            took = display.stop()
            for browser in open_ones:
                assert browser.ended.wait(PATIENCE)
        # A second on a machine of its own; the one that judges is busy.
        assert took < 10
        wait_for(lambda: manager.heard("STOPPING=1") == 1)
        assert manager.heard("READY=1") == 1, "said twice"
        assert '"event": "stopped"' in display.said()
        assert "Traceback" not in display.said()
        display.start()
        with Browser(display, "/table/table-1/live") as browser:
            browser.wait("board", "fresh", "is", value="live")
        everything.publish("end", b"x")
        everything.wait("end")
    assert not [each for each in everything.messages if not each.retain and each.topic != "end"]
    assert "shoe-display-" in broker.log.read_text(encoding="utf-8")


def test_without_its_password_it_serves_says_so_and_connects_once_it_is_there(
    tmp_path: Path,
) -> None:
    (tmp_path / "mosquitto").mkdir()
    text = 'username = "board"\npassword_file = "board.password"\n[display]\n'
    with (
        SampleBroker(tmp_path / "mosquitto") as broker,
        Display(tmp_path / "display", broker.port, text) as display,
    ):
        status = f"no broker, 0 tables, 0 browsers: mqtt.password_file: {display.folder}"
        wait_for(lambda: display.manager.status.startswith(status), "the fault")
        assert display.ask("/pit").status == 200
        assert display.said().count("password_file") == 1
        (display.folder / "board.password").write_text("board\n")
        wait_for(lambda: display.health()["broker"]["connected"])
        wait_for(lambda: display.manager.status.startswith("connected"))


def test_a_browser_that_does_not_read_costs_nothing(display: Display, table: Table) -> None:
    table.begin()
    with Browser(display, "/table/table-1/live") as quick:
        quick.wait("board", "fresh", "is", value="live")
        asleep = []
        for _ in range(20):
            pipe = socket.create_connection(("127.0.0.1", display.port), PATIENCE)
            pipe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            pipe.sendall(b"GET /pit/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            asleep.append(pipe)
        wait_for(lambda: display.health()["streams"] == 21)
        before = display.rss()
        for seq in range(2, 300):
            table.say("state", seq=seq, name="x" * 9000)
        quick.wait("board", "state", "seq", value=299)
        assert display.rss() - before < 40_000_000
        for pipe in asleep:
            pipe.close()
        wait_for(lambda: display.health()["streams"] == 1)
    assert "Traceback" not in display.said()


def test_there_are_no_more_streams_than_allowed(limited_display: tuple[Display, int]) -> None:
    display, _ = limited_display
    with Browser(display, "/table/a/live"), Browser(display, "/pit/live"):
        wait_for(lambda: display.health()["streams"] == 2)
        refused = display.ask("/table/b/live")
        assert refused.status == 503
        assert refused.headers["retry-after"] == "10"
        assert refused.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert display.ask("/table/b").status == 200
    wait_for(lambda: display.health()["streams"] == 0)
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(30):
            line = socket.create_connection(("127.0.0.1", display.port), PATIENCE)
            lines.append(stack.enter_context(line))
        for line in lines:
            line.sendall(b"GET /table/b/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = [line.recv(12) for line in lines]
        assert sorted(answers) == [b"HTTP/1.1 200"] * 2 + [b"HTTP/1.1 503"] * 28
    wait_for(lambda: display.health()["streams"] == 0)
    with Browser(display, "/table/b/live") as browser:
        assert browser.status == 200


@pytest.mark.parametrize("key", ["display", "metrics"])
def test_an_address_that_is_taken_is_one_line(display: Display, tmp_path: Path, key: str) -> None:
    taken, other = f"127.0.0.1:{display.port}", "127.0.0.1:0"
    file = tmp_path / "display.toml"
    file.write_text(f'[metrics]\nlisten = "{taken if key == "metrics" else other}"\n')
    listen = taken if key == "display" else other
    result = CliRunner().invoke(main, ["display", "--listen", listen, "--config", str(file)])
    assert result.exit_code == 1  # not 2: the service manager is to try again
    assert result.stderr == f"shoe-daemon: {key}.listen: {taken}: address already in use\n"


def test_it_speaks_the_older_protocol_too(broker: Mosquitto, table: Table, tmp_path: Path) -> None:
    table.begin()
    with (
        Display(tmp_path, broker.port, 'protocol = "3.1.1"\n[display]\n') as display,
        Browser(display, "/table/table-1/live") as browser,
    ):
        browser.wait("board", "fresh", "is", value="live")
        # What comes live after a copy that the broker had kept is no copy.
        table.say("state", seq=5)
        browser.wait("board", "state", "seq", value=5)
        table.say("state", seq=4)
        wait_for(lambda: faults(display) == 1)


def test_many_tables_are_no_burden(display: Display, table: Table) -> None:
    tables, before = volume(100, 500), faults(display)
    for number in range(tables):
        table.begin(f"table-{number}")
    last = f"table-{tables - 1}"
    wait_for(lambda: display.health()["live"] == tables, "the live tables")
    first = display.ask("/pit").block["first"]
    assert len(first["rows"]) == tables
    with (
        Browser(display, "/pit/live") as pit,
        Browser(display, f"/table/{last}/live") as board,
    ):
        wait_for(lambda: len(pit.of("row")) == tables)
        began = time.monotonic()
        table.say("state", table=last, seq=2)
        board.wait("board", "state", "seq", value=2)
        assert time.monotonic() - began < 5
        wait_for(lambda: pit.latest["row"]["key"] == f"house.{last}")
    assert display.rss() < 200_000_000
    assert faults(display) == before


def is_closed_while_sending(pipe: socket.socket) -> bool:
    pipe.settimeout(0.1)
    try:
        pipe.sendall(b"x")
        return not pipe.recv(65536)
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_line_over_which_nothing_is_asked_is_closed(tmp_path: Path) -> None:
    patch = (
        "import shoe_daemon.display.server as server\n"
        "server.TIMER_INTERVAL_S, server.SWEEP_INTERVAL = 0.3, 3\n"
        "import shoe_daemon.display.streams as live\n"
        'live.BrowserStream.__init__.__kwdefaults__["heartbeat"] = 0.5\n'
    )
    with (
        Display(tmp_path / "display", free_port(), patch=patch) as display,
        Browser(display, "/table/x/live") as browser,
    ):
        with socket.create_connection(("127.0.0.1", display.port), timeout=60) as pipe:
            pipe.sendall(b"GET /pit HTTP/1.1\r\nHost: loc")
            assert pipe.recv(1) == b""
        # Nor is one that goes on sending a body of which the answer needs nothing.
        with socket.create_connection(("127.0.0.1", display.port), timeout=60) as pipe:
            pipe.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
            wait_for(lambda: is_closed_while_sending(pipe), timeout=30)
        # One that has asked, and listens, is never too silent.
        wait_for(lambda: len(browser.of("beat")) >= 3, timeout=60)
        assert not browser.ended.is_set()


def test_a_dealers_screen_knows_what_is_wrong_and_no_proposal(
    display: Display, table: Table
) -> None:
    table.begin()
    table.say("alert/active", alerts=[alert()])
    with Browser(display, "/table/table-1/dealer/live") as browser:
        wait_for(lambda: browser.latest.get("public_alerts", {}).get("alerts"), "the alert")
        (shown,) = browser.latest["public_alerts"]["alerts"]
    assert (shown["data"]["severity"], shown["data"]["proposals"]) == (3, [])
    page = display.ask("/table/table-1/dealer").block
    assert page["first"]["public_alerts"]["alerts"] == [shown]


def test_a_page_follows_the_table_that_it_began_with(display: Display, table: Table) -> None:
    """A restarted display may receive another site's table of the same id first."""
    table.begin()
    wait_for(lambda: display.health()["live"] == 1, "a live table")
    for path in ("/table/table-1", "/table/table-1/dealer", "/pit/table/table-1"):
        block = display.ask(path).block
        assert block["key"] in block["live"].split("/")
    assert display.ask("/table/table-9").block["live"] == "/table/table-9/live"
