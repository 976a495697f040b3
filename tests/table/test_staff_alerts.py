"""
Irregularities that only hidden faces show are for staff only, until the faces are public.

Two logs that differ in faces which the players have not seen give the same public events,
documents and refusals, until one of these faces is public. `seq` and the ids made of it are
left out: staff events take numbers of the same sequence.

EMBARGO_LOGS=100000 tries as many pairs of logs, EMBARGO_SEED=… others.
"""

from __future__ import annotations

import json
import os
import re
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.game.house_rules import Curator, CutCard, DealingStyle, house_to_mapping
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import Options, ResultOn, RoundEnd
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.misdeals.supervised_table import SupervisedTable
from tests.public_json import encode_public_table
from tests.table.dealer import START, house, of_type, one, public_json, refusal_text, types
from tests.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterator

PAIRS = int(os.environ.get("EMBARGO_LOGS", volume(100, 800)))
SEED = int(os.environ.get("EMBARGO_SEED", "0"))
BATCH = 100
ENDS: list[seen.Observation] = [
    seen.Result(outcome="player"),
    seen.Result(outcome="banker", banker_pair=True),
    seen.Result(),
    seen.TableCleared(),
    seen.NoMoreBets(),
    seen.BettingOpen(),
    seen.Command(name="confirm_result", operator="ann"),
    seen.Command(name="reveal", operator="ann"),
    seen.Tick(),
]
ORDERS = ["correct_card", "enter_card", "enter_result", "undo", "void_round"]
ORDERS += ["acknowledge", "rule", "hold", "resume"]
OWN_THE_REST = {"void_round", "enter_result", "rule"}
TROUBLES: list[seen.Observation] = [
    seen.DeviceError(cause=seen.Cause.OVERDRAW),
    seen.DeviceError(cause=seen.Cause.UNREADABLE),
    seen.DeviceError(cause=seen.Cause.TIMEOUT),
    seen.DeviceErrorCleared(),
    seen.Unreadable(),
    seen.Unreadable(slot=Slot.P3),
    seen.Gap(),
    seen.Gap(detail=seen.GapDetail.RESTART),
    seen.Booted(),
    seen.CutCardSeen(),
]


class Pair:
    """Makes a log of a table with hidden faces, and another that differs in one face."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        pick = self.random.choice
        modes: list[Literal["checked", "unchecked"]] = ["checked", "unchecked"]
        self.slots = self.random.random() < 0.6
        self.now = START
        self.deck = iter(self.random.sample(DECK, 52))
        self.session = seen.Session(
            rules=house_to_mapping(
                house(
                    dealing_style=pick([DealingStyle.BANKER_TUCKED, DealingStyle.SQUEEZE]),
                    decks=pick([1, 8]),
                    curator=Curator(on=pick([False, False, True])),
                    cut_card=CutCard(mode=modes[seed % 2], hands_after=seed % 3),
                )
            ),
            policy=pick(["management", "fr_2007", "us_nj_pa", "es_melilla_2014"]),
            options=Options(
                round_end=pick(list(RoundEnd)),
                result_on=pick(list(ResultOn)),
                reveal_after=pick([None, 3, 30]),
                quiet_gap=10,
                hold_from=pick([None, 3]),
                suspect_run=pick([None, None, 4]),
                checkers=pick([(), (), ("second",)]),
                seats=pick([(), (1, 2, 3)]),
            ),
        )

    def log(self) -> list[seen.Observation]:
        """Make a log."""
        log: list[seen.Observation] = [self.session]
        for _ in range(self.random.randint(1, 3)):
            log += self.coup()
        return [self.stamped(each) for each in log]

    def stamped(self, observation: seen.Observation) -> seen.Observation:
        """Let some time pass."""
        self.now += self.random.choice([500, 1_000, 1_000, 2_000, 11_000]) * 1000
        return replace(observation, at=from_microseconds(self.now))

    def coup(self) -> Iterator[seen.Observation]:
        """Deal some cards, now and then wrongly, and end the round."""
        pick, dice = self.random.choice, self.random.random
        drawn: list[tuple[Slot, Card]] = []
        thirds = pick([(), (Slot.P3,), (Slot.B3,), (Slot.P3, Slot.B3), (Slot.P3, Slot.P3)])
        for slot in [*list(Slot)[:4], *thirds, *([pick(list(Slot))] if dice() < 0.1 else [])]:
            face = next(self.deck, None)
            if face is None:
                return
            drawn.append((slot, face))
            named = slot if self.slots else None
            yield seen.CardDrawn(card=face if dice() < 0.9 else None, slot=named)
            if self.session.options.checkers:
                other = face if dice() < 0.95 else pick(DECK)
                yield seen.CardDrawn(card=other, slot=named, source="second")
            if dice() < 0.08:
                yield pick(TROUBLES)
            if dice() < 0.1:
                yield self.order(pick(drawn))
            if dice() < 0.08:
                turned = pick(drawn)
                yield seen.Disclosed(slot=turned[0], card=turned[1])
        if dice() < 0.2:
            yield seen.CardDrawn(card=next(self.deck, None), role=seen.Role.OUTSIDE)
        for _ in range(self.random.randint(0, 3)):
            yield pick(ENDS) if dice() < 0.7 else self.order(pick(drawn))

    def order(self, about: tuple[Slot, Card]) -> seen.Observation:
        """Make an order about a card."""
        pick = self.random.choice
        slot, face = about
        # Nothing but the faces tells the end of such a coup where only the rules do.
        by_rules = self.session.options.round_end is RoundEnd.RULES
        name = pick([each for each in ORDERS if not (by_rules and each in OWN_THE_REST)])
        return seen.Command(
            name=name,
            operator="ann",
            slot=slot,
            card=pick([face, *DECK]),
            outcome=Outcome.PLAYER,
            action=pick(["continue", "burn_card", "burn_card_plus_value", "carry_to_next_hand"]),
        )


def exchanged(log: list[seen.Observation], one: Card, other: Card) -> list[seen.Observation]:
    """Return the log with another face wherever a reader names this one."""
    return [
        replace(each, card=other)
        if getattr(each, "card", None) is one and not isinstance(each, seen.Command)
        else each
        for each in log
    ]


def numberless(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Take out what is made of `seq`."""
    if isinstance(value, dict):
        return {k: numberless(v) for k, v in value.items() if k not in {"seq", "id"}}
    if isinstance(value, list):
        return [None if isinstance(each, int) else numberless(each) for each in value]
    return value


