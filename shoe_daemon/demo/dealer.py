"""
Threads that deal: from the simulated shoe, which reports on its line, or in front of a simulated
camera.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Scene, Settings, SimulatedAngelEye, Step
from drivers.simulators.lines import Line, PtyLine
from drivers.simulators.shoe import DealtRound, Fault
from drivers.simulators.simulator import Pace, Simulator, play
from shoe_daemon.config.sections import ReaderSettings
from shoe_daemon.demo.display import HOST, free_port
from shoe_daemon.demo.shoe import QUIET_S, shortened
from shoe_daemon.demo.summary import ResultCheck

CAMERA_FAULTS: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.RESET)
"""Faults that a camera can see; the others concern serial lines."""

_POLL_S: Final = 0.02
_LOST_AFTER_S: Final = 5.0
_NEEDS_SUPERVISOR: Final = frozenset(
    {Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE}
)
"""Faults for which a dealer calls the supervisor."""

_LAST_SILENCE_S: Final = 2 * QUIET_S
_PREVIEW_PORT: Final = 8091
_FPS: Final = 20.0
_PAUSE_S: Final = 0.5
_DECIDED_S: Final = 0.8
"""Seconds without an open decision before the dealer in front of a camera goes on."""


class CountingLine(Line):
    """
    A line that counts bytes.

    Attributes:
        sent: Bytes sent to a reader that was ready, and not lost by an unplugged line.
    """

    def __init__(self, line: Line | None = None) -> None:
        """
        Args:
            line: The line; None for a new pseudo terminal.
        """
        self._line = line or PtyLine()
        self.sent = 0
        self._seen = (0, 0)
        self._since = 0.0

    @property
    def address(self) -> str:
        """The address for a reader."""
        return self._line.address

    def is_open(self) -> bool:
        """Return whether a reader is connected."""
        return self._line.is_open()

    def is_ready(self) -> bool:
        """Return whether a reader is ready for the first data."""
        return self._line.is_ready()

    def send(self, data: bytes, stopping: threading.Event) -> None:
        """Write as fast as the reader reads."""
        ready = self.is_ready()
        self._line.send(data, stopping)
        if ready and self.is_open():
            self.sent += len(data)

    def drain(self, stopping: threading.Event) -> None:
        """Wait until nothing would be lost by the end of the line."""
        self._line.drain(stopping)

    def unplug(self) -> None:
        """Interrupt the line."""
        self._line.unplug()

    def plug(self) -> None:
        """Restore the line at the same address."""
        self._line.plug()

    def close(self) -> None:
        """Close the line for good."""
        self._line.close()

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
        longest_s: Seconds after which the game goes on without a decision.
    """

    ready: Callable[[], bool]
    decided: Callable[[], bool]
    longest_s: float = 15.0


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
        """True once the end was requested."""
        return self._stopping.is_set()

    @property
    def over(self) -> bool:
        """True once dealing has ended."""
        return not self._thread.is_alive()

    @abstractmethod
    def _deal(self) -> None:
        """Deal all rounds, or until `_stopping` is set."""


class Dealer(DealerThread):
    """Deals from the simulated shoe, which reports on its line."""

    def __init__(  # noqa: PLR0913 - a table, its line and its reader
        self,
        settings: Settings,
        line: CountingLine,
        speed: float,
        check: ResultCheck,
        conditions: WaitConditions,
        *,
        simulator: Simulator | None = None,
    ) -> None:
        """
        Args:
            settings: Cards dealt.
            line: Line of the shoe.
            speed: Multiple of a real table's pace.
            check: Receives each round before it is dealt.
            conditions: Conditions for going on.
            simulator: The reader; None for an Angel Eye.
        """
        super().__init__()
        self._settings = settings
        self._simulator = simulator or SimulatedAngelEye(AngelEyeII())
        self._conditions = conditions
        self._line = line
        self._pace = Pace(speed)
        self._check = check
        self._late = 0.0

    def _deal(self) -> None:
        # Only the copies of an Angel Eye: they are numbered.
        dealt = self._scenes(shortened(self._simulator.scenes(self._settings, once=True)))
        for _ in play(dealt, self._line, self._pace, self._stopping):
            pass
        if self._simulator.ends_in_silence and self._pace.speed:
            self._stopping.wait(_LAST_SILENCE_S / self._pace.speed)

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
            is_last = number == len(scene.steps) - 1
            collects = is_last and not self._simulator.ends_in_silence
            if number and awaits_decision(scene.round, step, collects=collects):
                self._await_decision()
            late = replace(step, at=step.at + self._late)
            yield replace(scene, steps=(late,))

    def _await_decision(self) -> None:
        """Wait while the supervisor decides; everything that follows is delayed by as much."""
        began = time.monotonic()
        until = began + self._conditions.longest_s
        while not self._conditions.decided() and time.monotonic() < until:
            if self._stopping.wait(_POLL_S):
                return
        self._late += (time.monotonic() - began) * self._pace.speed


