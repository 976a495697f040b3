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

from shoe_daemon.config import Setup, load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.mqtt.commands import IncomingCommand, PendingCommand
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.never_backwards_clock import Clock
from shoe_daemon.operators import Operators
from shoe_daemon.service.command_handler import MAX_REPLAYED_EVENTS, CommandHandler
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table.detail_texts import uncoded_detail
from shoe_daemon.table.observations import CardDrawn


class Answers:
    """In the publisher's place: keeps what is answered."""

    is_replaying = False

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
        self.time = Time()
        clock = Clock(wall=lambda: int(self.time.now * 1_000_000), monotonic=lambda: self.time.now)
        self.core = Core(setup, clock=clock)
        self.core.record_start()
        self.pending: list[PendingCommand] = []
        self.full = False
        self.answers = Answers()
        self.orders = CommandHandler(self.core, setup, "s", self._enqueue)
        self.orders.publisher = cast("Publisher", self.answers)

    def _enqueue(self, pending: PendingCommand) -> None:
        if self.full:
            raise queue.Full
        self.pending.append(pending)

    def receive(self, order_id: str, verb: str = "hold", **fields: object) -> None:
        payload = json.dumps({"id": order_id, "operator": "Maria", **fields}).encode()
        self.orders.receive(IncomingCommand(verb, payload, retained=False))

    def judge_all(self) -> None:
        while self.pending:
            self.orders.judge(self.pending.pop(0))

    @property
    def refused(self) -> list[str | None]:
        return [answer["refused"] for answer in self.answers.given]

    @property
    def journaled(self) -> list[str | None]:
        return [order.id for order in reversed(self.core.reader.last_commands(1000, among=50_000))]


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
    for number in range(53):
        bench.receive(f"n{number}")
    assert bench.refused == ["too many orders at once: give it again"] * 3
    bench.judge_all()
    assert bench.journaled == [f"n{number}" for number in range(50)]
    bench.receive("n50", "resume")
    bench.judge_all()
    assert bench.answers.given[-1]["ok"], "its id was never given"


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
    for number in range(50):
        bench.receive(f"n{number}")
    assert len(bench.pending) == 50


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


def test_a_thousand_ids_are_known_again(bench: Bench) -> None:
    for number in range(1005):
        bench.receive(f"n{number}", "resume")
        bench.judge_all()
    for known in (bench.orders, CommandHandler(bench.core, bench.core._setup, "t", print)):  # noqa: SLF001
        assert known._first_by_id.get("n0") is None  # noqa: SLF001 - what it remembers is its own
        assert known._first_by_id.get("n1004") is not None  # noqa: SLF001 - likewise


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
