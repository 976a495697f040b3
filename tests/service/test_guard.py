"""
An exception that the code does not foresee: the daemon goes on, the journal has what it could not
apply, and folds to the same state, whether the error is still there or was mended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.reader import fold_table
from shoe_daemon.journal.refold import refold
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.service import guard
from shoe_daemon.service.commands import Commands
from shoe_daemon.service.refusals import Refusals
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table import table as table_module
from shoe_daemon.table.commands import dispatch
from shoe_daemon.table.observations import (
    CardDrawn,
    DeviceError,
    Gap,
    GapDetail,
    Observation,
    Result,
    Role,
)
from shoe_daemon.table.rounds import boundaries
from tests.chaos import journal_checks
from tests.commands.test_command_handler import Bench as Orders
from tests.commands.test_command_handler import set_up
from tests.service.daemon_process import configure
from tests.service.test_processing_core import Bench

HANDLERS = vars(table_module)["_HANDLERS"]
POISON = Card("7H")
"""The card at which the table fails."""


class UnforeseenError(Exception):
    """Names the card, which nothing may repeat."""


def fail(*_: object, **__: object) -> NoReturn:
    raise UnforeseenError(f"the hidden card is {POISON}")


@pytest.fixture(autouse=True)
def _guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "ENABLED", True)
    monkeypatch.setattr(guard, "_limit", LogRateLimit())


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the table fail at one card."""
    apply = HANDLERS[CardDrawn]

    def apply_card(context: Any, seen: CardDrawn) -> None:  # noqa: ANN401 - of the table
        apply(context, seen)
        if seen.card is POISON:
            fail()

    monkeypatch.setitem(HANDLERS, CardDrawn, apply_card)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(configure(tmp_path / "table", "quiet_gap = 10"))
    yield bench
    bench.core.close()


def card(text: str, slot: str | None = None) -> CardDrawn:
    return CardDrawn(card=Card(text), slot=None if slot is None else Slot(slot))


def tail(bench: Bench, count: int) -> list[tuple[str, str | None]]:
    return [(each["type"], each.get("detail")) for each in bench.log()[-count:]]


def check_folds(bench: Bench) -> None:
    """The journal folds to the state of the core."""
    with JournalReader(bench.journal) as reader:
        assert fold_table(reader).checkpoint() == bench.core.table.checkpoint()


def round_is_partial(bench: Bench) -> bool:
    round_ = bench.core.table.state.round
    return round_ is not None and round_.partial


@pytest.mark.usefixtures("poisoned")
def test_a_card_that_cannot_be_applied_is_journaled_and_left_out(
    bench: Bench, tmp_path: Path
) -> None:
    bench.deal("P1:9S", "B1:2H")
    before = [each["type"] for each in bench.log()]
    bench.see(card(POISON, "P2"))
    assert [each["type"] for each in bench.log()][: len(before)] == before
    assert tail(bench, 2) == [("card", None), ("gap", "not_applied")]
    assert bench.log()[-1]["source"] == "shoe"
    assert round_is_partial(bench)
    assert bench.core.fault is not None
    assert bench.see(card("KD", "B2"))[0] == "card_dealt"
    check_folds(bench)
    journal_checks.check_replay(bench.journal, tmp_path)


def test_a_start_folds_past_it_whether_the_error_is_mended_or_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, poisoned: None
) -> None:
    bench.deal("P1:9S", "B1:2H")
    bench.see(card(POISON, "P2"))
    state = bench.core.table.checkpoint()
    check_folds(bench)
    monkeypatch.undo()
    monkeypatch.setattr(guard, "ENABLED", False)
    with JournalReader(bench.journal) as reader:
        assert fold_table(reader).checkpoint() == state
        result = refold(reader, fail_to_decode)
    assert result.broken is None
    bench.core.close()
    bench.start()
    assert [event["type"] for event in bench.log()[-2:]] == ["session", "gap"]


def fail_to_decode(_record: object) -> Any:  # noqa: ANN401 - a decoder
    return Decoder()


class Decoder:
    """Decodes the bytes of the bench."""

    limit = other_version = None

    def decode(self, _raw: bytes, _at: float) -> list[Observation]:
        decoded = [card("9S", "P1"), card("2H", "B1"), card(POISON, "P2")]
        self.read = getattr(self, "read", -1) + 1
        return [decoded[self.read]]

    def reset(self) -> None:
        """Nothing to forget."""


def test_the_alarm_lasts_until_the_next_round_begins(bench: Bench, poisoned: None) -> None:
    publisher = StatePublisher(bench.core, None, (), "s", heartbeat=0)
    bench.see(card(POISON, "P1"))
    assert publisher.alarm is not None
    assert publisher.alarm.code == "not_applied"
    bench.see(Result(outcome="player"))
    assert publisher.alarm is not None
    bench.deal("P1:9S")
    assert publisher.alarm is None


