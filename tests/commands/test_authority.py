"""
Four eyes: whatever a dealer orders, what takes a supervisor stays as it is.

A dealer gives random commands between the random observations of a reader and the commands of a
supervisor. What follows from his is read from the published events.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.service.core import Core, JudgedCommand
from shoe_daemon.table import (
    COMMANDS,
    BettingOpen,
    CardDrawn,
    Command,
    DealerChanged,
    IrregularityClosed,
    NoMoreBets,
    Result,
    RoundReleased,
    Session,
    StaffIrregularityClosed,
    Table,
)
from shoe_daemon.table.commands.authority import Authority
from shoe_daemon.table.ledger import MAX_ALERTS
from shoe_daemon.table.state import decode_state, encode_state
from shoe_daemon.table.times import to_microseconds
from tests.commands.test_command_handler import Bench, set_up
from tests.table.command_model import random_command
from tests.table.random_observations import RandomObservations
from tests.volume import volume

DEALER = Authority()
SUPERVISOR = Authority(supervisor=True, pin_verified=True)
SIGNALS = {"betting_open", "confirm_result", "no_more_bets", "reveal"}
"""The table's own signals, which a dealer may give: they may turn over cards."""
NEEDS_SUPERVISOR = "this order takes a supervisor"
NEEDS_PIN = "this order takes the operator's PIN"
NEEDS_REASON = "this order takes a reason"
PLACES = ("P1", "B1", "P2", "B2", "P3")


class FourEyes:
    """
    A table at which Kim is a dealer and Maria a supervisor.

    Attributes:
        tried: Kim's commands that were carried out, by name, and the refusals.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.tried: list[str] = []

    def give(
        self, name: str, who: str = "Kim", authority: Authority = DEALER, **fields: object
    ) -> JudgedCommand:
        command = Command(name=name, operator=who, **fields)  # type: ignore[arg-type]
        return self.core.judge(command, None, authority)

    def deal(self, *faces: str) -> None:
        """Deal a round from its first card on."""
        cards = [
            CardDrawn(card=Card(face), slot=Slot(slot))
            for slot, face in zip(PLACES, faces, strict=False)
        ]
        self.core.observe(BettingOpen(), NoMoreBets(), *cards)

    def give_as_dealer(self, command: Command) -> None:
        """Give Kim's command, and check that it decided nothing that is not his."""
        table = self.core.table
        hold_from = table.state.session.options.hold_from
        grave = {
            each.data.id
            for each in table.state.alerts
            if hold_from is not None and each.data.severity >= hold_from
        }
        held = {each.number for each in table.state.held}
        hidden = not self._shows_all()
        on_hold, holder, dealer = table.state.on_hold, table.state.on_hold_by, table.state.dealer
        judged = self.core.judge(replace(command, operator="Kim"), None, DEALER)
        self.tried.append(command.name if judged.refusal is None else judged.refusal.text)
        after = self.core.table.state
        may_end = holder == "Kim"
        if on_hold and not may_end:
            assert after.on_hold
        assert after.dealer in {dealer, "Kim", None}
        assert after.dealer == dealer or "Kim" in {dealer, after.dealer}
        for event in judged.caused:
            data = event.data
            if isinstance(data, IrregularityClosed | StaffIrregularityClosed):
                # Cards that are turned over may disprove it.
                assert data.id not in grave or (hidden and command.name in SIGNALS)
            elif isinstance(data, RoundReleased) and event.round in held:
                assert command.name == "resume" or (hidden and command.name in SIGNALS)
                assert may_end or command.name != "resume"
            elif isinstance(data, DealerChanged):
                assert "Kim" in {data.dealer, data.before if data.dealer is None else None}

    def _shows_all(self) -> bool:
        round_ = self.core.table.state.round
        return round_ is None or all(card.public or not card.face for card in round_.cards)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(set_up(tmp_path, 'hold_from = 3\nresult_on = "confirmed"'))
    yield bench
    bench.core.close()


@pytest.fixture
def eyes(bench: Bench) -> FourEyes:
    return FourEyes(bench.core)


def with_excess_card(eyes: FourEyes) -> int:
    """Deal a natural and a card too many; return the id of the irregularity."""
    eyes.deal("9S", "2H", "KD", "3C", "4C")
    eyes.core.observe(Result(outcome="player"))
    (alert,) = eyes.core.table.state.alerts
    return alert.data.id