Taken = tuple[list[Any], Any, "str | None", str]
"""The public events, the public document, the refusal, and the events as text."""


class Told:
    """A table, and what the players are told of it."""

    def __init__(self) -> None:
        self.table = Table()
        self.taken: list[seen.Observation] = []
        self.changes: list[seen.Observation] = []

    def take(self, observation: seen.Observation) -> Taken:
        """Return the public events, the public document, the refusal, and the events as text."""
        refusal = None
        if isinstance(observation, seen.Command):
            refusal = observation.refused or refusal_text(self.table, observation)
            observation = replace(observation, refused=refusal)
        events = public_json(self.table.apply(observation))
        self._remember(observation)
        document = json.loads(encode_public_table(self.table.public()))
        text = json.dumps([events, document["last_result"], document["round"]])
        return numberless(events), numberless(document), refusal, text

    def _remember(self, observation: seen.Observation) -> None:
        self.taken.append(observation)
        kept = len(self.table.state.changes)
        if kept > len(self.changes):
            self.changes.append(observation)
        elif kept < len(self.changes) and not kept:
            self.changes.clear()  # a new shoe, or the only change was undone
        elif kept < len(self.changes):
            self.changes.pop()

    def unread_pending(self) -> bool:
        """Tell whether a card passed unread, and its place is not known yet."""
        round_ = self.table.state.round
        return round_ is not None and round_.unread_pending

    def without_change(self, at: str) -> str:
        """
        Return all that the players would have been told if the latest change had never been
        ordered.
        """
        if not self.changes:
            return ""
        told = Told()
        log = [each for each in self.taken if each is not self.changes[-1]]
        return "".join(told.take(each)[3] for each in [*log, seen.Tick(at=at)])


def repeats(log: list[seen.Observation], one: Card, other: Card) -> bool:
    """
    Tell whether the exchange makes a reader say one card twice of one place, which is
    one card by its own word, or puts a face there that is spoken of.
    """
    cards = [each for each in log if isinstance(each, seen.CardDrawn) and each.slot is not None]
    places = {each.slot for each in cards if each.card is one}
    if any(each.card is other and each.slot in places for each in cards):
        return True
    # Nor can a face that is turned over, or a person's word, be told from another reading.
    spoken = [each for each in log if isinstance(each, seen.Disclosed | seen.Command)]
    return any(each.card is other for each in spoken)


