"""MQTT messages of a simulated table, shoe after shoe, without daemon and journal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from shoe_daemon.game import DEALING_ORDER, DECK, FIRST_CARDS, Card, Coup, Slot
from shoe_daemon.mqtt import documents, topics
from shoe_daemon.table import (
    Event,
    Options,
    RoundEnd,
    Table,
    encode_event,
    from_microseconds,
    is_staff,
    to_microseconds,
)
from shoe_daemon.table import observations as seen

__all__ = ["SESSION", "SITE", "TABLE", "Message", "Step", "simulated_steps", "status"]

SITE: Final = "bench"
TABLE: Final = "table-0000"

SESSION: Final = "0123abcd"
_HEARTBEAT: Final = 10
_DECKS: Final = 8
_CUT: Final = 14
_ODD: Final = 20
"""One round in this many has an excess card, which an operator acknowledges."""
_BEGIN: Final = to_microseconds("2026-11-21T20:00:00Z")
_CARD: Final = 3_000_000


class Message(NamedTuple):
    """A message below the table's topic."""

    suffix: str
    payload: bytes
    retained: bool = True


class Step(NamedTuple):
    """
    The messages caused by one card or one result.

    Attributes:
        seq: The state's number afterwards.
        shoe: The shoe's number.
        messages: In the daemon's order.
        begins: The first step of a shoe.
    """

    seq: int
    shoe: int
    messages: list[Message]
    begins: bool


def status() -> Message:
    """Return the birth message."""
    online = documents.Status(seq=0, session=SESSION, state="online")
    return Message(topics.STATUS, documents.encode_message(online))


def simulated_steps(seed: int) -> Iterator[Step]:
    """Yield the steps of a table endlessly; each is three seconds of table time."""
    table = _Table()
    options = Options(
        name="Baccarat",
        limits={"player": "100-50,000", "banker": "100-50,000", "tie": "25-5,000"},
        round_end=RoundEnd.DEVICE,
    )
    table.apply(seen.Session(site=SITE, table=TABLE, options=options))
    chance = random.Random(seed)
    while True:
        yield table.apply(seen.Command(name="new_shoe", operator="ann", reason="a new shoe"))
        shoe = chance.sample(list(DECK) * _DECKS, len(DECK) * _DECKS)
        while len(shoe) > _CUT:
            yield from map(table.apply, _round(shoe, odd=chance.randrange(_ODD) == 0))
            if table.alert is not None:
                yield table.apply(_acknowledged(table.alert))


def _round(shoe: list[Card], *, odd: bool) -> Iterator[seen.Observation]:
    coup = Coup.deal(shoe)
    player, banker = coup.player.cards, coup.banker.cards
    first = [card for pair in zip(player, banker, strict=False) for card in pair][:4]
    thirds = [
        (slot, card)
        for slot, card in ((Slot.P3, player[FIRST_CARDS:]), (Slot.B3, banker[FIRST_CARDS:]))
        if card
    ]
    for slot, card in zip(DEALING_ORDER, first, strict=False):
        yield seen.CardDrawn(slot=slot, card=card)
    for slot, (card,) in thirds:
        yield seen.CardDrawn(slot=slot, card=card)
    del shoe[: len(player) + len(banker)]
    if odd and not thirds:
        yield seen.CardDrawn(slot=Slot.P3, card=shoe.pop(0))
    yield seen.Result(outcome=coup.outcome)


def _acknowledged(irregularity: int) -> seen.Observation:
    return seen.Command(
        name="acknowledge", operator="ann", reason="seen", irregularity=irregularity
    )


class _Table:
    """The table, and its last published documents."""

    def __init__(self) -> None:
        self._table = Table()
        self._now = _BEGIN
        self._last: dict[str, Any] = {}

    @property
    def alert(self) -> int | None:
        """The open irregularity to acknowledge; None for none."""
        found = self._table.public().alerts
        return found[0].data.id if found else None

    def apply(self, observation: seen.Observation) -> Step:
        """Apply an observation; return the messages that follow."""
        self._now += _CARD
        at = from_microseconds(self._now)
        events = self._table.apply(msgspec.structs.replace(observation, at=at))
        seq = self._table.state.seq
        published = [_event(each) for each in events if not is_staff(each.type)]
        published += [message for message in self._retained(seq, at) if message is not None]
        shoe = self._table.state.shoe
        begins = any(each.type == "shoe_started" for each in events)
        return Step(seq, 0 if shoe is None else shoe.number, published, begins)

    def _retained(self, seq: int, at: str) -> Iterator[Message | None]:
        public, who = self._table.public(), {"seq": seq, "session": SESSION}
        yield Message(
            topics.STATE,
            documents.state(
                public, session=SESSION, alarm=None, heartbeat=_HEARTBEAT, published=at
            ),
        )
        yield self._changed(topics.ALERTS, public.alerts, documents.active_alerts, **who)
        history = self._table.history()
        yield self._changed(topics.HISTORY, history, documents.history, **who)
        options = documents.RoadOptions(
            leading_ties=self._table.state.session.options.leading_ties,
            tail=self._table.state.session.options.tail,
        )
        drawn = {"options": options, "shoe": history.shoe, **who}
        yield self._changed(
            topics.ROADS,
            self._table.results(),
            documents.road_map,
            **drawn,
        )

    def _changed(self, suffix: str, what: Any, encode: Any, **who: Any) -> Message | None:  # noqa: ANN401 - any document
        if self._last.get(suffix, ...) == what:
            return None
        self._last[suffix] = what
        return Message(suffix, encode(what, **who))


def _event(event: Event) -> Message:
    return Message(f"event/{event.type}", encode_event(event), retained=False)
