"""
Any shoe, dealt rightly and wrongly, with any orders of the person in charge: the
table never falls, loses no card, says no result that its cards contradict,
counts what it said, shows no face too early, neither at once nor in its past, survives
a stop at any moment, and comes clean with the next shoe.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import DEALING_ORDER, Outcome, Slot
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.game.irregularities import REPORTABLE_KINDS
from shoe_daemon.game.result_notation import format_sequence
from shoe_daemon.game.rulings import POLICY_IDS, Action
from shoe_daemon.table import Event, encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.commands.dispatch import COMMANDS
from shoe_daemon.table.options import ResultOn, RoundEnd
from shoe_daemon.table.table import Table
from tests.misdeals.event_bookkeeping import EventBookkeeping
from tests.misdeals.supervised_table import SupervisedTable
from tests.table.dealer import NATURAL, house, public_json
from tests.table.history_model import HistoryModel
from tests.table.test_embargo import Embargo
from tests.volume import volume

PLACES = st.sampled_from(list(Slot))
SECONDS = st.sampled_from([0.5, 1, 4, 11])
ENDS = [
    seen.Result(outcome="player"),
    seen.Result(outcome="banker"),
    seen.Result(outcome="tie", player_pair=False),
    seen.Result(forced=True),
    seen.Result(),
    seen.TableCleared(),
    seen.NoMoreBets(),
    seen.BettingOpen(),
    seen.Tick(),
    seen.Tick(),
]
BREAKS = [
    seen.Booted(),
    seen.CutCardSeen(),
    seen.Gap(),
    seen.Gap(detail=seen.GapDetail.RESTART),
    seen.DeviceError(cause=seen.Cause.OVERDRAW),
    seen.DeviceError(cause=seen.Cause.TIMEOUT),
    seen.DeviceError(cause=seen.Cause.CARD_RETURNED),
    seen.DeviceErrorCleared(),
    seen.Lock(locked=True),
    seen.Link(up=False),
]
FIELDS: dict[str, list[str]] = {
    "acknowledge": ["irregularity"],
    "correct_card": ["slot", "card", "round"],
    "enter_card": ["card"],
    "enter_result": ["outcome", "player_pair"],
    "hold": ["kind"],
    "new_shoe": ["left"],
    "rule": ["irregularity", "action"],
    "void_round": ["round"],
}
"""Arguments of an order beside its name."""
VERBS = sorted(set(COMMANDS) - {"replay"})
OFTEN = ["rule", "rule", "rule", "acknowledge", "correct_card", "correct_card", "undo"]


class Watch(Embargo):
    """Cards that players may know, at a table where a person gives orders too."""

    def _see(self, told: seen.Observation, now: int) -> None:
        super()._see(told, now)
        if isinstance(told, seen.Command) and told.name in {"no_more_bets", "betting_open"}:
            self.shown |= self.lying


class AnyShoe(RuleBasedStateMachine):
    """One table, its dealer, who makes mistakes, and its supervisor, who does too."""

    @initialize(
        style=st.sampled_from(list(DealingStyle)),
        mode=st.sampled_from(list(RoundEnd)),
        result_on=st.sampled_from(list(ResultOn)),
        hold_from=st.sampled_from([None, 1, 3]),
        policy=st.sampled_from(POLICY_IDS),
        seed=st.integers(0, 2**32),
        slots=st.booleans(),
    )
    def open(self, style: DealingStyle, seed: int, *, slots: bool, **how: Any) -> None:  # noqa: ANN401 - as drawn
        """Open the table with one deck, of which every card can be told from every other."""
        policy, mode = how.pop("policy"), how.pop("mode")
        self.pit = SupervisedTable(
            house(dealing_style=style), policy=policy, decks=1, round_end=mode, **how
        )
        self.deck = Random(seed).sample(DECK, 52)
        self.slots = slots
        self.books, self.watch, self.board = EventBookkeeping(), Watch(style), HistoryModel()

    def say(
        self, told: seen.Observation, after: float = 1, *, drawn: Card | None = None, n: int = 0
    ) -> list[Event]:
        """Tell it something, with which so many cards leave the shoe."""
        twin = Table.restore(self.pit.table.checkpoint())
        read, kept = self.read(), len(self.pit.table.state.changes)
        said = self.pit.say(told, after)
        again = twin.apply(self.pit.log[-1])
        assert list(map(encode_event, again)) == list(map(encode_event, said))
        assert twin.checkpoint() == self.pit.table.checkpoint()
        self.books.enter(said, n, [] if drawn is None else [str(drawn)])
        if isinstance(told, seen.Command) and not self.is_new(said):
            change = {face: self.read()[face] - read[face] for face in read}
            more = len(self.pit.table.state.changes) > kept
            self.books.correct(told, Counter({f: k for f, k in change.items() if k}), kept=more)
        if self.is_new(said):
            self.books.changes = [Counter() for _ in self.pit.table.state.changes]
        self.books.check(self.pit.table)
        self.watch.hold(self.pit, told, said)
        self.board.hear(public_json(said))
        self.board.check(self.pit.table)
        assert format_sequence(self.pit.table.results()) == self.board.sequence()
        return said

    def read(self) -> dict[str, int]:
        """Return how often each face was read of this shoe."""
        shoe = self.pit.table.state.shoe
        return {str(card): 0 if shoe is None else shoe.seen[card.index] for card in DECK}

    @staticmethod
    def is_new(said: list[Event]) -> bool:
        """Tell whether another shoe was begun."""
        return any(event.type == "shoe_started" for event in said)

    def due(self) -> Slot:
        """Say which place a reader would name that only counts."""
        round_ = self.pit.table.state.round
        dealt = 0 if round_ is None or round_.ended else len(round_.cards)
        return DEALING_ORDER[dealt % 6]

    def free(self, slot: Slot) -> Slot | None:
        """Name a place, if the reader names any, and no card lies there unread."""
        round_ = self.pit.table.state.round
        unread = {card.slot for card in round_.cards if card.unread} if round_ else set()
        declared = {card.declared for card in round_.cards if card.unread} if round_ else set()
        return slot if self.slots and slot not in unread | declared else None

    @precondition(lambda self: self.deck)
    @rule(times=st.integers(1, 5), after=SECONDS)
    def deal(self, times: int, after: float) -> None:
        """Deal some cards, whether they are due or not."""
        for _ in range(min(times, len(self.deck))):
            card = self.deck.pop()
            told = seen.CardDrawn(card=card, slot=self.free(self.due()))
            self.say(told, after, drawn=card, n=1)

    @precondition(lambda self: self.deck)
    @rule(slot=st.sampled_from(DEALING_ORDER), role=st.sampled_from(list(seen.Role)))
    def misdeal(self, slot: Slot, role: seen.Role) -> None:
        """Lay a card anywhere, or burn it, or draw it outside the game."""
        card = self.deck.pop()
        place = self.free(slot) if role is seen.Role.PLAY else None
        self.say(seen.CardDrawn(card=card, slot=place, role=role), drawn=card, n=1)

    @precondition(lambda self: self.deck)
    @rule()
    def unread(self) -> None:
        """Let a card pass unread."""
        self.deck.pop()
        self.say(seen.Unreadable(slot=self.free(self.due())), n=1)

    @rule(told=st.sampled_from(ENDS), after=SECONDS)
    def end(self, told: seen.Observation, after: float) -> None:
        """Press a button, or wait."""
        self.say(told, after)

    @rule(told=st.sampled_from(BREAKS))
    def fail(self, told: seen.Observation) -> None:
        """Let the reader fail."""
        self.say(told)

    @rule(
        name=st.sampled_from([*VERBS, *OFTEN]),
        slot=PLACES,
        card=st.sampled_from(DECK),
        number=st.none() | st.integers(1, 4),
        which=st.integers(0, 3),
        action=st.sampled_from(list(Action)),
        outcome=st.sampled_from(list(Outcome)),
        kind=st.none() | st.sampled_from(sorted(REPORTABLE_KINDS)),
        flag=st.none() | st.booleans(),
    )
    def order(self, name: str, **how: Any) -> None:  # noqa: ANN401 - as drawn
        """Give an order, whether it fits or not."""
        open_ = [alert.data.id for alert in self.pit.table.public().alerts]
        values = {
            "irregularity": open_[how["which"] % len(open_)] if open_ else None,
            "round": how["number"],
            "player_pair": how["flag"],
            "left": how["number"],
        } | how
        fields = {field: values[field] for field in FIELDS.get(name, [])}
        told = self.pit.command(name, **fields)
        if "card" in fields:  # it lies on the table, so that it is in the shoe no more
            self.deck = [card for card in self.deck if card is not fields["card"]]
        if self.pit.table.refusal(told) is None:
            self.say(told, 0)
        else:
            self.pit.refused(name, **fields)

    def teardown(self) -> None:
        """Come clean with the next shoe, and say the same once more to another table."""
        if not hasattr(self, "pit"):
            return
        pit = self.pit
        assert pit.replayed() == pit.said()
        for told in (seen.DeviceErrorCleared(), seen.Lock(locked=False)):
            pit.say(told)
        if pit.table.public().on_hold:
            pit.cmd("resume")
        pit.wait(60)
        while alerts := pit.table.public().alerts:
            pit.cmd("acknowledge", irregularity=alerts[0].data.id)
        pit.cmd("new_shoe")
        pit.cmd("new_shoe")
        pit.cmd("no_more_bets")
        public = pit.table.public()
        assert {reader.state for reader in public.readers} <= {"ok"}
        assert (public.alerts, public.held, public.round) == ((), (), None)
        pit.events.clear()
        pit.deal(NATURAL, slots=self.slots)
        pit.result("player")
        pit.wait(20)
        assert [(each.partial, each.outcome) for each in pit.finished()] == [(False, "player")]
        assert pit.kinds() == []
        assert pit.out() == 4


def test_any_shoe() -> None:
    run_state_machine_as_test(
        AnyShoe,
        settings=settings(
            max_examples=volume(15, 60),
            stateful_step_count=40,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
