"""
Commands without a broker: too many at once, a daemon that stops, deadlines that pass
before a command, remembered ids.
"""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from shoe_daemon.config.table import Setup, load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.mqtt.commands import VERBS, ReceivedCommand
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.operators import Operators
from shoe_daemon.service import refusals
from shoe_daemon.service.clock import Clock
from shoe_daemon.service.commands import HOLD_S, MAX_REPLAYED_EVENTS, Commands
from shoe_daemon.service.core import Core
from shoe_daemon.table import Authority
from shoe_daemon.table.detail_texts import uncoded_detail
from shoe_daemon.table.observations import CardDrawn, Command, Standby
from tests.volume import sample


class Answers:
    """In the publisher's place: keeps what is answered."""

    is_replaying = False
    alarm = None

    def __init__(self) -> None:
        self.given: list[Any] = []

    def reply(self, payload: bytes, seq: int, **_: object) -> None:
        self.given.append(json.loads(payload))

    def replay(self, from_seq: int, until: int) -> None:
        assert until - from_seq < MAX_REPLAYED_EVENTS

    def retain(self, _topic: str, document: Callable[[str], bytes] | bytes, _seq: int) -> None:
        json.loads(document if isinstance(document, bytes) else document("2027-01-15T08:00:00Z"))

    def notify(self, _seq: int) -> None:
        pass


class Time:
    now = 1_800_000_000.0


class Bench:
    """A table's core and its orders; pending wait in a list."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.time = Time()
        clock = Clock(wall=lambda: int(self.time.now * 1_000_000), monotonic=lambda: self.time.now)
        self.core = Core(setup, clock=clock)
        self.core.record_start()
        self.pending: list[ReceivedCommand] = []
        self.full = False
        self.answers = Answers()
        self.orders = Commands(self.core, setup, "s", self._enqueue)
        self.orders.publisher = cast("Publisher", self.answers)

    def _enqueue(self, pending: ReceivedCommand) -> None:
        if self.full:
            raise queue.Full
        self.pending.append(pending)

    def receive(self, order_id: str, verb: str = "hold", **fields: object) -> None:
        payload = json.dumps({"id": order_id, "operator": "Maria", **fields}).encode()
        self.orders.receive(verb, MessageReceived(verb, payload))

    def judge_all(self) -> None:
        while self.pending:
            self.orders.judge(self.pending.pop(0))

    @property
    def refused(self) -> list[str | None]:
        return [answer["refused"] for answer in self.answers.given]

    @property
    def journaled(self) -> list[str | None]:
        found = [each for each in self.core.reader.observations() if isinstance(each, Command)]
        return [each.id for each in found]

    def start_again(self) -> None:
        """Forget everything that is not in the journal."""
        self.orders = Commands(self.core, self.setup, "t", self._enqueue)
        self.orders.publisher = cast("Publisher", self.answers)

    def order(self, order_id: str, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Give an order and return its answer."""
        self.receive(order_id, verb, **fields)
        self.judge_all()
        return self.answers.given[-1]


def set_up(folder: Path, text: str = "") -> Setup:
    path = folder / "table.toml"
    path.write_text(f'site = "hall"\n[table]\n{text}\n')
    return load_config(path)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(set_up(tmp_path, "quiet_gap = 10"))
    yield bench
    bench.core.close()


def test_a_crowd_is_refused_and_not_written_down(bench: Bench) -> None:
    for number in range(13):
        bench.receive(f"n{number}", "betting-open")
    assert bench.refused == ["too many orders at once: give it again"] * 3
    bench.receive("other", "no-more-bets")
    bench.judge_all()
    assert bench.journaled == [*(f"n{number}" for number in range(10)), "other"]
    bench.receive("n10", "hold")
    bench.judge_all()
    assert bench.answers.given[-1]["ok"], "its id was never given"


def test_a_hold_is_journaled_once_in_five_seconds_and_always_holds(bench: Bench) -> None:
    assert all(bench.order(f"n{number}", "hold")["ok"] for number in range(30))
    assert bench.journaled == ["n0"]
    assert bench.order("n29", "resume")["earlier"]["ok"], "its id is remembered"
    bench.time.now += HOLD_S
    assert bench.order("later", "hold")["ok"]
    assert bench.order("report", "hold", kind="card_off_table")["ok"]
    assert bench.order("joined", "hold", operator="Ann")["ok"]
    assert bench.journaled == ["n0", "later", "report", "joined"]
    # A hold that has an effect has it at once, however soon it comes.
    for number in range(3):
        assert bench.order(f"resume-{number}", "resume")["ok"]
        assert not bench.core.table.state.on_hold
        assert bench.order(f"again-{number}", "hold")["ok"]
        assert bench.core.table.state.on_hold_by == "Maria"


