"""
``watch`` on a real terminal, fed by a real broker: what stands there is what the table
said last, and never looks fresh when it is not.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from drivers.simulators.angel_eye import Mode, Settings
from shoe_daemon.cli import main
from shoe_daemon.display.terminal.appearance import LETTERS, Symbols, plain
from shoe_daemon.display.terminal.board import TableView, board
from shoe_daemon.display.terminal.hands import verdict
from shoe_daemon.display.terminal.screen import render_rows, text_of
from shoe_daemon.display.terminal.watch import TableFeed
from shoe_daemon.floor.table import Freshness, Link, Message, Moment
from shoe_daemon.mqtt.documents import History, RoadsNow, State
from shoe_daemon.mqtt.settings import MqttSettings
from tests.brokers import Listener, Mosquitto, free_port
from tests.display.sample_table import SampleTable
from tests.display.terminal_screen import PATIENCE, Screen
from tests.display.view_reader import faces, public_cards
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

ROOT = "shoe/v1/demo/table-1"
WAITS = (1, 8, 30)
"""Seconds; on a machine too slow to have heard all within some, longer ones are tried."""

Documents = dict[str, bytes]


@cache
def dealt(rounds: int = 30) -> tuple[Documents, ...]:
    """Return what a table publishes over some rounds, after each report of its shoe."""
    sample = SampleTable("seven-feathers", "us_nj_pa")
    boards = sample.boards(Settings(mode=Mode.OPEN, rounds=rounds, seed=11))
    return tuple(sample.documents() for _ in boards)


def table(documents: Documents) -> State:
    return msgspec.json.decode(documents["state"], type=State)


def last_round() -> list[Documents]:
    """Return the moments of the last round, from its first card to its result."""
    number = max(state.round.number for each in dealt() if (state := table(each)).round)
    return [each for each in dealt() if (found := table(each).round) and found.number == number]


def picture(
    documents: Documents,
    port: int,
    size: tuple[int, int],
    signs: Symbols = LETTERS,
    **more: Any,  # noqa: ANN401 - any field of what is seen
) -> str:
    """Return what a live board of this moment looks like."""
    seen = TableView(
        name="demo.table-1",
        broker=f"127.0.0.1:{port}",
        link=Link(connected=True),
        fresh=Freshness("live"),
        state=table(documents),
        roads=msgspec.json.decode(documents["roads"], type=RoadsNow),
        history=msgspec.json.decode(documents["history"], type=History),
    )
    return drawn(replace(seen, **more), size, signs)


def drawn(view: TableView, size: tuple[int, int], symbols: Symbols = LETTERS) -> str:
    return "\n".join(map(text_of, render_rows(board(view, *size, symbols), *size)))


def other(documents: Documents, suffix: str, **more: Any) -> Documents:  # noqa: ANN401
    """Return the same moment, with something else in one of its documents."""
    changed = json.loads(documents[suffix]) | more
    return {**documents, suffix: json.dumps(changed).encode()}


@pytest.fixture
def publisher(mosquitto: Mosquitto) -> Iterator[Listener]:
    with Listener(mosquitto.port, "nothing") as listener:
        yield listener


def say(publisher: Listener, documents: Documents, root: str = ROOT) -> None:
    """
    Publish what a table says at this moment.

    Its clock is an hour ahead, so that a retained copy is not old before a slow terminal reads it.
    """
    at = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%S.000Z}"
    for suffix, payload in other(documents, "state", published=at).items():
        publisher.publish(f"{root}/{suffix}", payload, retain=True)


def watching(folder: Path, broker: Mosquitto, *arguments: str, **size: int) -> Screen:
    return Screen(folder, *arguments, "--broker", f"127.0.0.1:{broker.port}", **size)


def once(*arguments: str, **environment: str) -> Result:
    """Print one picture, in the test's own process."""
    words = ["watch", "--once", "--wait", str(PATIENCE), *arguments]
    return CliRunner().invoke(main, words, env=environment, catch_exceptions=False)


def test_every_moment_of_a_round_is_shown_at_any_size(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener
) -> None:
    moments = last_round()
    assert len(moments) > 5
    say(publisher, moments[0])
    with watching(tmp_path, mosquitto, "table-1") as screen:
        for size in ((60, 12), (100, 30), (200, 50), (80, 24)):
            screen.resize(*size)
            screen.wait_until_it_is(picture(moments[0], mosquitto.port, size))
        for moment in moments:
            say(publisher, moment)
            screen.wait_until_it_is(picture(moment, mosquitto.port, (80, 24)))
            assert faces(screen.text) == public_cards(table(moment))
        assert "WINS" in screen.text or "TIE" in screen.text