@pytest.mark.parametrize("seed", range(4, volume(6, 44)))
def test_whatever_a_dealer_orders_what_takes_a_supervisor_stays(bench: Bench, seed: int) -> None:
    eyes, weather, dice = FourEyes(bench.core), RandomObservations(seed), random.Random(seed)
    for each in weather.generate(volume(150, 400)):
        now = to_microseconds(each.at) / 1_000_000
        bench.time.now = max(bench.time.now, 1_800_000_000 + now % 1_000_000)
        if isinstance(each, Command):
            eyes.core.judge(replace(each, operator="Maria", refused=None), None, SUPERVISOR)
        else:
            if isinstance(each, Session):
                options = replace(each.options, hold_from=dice.choice([None, 1, 2, 2, 3]))
                each = replace(each, options=options, site="hall")  # noqa: PLW2901 - graver than a log's
            eyes.core.observe(each)
        for _ in range(dice.choice([0, 0, 1, 3])):
            made = random_command(dice)
            command = made(eyes.core.table) if callable(made) else made
            if isinstance(command, Command):
                if command.name == "dealer":
                    command = replace(command, dealer=dice.choice([None, "Kim", "Ann"]))
                eyes.give_as_dealer(command)
        if dice.random() < 0.05:
            eyes.give("hold", "Maria")
        if dice.random() < 0.05:
            eyes.give("dealer", "Maria", SUPERVISOR, dealer="Ann")
    assert NEEDS_SUPERVISOR in eyes.tried
    assert set(eyes.tried) & COMMANDS.keys()


def test_an_irregularity_that_holds_a_result_takes_a_supervisor_with_pin(eyes: FourEyes) -> None:
    with_excess_card(eyes)

    def give(who: str, authority: Authority) -> str | None:
        return eyes.give("acknowledge", who, authority).command.refused

    assert eyes.core.table.state.held
    assert give("Kim", DEALER) == NEEDS_SUPERVISOR
    assert give("Kim", Authority(pin_verified=True)) == NEEDS_SUPERVISOR
    assert give("Maria", Authority(supervisor=True)) == NEEDS_PIN
    assert eyes.core.table.state.held
    assert give("Maria", SUPERVISOR) is None
    assert not eyes.core.table.state.held


def test_a_dealer_acknowledges_what_holds_nothing(eyes: FourEyes) -> None:
    eyes.core.observe(BettingOpen(), CardDrawn(card=Card("9S")))
    (alert,) = eyes.core.table.state.alerts
    assert alert.data.severity < 3
    assert eyes.give("acknowledge").refusal is None


def test_what_an_order_needs_is_judged_when_it_is_judged(eyes: FourEyes) -> None:
    """A preview of what needs no PIN; by the time of the order a grave one is the only one."""
    eyes.core.observe(BettingOpen(), CardDrawn(card=Card("9S"), slot=Slot.P1))
    command = Command(name="acknowledge", operator="Kim")
    preview = eyes.core.preview(command, None, DEALER).preview
    assert preview is not None
    assert not preview.needs.supervisor
    eyes.give("acknowledge")
    eyes.core.observe(Result(outcome="player"))
    assert [each.data.severity for each in eyes.core.table.state.alerts] == [3]
    assert eyes.give("acknowledge").command.refused == NEEDS_SUPERVISOR
    previewed = eyes.core.preview(command, None, Authority(supervisor=True))
    assert previewed.refusal is None
    assert previewed.preview is not None
    assert previewed.preview.needs.supervisor


def test_only_who_put_the_table_on_hold_resumes_it_alone(eyes: FourEyes) -> None:
    assert eyes.give("hold").refusal is None
    assert eyes.give("resume", "Ann").command.refused == NEEDS_SUPERVISOR
    assert eyes.give("resume").refusal is None
    eyes.give("hold", "Maria")
    assert eyes.give("resume").command.refused == NEEDS_SUPERVISOR
    assert eyes.give("resume", "Maria", Authority(supervisor=True)).refusal is None


def test_a_supervisors_hold_on_top_of_a_dealers_is_not_resumed_by_him(eyes: FourEyes) -> None:
    eyes.give("hold")
    assert eyes.give("hold", "Maria").refusal is None
    assert eyes.give("resume").command.refused == NEEDS_SUPERVISOR
    # Nor does a report make a hold his own.
    eyes.give("resume", "Maria", SUPERVISOR)
    eyes.give("hold", "Maria")
    eyes.give("hold", kind="card_off_table")
    assert eyes.give("resume").command.refused == NEEDS_SUPERVISOR


def test_a_hold_by_a_button_is_not_a_persons_own(eyes: FourEyes) -> None:
    eyes.core.observe(Command(name="hold"))
    assert eyes.core.table.state.on_hold
    assert eyes.give("resume").command.refused == NEEDS_SUPERVISOR
    assert eyes.give("resume", "Maria", SUPERVISOR).refusal is None


