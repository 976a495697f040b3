"""
The cards, results and irregularities of a table, counted from its observations and events only.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shoe_daemon.game.cards import DECK
from shoe_daemon.table import (
    Event,
    ResultRevised,
    RoundAborted,
    RoundFinished,
    RoundHeld,
    RoundVoided,
)
from tests.table import reference_rules

if TYPE_CHECKING:
    from shoe_daemon.table import observations as seen
    from shoe_daemon.table.table import Table


class EventBookkeeping:
    """
    Everything that must add up.

    Attributes:
        out: Cards that have left this shoe.
        faces: How often each face was read of it.
        rounds: What each round of this shoe came to; None for one that is void,
            or has no result any more.
        seq: Of the last event.
        changes: How the faces were changed by what can be undone.
    """

    def __init__(self) -> None:
        self.out = 0
        self.faces: Counter[str] = Counter()
        self.rounds: dict[int, RoundFinished | None] = {}
        self.seq = 0
        self.changes: list[Counter[str]] = []

    def enter(self, events: list[Event], drawn: int, faces: list[str]) -> None:
        """
        Enter what an observation has caused.

        Args:
            events: What was said.
            drawn: How many cards left the shoe with it.
            faces: The faces that became known with it.
        """
        for event in events:
            self.seq += 1
            assert event.seq == self.seq
            if event.type == "shoe_started":
                self.out, self.rounds = 0, {}
                self.faces.clear()
                self.changes.clear()
            self._result(event)
        self.out += drawn
        self.faces.update(faces)

    def _result(self, event: Event) -> None:
        data, number = event.data, event.round or 0
        if isinstance(data, RoundFinished):
            # Its void may have been undone before it was finished.
            assert self.rounds.get(number) is None, f"round {number} was finished twice"
            self.rounds[number] = data
            check_result(data)
        elif isinstance(data, ResultRevised):
            assert self.rounds.get(number) == data.before
            self.rounds[number] = data.after
            if data.after is not None:
                check_result(data.after)
        elif isinstance(data, RoundHeld):
            self.rounds.pop(number, None)
        elif isinstance(data, RoundAborted):
            assert self.rounds.get(number) is None, f"round {number} has a result"
            self.rounds[number] = None
        elif isinstance(data, RoundVoided):
            assert data.before is None or self.rounds.get(number) in {None, data.before}
            self.rounds[number] = None

    def correct(self, order: seen.Command, change: Counter[str], *, kept: bool) -> None:
        """
        Enter how an order changed the faces that were read.

        Args:
            order: What was ordered.
            change: By how many each face is read more often now, or less.
            kept: Whether the table remembers it, so that it can be undone.
        """
        if order.name == "undo":
            undone = self.changes.pop()
            assert change == Counter({face: -n for face, n in undone.items()})
        elif order.name in {"correct_card", "enter_card"}:
            more = [face for face, n in change.items() if n > 0]
            less = [face for face, n in change.items() if n < 0]
            # A correction to the face that a hidden card has is taken like any other.
            assert more == [str(order.card)] or (not change and order.name == "correct_card")
            assert len(less) == (order.name == "correct_card" and bool(change))
            assert set(change.values()) <= {1, -1}
        else:
            assert not change
        if kept:
            self.changes.append(change)
        for face, n in change.items():
            self.faces[face] += n

    def check(self, table: Table) -> None:
        """Hold the table against the books."""
        public, shoe = table.public(), table.state.shoe
        assert public.seq == self.seq
        if shoe is None:
            return
        assert shoe.out == self.out
        read = {str(card): shoe.seen[card.index] for card in DECK}
        assert {face: n for face, n in read.items() if n} == dict(+self.faces)
        assert min(shoe.seen) >= 0
        self._check_board(public)

    def _check_board(self, public: Any) -> None:  # noqa: ANN401 - a snapshot
        played = {number: data for number, data in self.rounds.items() if data is not None}
        counted = [data for data in played.values() if data.kind == "normal"]
        assert public.counts.rounds == len(counted)
        for outcome in ("player", "banker", "tie"):
            assert getattr(public.counts, outcome) == sum(d.outcome == outcome for d in counted)
        assert public.counts.player_pair == sum(bool(d.player.pair) for d in counted)
        assert public.counts.natural == sum(
            bool(d.player.natural or d.banker.natural) for d in counted
        )
        last = public.last_result
        if not played:
            assert last is None
            return
        assert (last.round, last.data) == (max(played), played[max(played)])
        self._check_cards(public)

    def _check_cards(self, public: Any) -> None:  # noqa: ANN401 - a snapshot
        round_ = public.round
        data = None if round_ is None else self.rounds.get(round_.number)
        if data is None or data.partial or not round_.finished:
            return
        for hand, side in ((data.player, "P"), (data.banker, "B")):
            shown = sorted((c.slot, c.card) for c in round_.cards if (c.slot or "?")[0] == side)
            assert tuple(card for _, card in shown) == hand.cards


def check_result(data: RoundFinished) -> None:
    """Hold a result against its own cards."""
    if data.partial:
        assert data.outcome is not None or data.wagers == ()
        return
    hands = [[str(card) for card in hand.cards] for hand in (data.player, data.banker)]
    first = [card for pair in zip(hands[0][:2], hands[1][:2], strict=True) for card in pair]
    expected = reference_rules.deal(first + hands[0][2:] + hands[1][2:])
    assert [expected.player, expected.banker] == hands
    assert data.outcome == expected.outcome
    assert (data.player.total, data.banker.total) == (expected.player_total, expected.banker_total)
    assert (data.player.pair, data.banker.pair) == (expected.player_pair, expected.banker_pair)
    settled = [{"wager": w.wager, "result": w.result, "pays": w.pays} for w in data.wagers]
    wagers = reference_rules.expected_wagers(expected.outcome) if data.kind == "normal" else []
    assert sorted(settled, key=str) == sorted(
        ({"wager": w["wager"], "result": w["result"], "pays": w["pays"]} for w in wagers), key=str
    )
