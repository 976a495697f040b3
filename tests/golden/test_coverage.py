"""
The golden corpus covers every policy, mode, observation, command and event, and every
value that an event may have.

Where a value is missing: add a log to a file of `tests/golden/logs`, then `make golden-write`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec
import pytest

from shoe_daemon.game import (
    POLICY_IDS,
    Action,
    DealingStyle,
    IrregularityKind,
    Kind,
    Outcome,
    Slot,
)
from shoe_daemon.table import EVENT_TYPES
from shoe_daemon.table.commands.dispatch import COMMANDS
from shoe_daemon.table.detail_texts import DETAIL_TEMPLATES
from shoe_daemon.table.observations import AnyObservation, Cause, GapDetail, Role, Session
from shoe_daemon.table.options import ResultOn, RoundEnd, Signal
from tests.golden import corpus
from tests.golden.parts import read_parts

UNDOABLE = {"correct_card", "enter_card", "enter_result", "void_round", "rule void_round"}

ALWAYS_FITS = {"betting_open", "new_shoe", "no_more_bets", "replay"}
"""Commands that a table never refuses."""

DOCUMENTS = {"alert/active", "history", "result/last", "roads", "staff/alert/active", "state"}

NOT_IN_EVENTS = {
    "cards_too_fast",
    "clock_ahead",
    "clock_behind",
    "foreign_session",
    "internal_error",
    "journal_damaged",
    "journal_went_back",
    "keyboard_layout",
    "message_too_large",
    "not_applied",
    "not_recorded",
    "reader_flood",
} | {code for code in DETAIL_TEMPLATES if code.startswith("refused_")}
"""Sentences of the daemon's alarm, and of replies."""

NEVER = {"player_stands"}
"""A code that no table gives: where the Player stands, the Banker's draw is what is due."""


class Shown(NamedTuple):
    """
    Contents of the expected output of the logs.

    Attributes:
        events: The data of all events by type.
        documents: The retained documents that are published.
        orders: The commands that are carried out.
        refused: Those that are refused.
        undone: The commands that are undone.
    """

    events: dict[str, list[Any]]
    documents: set[str]
    orders: set[str]
    refused: set[str]
    undone: set[str]


@cache
def shown() -> Shown:
    found = Shown({}, set(), set(), set(), set())
    changes: list[str] = []
    for line in lines():
        if line.startswith("# "):
            changes.clear()
        elif event := re.match(r"  (?:staff/)?event/(\w+) (.*)", line):
            data = msgspec.json.decode(event[2])["data"]
            found.events.setdefault(event[1], []).append(data)
            if event[1] == "shoe_started":
                changes.clear()
        elif document := re.fullmatch(r"  ([a-z/]+)", line):
            found.documents.add(document[1])
        elif order := re.fullmatch(r"\d+ command (\w+)( \w+)?(  refused: .*)?", line):
            name, action, refused = order[1], order[2] or "", order[3]
            (found.refused if refused else found.orders).add(name)
            if refused:
                continue
            if name == "undo" and changes:
                found.undone.add(changes.pop())
            elif name + action in UNDOABLE:
                changes.append(name + action)
    return found


def lines() -> Iterator[str]:
    """Yield the expected lines of all logs; a refusal stands in the line of its command."""
    for path in sorted((corpus.HERE / "logs").glob("*.jsonl")):
        for text in read_parts(corpus.EXPECTED / f"{path.stem}.txt").values():
            yield from text.replace("\n  refused:", "  refused:").split("\n")


@cache
def observations() -> list[AnyObservation]:
    return [each for log in corpus.all_logs() for each in log.observations]


def values(name: str, *types: str) -> set[Any]:
    """Return the values of a field of events, of all types or of some."""
    events = shown().events
    return {data[name] for kind in types or events for data in events[kind] if name in data}


def inputs(name: str) -> set[Any]:
    """Return the values of a field of observations."""
    return {getattr(each, name, None) for each in observations()}


def sessions() -> list[Session]:
    return [each for each in observations() if isinstance(each, Session)]


def choices(kind: type, name: str) -> set[str]:
    """Return the values that the type of a field permits."""
    return set(map(str, get_args(get_type_hints(kind)[name])))


COVERED: dict[str, Any] = {
    # inputs
    "observations": lambda: (
        {str(kind.__struct_config__.tag) for kind in get_args(AnyObservation)},
        {str(type(each).__struct_config__.tag) for each in observations()},
    ),
    "policies": lambda: (set(POLICY_IDS), {each.policy for each in sessions()}),
    "dealing styles": lambda: (
        set(DealingStyle),
        {(each.rules or {}).get("dealing_style", "face_up") for each in sessions()},
    ),
    "round ends": lambda: (set(RoundEnd), {each.options.round_end for each in sessions()}),
    "publication of results": lambda: (
        set(ResultOn),
        {each.options.result_on for each in sessions()},
    ),
    "signals": lambda: (
        set(Signal),
        {signal for each in sessions() for signal in each.options.signals or ()},
    ),
    "options": lambda: (
        set(Session().options.__struct_fields__),
        {
            name
            for each in sessions()
            for name in each.options.__struct_fields__
            if getattr(each.options, name) != getattr(Session().options, name)
        },
    ),
    "causes of device errors": lambda: (set(Cause), inputs("cause")),
    "gaps": lambda: (set(GapDetail), inputs("detail")),
    "roles of cards": lambda: (set(Role), inputs("role")),
    # commands
    "commands": lambda: (set(COMMANDS), shown().orders),
    "refused commands": lambda: (set(COMMANDS) - ALWAYS_FITS, shown().refused),
    "undone commands": lambda: (UNDOABLE, shown().undone),
    # events
    "events": lambda: (set(EVENT_TYPES), set(shown().events)),
    "irregularities": lambda: (set(IrregularityKind), values("kind", "irregularity")),
    "rulings": lambda: (set(Action), values("action", "irregularity_closed")),
    "sentences": lambda: (set(DETAIL_TEMPLATES) - NOT_IN_EVENTS, values("detail_code")),
    "draws due": lambda: (
        choices(EVENT_TYPES["draw_due"], "code") - NEVER,
        values("code", "draw_due"),
    ),
    "slots": lambda: (set(Slot), values("slot", "card_dealt")),
    "ends of betting": lambda: (
        choices(EVENT_TYPES["betting_closed"], "cause"),
        values("cause", "betting_closed"),
    ),
    "causes of aborted rounds": lambda: (
        choices(EVENT_TYPES["round_aborted"], "cause"),
        values("cause", "round_aborted"),
    ),
    "states of readers": lambda: (
        choices(EVENT_TYPES["reader_status"], "state"),
        values("state", "reader_status"),
    ),
    "kinds of rounds": lambda: (set(Kind), values("kind", "round_finished")),
    "outcomes": lambda: ({*Outcome, None}, values("outcome", "round_finished")),
    # documents
    "documents": lambda: (DOCUMENTS, shown().documents),
}


@pytest.mark.parametrize("what", COVERED)
def test_the_corpus_covers_all(what: str) -> None:
    wanted, found = COVERED[what]()
    assert sorted(wanted - found, key=str) == []
