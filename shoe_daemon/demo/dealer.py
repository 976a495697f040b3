"""
The simulated shoe on its line, in a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Self

from drivers.simulators.angel_eye_ii import Scene, Settings, scenes
from drivers.simulators.lines import PtyLine
from drivers.simulators.player import Pace, play
from shoe_daemon.demo.referee import Referee
from shoe_daemon.demo.settings import without_waiting

__all__ = ["CountingLine", "Dealer"]

_LOOK_EVERY: Final = 0.02


class CountingLine(PtyLine):
    """
    A pseudo terminal that counts.

    Attributes:
        sent: Bytes that somebody was there to read, unless the line was pulled out.
    """

    def __init__(self, link: Path | None = None) -> None:
        self.sent = 0
        super().__init__(link)

    def send(self, data: bytes, stopping: threading.Event) -> None:
        """
        Write as fast as the other side reads.
        """
        super().send(data, stopping)
        self.sent += len(data)


class Dealer:
    """
    Deals from `__enter__` to the last round, or to `__exit__`.
    """

    def __init__(
        self,
        settings: Settings,
        line: CountingLine,
        speed: float,
        referee: Referee,
        *,
        ready: Callable[[], bool],
    ) -> None:
        """
        Args:
            settings: What is dealt.
            line: Where it is reported.
            speed: Multiple of a real table's pace.
            referee: Told each round before it is dealt.
            ready: Whether the reader has done what it does when it opens a line.
        """
        self._settings = settings
        self._ready = ready
        self._line = line
        self._pace = Pace(speed)
        self._referee = referee
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._deal, name="demo-dealer", daemon=True)

    def __enter__(self) -> Self:
        """
        Begin as soon as somebody listens.
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

    def _deal(self) -> None:
        dealt = self._told(without_waiting(scenes(self._settings)))
        for _ in play(dealt, self._line, self._pace, self._stopping):
            pass

    def _told(self, scenes: Iterable[Scene]) -> Iterator[Scene]:
        # Who opens a serial port throws away what came before, when he gets round to it.
        while not self._ready() and not self._stopping.wait(_LOOK_EVERY):
            pass
        for scene in scenes:
            if scene.round is not None:
                self._referee.deal(scene.round)
            yield scene
