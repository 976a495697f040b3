"""Random observations from a seed, mostly in a plausible order, so that rounds come about."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import DEALING_ORDER, Outcome, Slot
from shoe_daemon.game.house_rules import Burn, CutCard, DealingStyle, house_to_mapping
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn, RoundEnd
from shoe_daemon.table.times import from_microseconds
from tests.table.dealer import START, house

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDERS = ["new_shoe", "no_more_bets", "betting_open", "reveal", "confirm_result"]
DECISIONS = [
    "acknowledge",
    "correct_card",
    "enter_card",
    "enter_result",
    "hold",
    "pass_shoe",
    "resume",
    "rule",
    "undo",
    "void_round",
    "weather",
]
ACTIONS = ["continue", "draw_now", "burn_card", "carry_to_next_hand", "void_round", "rescan", "x"]
SOURCES = [None, None, None, "shoe", "camera"]
PLAIN = [
    seen.CutCardSeen,
    seen.Booted,
    seen.Standby,
    seen.TableCleared,
    seen.NoMoreBets,
    seen.BettingOpen,
    seen.Tick,
]


_GAPS = [seen.GapDetail.LOST_FRAMES, seen.GapDetail.RECONNECT, seen.GapDetail.RESTART]
"""Those of a running table."""


class RandomObservations:
    """One table's weather."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = START
        self.next = 0
        self.slots = self.random.random() < 0.6
        self.hides = self.random.random() < 0.3

    def generate(self, count: int) -> Iterator[seen.Observation]:
        """Make so many observations, the first of them a session."""
        yield self.stamped(self.session())
        for _ in range(count - 1):
            yield self.stamped(self.observation())

    def stamped(self, observation: seen.Observation) -> seen.Observation:
        """Let some time pass."""
        self.now += self.random.choice([0, 1, 40, 700, 1_000, 1_000, 2_500, 9_999, 10_000]) * 1000
        return replace(
            observation, at=from_microseconds(self.now), source=self.random.choice(SOURCES)
        )

    def session(self) -> seen.Observation:
        """Make any configuration, as a log holds it."""
        pick = self.random.choice
        rules = house(
            dealing_style=pick(list(DealingStyle)),
            decks=pick([1, 2, 8]),
            reshuffle=pick(["per_shoe", "per_shoe", "per_hand", "continuous"]),
            burn=Burn(
                mode=pick(["first_card", "per_deck", "fixed", "none", "unchecked"]),
                fixed=pick([0, 3]),
                face_down=pick([True, False]),
            ),
            cut_card=CutCard(
                mode=pick(["checked", "none", "unchecked"]),
                hands_after=pick([0, 1, 2]),
                as_first_card=pick(["last_hand", "counts_as_mid_hand"]),
            ),
        )
        options = Options(
            round_end=pick(list(RoundEnd)),
            result_on=pick(list(ResultOn)),
            reveal_after=pick([None, 0, 3, 30]),
            quiet_gap=pick([0, 2.5, 10]),
            timeless=pick([False, False, False, True]),
            hold_from=pick([None, None, 1, 3, 5]),
        )
        # Not drawn, so that the other observations of a seed stay what they were.
        rules = replace(rules, player_on_5="chooses" if self.now // 1000 % 2 else "draws")
        session = seen.Session(at="1970-01-01T00:00:00Z", options=options)
        session = replace(session, rules=house_to_mapping(rules))
        return seen.decode_observation(seen.encode_observation(session))

    def observation(self) -> seen.Observation:
        """Make any observation."""
        dice = self.random.random()
        if dice < 0.62:
            return self.card()
        if dice < 0.80:
            return self.end()
        if dice < 0.90:
            return self.fault()
        if dice < 0.96:
            return self.random.choice(PLAIN)()
        return self.decision() if dice < 0.995 else self.session()

    def face(self) -> Card | None:
        """Draw a face, if the reader tells it."""
        if self.random.random() < (0.7 if self.hides else 0.03):
            return None
        return self.random.choice(DECK)

    def slot(self) -> Slot | None:
        """Name a place: the next in order, or none, or any."""
        if self.random.random() < 0.03:
            return self.random.choice(DEALING_ORDER)
        if not self.slots:
            return None
        if self.next > 3 and self.random.random() < 0.4:
            self.next = self.random.choice([0, 5])
        slot = DEALING_ORDER[self.next % 6]
        self.next = (self.next + 1) % 6
        return slot

    def card(self) -> seen.Observation:
        """Draw a card."""
        dice = self.random.random()
        if dice < 0.94:
            return seen.CardDrawn(card=self.face(), slot=self.slot())
        if dice < 0.97:
            return seen.CardDrawn(card=self.face(), role=self.random.choice(list(seen.Role)))
        return seen.Unreadable(slot=self.slot())

    def end(self) -> seen.Observation:
        """Say something of a round that is dealt."""
        dice, pick = self.random.random(), self.random.choice
        if dice < 0.5:
            self.next = 0
            flags = [None, True, False]
            return seen.Result(
                outcome=pick([None, *(each.value for each in Outcome)]),
                forced=self.random.random() < 0.05,
                player_pair=pick(flags),
                banker_pair=pick(flags),
            )
        if dice < 0.8:
            return seen.Disclosed(slot=pick(DEALING_ORDER), card=pick(DECK))
        if dice < 0.85:
            return seen.Placed(slot=pick(DEALING_ORDER), card=pick(DECK))
        refused = pick([None, None, "expired"])
        return seen.Command(name=pick(ORDERS), operator="ann", refused=refused)

    def decision(self) -> seen.Observation:
        """Let an operator decide something, with any fields that an order may have."""
        pick, dice = self.random.choice, self.random.randrange
        return seen.Command(
            name=pick(DECISIONS),
            id=pick([None, "a-1"]),
            operator=pick([None, "ann"]),
            claimed=pick([True, False]),
            reason=pick([None, "because"]),
            irregularity=pick([None, dice(200), dice(2000)]),
            action=pick([None, *ACTIONS]),
            round=pick([None, dice(20)]),
            slot=pick([None, *DEALING_ORDER]),
            card=pick([None, *DECK]),
            outcome=pick([None, *Outcome]),
            player_pair=pick([None, True, False]),
            banker_pair=pick([None, True, False]),
            seat=pick([None, dice(20)]),
        )

    def fault(self) -> seen.Observation:
        """Let the reader fail."""
        pick = self.random.choice
        cause = pick(list(seen.Cause))
        return pick(
            [
                seen.DeviceError(cause=cause, code=pick([None, 7, "E7"]), text=pick([None, "x"])),
                seen.DeviceErrorCleared(cause=pick([None, cause])),
                seen.Gap(detail=pick(_GAPS)),
                seen.Link(up=pick([True, False])),
                seen.Lock(locked=pick([True, False])),
                seen.Withdrawn(card=self.face()),
                seen.Carried(card=self.face()),
            ]
        )
