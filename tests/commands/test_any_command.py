"""
Any payload on any verb, at any state of a table: each command has one reply, none raises, a
preview changes nothing, each document of the state can be written, and the journal folds to the
same events and the same state.

``COMMAND_SEED`` is the first seed, so that other commands can be tried.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, cast

import pytest
from msgspec.structs import fields, replace

from drivers import Frame, FrameKind
from shoe_daemon.game import REPORTABLE_KINDS, Action, IrregularityKind, Outcome, Slot
from shoe_daemon.game.cards import DECK
from shoe_daemon.mqtt.commands import VERBS, OrderMessage
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table import Table, encode_event
from shoe_daemon.table import observations as seen
from tests.commands.test_command_handler import Bench, set_up
from tests.table.random_observations import RandomObservations
from tests.volume import volume

SEED: Final = int(os.environ.get("COMMAND_SEED", "0"))
STEPS: Final = 120
"""Observations and commands of a table."""

CHANGES: Final = [
    "correct-card",
    "enter-card",
    "enter-result",
    "undo",
    "void-round",
    "rule",
    "hold",
]
"""Verbs that depend most on the state of the table: half of all commands."""

WRONG: Final[list[object]] = [
    None, True, False, -1, 0, 1.5, 2**53 + 1, 2**64, 10**30, float("inf"), float("nan"),
    "", " ", "x" * 5000, "\0", "\ud800", "٣", "null", [], [1], {}, {"a": {}}, [[[[]]]],
]  # fmt: skip
"""Values of a wrong type, or beyond the edge of each field."""

EDGES: Final = ["0001-01-01T00:00:00", "1970-01-01T00:00:00", "9999-12-31T23:59:59.999999"]
YEARS: Final = ["0000", "0001", "1582", "1969", "1970", "2026", "2038", "9998", "9999", "10000"]
DAYS: Final = ["01-01", "12-31", "02-29", "02-30", "00-00"]
TIMES: Final = ["00:00:00", "23:59:59.999999999", "23:59:60", "24:00:00", "12:00", "00:00:00,5"]
OFFSETS: Final = ["Z", "z", "", "+00:00", "-00:00", "+23:59", "-23:59", "+24:00", "+00:00:30"]


def moment(pick: Random) -> str:
    """Make a moment at an edge of RFC 3339, or beyond it; or one that is far away."""
    if pick.random() < 0.6:
        return pick.choice(["9000-01-01T00:00:00", *EDGES]) + pick.choice(OFFSETS)
    day = f"{pick.choice(YEARS)}-{pick.choice(DAYS)}"
    return f"{day}{pick.choice('Tt ')}{pick.choice(TIMES)}{pick.choice(OFFSETS)}"


def number(pick: Random) -> int:
    """Make a number within the range of a field, at its edge in a part of all cases."""
    return pick.choice([1, 1, 2, 3, pick.randrange(1, 12), pick.randrange(1, 400), 2**53])


def text(pick: Random, most: int) -> str:
    """Make a text of the length of a field, of any characters that it may have."""
    return "".join(pick.choices("a <&\u00e9\u202e🂡'\"{}", k=pick.choice([1, 3, most])))


FIELDS: Final[dict[str, Callable[[Random], object]]] = {
    "id": lambda pick: "".join(pick.choices("aZ9._:-", k=pick.choice([1, 8, 64]))),
    "operator": lambda pick: text(pick, 60),
    "reason": lambda pick: text(pick, 200),
    "expires_at": moment,
    "dry_run": lambda pick: pick.choice([True, True, False]),
    "expects_seq": lambda pick: pick.choice([0, number(pick)]),
    "pin": lambda pick: text(pick, 64),
    "irregularity": number,
    "action": lambda pick: pick.choice(list(Action)),
    "round": number,
    "slot": lambda pick: pick.choice([*Slot, Slot.P1, Slot.B1]),
    "card": lambda pick: pick.choice([*DECK, "TH"]),
    "outcome": lambda pick: pick.choice(list(Outcome)),
    "player_pair": lambda pick: pick.choice([True, False]),
    "banker_pair": lambda pick: pick.choice([True, False]),
    "seat": number,
    "from_seq": number,
    "kind": lambda pick: pick.choice([*REPORTABLE_KINDS, *IrregularityKind]),
    "left": lambda pick: pick.choice([0, number(pick)]),
    "dealer": lambda pick: text(pick, 60),
}
"""A valid value of each field."""

OFTEN: Final = {
    "operator": 0.97,
    "id": 0.99,
    "card": 0.8,
    "slot": 0.8,
    "outcome": 0.8,
    "action": 0.8,
    "player_pair": 0.5,
    "banker_pair": 0.5,
    "expires_at": 0.1,
    "expects_seq": 0.03,
}
"""How often a field is given: a quarter of all commands has each other one."""


def payload(pick: Random, table: Table) -> bytes:
    """Make the bytes of a command."""
    given: dict[str, object] = {}
    for name, make in FIELDS.items():
        if pick.random() < OFTEN.get(name, 0.25):
            given[name] = make(pick)
    shown = [each.data.id for each in (*table.public().alerts, *table.staff_alerts())]
    if "irregularity" in given and shown:
        given["irregularity"] = pick.choice(shown)
    rounds = [each.round for each in table.history().rounds]
    if "round" in given and rounds:
        given["round"] = pick.choice(rounds)
    if pick.random() < 0.1:
        given[pick.choice([*FIELDS, "colour"])] = pick.choice(WRONG)
    body = json.dumps(given, ensure_ascii=pick.random() < 0.5).encode(errors="surrogatepass")
    if pick.random() < 0.02:
        body = body[: pick.randrange(len(body))] + pick.choice([b"", b"\xff", b"}", b"\0"])
    return body


class AnyTable:
    """A table with random observations and commands between them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.pick = Random(seed)
        self.readings = RandomObservations(seed)
        self.bench = Bench(set_up(folder))
        publisher = cast("Publisher", self.bench.answers)
        self.state = StatePublisher(self.bench.core, publisher, (), "s", heartbeat=0)

    def say(self, observation: seen.Observation) -> None:
        """Let a reader report an observation, after some time."""
        self.bench.time.now += self.pick.choice([0, 0.04, 1, 1, 2.5, 10, 70])
        if isinstance(observation, seen.Session):
            own = self.bench.core.table.state.session
            observation = replace(observation, site=own.site, table=own.table)
        if isinstance(observation, seen.Session | seen.Command):
            self.bench.core.observe(observation)
            return
        frame = Frame(b"bytes", FrameKind.FRAME, (observation,), self.bench.time.now)
        self.bench.core.process([("shoe", frame)])

    def order(self) -> None:
        """Give any command; it has one reply, and a preview leaves the table as it was."""
        pick, bench = self.pick, self.bench
        verb = pick.choice(CHANGES if pick.random() < 0.5 else [*VERBS, "void", "", "hold/x"])
        body = payload(pick, bench.core.table)
        message = MessageReceived(verb, body, retained=pick.random() < 0.01)
        message = message._replace(queued=pick.random() < 0.01)
        before, answered = bench.core.table.checkpoint(), len(bench.answers.given)
        bench.orders.receive(verb, message)
        is_preview = any(each.dry_run for each in bench.pending)
        bench.judge_all()
        assert len(bench.answers.given) == answered + 1, (verb, body)
        if is_preview:
            assert bench.core.table.checkpoint() == before, (verb, body)

    def play(self) -> None:
        """Play and judge everything, then fold the journal."""
        self.say(self.readings.session())
        for _ in range(STEPS):
            if self.pick.random() < 0.7:
                self.say(self.readings.observation())
            else:
                for _ in range(self.pick.choice([1, 1, 2, 4])):
                    self.order()
            self.state.publish_if_changed()
        core, folded = self.bench.core, Table()
        events = [each for said in core.reader.observations() for each in folded.apply(said)]
        assert [encode_event(each) for each in events] == list(core.reader.event_lines())
        assert folded.checkpoint() == core.table.checkpoint()
        core.close()


def test_the_fields_are_those_of_an_order() -> None:
    assert list(FIELDS) == [each.name for each in fields(OrderMessage)]


@pytest.mark.parametrize("seed", range(SEED, SEED + volume(8, 80)))
def test_any_command_is_answered_once_and_folds_again(seed: int, tmp_path: Path) -> None:
    AnyTable(tmp_path, seed).play()
