"""The queue has a limit however fast the broker sends, and keeps the latest documents."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.inbox import Inbox, QueuedMessages
from shoe_daemon.floor.messages import MAX_PAYLOAD_BYTES
from shoe_daemon.floor.table import Change, Link, Message
from tests.floor.table_messages import PATIENT


class CountingQueue:
    """A queue that counts its notifications."""

    def __init__(self) -> None:
        self.notified = 0
        self.queue = Inbox(self._notify)

    def _notify(self) -> None:
        self.notified += 1

    def put(self, topic: str, payload: bytes = b"x") -> None:
        self.queue.put(Message(f"p/s/t/{topic}", payload))

    def all(self) -> list[QueuedMessages]:
        batch = [self.queue.take()]
        while batch[-1].more:
            batch.append(self.queue.take())
        return batch


def test_the_newest_of_a_topic_wins_and_notifies_once() -> None:
    queue = CountingQueue()
    for number in range(1000):
        queue.put("state", b"%d" % number)
    (batch,) = queue.all()
    assert [each.payload for each in batch.messages] == [b"999"]
    assert (queue.notified, batch.dropped, batch.link) == (1, 0, None)
    queue.put("state")
    assert queue.notified == 2


def test_events_come_first_and_documents_in_the_order_of_their_last_word() -> None:
    queue = CountingQueue()
    for topic in ("state", "roads", "event/a", "state", "event/b", "status"):
        queue.put(topic)
    (batch,) = queue.all()
    assert [each.topic.removeprefix("p/s/t/") for each in batch.messages] == [
        "event/a",
        "event/b",
        "roads",
        "state",
        "status",
    ]


def test_no_more_is_kept_than_there_is_room_for_and_what_is_dropped_is_counted() -> None:
    queue = CountingQueue()
    for number in range(7_000):
        queue.put(f"event/e{number}")
    for number in range(25_000):
        queue.put(f"device/d{number}")
    batch = queue.all()
    assert sum(each.dropped for each in batch) == 2_000 + 5_000
    assert sum(len(each.messages) for each in batch) == 25_000
    assert max(len(each.messages) for each in batch) == 500
    assert queue.notified == 1


def test_bytes_are_limited_too() -> None:
    queue = CountingQueue()
    for number in range(3_000):
        queue.put(f"device/d{number}", bytes(MAX_PAYLOAD_BYTES))
    kept = sum(len(each.payload) for batch in queue.all() for each in batch.messages)
    assert 60_000_000 < kept < 65_000_000
    queue.put("state", bytes(MAX_PAYLOAD_BYTES))
    assert len(queue.all()[0].messages) == 1


def test_of_what_is_too_long_so_much_is_kept_as_shows_it() -> None:
    queue = CountingQueue()
    queue.put("state", bytes(10_000_000))
    assert len(queue.all()[0].messages[0].payload) == MAX_PAYLOAD_BYTES + 1


def test_what_was_found_out_comes_after_what_came_before_it() -> None:
    queue = CountingQueue()
    for number in range(700):
        queue.put(f"device/d{number}")
    queue.queue.put_known_tables(frozenset("a"))
    queue.put("device/d3")
    queue.put("event/a")
    batch = queue.all()
    assert [each.known_tables for each in batch] == [None, frozenset("a"), None]
    assert [len(each.messages) for each in batch] == [500, 200, 1]
    assert batch[2].messages[0].topic == "p/s/t/device/d3"
    assert queue.notified == 1


def test_of_what_was_found_out_twice_the_later_holds() -> None:
    queue = CountingQueue()
    queue.queue.put_known_tables(frozenset("a"))
    queue.put("state")
    queue.queue.put_known_tables(frozenset("b"))
    (batch,) = queue.all()
    assert (len(batch.messages), batch.known_tables) == (1, frozenset("b"))


def test_a_mistake_over_one_message_reaches_the_subscriber_and_keeps_no_other_away() -> None:
    queue, tables = CountingQueue(), Floor("p")
    queue.queue.put_link(Link(connected=True, since="x"))
    queue.put("state")
    queue.put("roads")
    published: list[Change] = []

    def publish(changes: list[Change]) -> None:
        published.extend(changes)
        assert tables.faults.total != 1

    assert not queue.queue.deliver(tables, publish)
    assert tables.link.connected
    # Both are invalid; the first one failed while it was published, too.
    assert [each.what.partition(":")[0] for each in tables.faults.last][1:] == [
        "an error of the program itself",
        "JSON is malformed",
    ]
    assert tables.faults.total == 3


@PATIENT
@given(st.lists(st.sampled_from(["state", "roads", "event/a", "tables", "take"]), max_size=40))
def test_nothing_is_left_without_a_notification(steps: list[str]) -> None:
    queue = CountingQueue()
    waiting, answered = False, 0
    for step in steps:
        if step == "take":
            if queue.notified > answered:
                answered = queue.notified
                queue.all()
                waiting = False
        else:
            queue.queue.put_known_tables(frozenset()) if step == "tables" else queue.put(step)
            waiting = True
        assert not waiting or queue.notified > answered


def test_two_threads_lose_nothing() -> None:
    queue = CountingQueue()
    taken: list[bytes] = []
    done = threading.Event()

    def fill() -> None:
        for number in range(3_000):
            queue.put(f"event/{number}", b"%d" % number)
        done.set()

    thread = threading.Thread(target=fill)
    thread.start()
    while not done.is_set():
        taken += [each.payload for each in queue.queue.take().messages]
    thread.join()
    taken += [each.payload for batch in queue.all() for each in batch.messages]
    assert taken == [b"%d" % number for number in range(3_000)]