@pytest.mark.parametrize("verb", ["no-such-verb", "hold", *sample(VERBS, 5)])
def test_a_flood_of_one_verb_leaves_room_for_the_others(bench: Bench, verb: str) -> None:
    other = "resume" if verb == "hold" else "hold"
    for number in range(2000):
        bench.receive(f"n{number}", verb)
    bench.receive("other", other)
    bench.judge_all()
    # Those that are refused at once: ten replies a second, whatever is sent.
    assert len(bench.answers.given) <= 10 + 10 + 1
    assert "other" in bench.journaled
    assert bench.answers.given[-1]["id"] == "other"


def test_refused_replays_leave_no_trace_and_no_replay_is_an_id_of_the_memory(bench: Bench) -> None:
    head = bench.core.journal.head
    seq = bench.core.table.state.seq
    for fields in ({}, {"from_seq": seq + 1}, {"from_seq": 1, "expects_seq": seq + 7}):
        assert bench.order("a", "replay", **fields)["refused"]
    assert bench.core.journal.head == head
    assert bench.order("a", "hold")["ok"], "its id was never given"
    assert bench.order("a", "replay", from_seq=1)["earlier"]["name"] == "hold"
    assert bench.journaled == ["a"]


def test_a_flood_of_replays_grows_neither_journal_nor_log(bench: Bench) -> None:
    bench.order("a", "hold")
    for tick in range(600):
        bench.time.now += 0.1
        for number in range(14):
            fields = {"from_seq": 1} if number % 2 else {}
            bench.receive(f"{tick}-{number}", "replay", **fields)
        bench.judge_all()
    assert len(bench.journaled) <= 1 + 60
    assert len(bench.answers.given) <= 60 * 10 + 60 + 10
    bench.answers.given.clear()
    assert bench.order("a", "hold")["earlier"]["ok"], "the flood has evicted an id"


def test_lines_about_refusals_are_limited_and_counted(bench: Bench) -> None:
    with capture_logs() as lines:
        for number in range(300):
            bench.order(f"n{number}", "reveal")
            bench.time.now += 1.0
        bench.order("hold", "hold")
    judged = [line for line in lines if line["event"] == "command_judged"]
    assert [line.get("commands", 1) for line in judged] == [1, 60, 60, 60, 60, 1]


def test_a_crowd_of_previews_is_refused_sooner(bench: Bench) -> None:
    for number in range(5):
        bench.receive(f"n{number}", dry_run=True)
    assert bench.refused == ["too many orders at once: give it again"] * 2
    bench.receive("order")
    bench.judge_all()
    assert bench.refused[2:] == [None] * 4
    assert bench.journaled == ["order"]


def test_a_core_that_is_too_busy(bench: Bench) -> None:
    bench.full = True
    bench.receive("a")
    assert bench.refused == ["too many orders at once: give it again"]
    bench.full = False
    for number in range(10):
        bench.receive(f"n{number}")
    assert len(bench.pending) == 10


def test_an_order_is_answered_once(bench: Bench) -> None:
    bench.receive("a")
    bench.orders.refuse_pending(uncoded_detail("nothing can be recorded"))
    bench.judge_all()
    assert bench.refused == ["nothing can be recorded"]
    assert bench.journaled == []


def test_the_end_of_a_start_refuses_what_waits_and_what_comes(bench: Bench) -> None:
    bench.receive("a")
    bench.orders.close()
    bench.receive("b")
    bench.judge_all()
    assert bench.refused == ["the daemon is stopping"] * 2
    assert bench.journaled == []


def test_what_was_due_before_is_not_of_the_order(bench: Bench) -> None:
    bench.receive("s", "new-shoe")
    bench.judge_all()
    for face in ("9S", "2H", "KD", "5C"):
        bench.core.observe(CardDrawn(card=Card(face)))
    bench.time.now += 3600
    # The quiet gap is over since long, and with it the round.
    bench.receive("a", "confirm-result")
    bench.judge_all()
    assert bench.refused[1:] == ["no round is in progress"]
    bench.receive("b", "correct-card", slot=Slot.B2, card="7C")
    bench.judge_all()
    answer = bench.answers.given[-1]
    assert answer["ok"]
    assert answer["events"] == [answer["seq"] - 1, answer["seq"]]