def test_a_deadline_that_fails_is_left_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(configure(tmp_path / "table", 'house = "chickasaw"'))
    monkeypatch.setattr(boundaries, "apply_reveal", fail)
    bench.deal("P1:2S", "B1:KH", "P2:5D", "B2:9C")
    bench.pass_by(5)
    assert tail(bench, 2) == [("tick", None), ("gap", "not_applied")]
    count = len(bench.log())
    bench.pass_by(60)
    assert len(bench.log()) == count
    assert bench.core.seconds_until_deadline(99) == 99
    check_folds(bench)
    bench.core.close()


def test_a_gap_that_fails_as_well_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, poisoned: None
) -> None:
    monkeypatch.setitem(HANDLERS, Gap, fail)
    bench.deal("P1:9S")
    bench.see(card(POISON, "B1"))
    assert tail(bench, 2) == [("card", None), ("gap", "not_applied")]
    check_folds(bench)
    bench.deal("B1:2H")
    check_folds(bench)


def test_an_error_at_every_observation_loses_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.deal("P1:9S")
    monkeypatch.setattr(table_module.Table, "_apply", fail)
    bench.deal("B1:2H", "P2:KD")
    bench.core.observe(Gap(detail=GapDetail.RECONNECT))
    types = [each["type"] for each in bench.log()[-6:]]
    assert types == ["card", "gap", "card", "gap", "gap", "gap"]
    check_folds(bench)


@pytest.mark.usefixtures("poisoned")
def test_a_checkpoint_of_the_same_frame_is_folded_from(bench: Bench) -> None:
    bench.see(CardDrawn(card=Card("2S"), role=Role.FIRST), card(POISON, "P1"), card("9S", "B1"))
    with JournalReader(bench.journal) as reader:
        assert reader.last_checkpoint() is not None
    check_folds(bench)


def test_what_cannot_be_written_is_a_gap(bench: Bench) -> None:
    bench.deal("P1:9S")
    bench.see(DeviceError(text="\ud800"), card("2H", "B1"))
    assert tail(bench, 3) == [("tick", None), ("gap", "not_applied"), ("card", None)]
    check_folds(bench)


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[Orders]:
    orders = Orders(set_up(tmp_path))
    yield orders
    orders.core.close()


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("failing", ["refusal", "run"])
def test_a_command_that_raises_is_refused(
    orders: Orders, monkeypatch: pytest.MonkeyPatch, failing: str, *, dry_run: bool
) -> None:
    hold = dispatch.COMMANDS["hold"]
    handler = hold._replace(run=fail) if failing == "run" else hold._replace(refusal=fail)
    monkeypatch.setitem(dispatch.COMMANDS, "hold", handler)
    before = orders.core.table.checkpoint()
    with capture_logs() as logs:
        orders.receive("a", dry_run=dry_run)
        orders.judge_all()
    (answer,) = orders.answers.given
    assert (answer["ok"], answer["detail_code"]) == (False, "internal_error")
    assert orders.journaled == ([] if dry_run else ["a"])
    places = {each["where"] for each in logs if "where" in each}
    assert places == {f"{__file__}:{fail.__code__.co_firstlineno + 1}"}
    assert POISON not in json.dumps([answer, logs], default=str)
    assert not orders.core.table.state.on_hold
    assert orders.core.fault is None
    orders.receive("b", "new-shoe")
    orders.judge_all()
    assert orders.answers.given[-1]["ok"]
    assert orders.core.table.checkpoint() != before
    assert fold_table(orders.core.reader).checkpoint() == orders.core.table.checkpoint()


@pytest.mark.parametrize(("owner", "name"), [(Refusals, "before_judging"), (Commands, "_reply")])
def test_the_next_command_is_answered(
    orders: Orders, monkeypatch: pytest.MonkeyPatch, owner: type, name: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        orders.receive("a")
        orders.judge_all()
    orders.receive("b", "resume")
    orders.judge_all()
    assert orders.answers.given[-1]["id"] == "b"


def test_documents_that_cannot_be_made_are_published_at_the_next_change(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = StatePublisher(bench.core, Mock(alarm=None), (), "s", heartbeat=0)
    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(table_module.Table, "public", fail)
        bench.deal("P1:9S")
        publisher.publish_if_changed()
        publisher.publish_if_changed()
    assert [each["event"] for each in logs].count("state_not_published") == 1
    assert not publisher.is_outdated
    bench.deal("B1:2H")
    assert publisher.is_outdated


def test_a_daemon_has_the_guard_unless_a_test_starts_it() -> None:
    code = "import os, shoe_daemon.service.guard as guard; os._exit(guard.ENABLED)"
    bare = {name: value for name, value in os.environ.items() if name != "SHOE_DAEMON_GUARD"}
    for environment, status in ((None, 0), (bare, 1)):
        done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
        assert done.returncode == status


def test_without_the_guard_it_ends_the_daemon(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, poisoned: None
) -> None:
    monkeypatch.setattr(guard, "ENABLED", False)
    with pytest.raises(UnforeseenError):
        bench.see(card(POISON, "P1"))
