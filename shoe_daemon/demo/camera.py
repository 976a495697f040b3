"""
A simulated table before a simulated camera, in place of the shoe on its line.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from drivers.simulators.angel_eye_scenario import Settings as Shoe
from drivers.simulators.simulated_shoe import Fault
from shoe_daemon.config import ReaderSettings
from shoe_daemon.demo.dealer import Cues, Dealing
from shoe_daemon.demo.pages import HOST, free_port
from shoe_daemon.demo.result_check import Referee

if TYPE_CHECKING:
    from drivers.simulators.camera.scene_settings import Settings

__all__ = ["CAMERA_FAULTS", "CameraDealer", "CameraSet"]

CAMERA_FAULTS: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.RESET)
"""What can go wrong with cards that a camera sees; the rest is a matter of lines."""

_USUAL: Final = 8091
"""The port of the page, if nobody has it."""

_FPS: Final = 20.0
_PAUSE: Final = 0.5
_SURE: Final = 0.8
"""Seconds for which nothing must be left to decide before the dealer goes on."""

_PATIENCE: Final = 15.0


class CameraSet:
    """
    A camera above the demo's table: what is played before it, and where it is read.

    Attributes:
        address: What the configuration gives as the port.
        page: Where people see what it sees.
    """

    def __init__(self, shoe: Shoe, folder: Path) -> None:
        from drivers.simulators.camera.ideal_profile import write_simulated_profile  # noqa: PLC0415 - brings OpenCV with it

        self.settings = _table(shoe)
        self._folder = folder / "camera"
        self._profile = write_simulated_profile(self.settings, self._folder)
        self._socket = folder / "camera.sock"
        self.address = f"camera:raw:{self._socket}"
        self._port = free_port(_USUAL)
        self.page = f"http://{HOST}:{self._port}/"

    @property
    def reader(self) -> ReaderSettings:
        """
        The section of the configuration that reads it.
        """
        options = {"profile": str(self._profile), "view": f"{HOST}:{self._port}"}
        return ReaderSettings(id="camera", driver="camera", port=self.address, options=options)

    def dealer(self, referee: Referee, cues: Cues) -> CameraDealer:
        """
        Give who deals before it.
        """
        return CameraDealer(self.settings, self._socket, referee, cues)


class CameraDealer(Dealing):
    """
    Deals before the camera.
    """

    def __init__(self, settings: Settings, path: Path, referee: Referee, cues: Cues) -> None:
        """
        Args:
            settings: What is dealt, and how it is seen.
            path: Of the socket where the camera is.
            referee: Told each round before it is dealt.
            cues: What is waited for.
        """
        from drivers.simulators.camera.live_sender import open_sender  # noqa: PLC0415 - as above
        from drivers.simulators.camera.scene_renderer import Scene  # noqa: PLC0415 - as above

        super().__init__()
        # Drawn before anybody looks: who does shall not have to wait.
        self._scene = Scene(settings, self._may_go_on)
        self._scene.empty()
        self._referee = referee
        self._cues = cues
        self._sender = open_sender(f"raw:{path}")
        self._decided_since: float | None = None
        self._waits_since: float | None = None

    def _deal(self) -> None:
        from drivers.simulators.camera.live_sender import play_live  # noqa: PLC0415 - as above

        scene = self._scene
        try:
            for _ in play_live(scene, self._sender, self._stopping):
                dealt = scene.playing
                if dealt is not None and dealt is not self.on_table:
                    self._referee.deal(dealt)
                    self.on_table = dealt
            self._show_the_end()
        finally:
            self._sender.close()

    def _show_the_end(self) -> None:
        """
        Look at the empty table until all is told: who sees that it is empty tells it.
        """
        until = time.monotonic() + 2 * _SURE
        while time.monotonic() < until:
            self._sender.send(self._scene.empty(), time.monotonic())
            if self._stopping.wait(1 / _FPS):
                return

    def _may_go_on(self) -> bool:
        """
        Tell whether all is decided, and has been for a moment; or was waited for too long.
        """
        now = time.monotonic()
        self._waits_since = now if self._waits_since is None else self._waits_since
        if not self._cues.decided():
            self._decided_since = None
        elif self._decided_since is None:
            self._decided_since = now
        sure = self._decided_since is not None and now - self._decided_since >= _SURE
        if sure or now - self._waits_since >= _PATIENCE:
            self._waits_since = self._decided_since = None
            return True
        return False


def _table(shoe: Shoe) -> Settings:
    """
    Let the same cards be dealt on a table.
    """
    from drivers.simulators.camera.scene_settings import SHOE_FAULTS, Settings  # noqa: PLC0415 - as above

    by_fault = {fault: trouble for trouble, fault in SHOE_FAULTS.items()}
    return Settings(
        fps=_FPS,
        seed=shoe.seed,
        decks=shoe.decks,
        rounds=shoe.rounds,
        faults=tuple(by_fault[fault] for fault in shoe.faults),
        fault_rate=shoe.fault_rate,
        excess=shoe.excess,
        make_good=shoe.make_good,
        cut_behind=shoe.cut_behind,
        last_rounds=shoe.last_rounds,
        pause=_PAUSE,
    )