def entered(log: list[seen.Observation], one: Card) -> bool:
    """
    Tell whether a person named this face for the place on which a reader read it: read there
    once more it is one card by the reader's word, and another face is a second card.
    """
    places = {each.slot for each in log if isinstance(each, seen.CardDrawn) and each.card is one}
    orders = [each for each in log if isinstance(each, seen.Command)]
    return any(
        each.name in {"correct_card", "enter_card"} and each.card is one and each.slot in places
        for each in orders
    )


def places_dealt(events: list[Any]) -> list[Any]:
    """Return the places on which cards were dealt."""
    return [each["data"]["slot"] for each in events if each["type"] == "card_dealt"]


def names(text: str, face: Card) -> bool:
    """Tell whether a face stands in a text."""
    return re.search(rf"\b{face}\b", text) is not None


def shows(events: list[Any], face: Card) -> bool:
    """Tell whether public events name a face."""
    return names(json.dumps(events), face)


def disclosed(events: list[Any]) -> int:
    """Count the faces that are turned over."""
    return sum(each["type"] == "card_disclosed" for each in events)


def shown_without_change(left: Told, right: Told, at: str, one: Card, other: Card) -> bool:
    """
    Tell whether the players would have seen the face in which two logs differ, if the latest
    change had never been ordered: by the Contract the cards of a coup are public at its
    reveal or result, also where the coup was void at that moment.
    """
    here, there = left.without_change(at), right.without_change(at)
    return names(here, one) or (names(there, other) and not names(here, other))


def differ_publicly(here: Taken, there: Taken, one: Card, other: Card, *, same: bool) -> bool:
    """
    Tell whether the people at the table can now tell two logs apart.

    Args:
        here: What the players were told by the log with one face.
        there: What they were told by the log with the other.
        one: The one face.
        other: The other.
        same: Both logs gave the same observation.
    """
    if names(here[3], one) or (not same and names(there[3], other)):
        return True
    if shows(there[0], other) and not shows(here[0], other):
        return True
    if disclosed(here[0]) != disclosed(there[0]):
        return True  # the faces that decided when the round ends are public in one of them
    # That a person is waited for may be seen, not what for.
    return "round_held" in here[3] + there[3]


def compare(seed: int) -> int:
    """Follow two logs until the face is public in which they differ; return how far that was."""
    pair = Pair(seed)
    log = pair.log()
    drawn = [e.card for e in log if isinstance(e, seen.CardDrawn) and e.card and not e.source]
    one = pair.random.choice(drawn)
    others = [face for face in DECK if face is not one and not repeats(log, one, face)]
    other = pair.random.choice(others)
    if entered(log, one):
        return 0
    left, right = Told(), Told()
    for step, (this, that) in enumerate(zip(log, exchanged(log, one, other), strict=True)):
        is_undo = isinstance(this, seen.Command) and this.name == "undo"
        # Contract: undo restores the table, with the faces that a result showed.
        undone = is_undo and shown_without_change(left, right, this.at, one, other)
        unread = left.unread_pending()
        here, there = left.take(this), right.take(that)
        # Contract: only faces are hidden; all see where the card lies that passed unread.
        placed = unread and places_dealt(here[0]) != places_dealt(there[0])
        if undone or placed or differ_publicly(here, there, one, other, same=this == that):
            return step
        assert here[:3] == there[:3], (seed, step, one, other, this)
    return len(log)


