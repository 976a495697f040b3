"""
Nothing that the players have not seen is said outside ``staff_…``.

Every card of these tables is unique, so that a face that is found anywhere in
what is public can be traced to its card.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given, note, settings
from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.public_json import encode_public_table
from tests.table import reference_rules
from tests.table.dealer import FACE_UP, SQUEEZE, TUCKED, Dealer, house, of_type, public_json
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoe_daemon.table import Event

FACE = re.compile(r"\b(?:[A2-9JQK]|10)[SHDC]\b")
DECKS = st.integers(0, 2**32).map(lambda seed: Random(seed).sample(DECK, 52))
PLACES = st.none() | st.sampled_from(list(Slot))
SECONDS = st.sampled_from([0.5, 1, 2, 4, 11])
# What lets people see every card that lies there: it is turned over, or the
# round is over and the cards are collected.
SHOWS = (seen.Result, seen.NoMoreBets, seen.BettingOpen, seen.TableCleared)
ORDERS = ["reveal", "confirm_result", "new_shoe"]
DECISIONS = ["correct_card", "enter_card", "undo", "void_round", "hold", "resume"]
BOUNDARIES: list[seen.Observation] = [
    seen.Booted(),
    seen.CutCardSeen(),
    seen.Tick(),
    seen.Standby(),
    seen.TableCleared(),
    seen.BettingOpen(),
    seen.NoMoreBets(),
    seen.Result(outcome="player", player_pair=True),
    seen.Result(),
    seen.Result(forced=True),
    seen.Gap(),
    seen.Gap(detail=seen.GapDetail.RESTART),
    seen.DeviceError(cause=seen.Cause.OVERDRAW),
    seen.DeviceError(cause=seen.Cause.UNREADABLE),
    seen.DeviceErrorCleared(),
    *(seen.Command(name=name) for name in ORDERS),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Dealer, Embargo, Iterator[tuple[seen.Observation, float]]]:
    """Draw a table and what it is told."""
    style = draw(st.sampled_from(list(DealingStyle)))
    mode = draw(st.sampled_from(list(RoundEnd)))
    deck = iter(draw(DECKS))
    dealer = Dealer(house(dealing_style=style), round_end=mode)
    slotted = draw(st.booleans())
    return dealer, Embargo(style), _observations(draw, deck, dealer, slotted=slotted)


def _observations(
    draw: st.DrawFn, deck: Iterator[Card], dealer: Dealer, *, slotted: bool
) -> Iterator[tuple[seen.Observation, float]]:
    hidden: list[tuple[Slot, Card]] = []
    drawn: list[tuple[Slot, Card]] = []
    for _ in range(draw(st.integers(4, 40))):
        what = draw(st.integers(0, 13))
        face = next(deck)
        round_ = dealer.table.state.round
        due = Slot.P1 if round_ is None or round_.ended else list(Slot)[len(round_.cards) % 6]
        slot = draw(PLACES) if what == 0 else due if slotted else None
        if what <= 6:
            known = draw(st.integers(0, 4)) > 0
            (drawn if known else hidden).append((slot or due, face))
            role = seen.Role.PLAY if what else draw(st.sampled_from(list(seen.Role)))
            yield seen.CardDrawn(card=face if known else None, slot=slot, role=role), draw(SECONDS)
        elif what == 7 and hidden:
            place, turned = hidden.pop(0)
            yield seen.Disclosed(slot=place, card=turned), 1
        elif what == 8 and drawn:
            place, turned = draw(st.sampled_from(drawn))
            yield seen.Disclosed(slot=place, card=turned), 1
        elif what == 9:
            yield seen.Unreadable(slot=slot), 1
        elif what == 10:
            yield draw(st.sampled_from([seen.Withdrawn(card=face), seen.Carried(card=face)])), 1
        elif what == 11 and draw(st.booleans()):
            name = draw(st.sampled_from(DECISIONS))
            yield seen.Command(name=name, operator="ann", slot=slot or due, card=face), 1
        else:
            yield draw(st.sampled_from(BOUNDARIES)), draw(SECONDS)


class Embargo:
    """
    Knows what the players have seen, from what happened at the table alone, and
    holds everything public against it.
    """

    def __init__(self, style: DealingStyle) -> None:
        self.style = style
        self.shown: set[str] = set()
        self.lying: set[str] = set()
        self.times: dict[str, int] = {}

    def hold(self, dealer: Dealer, told: seen.Observation, said: list[Event]) -> None:
        """Check what the table said of one observation, and what it shows now."""
        self._see(told, dealer.now)
        for event in said:
            if getattr(told, "action", None) == "burn_card_plus_value":
                # The card too many is turned over, to see its value.
                self.shown |= {data.card for data in of_type([event], "card_disclosed")}
            if event.type == "round_started":
                # Another round: whatever lies there has been collected, and seen.
                self.shown |= self.lying
        self._drawn(told, dealer, said)
        for public in public_json(said):
            self._check(json.dumps(public))
        self._check(encode_public_table(dealer.table.public()).decode())
        self._check_due(dealer, said)

    def _see(self, told: seen.Observation, now: int) -> None:
        if isinstance(told, seen.Disclosed | seen.Placed):
            self.shown.add(told.card.value)
        orders = isinstance(told, seen.Command) and told.name in ORDERS
        first = isinstance(told, seen.CardDrawn) and told.role is seen.Role.FIRST
        if isinstance(told, SHOWS) or orders or first:
            self.shown |= self.lying
        if self.style is TUCKED:
            self.shown |= {face for face, at in self.times.items() if now - at >= 3_000_000}

    def _drawn(self, told: seen.Observation, dealer: Dealer, said: list[Event]) -> None:
        face = getattr(told, "card", None)
        if face is None or isinstance(told, seen.Disclosed | seen.Placed):
            return
        if isinstance(told, seen.Command):
            self._decided(told, dealer, said)
        text, role = str(face.value), getattr(told, "role", seen.Role.PLAY)
        self.lying.add(text)
        # A card read at the second attempt was drawn before.
        self.times[text] = 0 if not any(e.type == "card_dealt" for e in said) else dealer.now
        burned = role in {seen.Role.BURN, seen.Role.FIRST}
        dealt = [each.data for each in said if each.type in {"card_dealt", "card_disclosed"}]
        round_ = dealer.table.public().round
        thirds = round_ is not None and not round_.partial and len(round_.cards) > 4
        hidden = {Slot.B1, Slot.B2} if thirds else {Slot.B1, Slot.B2, None}
        in_sight = bool(dealt) and dealt[-1].slot not in hidden  # type: ignore[attr-defined]
        if self.style is FACE_UP or burned or (self.style is TUCKED and in_sight):
            self.shown.add(text)

    def _decided(self, told: seen.Command, dealer: Dealer, said: list[Event]) -> None:
        # What is put in the place of a card that was seen is seen.
        round_ = dealer.table.public().round
        corrected = [event.data for event in said if event.type == "card_corrected"]
        before = [data.before for data in corrected]  # type: ignore[attr-defined]
        places = {told.slot} if told.slot else {data.slot for data in corrected}  # type: ignore[attr-defined]
        in_sight = self.style is TUCKED and not places & {Slot.B1, Slot.B2, None}
        in_sight |= self.style is FACE_UP or (round_ is not None and round_.finished)
        if told.card and (in_sight or self.shown & set(before)):
            self.shown.add(told.card.value)

    def _check(self, text: str) -> None:
        leaked = set(FACE.findall(text)) - self.shown
        assert not leaked, f"{leaked} in {text}"

    def _check_due(self, dealer: Dealer, said: list[Event]) -> None:
        round_ = dealer.table.public().round
        if round_ is None:
            return
        lies = {view.slot: view.card for view in round_.cards if view.slot is not None}
        for side, total in (("P", round_.player_total), ("B", round_.banker_total)):
            hand = [lies[slot] for slot in Slot if slot in lies and slot[0] == side]
            if total is not None:
                assert None not in hand
                assert total == reference_rules.hand_total([str(card) for card in hand])
        if round_.draw_due is None or round_.draw_due.code in {"dealing", "faces_hidden"}:
            return
        first = [lies.get(slot) for slot in list(Slot)[:4]]
        assert None not in first, "a draw was told from cards that nobody has seen"


@given(tables())
@settings(deadline=None, max_examples=volume(40, 150))
def test_no_face_leaves_before_it_is_seen(
    table: tuple[Dealer, Embargo, Iterator[tuple[seen.Observation, float]]],
) -> None:
    dealer, embargo, observations = table
    for told, after in observations:
        note(f"after {after}: {told}")
        said = dealer.say(told, after)
        embargo.hold(dealer, told, said)


def test_the_checker_would_find_a_leak() -> None:
    dealer = Dealer(house(dealing_style=FACE_UP))
    embargo = Embargo(SQUEEZE)
    told = seen.CardDrawn(card=Card("AS"), slot=Slot.P1)
    said = dealer.say(told)
    try:
        embargo.hold(dealer, told, said)
    except AssertionError:
        return
    raise AssertionError("a face went out and was not found")
