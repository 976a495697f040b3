"""Thread that deals from the simulated shoe and reports on its serial line."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from drivers.simulators.angel_eye_dealing import Scene, Settings, scenes
from drivers.simulators.angel_eye_line_faults import Step
from drivers.simulators.scenario_playback import Pace, play
from drivers.simulators.serial_servers import PtyLine
from drivers.simulators.simulated_shoe import DealtRound, Fault
from shoe_daemon.demo.result_check import ResultCheck
from shoe_daemon.demo.settings import shortened

__all__ = ["CountingLine", "Dealer", "DealerThread", "WaitConditions", "awaits_decision"]

_POLL_S: Final = 0.02
_LOST_AFTER_S: Final = 5.0
_MAX_WAIT_S: Final = 15.0
"""Seconds after which the game goes on without a decision."""

_NEEDS_SUPERVISOR: Final = frozenset(
    {Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE}
)
"""Faults for which a dealer calls the supervisor."""


class CountingLine(PtyLine):
    """
    A pseudo terminal that counts bytes.

    Attributes:
        sent: Bytes sent to a reader that was ready, and not lost by an unplugged line.
    """

    def __init__(self, link: Path | None = None) -> None:
        self.sent = 0
        self._seen = (0, 0)
        self._since = 0.0
        super().__init__(link)

    def send(self, data: bytes, stopping: threading.Event) -> None:
        """Write as fast as the reader reads."""
        ready = self.is_ready()
        super().send(data, stopping)
        if ready and self.is_open():
            self.sent += len(data)

    def all_read(self, count: int) -> bool:
        """
        Tell whether the reader, with `count` bytes so far, has read everything.

        A reader may close its line with unread bytes; they are given up after some seconds.
        """
        now, seen = time.monotonic(), (count, self.sent)
        if seen != self._seen:
            self._seen, self._since = seen, now
        elif now - self._since > _LOST_AFTER_S:
            self.sent = min(self.sent, count)
        return count >= self.sent


class WaitConditions(NamedTuple):
    """
    Conditions that a dealer waits for.

    Attributes:
        ready: The reader has opened and flushed its line.
        decided: Every report is processed, and no decision is open.
    """

    ready: Callable[[], bool]
    decided: Callable[[], bool]


class DealerThread(ABC):
    """
    A thread that deals, from `__enter__` to the last round or to `__exit__`.

    Attributes:
        on_table: The cards really on the table; None before the first round.
    """

    def __init__(self) -> None:
        self.on_table: DealtRound | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._deal, name="demo-dealer", daemon=True)

    def __enter__(self) -> Self:
        """Start dealing as soon as the reader is ready."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop dealing."""
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """Request the end."""
        self._stopping.set()

    @property
    def interrupted(self) -> bool:
        """Whether the end was requested."""
        return self._stopping.is_set()

    @property
    def over(self) -> bool:
        """Whether dealing has ended."""
        return not self._thread.is_alive()

    @abstractmethod
    def _deal(self) -> None:
        """Deal all rounds, or until `_stopping` is set."""


class Dealer(DealerThread):
    """Deals from the simulated shoe, which reports on its serial line."""

    def __init__(
        self,
        settings: Settings,
        line: CountingLine,
        speed: float,
        check: ResultCheck,
        conditions: WaitConditions,
    ) -> None:
        """
        Args:
            settings: Cards dealt.
            line: Serial line of the shoe.
            speed: Multiple of a real table's pace.
            check: Receives each round before it is dealt.
            conditions: Conditions for going on.
        """
        super().__init__()
        self._settings = settings
        self._conditions = conditions
        self._line = line
        self._pace = Pace(speed)
        self._check = check
        self._late = 0.0

    def _deal(self) -> None:
        dealt = self._scenes(shortened(scenes(self._settings)))
        for _ in play(dealt, self._line, self._pace, self._stopping):
            pass

    def _scenes(self, scenes: Iterable[Scene]) -> Iterator[Scene]:
        # A reader flushes its serial port some time after opening it.
        while not self._conditions.ready() and not self._stopping.wait(_POLL_S):
            pass
        for scene in scenes:
            if self._settings.faults:
                self._await_decision()
            if scene.round is not None:
                self._check.deal(scene.round)
                self.on_table = scene.round
            yield from self._step_by_step(scene)

    def _step_by_step(self, scene: Scene) -> Iterator[Scene]:
        for number, step in enumerate(scene.steps):
            if number and awaits_decision(scene.round, step):
                self._await_decision()
            late = replace(step, at=step.at + self._late)
            yield replace(scene, steps=(late,))

    def _await_decision(self) -> None:
        """Wait while the supervisor decides; everything that follows is delayed by as much."""
        began = time.monotonic()
        until = began + _MAX_WAIT_S
        while not self._conditions.decided() and time.monotonic() < until:
            if self._stopping.wait(_POLL_S):
                return
        self._late += (time.monotonic() - began) * self._pace.speed


def awaits_decision(dealt: DealtRound | None, step: Step) -> bool:
    """
    Tell whether a dealer waits for the supervisor before this step.

    After an excess card the round itself is called as usual; the ruling about the card
    comes before it is removed.
    """
    if dealt is None or dealt.fault not in _NEEDS_SUPERVISOR or step.report is None:
        return False
    return dealt.fault is not Fault.OVERDRAW or step.report.code == "i"
