"""
The queues keep the order of events whatever the broker answers and whenever the
connection is lost, and the cursor never passes an unacknowledged event.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shoe_daemon.mqtt.outbox import Outbox
from shoe_daemon.mqtt.queues import Message
from shoe_daemon.mqtt.topics import Topics
from tests.mqtt.memory_journal import QUICK, Journal, Stored
from tests.volume import volume

OK, NOT_AUTHORIZED = 0, 0x87


class Bench:
    """An outbox with a clock of its own, and a broker made of a list."""

    def __init__(self, count: int = 0, cursor: int = 0) -> None:
        self.journal = Journal(count)
        self.now = 1000.0
        self.errors: list[str] = []
        self.flight: dict[int, Message] = {}
        self.mid = 0
        self.outbox = Outbox(
            Topics("house", "table-7"),
            self.journal,
            cursor,
            timeouts=QUICK,
            now_text=lambda: "now",
            on_error=self.note,
        )
        self.events, self.documents = self.outbox.events, self.outbox.documents
        self.replies, self.replay = self.outbox.replies, self.outbox.replay
        self.events.head = count
        self.outbox.restart(None)

    def note(self, event: str, error: Exception, **facts: str) -> None:
        self.errors.append(event)

    def send(self) -> list[Message]:
        """Send all that may be sent."""
        sent = []
        while (message := self.outbox.next(self.now)) is not None:
            self.mid += 1
            self.outbox.mark_sent(message, self.mid)
            self.flight[self.mid] = message
            sent.append(message)
        return sent

    def mid_of(self, message: Message) -> int:
        return next(mid for mid, other in self.flight.items() if other is message)

    def answer(self, mid: int, reason: int = OK) -> None:
        self.flight.pop(mid)
        self.outbox.acknowledge(mid, reason, self.now)

    def answer_all(self, reason: int = OK) -> None:
        for mid in list(self.flight):
            self.answer(mid, reason)

    def reconnect(self) -> None:
        self.flight.clear()
        self.outbox.restart(None)


def seqs(messages: list[Message]) -> list[int]:
    return [m.seq for m in messages if m.is_event]


def answers_of(messages: list[Message]) -> list[Message]:
    return [m for m in messages if m.is_answer]


def test_after_a_refusal_events_begin_again_at_the_cursor_one_first() -> None:
    bench = Bench(5, cursor=1)
    assert seqs(bench.send()) == [2, 3, 4, 5]
    bench.answer(1)
    bench.answer(2, NOT_AUTHORIZED)
    assert bench.send() == []
    bench.now += 1
    # Not while answers are outstanding: their order would be lost.
    assert bench.send() == []
    bench.answer_all()
    assert seqs(bench.send()) == [3]
    bench.answer_all()
    assert bench.events.cursor == 3
    assert seqs(bench.send()) == [4, 5]


def test_refusals_are_retried_ever_more_slowly() -> None:
    bench = Bench(5)
    sent = []
    for _ in range(45):
        if bench.send():
            sent.append(round(bench.now - 1000, 3))
            bench.answer_all(NOT_AUTHORIZED)
        bench.now = min(bench.now + 0.05, bench.outbox.retry_at(bench.now))
    assert sent == [0, 0.2, 0.6, 1.0, 1.4, 1.8]


def test_a_refused_document_is_retried_ever_more_slowly_and_alone() -> None:
    bench = Bench(1)
    bench.documents.put("state", b"{}", 0)
    bench.documents.put("device/shoe", b"{}", 0)
    sent: list[tuple[float, str]] = []
    for _ in range(20):
        for message in bench.send():
            sent.append((round(bench.now - 1000, 3), message.suffix or "event"))
            reason = NOT_AUTHORIZED if message.suffix == "state" else OK
            bench.answer(bench.mid_of(message), reason)
        bench.now = min(bench.now + 0.05, bench.outbox.retry_at(bench.now))
    assert sent == [(0, "event"), (0, "state"), (0, "device/shoe"), (0.2, "state"), (0.6, "state")]


def test_documents_wait_for_a_second_of_history_and_not_for_days() -> None:
    bench = Bench(2000)
    bench.documents.put("state", b"{}", 2000)
    assert bench.send()[0].suffix == "state"
    bench = Bench(900)
    bench.documents.put("state", b"{}", 900)
    for _ in range(45):
        assert {message.suffix for message in bench.send()} == {None}
        bench.answer_all()
    assert [message.suffix for message in bench.send()] == ["state"]


def test_an_unknown_answer_is_ignored() -> None:
    bench = Bench(1)
    assert bench.outbox.acknowledge(77, OK, bench.now) is None


class Chaos(RuleBasedStateMachine):
    """Everything that can happen, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.taken: set[int] = set()
        self.last_sent = 0

    @rule(count=st.integers(1, 30))
    def add(self, count: int) -> None:
        for _ in range(count):
            self.bench.events.head = self.bench.journal.add()

    @rule(reader=st.integers(0, 3))
    def retain(self, reader: int) -> None:
        self.bench.documents.put(f"device/{reader}", b"{}", len(self.bench.journal.all))

    @precondition(lambda self: self.bench.flight)
    @rule(which=st.integers(0, 19), refused=st.booleans())
    def answer(self, which: int, refused: bool) -> None:  # noqa: FBT001 - a rule's argument
        mid = list(self.bench.flight)[which % len(self.bench.flight)]
        message = self.bench.flight[mid]
        if message.suffix is None and not refused:
            self.taken.add(message.seq)
        self.bench.answer(mid, NOT_AUTHORIZED if refused else OK)

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds: int) -> None:
        self.bench.now += seconds

    @rule()
    def reconnect(self) -> None:
        self.bench.reconnect()

    @rule()
    def send(self) -> None:
        cursor = self.bench.events.cursor
        for seq in seqs(self.bench.send()):
            # In order, or once more from the cursor on.
            assert seq in {self.last_sent + 1, cursor + 1}
            self.last_sent = seq

    @invariant()
    def the_window_holds_and_the_cursor_covers_only_what_was_taken(self) -> None:
        assert len(self.bench.flight) <= 20
        assert set(range(1, self.bench.events.cursor + 1)) <= self.taken

    def teardown(self) -> None:
        """Once the broker takes everything, everything arrives."""
        for _ in range(1000):
            if self.bench.outbox.is_drained and not self.bench.events.is_refused:
                break
            self.bench.now += 1
            self.send()
            self.bench.answer_all()
        assert self.bench.events.cursor == len(self.bench.journal.all)


