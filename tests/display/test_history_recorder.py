"""The history is complete after any loss, and its faults do not stop the display."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.display.log import recorder as history_recorder_and_gap_requests
from shoe_daemon.display.log.queries import missing_ranges
from shoe_daemon.display.log.recorder import HistoryRecorder, HistoryRequests
from shoe_daemon.display.log.store import HistoryStore, connect_read_only
from shoe_daemon.floor.table import Message
from shoe_daemon.journal import JournalReader
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.table import is_staff
from tests.brokers import Mosquitto
from tests.commands.command_table import Pit, open_pit
from tests.display.display_process import Display
from tests.floor.table_messages import event, payload, topic
from tests.waiting import wait_for

HISTORY = '[display]\n[display.history]\nfile = "history.db"\n'
ROUND = ("P1:9S", "B1:2H", "P2:KD", "B2:5C")


def logged(path: Path) -> list[tuple[int, str]]:
    """Return number and type of every event in the log."""
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT id & 0xFFFFFFFFFF, type FROM event ORDER BY id"
        return list(db.execute(query))


def gaps(path: Path) -> list[tuple[int, int]]:
    """Return the numbers of the first journal that may be missing."""
    reader = connect_read_only(path)
    try:
        (head,) = reader.execute("SELECT head FROM journal WHERE id = 1").fetchone()
        return [(each.first, each.last) for each in missing_ranges(reader, 1, head)]
    finally:
        reader.close()


def journaled(pit: Pit) -> list[tuple[int, str]]:
    """Return number and type of every public event of the journal."""
    with JournalReader(pit.journal) as reader:
        lines = [json.loads(line) for line in reader.event_lines()]
    return [(each["seq"], each["type"]) for each in lines if not is_staff(each["type"])]


def play(pit: Pit, rounds: int = 2) -> None:
    for _ in range(rounds):
        after = pit.seq + 6
        pit.shoe.draw(*ROUND)
        wait_for(partial(_is_past, pit, after), "a round")


def _is_past(pit: Pit, seq: int) -> bool:
    return pit.seq >= seq


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[tuple[Mosquitto, Pit, Display]]:
    """A broker that forgets, a table, and a display with a history."""
    (tmp_path / "table").mkdir()
    (tmp_path / "mosquitto").mkdir()
    with (
        Mosquitto(tmp_path / "mosquitto") as broker,
        open_pit(tmp_path / "table", broker.port) as pit,
        Display(tmp_path / "display", broker.port, HISTORY) as display,
    ):
        yield broker, pit, display


@pytest.mark.mosquitto
def test_it_is_complete_after_any_death(stage: tuple[Mosquitto, Pit, Display]) -> None:
    broker, pit, display = stage
    log = display.folder / "history.db"

    def complete() -> bool:
        return logged(log) == journaled(pit) and gaps(log) == []

    play(pit)
    wait_for(complete, "the log after a start")
    display.process.kill()
    display.process.wait()
    play(pit)
    display.start()
    wait_for(complete, "the log after the display was killed")
    broker.kill()
    play(pit)
    broker.start()
    wait_for(complete, "the log after the broker was killed")
    display.stop()
    log.write_bytes(b"no database " * 1000)
    display.start()
    wait_for(complete, "the log rebuilt from the table")
    assert log.with_name("history.db.damaged").exists()
    assert '"history_damaged"' in display.said()
    begin = len(display.said())
    with closing(sqlite3.connect(log)) as db:
        db.execute("DROP TABLE entry")
    assert display.ask("/pit/log").status == HTTPStatus.SERVICE_UNAVAILABLE
    wait_for(lambda: '"history_damaged"' in display.said(begin), "the damage to be reported")
    wait_for(partial(_is_readable, display), "the page")
    wait_for(complete, "the log rebuilt once more")
    assert display.ask("/pit/log").block["first"]["log"]["state"]["moved_aside"]


def _is_readable(display: Display) -> bool:
    return display.ask("/pit/log").status == HTTPStatus.OK


def recorder(path: Path) -> HistoryRecorder:
    return HistoryRecorder(path / "history.db", prefix="shoe/v1", days=36_500)


def state(seq: int, *, retained: bool = False, session: str = "s1") -> Message:
    content = payload("state", seq=seq, session=session)
    return Message(topic("state"), content, retained)


def heard(*numbers: int) -> list[Message]:
    return [Message(topic("event/round_started"), event(number)) for number in numbers]


class Feed:
    """A recorder without a broker, whose thread is the test's."""

    def __init__(self, path: Path) -> None:
        self.recorder = recorder(path)
        self.log = self.recorder.path

    def say(self, *messages: Message) -> list[tuple[int, int]]:
        """Deliver messages in one batch; return the numbers that may be missing."""
        for each in messages:
            self.recorder.put(each)
        while self.recorder._queue:  # noqa: SLF001
            self.recorder._step()  # noqa: SLF001
        return gaps(self.log)


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    found = Feed(tmp_path)
    found.recorder.connected()
    return found


