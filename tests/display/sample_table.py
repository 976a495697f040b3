"""
Moments of a simulated table without a serial line, a thread or a clock: for tests and pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Settings, scenes
from drivers.simulators.shoe import DealtRound
from shoe_daemon.demo.dealer import awaits_decision
from shoe_daemon.demo.parts import NAME, SITE, TABLE
from shoe_daemon.demo.supervisor import AutoSupervisor
from shoe_daemon.display.terminal.board import TableView
from shoe_daemon.floor.table import Freshness, Link
from shoe_daemon.game import LeadingTies, Tail
from shoe_daemon.mqtt.documents import (
    History,
    RoadOptions,
    RoadsNow,
    State,
    Status,
    encode_message,
    history,
    road_map,
)
from shoe_daemon.mqtt.documents import state as encode_state
from shoe_daemon.mqtt.topics import HISTORY, ROADS, STATE, STATUS
from shoe_daemon.table import (
    Event,
    Observation,
    Options,
    PublicTable,
    ResultOn,
    Session,
    Table,
    TableState,
    from_microseconds,
)
from tests.table.dealer import refusal_text

__all__ = ["SampleTable"]

_DECISION_S: Final = 3.1
_START: Final = 1_795_600_000_000_000
"""Microseconds since 1970."""


class SampleTable:
    """
    A table, its documents, and its supervisor.

    Attributes:
        events: All events so far.
        mind: The supervisor.
        on_table: The round being dealt.
    """

    def __init__(self, house: str, policy: str) -> None:
        options = Options(name=NAME, hold_from=3, result_on=ResultOn.CONFIRMED)
        session = Session(SITE, TABLE, house=house, policy=policy, options=options)
        self._table = Table(TableState(session=session))
        self._decoder = AngelEyeII().decoder()
        self.mind = AutoSupervisor(lambda: self.on_table)
        self.on_table: DealtRound | None = None
        self._now = 0.0
        self.events: list[Event] = []

    def boards(self, settings: Settings) -> Iterator[PublicTable]:
        """Deal, and let the supervisor decide; yield the table after each change."""
        for scene in scenes(settings):
            yield from self._decide()
            self.on_table = scene.round or self.on_table
            for step in scene.steps:
                if awaits_decision(scene.round, step):
                    yield from self._decide()
                self._now = max(self._now, step.at)
                yield from self._read(b"".join(data for _, data in step.writes(1)))
        yield from self._decide()

    @property
    def _at(self) -> str:
        return from_microseconds(_START + round(self._now * 1_000_000))

    def _read(self, data: bytes) -> Iterator[PublicTable]:
        for frame in self._decoder.feed(data, self._now):
            for observation in frame.observations:
                yield from self._apply(observation)

    def _apply(self, observation: Observation) -> Iterator[PublicTable]:
        events = self._table.apply(replace(observation, at=self._at))
        self.events += events
        for event in events:
            self.mind.receive(event)
        if events:
            yield self._table.public()

    def _decide(self) -> Iterator[PublicTable]:
        for case in list(self.mind.cases.values()):
            while (order := self.mind.decide(case)) is not None:
                self._now += _DECISION_S
                refused = refusal_text(self._table, order.command)
                yield from self._apply(replace(order.command, refused=refused))
                self.mind.answered(case, order, refused)
                yield self._table.public()

    def documents(self, session: str = "5a4d1c7e") -> dict[str, bytes]:
        """Return the retained documents of this moment, by topic."""
        state = self._table.state
        options = RoadOptions(leading_ties=LeadingTies.MERGE, tail=Tail.FLAT)
        shoe = state.shoe.number if state.shoe else None
        said: dict[str, Any] = {"seq": state.seq, "session": session}
        return {
            STATE: encode_state(
                self._table.public(), session=session, alarm=None, heartbeat=10, published=self._at
            ),
            ROADS: road_map(self._table.results(), options, shoe=shoe, **said),
            HISTORY: history(self._table.history(), **said),
            STATUS: encode_message(Status(state="online", **said)),
        }

    def view(self, name: str, broker: str) -> TableView:
        """Return the content of `shoe-daemon watch`."""
        told = self.documents()
        return TableView(
            name=name,
            broker=broker,
            link=Link(connected=True),
            fresh=Freshness("live"),
            state=msgspec.json.decode(told[STATE], type=State),
            roads=msgspec.json.decode(told[ROADS], type=RoadsNow),
            history=msgspec.json.decode(told[HISTORY], type=History),
        )