TestChaos = Chaos.TestCase
TestChaos.settings = settings(max_examples=volume(25, 100), stateful_step_count=40, deadline=None)


def test_an_answer_goes_after_its_events_and_before_documents() -> None:
    bench = Bench(2)
    bench.replies.put(Message("reply/a", b"a", 3, is_answer=True))
    bench.replies.put(Message("reply/b", b"b", 1, is_answer=True))
    bench.documents.put("state", b"{}", 2)
    assert [m.topic for m in bench.send() if not m.is_event] == ["shoe/v1/house/table-7/state"]
    bench.journal.add()
    bench.events.head = 3
    sent = bench.send()
    assert seqs(sent) == [3]
    assert [each.payload for each in answers_of(sent)] == [b"a", b"b"]


def test_an_answer_does_not_wait_for_events_that_cannot_flow() -> None:
    bench = Bench(1)
    bench.send()
    bench.answer_all(NOT_AUTHORIZED)
    bench.replies.put(Message("reply/a", b"a", 9, is_answer=True))
    assert [each.payload for each in answers_of(bench.send())] == [b"a"]


def test_an_answer_that_was_not_taken_is_sent_again() -> None:
    bench = Bench()
    for name in "abc":
        bench.replies.put(Message("reply", name.encode(), 0, is_answer=True))
    sent = bench.send()
    bench.answer(bench.mid_of(sent[1]))
    bench.reconnect()
    assert [each.payload for each in answers_of(bench.send())] == [b"a", b"c"]
    bench.answer_all(NOT_AUTHORIZED)
    bench.reconnect()
    assert answers_of(bench.send()) == []
    assert bench.outbox.is_drained


def test_numbers_that_a_restored_journal_skips_hold_up_no_document() -> None:
    bench = Bench(5, cursor=5)
    bench.events.head = 1004
    bench.documents.put("state", b"{}", 1004)
    assert [each.suffix for each in bench.send()] == ["state"]
    bench.answer_all()
    assert bench.events.retry_at > bench.now
    bench.now = bench.events.retry_at
    bench.journal.all += [Stored(seq, "card_dealt", b"{}") for seq in range(6, 1006)]
    assert seqs(bench.send())[0] == 6


def test_a_replay_over_unused_numbers_goes_no_further() -> None:
    class Restored(Journal):
        def events(self, after_seq: int, limit: int) -> list[Stored]:
            return [each for each in self.all if each.seq > after_seq][:limit]

    bench = Bench()
    restored = Restored()
    restored.all = [Stored(seq, "card_dealt", b"{}") for seq in (1, 2, *range(60, 90))]
    bench.replay._source = restored  # noqa: SLF001 - the journal of this test
    bench.replay.start(2, 61)
    assert [each.seq for each in answers_of(bench.send())] == [2, 60, 61]
    assert not bench.replay.is_running


def test_a_replay_sends_all_once_and_moves_no_cursor() -> None:
    bench = Bench(200, cursor=200)
    bench.replay.start(11, 180)
    again = []
    while sent := bench.send():
        assert len(bench.flight) <= 10
        again += sent
        bench.answer_all()
    assert [m.seq for m in again] == list(range(11, 181))
    assert [m.payload for m in again] == [e.body for e in bench.journal.all[10:180]]
    assert (bench.events.cursor, bench.replay.is_running) == (200, False)


def test_what_is_new_overtakes_a_replay() -> None:
    bench = Bench(100, cursor=100)
    bench.replay.start(1, 100)
    first = bench.send()
    assert [m.seq for m in first] == list(range(1, 11))
    bench.journal.add()
    bench.events.head = 101
    assert seqs(bench.send()) == [101]
    bench.answer(bench.mid_of(first[0]))
    bench.reconnect()
    sent = bench.send()
    # The line was lost: what was in flight comes again, in its order.
    assert seqs(sent) == [101]
    assert [each.seq for each in answers_of(sent)] == [*range(2, 11)]


def test_a_replay_ends_where_the_journal_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(5, cursor=5)
    assert bench.send() == []

    def fails(*_: object) -> list[Stored]:
        raise OSError("gone")

    monkeypatch.setattr(bench.journal, "events", fails)
    bench.replay.start(1, 5)
    assert bench.send() == []
    assert not bench.replay.is_running
    assert bench.errors == ["journal_not_readable_for_replay"]
