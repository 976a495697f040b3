"""
No interference: the same observations with other hidden faces give the same public
events, the same public table and the same refusals of commands, up to the moment at
which the first of these faces is shown.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import DEALING_ORDER
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table import Event, encode_event, is_staff
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.table import mistakes_of_people as people
from tests.table import mistakes_of_readers as readers
from tests.table.command_model import random_command, with_commands
from tests.table.dealer import START
from tests.table.mistake_logs import LOGS, SEED, Mistake, make_log
from tests.table.table_model import Dealing, Step, command, make_setup

MISTAKES: list[Mistake | None] = [
    None,
    people.excess_card,
    readers.swapped,
    people.missed_draw,
    readers.unread,
    readers.lost_frame,
    people.wrong_winner,
]
STYLES = [DealingStyle.BANKER_TUCKED, DealingStyle.SQUEEZE]


def dealt(seed: int) -> Dealing:
    """Deal two coups with hidden cards, with or without a mistake."""
    random = Random(seed)
    mistake, style = random.choice(MISTAKES), random.choice(STYLES)
    # The place of a third card is seen by all: only a reader that names it is compared.
    fixed: dict[str, Any] = {"style": style, "house": None, "decks": 8, "reader": "slots"}
    if mistake is None:
        return Dealing(make_setup(random, **fixed), random, 2)
    return make_log(seed, mistake, 2, **fixed)[0]


def until_shown(steps: list[Step], faces: set[str]) -> list[Step]:
    """Return the steps before the first that shows one of these faces."""
    now, due = 0.0, float("inf")
    for at, step in enumerate(steps):
        now += step.after
        if now >= due or faces & set(step.shows):
            return steps[:at]
        if faces & set(step.later):
            due = min(due, now + 3)
    return steps


def told(steps: list[Step], swap: dict[str, str], faces: list[str]) -> list[Any]:
    """
    Play the steps with some faces exchanged; return what the public, and operators, are told.
    """
    table, now, events = Table(), START, list[Event]()
    for step in steps:
        now += round(step.after * 1_000_000)
        assert isinstance(step.says, seen.Observation)
        card = replace(step.says, at=from_microseconds(now))
        if isinstance(card, seen.CardDrawn) and str(card.card) in swap:
            card = replace(card, card=Card(swap[str(card.card)]))
        events += table.apply(card)
    public = [without_numbers(event) for event in events if not is_staff(event.type)]
    return [*public, *board(table), *refusals(table, faces)]


def board(table: Table) -> list[Any]:
    """Return the public table, without the numbers that staff events move on."""
    public = msgspec.to_builtins(table.public())
    names = ("round", "counts", "held", "betting", "readers", "shoe")
    return [{name: public[name]} for name in names]


def refusals(table: Table, faces: list[str]) -> list[Any]:
    """Return how corrections to these faces would be answered."""
    return [
        {name: table.refusal(command(name, slot=slot, card=Card(face))), "slot": slot}
        for name in ("correct_card", "enter_card")
        for slot in DEALING_ORDER
        for face in faces
    ]


def without_numbers(event: Event) -> dict[str, Any]:
    """Return an event without the numbers that staff events move on."""
    body: dict[str, Any] = msgspec.json.decode(encode_event(event))
    body.pop("seq")
    body["data"].pop("id", None)
    body["data"].pop("irregularities", None)
    return body


def differ(seed: int) -> str | None:
    """Exchange the hidden faces of a coup; describe the first public difference."""
    dealing, random = dealt(seed), Random(seed)
    coup = random.choice(dealing.coups)
    hidden = [
        face
        for slot, face in zip(coup.truth.slots, coup.truth.cards, strict=True)
        if dealing.hides(slot)
    ]
    others = random.sample(dealing.spare, min(len(hidden), len(dealing.spare)))
    pairs = list(zip(hidden, others, strict=False))
    swap = dict(pairs) | {other: face for face, other in pairs}
    steps = until_shown(dealing.steps(), set(hidden))
    one, two = told(steps, {}, list(swap)), told(steps, swap, list(swap))
    for left, right in zip([*one, None], [*two, None], strict=False):
        if left != right:
            log = "\n".join(str(step.says) for step in steps)
            return f"seed {seed}\n{log}\n{swap}\n  {left}\n  {right}"
    return None


def previews(table: Table, random: Random) -> list[Any]:
    """Return the previews of a few commands, without the numbers that staff events move on."""
    answers = []
    for _ in range(3):
        order = random_command(random)
        told = order(table) if callable(order) else order
        assert isinstance(told, seen.Command)
        previewed = table.preview(replace(told, at=table.state.now))
        answers.append(
            {
                "verb": told.name,
                "refused": previewed.command.refused,
                "faces_hidden": previewed.faces_hidden,
                "events": [without_numbers(event) for event in previewed.events],
                "rounds": msgspec.to_builtins((previewed.before, previewed.after)),
            }
        )
    return answers


def previews_differ(seed: int, counted: Counter[str]) -> str | None:
    """
    Play a log with commands twice, with other hidden faces; describe the first difference of
    previews. Both tables have told the public the same until then.
    """
    dealing, random = dealt(seed), Random(seed)
    hidden = [
        face
        for coup in dealing.coups
        for slot, face in zip(coup.truth.slots, coup.truth.cards, strict=True)
        if dealing.hides(slot)
    ]
    others = random.sample(dealing.spare, min(len(hidden), len(dealing.spare)))
    pairs = list(zip(hidden, others, strict=False))
    swap = dict(pairs) | {other: face for face, other in pairs}
    tables, now = (Table(), Table()), START
    for step in with_commands(dealing.steps(), random):
        now += round(step.after * 1_000_000)
        told = step.says if isinstance(step.says, seen.Observation) else step.says(tables[0])
        if told is None:
            continue
        told = replace(told, at=from_microseconds(now))
        other = told
        if isinstance(told, seen.CardDrawn | seen.Disclosed) and str(told.card) in swap:
            other = replace(told, card=Card(swap[str(told.card)]))
        public = []
        for table, each in zip(tables, (told, other), strict=True):
            events = [event for event in table.apply(each) if not is_staff(event.type)]
            public.append(([without_numbers(event) for event in events], board(table)))
        undone = isinstance(told, seen.Command) and told.name == "undo"
        if public[0] != public[1] or undone:
            # A face has been shown; or an undo has put back a result, perhaps a held one, whose
            # cards were turned over and collected meanwhile.
            return None
        state = random.getstate()
        one = previews(tables[0], random)
        random.setstate(state)
        two = previews(tables[1], random)
        counted["hidden"] += sum(each["faces_hidden"] for each in one)
        counted["shown"] += sum(bool(each["events"]) for each in one)
        if one != two:
            return f"seed {seed}, after {told}\n{swap}\n  {one}\n  {two}"
    return None


def test_previews_tell_nothing_of_hidden_faces() -> None:
    counted: Counter[str] = Counter()
    seeds = range(SEED, SEED + LOGS // 4)
    found = [seed for seed in seeds if previews_differ(seed, counted) is not None]
    if found:
        pytest.fail(f"{len(found)} logs, {found[:5]}\n{previews_differ(found[0], counted)}")
    assert min(counted["hidden"], counted["shown"]) > len(seeds) // 9


def test_hidden_faces_change_nothing_public() -> None:
    found = [seed for seed in range(SEED, SEED + LOGS) if differ(seed) is not None]
    if found:
        pytest.fail(f"{len(found)} of {LOGS} logs, {found[:5]}\n{differ(found[0])}")
