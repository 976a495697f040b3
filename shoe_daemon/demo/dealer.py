"""
Threads that deal: from the simulated shoe, which reports on its line, or in front of a simulated
camera. Both wait while a decision is open.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.simulators.angel_eye import Scene, Settings, SimulatedAngelEye, Step
from drivers.simulators.lines import Line
from drivers.simulators.shoe import DealtRound, Fault
from drivers.simulators.simulator import Pace, Simulator, play
from shoe_daemon.config.sections import ReaderSettings
from shoe_daemon.demo.client import SupervisorClient
from shoe_daemon.demo.shoe import QUIET_S

CAMERA_FAULTS: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.RESET)
"""Faults that a camera can see; the others concern serial lines."""

_POLL_S: Final = 0.02
_NEEDS_SUPERVISOR: Final = frozenset(
    {Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE}
)
"""Faults for which a dealer calls the supervisor."""

_LAST_SILENCE_S: Final = 2 * QUIET_S
_FPS: Final = 20.0
_PAUSE_S: Final = 0.5
_DECIDED_S: Final = 0.8
"""Seconds without an open decision before the dealer in front of a camera goes on."""


class DealerThread(ABC):
    """
    A thread that deals, from `__enter__` to the last round or to `__exit__`.

    Attributes:
        rounds: The rounds begun.
        on_table: The round being dealt, with its cards to come; None before the first.
        lying: The round whose first card lies on the table; likewise.
    """

    def __init__(self, supervisor: SupervisorClient, truth: Path | None = None) -> None:
        """
        Args:
            supervisor: Says whether a decision is open.
            truth: File that gets each round as it is dealt, a JSON object a line.
        """
        self.rounds = 0
        self.on_table: DealtRound | None = None
        self.lying: DealtRound | None = None
        self.supervisor = supervisor
        self._truth = truth
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._deal, name="demo-dealer", daemon=True)

    def __enter__(self) -> Self:
        """Start dealing as soon as the reader is ready."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop dealing."""
        self._stopping.set()
        self._thread.join()

    @property
    def over(self) -> bool:
        """True once dealing has ended."""
        return not self._thread.is_alive()

    @abstractmethod
    def _deal(self) -> None:
        """Deal all rounds, or until `_stopping` is set."""

    def _begin(self, dealt: DealtRound) -> None:
        self.rounds, self.on_table = self.rounds + 1, dealt
        if self._truth is not None:
            with self._truth.open("ab") as file:
                file.write(msgspec.json.encode(dealt) + b"\n")


class Dealer(DealerThread):
    """Deals from the simulated shoe, which reports on its line."""

    def __init__(  # noqa: PLR0913 - a table, its line and its reader
        self,
        settings: Settings,
        line: Line,
        speed: float,
        supervisor: SupervisorClient,
        *,
        simulator: Simulator | None = None,
        truth: Path | None = None,
    ) -> None:
        """
        Args:
            settings: Cards dealt.
            line: Line of the shoe.
            speed: Multiple of a real table's pace.
            supervisor: As in `DealerThread`.
            simulator: The reader; None for an Angel Eye.
            truth: As in `DealerThread`.
        """
        super().__init__(supervisor, truth)
        self._settings = settings
        self._simulator = simulator or SimulatedAngelEye(AngelEyeII())
        self._line = line
        self._pace = Pace(speed, warm_up=settings.warm_up)
        self._late = 0.0

    def _deal(self) -> None:
        # Only the copies of an Angel Eye: they are numbered.
        dealt = self._scenes(self._simulator.scenes(self._settings, once=True))
        for _ in play(dealt, self._line, self._pace, self._stopping):
            pass
        if self._simulator.ends_in_silence and self._pace.speed:
            self._stopping.wait(_LAST_SILENCE_S / self._pace.speed)
        self._await_decision()

    def _scenes(self, scenes: Iterable[Scene]) -> Iterator[Scene]:
        while not self.supervisor.reader_up.is_set() and not self._stopping.wait(_POLL_S):
            pass
        for scene in scenes:
            if self._settings.faults and self.rounds > self._settings.warm_up:
                self._await_decision()
            if scene.round is not None:
                self._begin(scene.round)
            yield from self._step_by_step(scene)

    def _step_by_step(self, scene: Scene) -> Iterator[Scene]:
        for number, step in enumerate(scene.steps):
            is_last = number == len(scene.steps) - 1
            collects = is_last and not self._simulator.ends_in_silence
            if number and awaits_decision(scene.round, step, collects=collects):
                self._await_decision()
            late = replace(step, at=step.at + self._late)
            yield replace(scene, steps=(late,))
            self.lying = scene.round

    def _await_decision(self) -> None:
        """Wait while a decision is open; everything that follows is delayed by as much."""
        began = time.monotonic()
        self._line.drain(self._stopping)
        self.supervisor.wait_decided(self._stopping)
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
    """

    def __init__(
        self, shoe: Settings, folder: Path, view: str, supervisor: SupervisorClient, truth: Path
    ) -> None:
        """Prepare as `Dealer`; `view` is the address of the camera's preview."""
        from drivers.simulators.camera import settings as scenes  # noqa: PLC0415 - as below
        from drivers.simulators.camera.files import write_simulated_profile  # noqa: PLC0415 - brings OpenCV with it
        from drivers.simulators.camera.live import open_sender  # noqa: PLC0415 - as above
        from drivers.simulators.camera.scene import Scene  # noqa: PLC0415 - as above

        super().__init__(supervisor, truth)
        faults = tuple(scenes.SceneFault(fault.value) for fault in shoe.faults)
        settings = scenes.Settings(fps=_FPS, faults=faults, pause=_PAUSE_S, **shoe.dealing)
        profile = write_simulated_profile(settings, folder / "camera")
        socket = folder / "camera.sock"
        self.reader = ReaderSettings(
            driver="camera",
            port=f"camera:raw:{socket}",
            options={"profile": str(profile), "view": view},
        )
        # Rendered in advance, so that the reader gets its first frame at once.
        self._scene = Scene(settings, self._may_go_on)
        self._scene.empty()
        self._sender = open_sender(f"raw:{socket}")
        self._decided_since: float | None = None

    def _deal(self) -> None:
        from drivers.simulators.camera.live import play_live  # noqa: PLC0415 - as above

        scene = self._scene
        try:
            for _ in play_live(scene, self._sender, self._stopping):
                dealt = scene.playing
                if dealt is not None and dealt is not self.on_table:
                    self._begin(dealt)
                    self.lying = dealt
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
        """Tell whether all has been decided for a moment."""
        now = time.monotonic()
        if self.supervisor.busy:
            self._decided_since = None
        elif self._decided_since is None:
            self._decided_since = now
        if self._decided_since is None or now - self._decided_since < _DECIDED_S:
            return False
        self._decided_since = None
        return True