@pytest.mark.parametrize("batch", range(max(1, PAIRS // BATCH)))
def test_two_logs_that_look_alike_are_told_alike(batch: int) -> None:
    far = [compare(SEED + batch * BATCH + number) for number in range(BATCH)]
    assert max(far) > 8


def hidden(style: DealingStyle = DealingStyle.SQUEEZE, **options: Any) -> SupervisedTable:  # noqa: ANN401
    """Deal a natural face down, and a card too many."""
    pit = SupervisedTable(house(dealing_style=style), policy="fr_2007", **options)
    pit.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 5D")
    return pit


def test_a_card_too_many_by_hidden_faces_is_for_staff_until_they_are_turned_over() -> None:
    pit = hidden()
    found = one(pit.events, "staff_irregularity")
    assert (found.kind, found.card, found.slot) == ("excess_card", "5D", "P3")
    assert pit.kinds() == []
    assert pit.table.public().alerts == ()
    assert [each.data.id for each in pit.table.staff_alerts()] == [found.id]
    said = pit.cmd("reveal")
    told = one(said, "irregularity")
    assert (told.id, told.card) == (found.id, None)
    assert [proposal.action for proposal in told.proposals] == ["burn_card", "void_round"]
    assert pit.table.staff_alerts() == ()
    assert [each.data.id for each in pit.table.public().alerts] == [found.id]


def test_it_holds_the_result_and_is_closed_by_its_number() -> None:
    pit = hidden(hold_from=3)
    found = one(pit.events, "staff_irregularity")
    assert pit.refused("acknowledge") == "no irregularity is open"
    said = pit.result("player")
    assert one(said, "round_held").irregularities == (found.id,)
    assert one(pit.rule("burn_card"), "irregularity_closed").id == found.id


def test_closed_before_it_is_public_it_is_never_told_publicly() -> None:
    pit = hidden()
    found = one(pit.events, "staff_irregularity")
    said = pit.cmd("acknowledge", irregularity=found.id)
    assert types(said) == ["staff_irregularity_closed"]
    said = pit.cmd("reveal")
    assert "irregularity" not in types(said)
    assert one(said, "round_finished").player.total == 9


def test_a_hidden_card_that_was_read_wrongly_takes_its_irregularity_back() -> None:
    pit = hidden()
    said = pit.cmd("correct_card", slot=Slot.P1, card="3S")
    assert "staff_irregularity_closed" in types(said)
    assert "irregularity" not in types(pit.cmd("reveal"))


def test_a_reader_that_takes_the_card_away_makes_it_public() -> None:
    pit = hidden()
    found = one(pit.events, "staff_irregularity")
    said = pit.say(seen.Withdrawn(card=Card("5D")))
    assert one(said, "irregularity").id == found.id
    assert one(said, "irregularity_closed").id == found.id


def test_an_open_one_outlives_a_restart() -> None:
    pit = hidden()
    pit.table = Table.restore(pit.table.checkpoint())
    assert len(pit.table.staff_alerts()) == 1
    assert one(pit.cmd("reveal"), "irregularity").kind == "excess_card"


def two_readers() -> SupervisedTable:
    """Set up a table of hidden faces where a second reader checks the first."""
    return SupervisedTable(
        house(dealing_style=DealingStyle.SQUEEZE), round_end=RoundEnd.BUTTON, checkers=("second",)
    )


def both(pit: SupervisedTable, faces: str, second: str | None = None) -> None:
    """Let both readers read cards, the second reader perhaps others."""
    for face, other in zip(faces.split(), (second or faces).split(), strict=True):
        pit.draw(face)
        pit.say(seen.CardDrawn(card=Card(other), source="second"), 0.1)


def test_readers_that_differ_on_a_card_of_a_void_coup_are_for_staff() -> None:
    pit = two_readers()
    both(pit, "9S 2H")
    pit.cmd("void_round")
    both(pit, "6C", "7C")
    assert one(pit.events, "staff_irregularity").kind == "source_conflict"
    assert "source_conflict" not in pit.kinds()


def void_then(said: list[seen.Observation], faces: str) -> SupervisedTable:
    """Make a round of hidden faces void, and let something else follow."""
    pit = SupervisedTable(house(dealing_style=DealingStyle.SQUEEZE), round_end=RoundEnd.DEVICE)
    for face in faces.split():
        pit.draw(face)
    pit.cmd("void_round")
    for each in said:
        pit.say(each)
    return pit


@pytest.mark.parametrize("said", [[], [seen.CardDrawn(card=Card("4S"))]])
def test_undo_of_a_void_tells_nothing_of_faces_that_nothing_has_shown(
    said: list[seen.Observation],
) -> None:
    told = []
    for faces in ("9S 2H KD 3C", "AH 2S QH JH", "6S 2S KD 3C"):
        pit = void_then(said, faces)
        refusal = pit.table.refusal(pit.command("undo"))
        told.append((refusal, numberless(public_json(pit.say(pit.command("undo"))))))
    assert told[0] == told[1] == told[2]


def test_undo_of_a_void_shows_the_faces_that_the_result_showed() -> None:
    pit = void_then([seen.Result()], "AH 2S QH JH")
    said = pit.cmd("undo")
    assert [each.card for each in of_type(said, "card_disclosed")] == ["AH", "2S", "QH", "JH"]
    assert one(said, "irregularity").slot == "P3"
    assert types(said).index("card_disclosed") < types(said).index("irregularity")
