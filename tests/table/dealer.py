"""
A dealer for the tests: deals at a table, a second between observations, and
looks at what the table says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import (
    DEFAULT_HOUSE,
    Burn,
    CutCard,
    DealingStyle,
    House,
    house_to_mapping,
)
from shoe_daemon.table import DETAIL_VALUES, Event, encode_event, is_staff, make_detail
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn, RoundEnd
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Burn",
    "CutCard",
    "Dealer",
    "DealingStyle",
    "House",
    "ResultOn",
    "RoundEnd",
    "Slot",
    "card",
    "cards",
    "house",
    "kinds",
    "of_type",
    "one",
    "public_json",
    "types",
]

START = 1_700_000_000_000_000
"""When the tests' clock begins, in microseconds since 1970."""

FACE_UP, TUCKED, SQUEEZE = DealingStyle

# Rounds to know by heart: slots and cards.
NATURAL = "P1 9S, B1 2H, P2 KD, B2 3C"
"""The Player has 9 against 5."""
BOTH_STAND = "P1 6S, B1 7H, P2 KD, B2 QC"
"""6 against 7."""
BANKER_STANDS = "P1 2S, B1 7H, P2 3D, B2 QC, P3 4S"
"""The Player draws to 9; the Banker stands on 7."""
BANKER_DRAWS = "P1 6S, B1 2H, P2 KD, B2 3C, B3 9D"
"""The Player stands on 6; the Banker draws to 4."""
SIX = "P1 2S, B1 2H, P2 3D, B2 QC, P3 4S, B3 5D"
"""Both draw: 9 against 7."""
TIE = "P1 7S, B1 7H, P2 KD, B2 QC"
"""7 against 7."""


def house(**changes: Any) -> House:  # noqa: ANN401 - any field of a house
    """Make a house that differs from no house at all in a few things."""
    return replace(DEFAULT_HOUSE, name="A house", **changes)


def card(text: str | None) -> Card | None:
    """Read a card; ``--`` is one whose face is not known."""
    return None if text in {None, "--"} else Card(text)


def cards(text: str) -> tuple[Card, ...]:
    """Read cards: ``8S 10H``."""
    return tuple(map(Card, text.split()))


def types(events: Iterable[Event]) -> list[str]:
    """Name the events."""
    return [event.type for event in events]


def of_type(events: Iterable[Event], kind: str) -> list[Any]:
    """Return the data of the events of one type."""
    return [event.data for event in events if event.type == kind]


def one(events: Iterable[Event], kind: str) -> Any:  # noqa: ANN401 - the data of any event
    """Return the data of the only event of a type."""
    (data,) = of_type(events, kind)
    return data


def kinds(events: Iterable[Event]) -> list[str]:
    """Name the irregularities."""
    return [str(data.kind) for data in of_type(events, "irregularity")]