def test_a_hold_of_an_older_version_is_not_a_persons_own(eyes: FourEyes) -> None:
    eyes.give("hold")
    state = eyes.core.table.state
    older = msgspec.msgpack.decode(encode_state(state))
    del older["on_hold_by"]
    assert decode_state(msgspec.msgpack.encode(older)).on_hold
    eyes.core.table = Table(decode_state(msgspec.msgpack.encode(older)))
    assert eyes.give("resume").command.refused == NEEDS_SUPERVISOR


def test_a_journal_of_an_older_version_is_folded_as_it_was_judged(eyes: FourEyes) -> None:
    """Without an operators file a dealer decided, and gave no reason: the journal has both."""
    with_excess_card(eyes)
    eyes.core.judge(Command(name="acknowledge", operator="Kim"))
    eyes.core.judge(Command(name="hold", operator="Maria"))
    eyes.core.judge(Command(name="resume", operator="Kim"))
    eyes.core.judge(Command(name="dealer", operator="Kim", dealer="Somebody Else"))
    assert eyes.core.judge(Command(name="void_round", operator="Kim")).refusal is None
    table = Table()
    for each in eyes.core.reader.observations():
        table.apply(each)
    folded = eyes.core.table
    assert (table.public(), table.history()) == (folded.public(), folded.history())
    assert table.state.seq == folded.state.seq


def test_reports_do_not_push_a_grave_irregularity_out(eyes: FourEyes) -> None:
    """Of more than twenty open ones the oldest without a held result is closed."""
    eyes.deal("2S", "2H", "KD", "3C")
    eyes.core.observe(Result(outcome="player"), CardDrawn(card=Card("9S"), slot=Slot.P1))
    missing = next(
        each.data.id for each in eyes.core.table.state.alerts if each.data.kind == "missing_draw"
    )
    refused = [
        eyes.give("hold", kind="card_off_table").command.refused for _ in range(MAX_ALERTS + 3)
    ]
    assert set(refused) == {None, NEEDS_SUPERVISOR}
    assert refused[-1] == NEEDS_SUPERVISOR
    assert missing in {each.data.id for each in eyes.core.table.state.alerts}


def test_a_dealer_signs_on_and_off_for_himself_only(eyes: FourEyes) -> None:
    def sign(dealer: str | None, who: str = "Kim", authority: Authority = DEALER) -> str | None:
        return eyes.give("dealer", who, authority, dealer=dealer).command.refused

    assert sign("Somebody Else") == NEEDS_SUPERVISOR
    assert sign("kim") == NEEDS_SUPERVISOR
    assert sign("Kim") is None
    assert sign(None, "Ann") == NEEDS_SUPERVISOR
    assert sign("Ann", "Ann") is None, "who relieves a dealer signs on"
    assert sign(None) == NEEDS_SUPERVISOR
    assert sign("Kim", "Maria", Authority(supervisor=True)) == NEEDS_PIN
    assert sign("Kim", "Maria", SUPERVISOR) is None
    assert sign(None) is None
    assert sign("Maria", "Maria", Authority(supervisor=True)) is None


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("correct_card", {"slot": Slot.P1, "card": Card("8S")}),
        ("enter_result", {"outcome": "tie"}),
        ("void_round", {}),
        ("rule", {"action": "void_round"}),
    ],
)
def test_a_change_needs_a_reason_and_its_preview_none(
    eyes: FourEyes, name: str, fields: dict[str, object]
) -> None:
    with_excess_card(eyes)
    for reason in (None, "", "  "):
        command = Command(name=name, operator="Maria", reason=reason, **fields)  # type: ignore[arg-type]
        assert eyes.core.judge(command, None, SUPERVISOR).command.refused == NEEDS_REASON
        previewed = eyes.core.preview(command, None, SUPERVISOR)
        assert previewed.preview is not None
        assert previewed.preview.needs == (True, True)
        assert previewed.refusal is None or previewed.refusal.text != NEEDS_REASON
        # Logs of other versions have commands without one.
        assert eyes.core.table.refusal(command) == previewed.refusal


def test_an_undo_needs_a_reason_where_the_round_is_finished(eyes: FourEyes) -> None:
    def give(name: str, reason: str | None, **fields: object) -> str | None:
        return eyes.give(name, "Maria", SUPERVISOR, reason=reason, **fields).command.refused

    eyes.deal("9S", "2H")
    assert give("correct_card", "seen", slot=Slot.P1, card=Card("8S")) is None
    assert give("undo", None) is None
    assert give("correct_card", "seen", slot=Slot.P1, card=Card("8S")) is None
    eyes.core.observe(
        CardDrawn(card=Card("KD"), slot=Slot.P2),
        CardDrawn(card=Card("3C"), slot=Slot.B2),
        Result(outcome="player"),
    )
    assert give("undo", None) == NEEDS_REASON
    assert give("undo", "it was a nine") is None
