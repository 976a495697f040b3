"""A simulated table in front of a simulated camera, instead of a shoe on a serial line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from drivers.simulators.angel_eye_dealing import Settings as Shoe
from drivers.simulators.simulated_shoe import Fault
from shoe_daemon.config import ReaderSettings
from shoe_daemon.demo.board_server import HOST, free_port
from shoe_daemon.demo.dealer import DealerThread, WaitConditions
from shoe_daemon.demo.result_check import ResultCheck

if TYPE_CHECKING:
    from drivers.simulators.camera.scene_settings import Settings

__all__ = ["CAMERA_FAULTS", "CameraDealer", "SimulatedCamera"]

CAMERA_FAULTS: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.RESET)
"""Faults that a camera can see; the others concern serial lines."""

_PREFERRED_PORT: Final = 8091

_FPS: Final = 20.0
_PAUSE_S: Final = 0.5
_DECIDED_S: Final = 0.8
"""Seconds without an open decision before the dealer goes on."""

_MAX_WAIT_S: Final = 15.0


class SimulatedCamera:
    """
    A simulated camera above the demo's table.

    Attributes:
        address: Port of the reader's configuration.
        page: URL of the camera's preview.
    """

    def __init__(self, shoe: Shoe, folder: Path) -> None:
        from drivers.simulators.camera.ideal_profile import write_simulated_profile  # noqa: PLC0415 - brings OpenCV with it

        self.settings = _table(shoe)
        self._folder = folder / "camera"
        self._profile = write_simulated_profile(self.settings, self._folder)
        self._socket = folder / "camera.sock"
        self.address = f"camera:raw:{self._socket}"
        self._port = free_port(_PREFERRED_PORT)
        self.page = f"http://{HOST}:{self._port}/"

    @property
    def reader(self) -> ReaderSettings:
        """The reader's section of the configuration."""
        options = {"profile": str(self._profile), "view": f"{HOST}:{self._port}"}
        return ReaderSettings(id="camera", driver="camera", port=self.address, options=options)

    def dealer(self, check: ResultCheck, conditions: WaitConditions) -> CameraDealer:
        """Make the dealer in front of the camera."""
        return CameraDealer(self.settings, self._socket, check, conditions)


class CameraDealer(DealerThread):
    """Deals in front of the camera."""

    def __init__(
        self, settings: Settings, path: Path, check: ResultCheck, conditions: WaitConditions
    ) -> None:
        """
        Args:
            settings: Cards dealt, and the scene.
            path: Socket of the camera.
            check: Receives each round before it is dealt.
            conditions: Conditions for going on.
        """
        from drivers.simulators.camera.live_sender import open_sender  # noqa: PLC0415 - as above
        from drivers.simulators.camera.scene_renderer import Scene  # noqa: PLC0415 - as above

        super().__init__()
        # Rendered in advance, so that the reader gets its first frame at once.
        self._scene = Scene(settings, self._may_go_on)
        self._scene.empty()
        self._check = check
        self._conditions = conditions
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
        if sure or now - self._waits_since >= _MAX_WAIT_S:
            self._waits_since = self._decided_since = None
            return True
        return False


def _table(shoe: Shoe) -> Settings:
    """Derive the scene that deals the same cards."""
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
        pause=_PAUSE_S,
    )