def public_json(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return what goes to the players, as they would read it."""
    return [msgspec.json.decode(encode_event(e)) for e in events if not is_staff(e.type)]


def refusal_text(table: Table, order: seen.Command) -> str | None:
    """Return the sentence with which a table would refuse an order; check its code and values."""
    reason = table.refusal(order)
    if reason is None:
        return None
    if reason.code:
        assert reason == make_detail(reason.code, **reason.values)
        assert reason.values.keys() == set(DETAIL_VALUES[reason.code])
    return reason.text


class Dealer:
    """
    Deals at one table.

    Attributes:
        table: The table.
        events: All that it has said.
        log: All that it was told.
    """

    def __init__(
        self,
        rules: House | str | None = None,
        *,
        session: bool = True,
        **options: Any,  # noqa: ANN401 - any field of the options
    ) -> None:
        self.table = Table()
        self.now = START
        self.events: list[Event] = []
        self.log: list[seen.Observation] = []
        if session:
            self.say(self.session(rules, **options))

    @staticmethod
    def session(
        rules: House | str | None = None,
        *,
        table: str = "table",
        **options: Any,  # noqa: ANN401 - any field of the options
    ) -> seen.Session:
        """Make a session with a house by name or in full."""
        full = house_to_mapping(rules) if isinstance(rules, House) else None
        name = rules if isinstance(rules, str) else None
        return seen.Session(house=name, rules=full, table=table, options=Options(**options))

    def say(self, observation: seen.Observation, after: float = 1) -> list[Event]:
        """Tell the table something, some seconds after the last."""
        self.now += round(after * 1_000_000)
        stamped = replace(observation, at=from_microseconds(self.now))
        self.log.append(stamped)
        said = self.table.apply(stamped)
        self.events += said
        return said

    def draw(self, face: str | None, slot: str | None = None, after: float = 1) -> list[Event]:
        """Draw one card for play."""
        place = None if slot is None else Slot(slot)
        return self.say(seen.CardDrawn(card=card(face), slot=place), after)

    def deal(self, text: str, *, slots: bool = True, hidden: bool = False) -> list[Event]:
        """Draw cards, ``P1 8S, B1 3H``, and return the events."""
        said = []
        for each in text.split(", "):
            slot, face = each.split()
            said += self.draw(None if hidden else face, slot if slots else None)
        return said

    def disclose(self, text: str) -> list[Event]:
        """Turn cards over, ``P1 8S, B1 3H``."""
        said = []
        for each in text.split(", "):
            slot, face = each.split()
            said += self.say(seen.Disclosed(slot=Slot(slot), card=Card(face)))
        return said

    def burn(self, text: str, *, first: bool = True) -> list[Event]:
        """Burn cards; the first of them as the first card of a shoe."""
        said = []
        for place, face in enumerate(text.split()):
            role = seen.Role.FIRST if first and place == 0 else seen.Role.BURN
            said += self.say(seen.CardDrawn(card=card(face), role=role))
        return said

    def outside(self, face: str | None = None) -> list[Event]:
        """Draw a card outside the game."""
        return self.say(seen.CardDrawn(card=card(face), role=seen.Role.OUTSIDE))

    def result(
        self, outcome: str | None = None, *, forced: bool = False, pairs: str | None = None
    ) -> list[Event]:
        """Declare a result; `pairs` holds ``p`` and ``b``, or is None where not declared."""
        return self.say(
            seen.Result(
                outcome=outcome,
                forced=forced,
                player_pair=None if pairs is None else "p" in pairs,
                banker_pair=None if pairs is None else "b" in pairs,
            )
        )

    def order(self, name: str, refused: str | None = None) -> list[Event]:
        """Give an operator's order."""
        return self.say(seen.Command(name=name, operator="ann", refused=refused))

    def error(self, cause: str, source: str | None = None) -> list[Event]:
        """Let the reader report an error."""
        return self.say(seen.DeviceError(cause=seen.Cause(cause), source=source))

    def cleared(self, cause: str | None = None) -> list[Event]:
        """Let the reader report the end of an error."""
        return self.say(
            seen.DeviceErrorCleared(cause=None if cause is None else seen.Cause(cause))
        )

    def gap(self, detail: str = "lost_frames") -> list[Event]:
        """Say that something was missed."""
        return self.say(seen.Gap(detail=seen.GapDetail(detail)))

    def wait(self, seconds: float) -> list[Event]:
        """Let time pass."""
        return self.say(seen.Tick(), seconds)

    def kinds(self) -> list[str]:
        """Name every irregularity so far."""
        return kinds(self.events)

    def open_kinds(self) -> list[str]:
        """Name the irregularities that are open."""
        return [str(alert.data.kind) for alert in self.table.public().alerts]

    def finished(self) -> list[Any]:
        """Return every result so far."""
        return of_type(self.events, "round_finished")

    def out(self) -> int:
        """Return how many cards have left this shoe."""
        shoe = self.table.state.shoe
        return 0 if shoe is None else shoe.out
