"""
What a table knows and has published follows from the facts of its rounds: after each
observation of lawful logs, of logs with mistakes or any commands, and of nonsense.

``MISTAKE_SEED`` as in `test_one_mistake`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import CardCorrected, CardDealt, CardDisclosed, Event, publish
from shoe_daemon.table import observations as seen
from shoe_daemon.table.checks import excess_card, missing_draw, wrong_hand
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.facts import Round
from shoe_daemon.table.table import Table
from shoe_daemon.table.view import View, interpret, totals
from tests.table.command_model import make_commanded_run
from tests.table.mistake_logs import SEED, make_log
from tests.table.random_observations import RandomObservations
from tests.table.table_model import play
from tests.volume import volume

KINDS: Final = ["mistakes", "commands", "nonsense"]
COUNTS: Final = [volume(20, 300), volume(20, 300), volume(3, 20)]
NONSENSE_LENGTH: Final = 300
"""Observations of a nonsense log; the others have some 40."""


@cache
def log_of(kind: str, seed: int) -> list[seen.Observation]:
    """Make the observations of one log."""
    if kind == "mistakes":
        return play(make_log(seed)[0].steps(), hides=False).log
    if kind == "commands":
        return make_commanded_run(seed).log
    return list(RandomObservations(seed).generate(NONSENSE_LENGTH))


@pytest.fixture(params=zip(KINDS, COUNTS, strict=True), ids=KINDS)
def logs(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[seen.Observation]]]:
    """Make the logs of a kind, each with its name."""
    kind, count = request.param
    return ((f"{kind} {seed}", log_of(kind, seed)) for seed in range(SEED, SEED + count))


Logs = Iterator[tuple[str, list[seen.Observation]]]


def each_round(logs: Logs) -> Iterator[tuple[str, Table, Round]]:
    """Yield the table and the round on it after each observation, with the place in its log."""
    for name, log in logs:
        table = Table()
        for number, observation in enumerate(log, 1):
            table.apply(observation)
            if table.state.round is not None:
                yield f"{name}, line {number}", table, table.state.round


def shown(view: View, drawn: list[DrawnCard]) -> tuple[object, ...]:
    """Return all that a view shows, with each card by its place in `drawn`."""
    at = {id(card): place for place, card in enumerate(drawn)}
    return (
        [None if card is None else at[id(card)] for card in view.spots],
        [at[id(card)] for card in view.dealt],
        [at[id(card)] for card in view.excess],
        [(at[id(odd.card)], odd.kind, odd.slot, odd.due.event) for odd in view.odd],
        (view.due.spot, view.due.event, view.hidden, view.misplaced),
        [card.slot for card in drawn],
    )


def without_hidden_faces(round_: Round) -> Round:
    """Return a round with the same facts, apart from the faces that are not public."""
    drawn = [replace(card, face=card.face if card.public else None) for card in round_.drawn]
    return replace(round_, drawn=drawn)


def public_findings(round_: Round) -> list[tuple[object, ...]]:
    """Return what the checks find in the public view."""
    odd = [
        each._replace(card=replace(each.card, face=each.card.face if each.card.public else None))
        for each in round_.view.odd
    ]
    found = [*excess_card.check(round_, odd), *wrong_hand.check(round_, odd)]
    missing = missing_draw.find(round_) if round_.is_missing else None
    found += [] if missing is None else [missing]
    return [(*each._replace(card=None), each.card and each.card.face) for each in found]


def test_a_view_grown_card_by_card_is_the_one_from_scratch(logs: Logs) -> None:
    for place, _, round_ in each_round(logs):
        drawn = [replace(card) for card in round_.drawn]
        partial, on_five = round_.doubts != 0, round_.on_five
        fresh = interpret(drawn, masked=True, partial=partial, on_five=on_five)
        assert shown(fresh, drawn) == shown(round_.view, round_.drawn), place


def test_what_is_public_is_the_same_without_the_hidden_faces(logs: Logs) -> None:
    hidden = 0
    for place, _, round_ in each_round(logs):
        bare = without_hidden_faces(round_)
        hidden += bare.drawn != round_.drawn
        assert shown(bare.view, bare.drawn) == shown(round_.view, round_.drawn), place
        assert totals(bare.view) == totals(round_.view), place
        assert public_findings(bare) == public_findings(round_), place
    assert hidden > 20


def commit_again(table: Table) -> list[Event]:
    """Commit the round on the table and the past ones again; return the events."""
    context = TableContext(table.copy().state, lambda _state, _observations: False)
    context.events, context.at = [], table.state.now
    rounds = [past.round() for past in context.state.past_rounds[-2:]]
    if context.state.round is not None:
        rounds.append(context.state.round)
    for round_ in rounds:
        publish.commit(context, round_)
    return context.events


def test_a_second_commit_publishes_nothing(logs: Logs) -> None:
    for place, table, _ in each_round(logs):
        assert commit_again(table) == [], place


def test_a_restored_checkpoint_has_the_same_views_and_publishes_the_same(logs: Logs) -> None:
    for name, log in logs:
        steady, restored = Table(), Table()
        for number, observation in enumerate(log, 1):
            place = f"{name}, line {number}"
            assert restored.apply(observation) == steady.apply(observation), place
            restored = Table.restore(restored.checkpoint())
            one, two = steady.state.round, restored.state.round
            if one is not None and two is not None:
                assert shown(one.view, one.drawn) == shown(two.view, two.drawn), place
                assert shown(one.known, one.drawn) == shown(two.known, two.drawn), place


class FoldedRound:
    """The cards of a round as its public events publish them."""

    def __init__(self) -> None:
        self.cards: list[tuple[Slot | None, Card | None]] = []
        self.corrected = False

    def fold(self, event: Event) -> None:
        """Take an event of the round."""
        data = event.data
        if isinstance(data, CardDealt):
            self.cards.append((data.slot, data.card))
        elif isinstance(data, CardDisclosed):
            self._replace(data.slot, None, data.card)
        elif isinstance(data, CardCorrected):
            self.corrected = True
            self._replace(data.slot, data.before, data.after)

    def _replace(self, slot: Slot | None, before: Card | None, after: Card | None) -> None:
        # A card that was dealt before its slot was certain is named by its slot later.
        for place in (slot, None, *(each for each, _ in self.cards)):
            if (place, before) in self.cards:
                self.cards[self.cards.index((place, before))] = (slot, after)
                return

    def differs(self, round_: Round) -> bool:
        """Return whether the published cards of the hands are not those that were told."""
        # A correction, a camera or a wrong hand moves cards between slots without an event.
        moved = self.corrected or any(card.lies for card in round_.drawn) or round_.view.odd
        told = Counter(
            (None if moved else card.slot, Card(card.told) if card.told else None)
            for card in round_.view.dealt
            if card.told is not None
        )
        folded = Counter((None if moved else slot, face) for slot, face in self.cards)
        left, lacking = folded - told, told - folded
        for (_, face), count in lacking.items():
            if left[None, face] < count:
                return True
            left[None, face] -= count
        aside = Counter(card.face if card.public else None for card in round_.view.excess)
        if self.corrected:
            left = Counter({key: left[key] for key in left if key[1] is not None})  # taken away
        return any(count > aside[face] for (_, face), count in left.items())


def test_the_public_events_of_a_round_give_what_was_told_of_its_cards(logs: Logs) -> None:
    compared = 0
    for name, log in logs:
        table, folded = Table(), dict[tuple[int | None, int | None], FoldedRound]()
        for number, observation in enumerate(log, 1):
            for event in table.apply(observation):
                folded.setdefault((event.shoe, event.round), FoldedRound()).fold(event)
            round_ = table.state.round
            if round_ is None or round_.cause is not None:
                continue  # the faces of a round without a result are disclosed to staff only
            known = folded[table.state.shoes, round_.number]
            if known.corrected and round_.finished:
                continue  # the revised result publishes the cards
            compared += 1
            assert not known.differs(round_), f"{name}, line {number}"
    assert compared > 200