@pytest.mark.parametrize("number", sample((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), 2))
def test_it_leaves_a_clean_terminal(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener, number: signal.Signals
) -> None:
    say(publisher, last_round()[0])
    with watching(tmp_path, mosquitto, "table-1") as screen:
        screen.wait_until("● live")
        assert (screen.other, screen.cursor) == (True, False)
        assert screen.manners != screen.before
        if number is signal.SIGINT:
            screen.type("zzz\x03")
        else:
            os.kill(child_of(screen.process.pid), number)
        assert screen.end() == 0
        assert "zzz" not in screen.text
        assert (screen.other, screen.cursor) == (False, True)
        assert screen.manners == screen.before


def child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return int(children.split()[0])


def test_a_table_that_is_not_current_never_looks_live(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener
) -> None:
    moment = last_round()[3]
    say(publisher, moment)
    with watching(tmp_path, mosquitto, "table-1") as screen:
        for suffix, change, told in (
            ("state", {"heartbeat": 1}, "NOT CURRENT  since "),
            ("status", {"state": "offline"}, "THE TABLE IS OFFLINE  since "),
            ("status", {"state": "stopping"}, "THE TABLE IS BEING SWITCHED OFF  since "),
        ):
            screen.wait_until("● live")
            say(publisher, other(moment, suffix, **change))
            screen.wait_until(told)
            wait_for(lambda: "● live" not in screen.text)
            assert faces(screen.text) == public_cards(table(moment)), "what it knew stays"
            say(publisher, moment)
        say(publisher, other(moment, "state", alarm="The disk is full."))
        screen.wait_until("The disk is full.")
        assert "ALARM" in screen.text


def test_the_broker_comes_late_goes_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "mosquitto").mkdir()
    mosquitto = Mosquitto(tmp_path / "mosquitto")
    with watching(tmp_path, mosquitto, "table-1") as screen:
        screen.wait_until("NO CONNECTION TO THE BROKER")
        screen.wait_until("connection refused")
        for moment in last_round()[3:5]:
            with mosquitto:
                screen.wait_until("NOTHING WAS HEARD" if moment is last_round()[3] else "● live")
                with Listener(mosquitto.port, "nothing") as publisher:
                    say(publisher, moment)
                    screen.wait_until_it_is(picture(moment, mosquitto.port, (80, 24)))
            screen.wait_until("NO CONNECTION TO THE BROKER  since ")
            screen.wait_until(f"127.0.0.1:{mosquitto.port}: ")


def test_for_how_long_a_result_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = TableFeed(MqttSettings())
    now = time.monotonic()
    monkeypatch.setattr("shoe_daemon.display.terminal.watch.time.monotonic", lambda: now)

    def hear(documents: Documents) -> None:
        for suffix, payload in documents.items():
            message = Message(f"{ROOT}/{suffix}", payload)
            feed.tables.receive(message, Moment(now, "2026-11-21T09:30:00.000Z"))

    feed.tables.set_link(Link(connected=True), now)
    hear(last_round()[0])
    assert not feed.view("table-1").recent_result, "it may have come long before we did"
    gone = other(last_round()[-1], "state", round=None)
    hear(gone)
    seen = feed.view("table-1")
    assert seen.recent_result
    text = drawn(seen, (80, 24))
    last = table(gone).last_result
    assert last is not None
    assert verdict(last.data) in text
    assert "Place your bets" not in text
    now += 7.9
    assert feed.view("table-1").recent_result
    now += 0.2
    assert not feed.view("table-1").recent_result
    hear(other(gone, "state", betting="open"))
    assert not feed.view("table-1").recent_result, "it is the same result"


def test_without_a_name_the_only_table_is_shown_and_its_name_does_not_steer_the_terminal(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener
) -> None:
    name = "莊 \x1b]0;pwned\x07\x1b[2J\x9b5m evil"
    say(publisher, other(last_round()[0], "state", name=name, limits={"\x1b[31m": "\r\n\x07"}))
    with watching(tmp_path, mosquitto) as screen:
        screen.wait_until("莊 �]0;pwned��[2J�5m evil")
        for sign in ("\x1b]", "\x07", "\x1b[2J", "\x9b"):
            assert sign not in screen.written


@pytest.mark.parametrize("how", sample(("--once", "terminal"), 2))
def test_without_a_name_several_tables_are_listed(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener, how: str
) -> None:
    say(publisher, last_round()[0])
    second = other(last_round()[0], "state", table="table-2", name="Second\x1b[2J", shoe=None)
    say(publisher, second, "shoe/v1/demo/table-2")
    told = [
        "demo.table-1  live      Demo table · Shoe 1 · round 30",
        "demo.table-2  live      Second�[2J · No shoe · round 30",
    ]
    if how == "--once":
        done = once("--broker", f"127.0.0.1:{mosquitto.port}")
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.split("\n")[:-1] == told
        return
    with watching(tmp_path, mosquitto) as screen:
        assert screen.end() == 0
        assert "\r\n".join(told) in screen.written