def test_an_order_that_expires_while_it_waits(bench: Bench) -> None:
    bench.receive("a", expires_at="2027-01-15T08:00:05Z")
    bench.time.now += 6
    bench.judge_all()
    assert bench.refused == ["it expired at 2027-01-15T08:00:05.000Z"]


def test_an_order_expires_by_the_wall_clock_though_the_tables_time_is_ahead(bench: Bench) -> None:
    # The computer's clock was an hour ahead, and was set back: the table's time stands still.
    time = bench.time
    bench.core.clock = Clock(
        "2027-01-15T09:00:00Z",
        wall=lambda: int(time.now * 1_000_000),
        monotonic=lambda: time.now,
    )
    bench.receive("a", expires_at="2027-01-15T08:00:30Z")
    bench.judge_all()
    bench.receive("b", "resume", expires_at="2027-01-15T07:59:59Z")
    bench.judge_all()
    assert bench.refused == [None, "it expired at 2027-01-15T07:59:59.000Z"]


JUMPS = [0, 1, 3600, -3600, 86_400 * 3, -86_400 * 3]


@pytest.mark.parametrize("starts_again", [False, True])
@pytest.mark.parametrize("jump", JUMPS)
def test_an_id_is_known_for_a_day_whatever_the_wall_clock_does(
    bench: Bench, jump: int, *, starts_again: bool
) -> None:
    jumped = 0.0
    bench.core.clock = Clock(
        wall=lambda: int((bench.time.now + jumped) * 1_000_000), monotonic=lambda: bench.time.now
    )
    assert bench.order("a", "hold", expires_at="2027-01-15T08:00:05Z")["ok"]
    for _ in range(22):
        bench.time.now += 3600
        jumped += jump
        bench.core.clock.set()
        bench.core.observe(Standby())
        jumped -= jump
        bench.core.clock.set()
        bench.core.observe(Standby())
    if starts_again:
        bench.start_again()
    # By its own time limit, which has passed, it would be refused with another sentence.
    answer = bench.order("a", "hold", expires_at="2099-01-01T00:00:00Z")
    assert answer["refused"].startswith("its id was given before"), answer
    bench.time.now += 86_400
    assert bench.order("a", "hold", kind="foreign_card")["ok"], "it is remembered for ever"


@pytest.mark.parametrize("starts_again", [False, True])
def test_a_full_memory_refuses_new_orders_and_forgets_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, starts_again: bool
) -> None:
    monkeypatch.setattr(refusals, "MAX_UNPROVED_IDS", 8)
    monkeypatch.setattr(refusals, "MAX_IDS", 9)
    monkeypatch.setattr(refusals, "MAX_IDS_OF_VERB", 5)
    answers = [bench.order(f"n{number}", "reveal") for number in range(7)]
    codes = [answer["detail_code"] for answer in answers]
    assert codes == ["refused_nothing_face_down"] * 5 + ["refused_ids_full"] * 2
    assert all(bench.order(f"h{number}", "betting-open")["ok"] for number in range(3))
    if starts_again:
        bench.start_again()
    bench.time.now += 1.0
    assert bench.order("h3", "hold")["detail_code"] == "refused_ids_full"
    assert len(bench.journaled) == 8
    # An order with the right PIN has room of its own.
    bench.receive("p1", "betting-open")
    bench.pending[-1].authority = Authority(pin_verified=True)
    bench.receive("p2", "betting-open")
    bench.pending[-1].authority = Authority(pin_verified=True)
    bench.judge_all()
    assert [each["detail_code"] for each in bench.answers.given[-2:]] == [None, "refused_ids_full"]
    for number in range(5):
        assert bench.order(f"n{number}", "hold")["earlier"]["name"] == "reveal"
    bench.time.now += 86_400
    assert bench.order("n0", "hold")["earlier"] is None


def test_orders_without_an_id_take_room_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MAX_IDS_OF_VERB", 5)
    for number in range(7):
        bench.time.now += 1.0
        bench.order(f"not an id {number}", "reveal")
    assert len(bench.journaled) == 5


def test_a_pin_that_cannot_be_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "operators.toml").write_text('[[operator]]\nname = "Maria"\n')
    setup = set_up(tmp_path, '[orders]\noperators_file = "operators.toml"')
    bench = Bench(setup)

    def breaks(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Operators, "authenticate", breaks)
    bench.receive("a", pin="1234")
    checker = bench.orders._pin_checker  # noqa: SLF001 - to know when it is done
    assert checker is not None
    checker.shutdown()
    bench.judge_all()
    assert bench.refused == ["the PIN cannot be checked"]
    assert bench.journaled == ["a"]
    bench.core.close()
