"""
The simulated shoe on its line, in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from drivers.simulators.angel_eye_scenario import Scene, Settings, scenes
from drivers.simulators.angel_eye_wire import Step
from drivers.simulators.scenario_playback import Pace, play
from drivers.simulators.serial_servers import PtyLine
from drivers.simulators.simulated_shoe import DealtRound, Fault
from shoe_daemon.demo.result_check import Referee
from shoe_daemon.demo.settings import without_waiting

__all__ = ["CountingLine", "Cues", "Dealer", "Dealing", "awaits_decision"]

_LOOK_EVERY: Final = 0.02
_GONE: Final = 5.0
_PATIENCE: Final = 15.0
"""Seconds for which a dealer waits; then the game goes on."""

_CALLED_OVER: Final = frozenset(
    {Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE}
)
"""With these a dealer calls somebody over."""


class CountingLine(PtyLine):
    """
    A pseudo terminal that counts.

    Attributes:
        sent: Bytes that somebody will read who was there and threw nothing away any
            more, unless the line was pulled out.
    """

    def __init__(self, link: Path | None = None) -> None:
        self.sent = 0
        self._seen = (0, 0)
        self._since = 0.0
        super().__init__(link)

    def send(self, data: bytes, stopping: threading.Event) -> None:
        """
        Write as fast as the other side reads.
        """
        ready = self.is_ready()
        super().send(data, stopping)
        if ready and self.is_open():
            self.sent += len(data)

    def all_read(self, count: int) -> bool:
        """
        Tell whether all that was sent has been read, `count` bytes being so far.

        A reader may close its line with bytes unread: what is not read for seconds
        never will be.
        """
        now, seen = time.monotonic(), (count, self.sent)
        if seen != self._seen:
            self._seen, self._since = seen, now
        elif now - self._since > _GONE:
            self.sent = min(self.sent, count)
        return count >= self.sent


class Cues(NamedTuple):
    """
    What a dealer looks for.

    Attributes:
        ready: Whether the reader has done what it does when it opens a line.
        decided: Whether all that was reported is known, and nobody has yet to
            decide anything.
    """

    ready: Callable[[], bool]
    decided: Callable[[], bool]


class Dealing(ABC):
    """
    Deals in a thread of its own, from `__enter__` to the last round, or to `__exit__`.

    Attributes:
        on_table: What really lies on the table; None before the first round.
    """

    def __init__(self) -> None:
        self.on_table: DealtRound | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._deal, name="demo-dealer", daemon=True)

    def __enter__(self) -> Self:
        """
        Begin as soon as somebody listens or looks.
        """
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Stop dealing.
        """
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """
        Ask for an end.
        """
        self._stopping.set()

    @property
    def interrupted(self) -> bool:
        """
        Whether somebody asked for an end.
        """
        return self._stopping.is_set()

    @property
    def over(self) -> bool:
        """
        Whether nothing more is dealt.
        """
        return not self._thread.is_alive()

    @abstractmethod
    def _deal(self) -> None:
        """
        Deal all rounds, or until `_stopping`.
        """


class Dealer(Dealing):
    """
    Deals from the simulated shoe, which reports to its line.
    """

    def __init__(
        self,
        settings: Settings,
        line: CountingLine,
        speed: float,
        referee: Referee,
        cues: Cues,
    ) -> None:
        """
        Args:
            settings: What is dealt.
            line: Where it is reported.
            speed: Multiple of a real table's pace.
            referee: Told each round before it is dealt.
            cues: What is waited for.
        """
        super().__init__()
        self._settings = settings
        self._cues = cues
        self._line = line
        self._pace = Pace(speed)
        self._referee = referee
        self._late = 0.0

    def _deal(self) -> None:
        dealt = self._told(without_waiting(scenes(self._settings)))
        for _ in play(dealt, self._line, self._pace, self._stopping):
            pass

    def _told(self, scenes: Iterable[Scene]) -> Iterator[Scene]:
        # Who opens a serial port throws away what came before, when he gets round to it.
        while not self._cues.ready() and not self._stopping.wait(_LOOK_EVERY):
            pass
        for scene in scenes:
            if self._settings.faults:
                self._await_decision()
            if scene.round is not None:
                self._referee.deal(scene.round)
                self.on_table = scene.round
            yield from self._step_by_step(scene)

    def _step_by_step(self, scene: Scene) -> Iterator[Scene]:
        for number, step in enumerate(scene.steps):
            if number and awaits_decision(scene.round, step):
                self._await_decision()
            late = replace(step, at=step.at + self._late)
            yield replace(scene, steps=(late,))

    def _await_decision(self) -> None:
        """
        Deal no further while the supervisor decides; all that follows is later by that.
        """
        began = time.monotonic()
        until = began + _PATIENCE
        while not self._cues.decided() and time.monotonic() < until:
            if self._stopping.wait(_LOOK_EVERY):
                return
        self._late += (time.monotonic() - began) * self._pace.speed


def awaits_decision(dealt: DealtRound | None, step: Step) -> bool:
    """
    Tell whether a dealer waits, before this, for what the supervisor decides.

    After a card too many the round itself is called as ever; what becomes of the
    card is decided before it is taken away.
    """
    if dealt is None or dealt.fault not in _CALLED_OVER or step.report is None:
        return False
    return dealt.fault is not Fault.OVERDRAW or step.report.code == "i"
