"""
Any observations: the table does not fail, counts every card, does not contradict itself, stays
small, and is clean with the next shoe.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import DEALING_ORDER
from shoe_daemon.table import ResultRevised, RoundFinished, encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table
from tests.public_json import encode_public_table
from tests.table import reference_rules
from tests.table.dealer import NATURAL, Dealer, of_type, types
from tests.table.random_observations import RandomObservations
from tests.volume import volume

if TYPE_CHECKING:
    from shoe_daemon.table import Event

STORMS = [9008, 9172, 9270, 11148, *range(volume(5, 100))]
"""The first four once found a fault each."""

LENGTH = 2500
AT_THE_TABLE = {"round_started", "card_dealt", "draw_due", "round_aborted"}


def agrees_with_itself(data: RoundFinished) -> bool:
    """Tell whether a result is that of its own cards."""
    if data.partial:
        return data.outcome is not None or data.wagers == ()
    hands = [[str(card) for card in hand.cards] for hand in (data.player, data.banker)]
    cards = [card for pair in zip(hands[0][:2], hands[1][:2], strict=True) for card in pair]
    thirds = hands[0][2:] + hands[1][2:]
    # Some of the houses let the Player choose on 5.
    expected = reference_rules.deal(cards + thirds, stands_on_5=hands[0][2:] == [])
    return (
        [expected.player, expected.banker] == hands
        and data.outcome == expected.outcome
        and (data.player.total, data.banker.total)
        == (expected.player_total, expected.banker_total)
    )


class Record:
    """Checks what a table says, event by event."""

    def __init__(self) -> None:
        self.seq = 0
        self.shoe = 0
        self.round = 0
        self.over: set[tuple[int, int | None]] = set()

    def check(self, event: Event) -> None:
        """Check one event against all before it."""
        self.seq += 1
        assert event.seq == self.seq
        if event.type == "shoe_started":
            self.shoe, self.round = self.shoe + 1, 0
        elif event.type == "round_started":
            self.round += 1
        assert event.shoe == (self.shoe or None)
        if event.type in AT_THE_TABLE:
            assert event.round == self.round
        elif event.round is not None:  # a decision or a face may be of a round before
            assert 1 <= event.round <= self.round + (event.type == "betting_closed")
        if event.type in {"round_finished", "round_aborted"}:
            where = (self.shoe, event.round)
            assert where not in self.over
            self.over.add(where)
        if isinstance(event.data, ResultRevised) and event.data.after is None:
            self.over.discard((self.shoe, event.round))  # it lacks a card, and goes on
        if isinstance(event.data, RoundFinished):
            assert agrees_with_itself(event.data), event


@pytest.mark.parametrize("seed", STORMS)
def test_any_observations(seed: int) -> None:
    table, observations, record = Table(), RandomObservations(seed), Record()
    for number, observation in enumerate(observations.generate(LENGTH)):
        for event in table.apply(observation):
            record.check(event)
            assert len(encode_event(event)) < 10_000
        if number % 50 == 0:
            # The rounds of a shoe are in it, and the states before what can be undone.
            assert len(table.checkpoint()) < 256_000
            # The message leaves alerts out where it would be longer than 10 kB.
            assert len(encode_public_table(table.public())) < 40_000
            shoe = table.state.shoe
            assert shoe is None or shoe.out >= sum(shoe.seen)
    _comes_clean(table, observations)


def _comes_clean(table: Table, observations: RandomObservations) -> None:
    dealer = Dealer(session=False)
    dealer.table, dealer.now = table, observations.now + 60_000_000
    for source in (None, "shoe", "camera"):
        dealer.say(seen.DeviceErrorCleared(source=source))
        dealer.say(seen.Lock(locked=False, source=source))
    dealer.order("resume")
    dealer.order("new_shoe")
    dealer.say(Dealer.session(round_end=RoundEnd.DEVICE))
    dealer.order("new_shoe")
    for alert in table.public().alerts:  # what arose between the shoes waits for a person
        dealer.say(seen.Command(name="acknowledge", irregularity=alert.data.id))
    dealer.order("no_more_bets")
    public = table.public()
    assert {reader.state for reader in public.readers} <= {"ok"}
    assert public.round is None
    assert public.alerts == ()
    dealer.events.clear()
    dealer.deal(NATURAL)
    dealer.result("player")
    assert [each.partial for each in dealer.finished()] == [False]
    assert dealer.kinds() == []
    assert dealer.out() == 4


@pytest.mark.parametrize("mode", list(RoundEnd))
@pytest.mark.parametrize("slots", [True, False])
def test_every_card_that_left_is_counted(mode: RoundEnd, *, slots: bool) -> None:
    for seed in range(volume(1, 3)):
        random = Random(seed)
        dealer = Dealer(round_end=mode)
        out = 0
        for face in random.sample(DECK, 52) * 8:
            slot = random.choice(DEALING_ORDER) if slots else None
            role = random.choices(list(seen.Role), [40, 1, 1, 1])[0]
            if slots or random.random() < 0.95:
                told: seen.Observation = seen.CardDrawn(card=face, slot=slot, role=role)
            else:
                told = seen.Unreadable()
            said = types(dealer.say(told, after=random.choice([1, 12])))
            out = 1 if "shoe_started" in said else out + 1
            assert dealer.out() == out
            if random.random() < 0.2:
                end = random.choice([seen.Result(), seen.TableCleared(), seen.Gap()])
                dealer.say(end)
            if random.random() < 0.01:
                dealer.order("new_shoe")
                out = 0


def test_a_shoe_without_any_end_stays_small() -> None:
    for mode in RoundEnd:
        for slots in (True, False):
            dealer = Dealer(round_end=mode)
            random = Random(1)
            for _ in range(volume(300, 2000)):
                slot = random.choice(DEALING_ORDER) if slots else None
                dealer.draw(random.choice(DECK).value, slot and slot.value, after=0.001)
            assert len(dealer.table.checkpoint()) < 128_000


def test_deadlines_are_met_however_late() -> None:
    dealer = Dealer(round_end=RoundEnd.QUIET, quiet_gap=0)
    dealer.deal(NATURAL, slots=False)
    dealer.wait(10_000_000)
    dealer.deal(NATURAL, slots=False)
    assert len(of_type(dealer.events, "round_finished")) == 2
    assert dealer.kinds() == []
