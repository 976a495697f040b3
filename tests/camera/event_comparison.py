"""Compares what a table made of a camera's lines with what was really dealt."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from drivers.camera.messages import CameraDecoder, Statement, encode_statement
from drivers.simulators.shoe import DealtRound
from shoe_daemon.table import Event, RoundFinished
from shoe_daemon.table.observations import Gap, GapDetail, Link, Observation, Session
from shoe_daemon.table.options import Options
from shoe_daemon.table.state import TableState
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds

_START = 1_800_000_000_000_000


class Judged:
    """A table that hears a camera, as a daemon would; results wait for nobody."""

    def __init__(self) -> None:
        options = Options(quiet_gap=4)
        self.table = Table(TableState(session=Session(options=options)))
        self.events: list[Event] = []
        self._decoder = CameraDecoder()
        self.observe(Link(up=True), 0.0)

    def say(self, statements: Iterable[Statement], at: float) -> None:
        for statement in statements:
            for frame in self._decoder.feed(encode_statement(statement), at):
                for observation in frame.observations:
                    self.observe(observation, at)

    def lost(self, at: float) -> None:
        self.observe(Link(up=False), at)
        self.observe(Link(up=True), at)
        self.observe(Gap(detail=GapDetail.RECONNECT), at)

    def observe(self, observation: Observation, at: float) -> None:
        moment = from_microseconds(_START + int(at * 1_000_000))
        self.events += self.table.apply(replace(observation, at=moment))

    def rounds(self) -> list[tuple[tuple[tuple[str, ...], tuple[str, ...]], bool]]:
        """
        The cards of each finished round, and whether the table knows that something is wrong.
        """
        wrong = {each.round for each in self.events if each.type == "irregularity"}
        return [
            (
                (tuple(map(str, each.data.player.cards)), tuple(map(str, each.data.banker.cards))),
                each.data.partial or each.round in wrong,
            )
            for each in self.events
            if isinstance(each.data, RoundFinished)
        ]


def hands(dealt: DealtRound) -> tuple[tuple[str, ...], tuple[str, ...]]:
    player = tuple(str(card) for slot, card in dealt.cards if slot.startswith("P"))
    banker = tuple(str(card) for slot, card in dealt.cards if slot.startswith("B"))
    return player, banker
