"""
However fast the broker sends, and however slow the loop is, the box stays small and
what matters most is in it.
"""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.display.coalescing_queue import Mail, Mailbox
from shoe_daemon.display.freshness import Link
from shoe_daemon.display.message_validation import SIZE_LIMIT
from shoe_daemon.display.table_model import Message
from tests.display.table_messages import PATIENT


class Box:
    """
    A mailbox that counts its bell.
    """

    def __init__(self) -> None:
        self.rung = 0
        self.box = Mailbox(self._ring)

    def _ring(self) -> None:
        self.rung += 1

    def put(self, topic: str, payload: bytes = b"x") -> None:
        self.box.put(Message(f"p/s/t/{topic}", payload))

    def all(self) -> list[Mail]:
        mail = [self.box.empty()]
        while mail[-1].more:
            mail.append(self.box.empty())
        return mail


def test_the_newest_of_a_topic_wins_and_the_bell_rings_once() -> None:
    box = Box()
    for number in range(1000):
        box.put("state", b"%d" % number)
    (mail,) = box.all()
    assert [each.payload for each in mail.messages] == [b"999"]
    assert (box.rung, mail.dropped, mail.link) == (1, 0, None)
    box.put("state")
    assert box.rung == 2


def test_events_come_first_and_documents_in_the_order_of_their_last_word() -> None:
    box = Box()
    for topic in ("state", "roads", "event/a", "state", "event/b", "status"):
        box.put(topic)
    (mail,) = box.all()
    assert [each.topic.removeprefix("p/s/t/") for each in mail.messages] == [
        "event/a",
        "event/b",
        "roads",
        "state",
        "status",
    ]


def test_no_more_is_kept_than_there_is_room_for_and_what_is_dropped_is_counted() -> None:
    box = Box()
    for number in range(7_000):
        box.put(f"event/e{number}")
    for number in range(25_000):
        box.put(f"device/d{number}")
    mail = box.all()
    assert sum(each.dropped for each in mail) == 2_000 + 5_000
    assert sum(len(each.messages) for each in mail) == 25_000
    assert max(len(each.messages) for each in mail) == 500
    assert box.rung == 1


def test_bytes_are_limited_too() -> None:
    box = Box()
    for number in range(3_000):
        box.put(f"device/d{number}", bytes(SIZE_LIMIT))
    kept = sum(len(each.payload) for mail in box.all() for each in mail.messages)
    assert 60_000_000 < kept < 65_000_000
    box.put("state", bytes(SIZE_LIMIT))
    assert len(box.all()[0].messages) == 1


def test_of_what_is_too_long_so_much_is_kept_as_shows_it() -> None:
    box = Box()
    box.put("state", bytes(10_000_000))
    assert len(box.all()[0].messages[0].payload) == SIZE_LIMIT + 1


def test_what_was_found_out_comes_after_what_came_before_it() -> None:
    box = Box()
    for number in range(700):
        box.put(f"device/d{number}")
    box.box.put_there(frozenset("a"))
    box.put("device/d3")
    box.put("event/a")
    mail = box.all()
    assert [each.there for each in mail] == [None, frozenset("a"), None]
    assert [len(each.messages) for each in mail] == [500, 200, 1]
    assert mail[2].messages[0].topic == "p/s/t/device/d3"
    assert box.rung == 1


def test_of_what_was_found_out_twice_the_later_holds() -> None:
    box = Box()
    box.box.put_there(frozenset("a"))
    box.put("state")
    box.box.put_there(frozenset("b"))
    (mail,) = box.all()
    assert (len(mail.messages), mail.there) == (1, frozenset("b"))


def test_a_lost_line_keeps_the_moment_when_it_was_lost() -> None:
    box = Box()
    box.box.lose_link(None, "nobody answers")
    assert box.all()[0].link == Link(connected=False, since=None, detail="nobody answers")
    box.box.put_link(Link(connected=True, since="1"))
    box.box.lose_link("2", "the line is closed")
    box.box.lose_link(None, "nobody answers")
    assert box.all()[0].link == Link(connected=False, since="2", detail="nobody answers")
    assert box.all()[0].link is None


@PATIENT
@given(st.lists(st.sampled_from(["state", "roads", "event/a", "there", "take"]), max_size=40))
def test_nothing_is_left_without_a_bell(steps: list[str]) -> None:
    box = Box()
    waiting, answered = False, 0
    for step in steps:
        if step == "take":
            if box.rung > answered:
                answered = box.rung
                box.all()
                waiting = False
        else:
            box.box.put_there(frozenset()) if step == "there" else box.put(step)
            waiting = True
        assert not waiting or box.rung > answered


def test_two_threads_lose_nothing() -> None:
    box = Box()
    taken: list[bytes] = []
    done = threading.Event()

    def fill() -> None:
        for number in range(3_000):
            box.put(f"event/{number}", b"%d" % number)
        done.set()

    thread = threading.Thread(target=fill)
    thread.start()
    while not done.is_set():
        taken += [each.payload for each in box.box.empty().messages]
    thread.join()
    taken += [each.payload for mail in box.all() for each in mail.messages]
    assert taken == [b"%d" % number for number in range(3_000)]
