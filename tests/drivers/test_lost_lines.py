"""
Lines that are lost in the middle of rounds, over real terminals and connections: the reader comes
back, the rounds between are exact, and an interrupted one is never published as complete.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from drivers.driver import Frame
from drivers.reader_thread import Reader, ReaderEnvironment
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Mode, Scene, Settings
from drivers.simulators.lines import Line, PtyLine, TcpLine
from drivers.simulators.shoe import DealtRound
from drivers.simulators.simulator import find_simulator
from shoe_daemon.table import Event, Options, RoundEnd, RoundFinished, Session
from shoe_daemon.table.observations import Command, Gap, Link, Observation, Tick
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.brokers import free_port
from tests.drivers.test_text_readers import Hands, hands_of, is_evidence
from tests.volume import volume
from tests.waiting import PATIENCE, wait_for

READERS: dict[str, tuple[dict[str, object], Options]] = {
    "angel-eye-ii": ({}, Options()),
    "bee-tek": ({}, Options(round_end=RoundEnd.QUIET)),
    # All is sent at once here: no time tells a card from its repeat.
    "line-scanner": ({"repeat_window": 0}, Options(round_end=RoundEnd.QUIET)),
    "json-lines": ({"resend_cooldown": 0}, Options(round_end=RoundEnd.QUIET)),
}
_TCP_REPAIR = 19  # Linux: a connection in this mode is closed without a word to the other side
_QUIET_US = 30_000_000


class ResetLine(TcpLine):
    """A device server that ends its connections by a reset."""

    def unplug(self) -> None:
        for client in self._clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        super().unplug()


class VanishingLine(TcpLine):
    """A device server that loses its power without closing its connections."""

    def unplug(self) -> None:
        for client in self._clients:
            client.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        super().unplug()


class PlayedTable:
    """A real reader on a line, and a table with a clock of its own behind it."""

    def __init__(self, name: str, line: Line) -> None:
        options, table_options = READERS[name]
        self.line, self.events = line, list[Event]()
        self.links, self.gaps = list[bool](), 0
        self._sent = self._now = 0
        self._table, self._stopping = Table(), threading.Event()
        driver = create_driver(name, options)
        settings = Settings(seed=8, mode=Mode.OPEN)
        self._scenes = find_simulator(name)(driver).scenes(settings, once=True)
        environment = ReaderEnvironment(wait=lambda _: time.sleep(0.01))
        self.reader = Reader(
            "shoe", driver, line.address, driver.line, self._take, environment=environment
        )
        self._apply(Session(options=table_options))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from here on: the line is open. The reader ends with the block."""
        self.reader.start()
        try:
            wait_for(lambda: self.links, "the first opening")
            yield
        finally:
            self.reader.stop()
            assert self.reader.join(PATIENCE)

    def next_round(self) -> tuple[Scene, DealtRound]:
        """Return the next round; a new shoe before it is played."""
        for scene in self._scenes:
            if scene.round is not None:
                return scene, scene.round
            self.play(scene)
            self._apply(Command(name="new_shoe"))
        raise AssertionError("unreachable")

    def play(self, scene: Scene, start: int = 0, stop: int | None = None) -> None:
        """Send some steps of a scene, and wait until the reader has passed all on."""
        wait_for(self.line.is_ready, "the reader is there")
        for step in scene.steps[start:stop]:
            for _, data in step.writes(1):
                self.line.send(data, self._stopping)
                self._sent += len(data)
        counts = self.reader.counts
        wait_for(lambda: counts.bytes == self._sent and not self.reader.busy, "all is read")

    def lose(self) -> None:
        """Lose the line, and have it again."""
        count = len(self.links)
        self.line.unplug()
        wait_for(lambda: len(self.links) > count, "the loss")
        self.line.plug()
        wait_for(lambda: len(self.links) > count + 1, "the return")

    def stay_silent(self) -> None:
        """Let the round end."""
        self._now += _QUIET_US
        self._apply_due_ticks()

    def _take(self, frame: Frame) -> None:
        for each in frame.observations:
            self._apply(each)
            self.gaps += isinstance(each, Gap)
            if isinstance(each, Link):
                self.links.append(each.up)

    def _apply(self, observation: Observation) -> None:
        self._now += 100_000
        self._apply_due_ticks()
        self.events += self._table.apply(replace(observation, at=from_microseconds(self._now)))

    def _apply_due_ticks(self) -> None:
        while (deadline := self._table.deadline) is not None and deadline[0] <= self._now:
            tick = Tick(at=from_microseconds(deadline[0]), deadline=deadline[1])
            self.events += self._table.apply(tick)

    def published(self) -> list[Hands]:
        """Return the hands of each round that was published as complete."""
        found = (event.data for event in self.events)
        finished = (each for each in found if isinstance(each, RoundFinished) and not each.partial)
        return [(each.player.cards, each.banker.cards) for each in finished]


CASES = [(name, "unplugged") for name in READERS]
CASES += [("angel-eye-ii", kind) for kind in ("closed", "reset", "without power")]
"""How a line ends does not depend on what it carried."""


@pytest.fixture
def line(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Line]:
    kinds = {"closed": TcpLine, "reset": ResetLine, "without power": VanishingLine}
    if request.param == "unplugged":
        made: Line = PtyLine(tmp_path / "shoe")
    else:
        made = kinds[request.param]("127.0.0.1", free_port())
    if request.param == "without power":
        may_vanish()
        soon = (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 2))
        monkeypatch.setattr("drivers.transport._KEEPALIVE", soon)
    yield made
    made.close()


def may_vanish() -> None:
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
        except PermissionError:
            pytest.skip("a connection that ends without a word needs root")


@pytest.mark.parametrize(("name", "line"), CASES, indirect=["line"])
def test_no_interrupted_round_is_complete_and_all_others_are(name: str, line: Line) -> None:
    cycles = volume(3, 25) if isinstance(line, PtyLine) else volume(1, 5)
    table, whole = PlayedTable(name, line), list[Hands]()
    with capture_logs(), table.reading():
        for number in range(cycles):
            scene, dealt = table.next_round()
            steps = [place for place, step in enumerate(scene.steps) if step.is_news]
            steps += [len(scene.steps)] * 2
            # One card of the first four is lost with the line, or two.
            lost, before = number % 4, len(table.events)
            table.play(scene, 0, steps[lost])
            table.lose()
            table.play(scene, steps[lost + 1 + number % 2])
            table.stay_silent()
            assert table.published() == whole, f"{dealt} has no card {lost + 1}"

            scene, next_dealt = table.next_round()
            table.play(scene)
            table.stay_silent()
            whole.append(hands_of(next_dealt))
            assert table.published() == whole
            assert any(map(is_evidence, table.events[before:])), f"{dealt} is silent"
    assert table.links == [True] + [False, True] * cycles
    assert table.gaps >= cycles