def awaits_decision(dealt: DealtRound | None, step: Step, *, collects: bool = False) -> bool:
    """
    Tell whether a dealer waits for the supervisor before this step.

    After an excess card the round itself is called as usual; the ruling about the card
    comes before it is removed. A dealer who `collects` the cards with this step, seen by a
    recogniser, waits as well.
    """
    if dealt is None or dealt.fault not in _NEEDS_SUPERVISOR:
        return False
    if step.report is None:
        return collects
    return dealt.fault is not Fault.OVERDRAW or step.report.code == "i"


class CameraDealer(DealerThread):
    """
    Deals in front of a simulated camera above the demo's table.

    Attributes:
        reader: The reader's section of the configuration.
        page: URL of the camera's preview.
    """

    def __init__(
        self, shoe: Settings, folder: Path, check: ResultCheck, conditions: WaitConditions
    ) -> None:
        """Prepare as `Dealer`; profile and socket of the camera lie in `folder`."""
        from drivers.simulators.camera import settings as scenes  # noqa: PLC0415 - as below
        from drivers.simulators.camera.files import write_simulated_profile  # noqa: PLC0415 - brings OpenCV with it
        from drivers.simulators.camera.live import open_sender  # noqa: PLC0415 - as above
        from drivers.simulators.camera.scene import Scene  # noqa: PLC0415 - as above

        super().__init__()
        faults = tuple(scenes.SceneFault(fault.value) for fault in shoe.faults)
        settings = scenes.Settings(fps=_FPS, faults=faults, pause=_PAUSE_S, **shoe.dealing)
        profile = write_simulated_profile(settings, folder / "camera")
        socket, view = folder / "camera.sock", f"{HOST}:{free_port(_PREVIEW_PORT)}"
        self.page = f"http://{view}/"
        self.reader = ReaderSettings(
            id="camera",
            driver="camera",
            port=f"camera:raw:{socket}",
            options={"profile": str(profile), "view": view},
        )
        # Rendered in advance, so that the reader gets its first frame at once.
        self._scene = Scene(settings, self._may_go_on)
        self._scene.empty()
        self._check = check
        self._conditions = conditions
        self._sender = open_sender(f"raw:{socket}")
        self._decided_since: float | None = None
        self._waits_since: float | None = None

    def _deal(self) -> None:
        from drivers.simulators.camera.live import play_live  # noqa: PLC0415 - as above

        scene = self._scene
        try:
            for _ in play_live(scene, self._sender, self._stopping):
                dealt = scene.playing
                if dealt is not None and dealt is not self.on_table:
                    self._check.deal(dealt)
                    self.on_table = dealt
            self._show_empty_table()
        finally:
            self._sender.close()

    def _show_empty_table(self) -> None:
        """Show the empty table until the reader has reported it."""
        until = time.monotonic() + 2 * _DECIDED_S
        while time.monotonic() < until:
            self._sender.send(self._scene.empty(), time.monotonic())
            if self._stopping.wait(1 / _FPS):
                return

    def _may_go_on(self) -> bool:
        """Tell whether all has been decided for a moment, or the wait was too long."""
        now = time.monotonic()
        self._waits_since = now if self._waits_since is None else self._waits_since
        if not self._conditions.decided():
            self._decided_since = None
        elif self._decided_since is None:
            self._decided_since = now
        sure = self._decided_since is not None and now - self._decided_since >= _DECIDED_S
        if sure or now - self._waits_since >= self._conditions.longest_s:
            self._waits_since = self._decided_since = None
            return True
        return False