def test_jumps_are_events_for_staff_while_a_subscription_runs(feed: Feed) -> None:
    assert feed.say(state(4, retained=True)) == [(1, 4)]
    assert feed.say(*heard(5)) == [(1, 5)], "it may be the end of a replay"
    assert feed.say(state(5)) == [(1, 5)]
    assert feed.say(*heard(8, 11)) == [(1, 5)]
    # Numbers behind the last event are complete after a heartbeat without an event.
    assert feed.say(state(13)) == [(12, 13), (1, 5)]
    assert feed.say(state(13)) == [(1, 5)]


def test_a_replay_of_others_is_no_proof(feed: Feed) -> None:
    assert feed.say(state(20, retained=True), *heard(3, 4, 5)) == [(1, 20)]
    assert feed.say(state(20), *heard(6, 7)) == [(1, 20)]
    assert feed.say(*heard(21)) == [(1, 20)]


@pytest.mark.parametrize("loss", ["lost", "dropped"])
def test_a_loss_ends_the_range(feed: Feed, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert feed.say(state(0), *heard(1, 2, 3)) == []
    if loss == "lost":
        feed.recorder.lost()
        feed.recorder.connected()
        feed.say(*heard(7))
    else:
        monkeypatch.setattr(history_recorder_and_gap_requests, "MAX_QUEUED", 2)
        feed.say(*heard(4, 5, 6, 7))
        assert feed.say(*heard(8)) == [(6, 8)]
    assert feed.say(state(9))[-1][0] == (4 if loss == "lost" else 6)
    assert feed.say(*heard(10, 11))[0][1] == 9


def test_a_table_with_a_new_journal_begins_again(feed: Feed) -> None:
    feed.say(state(5000), *heard(5001, 5002))
    feed.say(state(2, session="s2"), *heard(3))
    with HistoryStore(feed.log) as store:
        assert store.journal("house", "table-1") == 2
    assert sorted(logged(feed.log)) == [(n, "round_started") for n in (3, 5001, 5002)]


HUGE = event(2).replace(b'"seq": 2', b'"seq": 1234567890123456')


def test_invalid_messages_change_nothing(feed: Feed) -> None:
    feed.say(state(0), *heard(1))
    begun = topic("event/round_started")
    for content in (b"x", b"{}", HUGE, event(2, "shoe_started"), event(2)[:-1]):
        assert feed.say(Message(begun, content)) == []
    assert feed.say(Message(topic("state"), b'{"seq":-1,"session":"s"}')) == []
    assert logged(feed.log) == [(1, "round_started")]
    assert feed.recorder.status.failure is None


def test_a_full_disk_is_reported_and_stops_nothing(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed.say(state(0), *heard(1))
    monkeypatch.setattr(history_recorder_and_gap_requests, "MIN_FREE_BYTES", 1 << 60)
    feed.say(*heard(2))
    assert "free" in (feed.recorder.status.failure or "")
    monkeypatch.undo()
    assert feed.say(state(2)) == [(2, 2)]
    assert feed.recorder.status.failure is None


class Table:
    """Answers the requests of the display as a daemon does, or not at all."""

    def __init__(self, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[int] = []
        self.answer: dict[str, Any] = {"ok": True, "refused": None}
        self.sent: list[int] = []
        self.requests = HistoryRequests(feed.recorder, MqttSettings())
        self._feed = feed
        monkeypatch.setattr(history_recorder_and_gap_requests, "send_command", self._send)
        monkeypatch.setattr(history_recorder_and_gap_requests, "PROGRESS_TIMEOUT_S", 0.0)
        monkeypatch.setattr(history_recorder_and_gap_requests, "FIRST_RETRY_S", 0.0)
        monkeypatch.setattr(history_recorder_and_gap_requests, "MAX_RETRY_S", 0.0)

    def ask(self) -> None:
        """Let the display look for what is missing, once."""
        self.requests._retry_delays.clear()  # noqa: SLF001
        self.requests._request_missing()  # noqa: SLF001

    def _send(self, _mqtt: object, topic: str, order: bytes, **_: object) -> bytes:
        assert topic == "shoe/v1/house/table-1/cmd/replay"
        self.asked.append(json.loads(order)["from_seq"])
        self._feed.say(*heard(*self.sent))
        plain = {"id": "x", "name": "replay", "seq": 9, "session": "s1"}
        return json.dumps({**plain, **self.answer}).encode()


@pytest.fixture
def table(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table with nine events, of which 4 and 7 are for staff."""
    feed.say(state(9, retained=True))
    return Table(feed, monkeypatch)


def test_a_range_is_complete_once_all_its_public_events_are_there(
    feed: Feed, table: Table
) -> None:
    table.answer |= {"replayed": 9, "replayed_public": 7}
    table.sent = [1, 2, 3, 5, 6, 8]
    table.ask()
    assert feed.say() == [(1, 9)]
    assert feed.recorder.status.refused == "1 of 7 events did not arrive"
    table.sent = [9]
    table.ask()
    assert feed.say() == []
    recorder = feed.recorder  # mypy takes the same expression for unchanged
    assert recorder.status.refused is None
    table.ask()
    assert table.asked == [1, 1]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"ok": False, "refused": "a replay is under way"}, "the table refuses it: a replay"),
        ({"replayed": 9}, "the table's daemon is too old"),
        ({"name": 7}, "invalid reply"),
    ],
)
def test_a_refusal_is_reported_and_proves_nothing(
    feed: Feed, table: Table, answer: dict[str, Any], why: str
) -> None:
    table.answer |= answer
    table.ask()
    assert feed.say() == [(1, 9)]
    assert (feed.recorder.status.refused or "").startswith(why)


def test_the_newest_events_are_requested_first(
    feed: Feed, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_recorder_and_gap_requests, "REPLAYED_EVENTS", 4)
    table.answer |= {"replayed": 4, "replayed_public": 0}
    for _ in range(2):
        table.ask()
        feed.say()
    table.answer["replayed"] = 1
    table.ask()
    assert feed.say() == []
    assert table.asked == [6, 2, 1]


def test_a_table_that_is_back_is_asked_at_once(
    feed: Feed, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_recorder_and_gap_requests, "FIRST_RETRY_S", 3600.0)
    monkeypatch.setattr(history_recorder_and_gap_requests, "MAX_RETRY_S", 3600.0)
    table.answer |= {"ok": False, "refused": "not now"}
    table.requests._request_missing()  # noqa: SLF001
    table.requests._request_missing()  # noqa: SLF001
    assert table.asked == [1]
    feed.say(state(9))
    table.requests._request_missing()  # noqa: SLF001
    assert table.asked == [1, 1]


FIRST_EVENTS_ON_FOUR_THREADS = """
import json, sys, threading
from shoe_daemon.floor.messages import decode, parse_topic
from shoe_daemon.mqtt.schemas import load_examples

events = []
for name, (example, *_) in load_examples().items():
    if name.startswith("event/"):
        event = example["payload"]
        topic = parse_topic(f"shoe/v1/{event['site']}/{event['table']}/{name}", "shoe/v1")
        events.append((topic, json.dumps(event).encode()))
together = threading.Barrier(4)

def read():
    for topic, payload in events:
        together.wait()
        decode(topic, payload)

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=read) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(events))
"""


def test_the_boards_and_the_history_may_read_the_first_event_at_the_same_moment() -> None:
    # msgspec crashed nearly every time: it tells a type's fields before it knows their types.
    command = [sys.executable, "-c", FIRST_EVENTS_ON_FOUR_THREADS]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 15