def test_once_is_one_picture_and_no_more(mosquitto: Mosquitto, publisher: Listener) -> None:
    say(publisher, last_round()[3])
    address = f"127.0.0.1:{mosquitto.port}"
    done = once("table-1", "--broker", address, COLUMNS="100", LINES="31")
    assert (done.exit_code, done.stderr) == (0, "")
    *rows, foot, end = done.stdout.split("\n")
    expected = picture(last_round()[3], mosquitto.port, (100, 30), plain(LETTERS))
    assert "\n".join(rows) == expected.rpartition("\n")[0]
    assert foot.startswith(f" ● live · {address} · seen at ")
    assert end == ""
    assert "\x1b" not in done.stdout


def test_an_unknown_table_is_one_line(mosquitto: Mosquitto, publisher: Listener) -> None:
    say(publisher, last_round()[3])
    address = f"127.0.0.1:{mosquitto.port}"

    def is_told(seconds: int) -> bool:
        done = once("table-9", "--broker", address, "--wait", str(seconds))
        assert (done.exit_code, done.stdout) == (1, "")
        return done.stderr == (
            f"shoe-daemon: watch: nothing was heard of the table 'table-9' within {seconds} s "
            f"at {address}; there are demo.table-1\n"
        )

    assert any(map(is_told, WAITS))


def test_no_broker_is_one_line() -> None:
    address = f"127.0.0.1:{free_port()}"

    def is_told(seconds: int) -> bool:
        done = once("--broker", address, "--wait", str(seconds))
        assert (done.exit_code, done.stdout) == (1, "")
        said = f"shoe-daemon: watch: no broker at {address}: connection refused\n"
        return done.stderr == said

    assert any(map(is_told, WAITS))


def test_two_sites_with_a_table_of_one_name(mosquitto: Mosquitto, publisher: Listener) -> None:
    for site in ("here", "there"):
        say(publisher, other(last_round()[0], "state", site=site), f"shoe/v1/{site}/table-1")
    address = f"127.0.0.1:{mosquitto.port}"
    done = once("table-1", "--broker", address)
    assert done.exit_code == 2
    assert "expected one of here.table-1, there.table-1" in done.stderr
    done = once("there.table-1", "--broker", address)
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[mqtt]\nport = {port}\n[display]\nsite = 'demo'\n", ["table-1"]),
        ("[mqtt]\nport = {port}\n", ["demo.table-1"]),
        ("site = 'demo'\n[table]\nid = 'table-1'\n[mqtt]\nport = {port}\n", []),
    ],
)
def test_the_configuration_is_a_display_s_or_a_table_s(
    tmp_path: Path, mosquitto: Mosquitto, publisher: Listener, text: str, name: list[str]
) -> None:
    say(publisher, last_round()[3])
    file = tmp_path / "some.toml"
    file.write_text(text.format(port=mosquitto.port), encoding="utf-8")
    done = once(*name, "--config", str(file))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Demo table" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--broker", "nowhere"], "--broker: 'nowhere'; expected HOST:PORT"),
        (["--broker", "nowhere:99999"], "--broker: 'nowhere:99999'; expected HOST:PORT"),
        (["--config", "missing.toml"], "missing.toml: cannot be read"),
        (["--config", "wrong.toml"], "wrong.toml: mqtt.port: "),
        (["--config", "none.toml"], "none.toml: mqtt is missing; expected a broker"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.toml").write_text("[mqtt]\nport = 'x'\n", encoding="utf-8")
    (tmp_path / "none.toml").write_text("site = 'a'\n[table]\nid = 'b'\n", encoding="utf-8")
    done = once(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_terminal_is_told_how() -> None:
    done = CliRunner().invoke(main, ["watch"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "shoe-daemon: watch: this is no terminal with UTF-8; expected one, or --once\n"
    )


def test_a_missing_extra_is_one_line_and_help_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    done = CliRunner().invoke(main, ["watch"])
    assert (done.exit_code, done.stderr) == (
        2,
        "shoe-daemon: watch needs rich, an extra: pip install 'shoe-daemon[display]'\n",
    )
    assert CliRunner().invoke(main, ["watch", "--help"]).exit_code == 0


def test_it_speaks_to_nobody(tmp_path: Path, mosquitto: Mosquitto, publisher: Listener) -> None:
    say(publisher, last_round()[3])
    with Listener(mosquitto.port, name="everything") as everything:
        wait_for(lambda: len(everything.messages) >= 4)
        heard = len(everything.messages)
        done = once("--broker", f"127.0.0.1:{mosquitto.port}")
        assert done.exit_code == 0
        everything.publish("mark", b"")
        wait_for(lambda: everything.messages[-1].topic == "mark", timeout=PATIENCE)
        assert len(everything.messages) == heard + 1
