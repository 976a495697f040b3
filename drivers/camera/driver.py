"""The driver ``camera``: one camera, above the table or at the shoe's throat."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from drivers.camera.messages import CameraDecoder
from drivers.camera.options import CameraOptions, parse_listen_address
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Profile
from drivers.camera.sources.address import (
    Address,
    add_login,
    parse_address,
)
from drivers.driver import Decoder, Driver, Transport
from drivers.transport import redact_url
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Signal

_SIGNALS_BY_STATION: Final = {
    "overhead": (Signal.PLACEMENT, Signal.CLEARED),
    "throat": (Signal.FAULTS,),
}


class CameraDriver(Driver):
    """The driver ``camera``."""

    name: ClassVar[str] = "camera"
    options_type: ClassVar[type[Struct]] = CameraOptions
    options: CameraOptions
    look: ClassVar[str] = "look through it with `calibrate camera`"
    hung_after_s: ClassVar[float] = 120.0
    """The networks take long on a slow computer; the capture's thread notices a hanging camera."""

    def __init__(self, options: CameraOptions | None = None) -> None:
        super().__init__(options)
        self._folder = Path()
        self._journal: Path | None = None
        self._receivers: list[Callable[[Any], None]] = []

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Signals that this station can send."""
        return _SIGNALS_BY_STATION[self.options.station]

    @property
    def evidence(self) -> Path | None:
        """Folder for pictures of the cards that were read; None where none are stored."""
        if self.options.evidence is not None:
            return self._folder / self.options.evidence if self.options.evidence else None
        return None if self._journal is None else self._journal.parent / "evidence"

    def beside(self, folder: Path, journal: Path) -> Self:
        """Return a driver that resolves its files relative to the configuration."""
        driver = type(self)(replace(self.options))
        driver._folder, driver._journal = folder, journal  # noqa: SLF001 - one of us
        return driver

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        return CameraDecoder()

    def profile(self) -> Profile:
        """Load the profile; a `UserError` if it is missing, invalid, or for the other station."""
        named = self.options.profile
        if not named:
            raise UserError(
                "options.profile: missing; expected the file that `shoe-daemon calibrate camera` "
                "wrote"
            )
        profile = load_profile(self._folder / named)
        if profile.station != self.options.station:
            raise UserError(
                f"options.station: {self.options.station!r}; expected {profile.station!r}, "
                f"which is what {named} was made for"
            )
        return profile

    def check_url(self, url: str) -> None:
        """Check the port, the options and the installed packages, as `Driver.check_url`."""
        self._address(url)
        if self.options.view is not None:
            parse_listen_address(self.options.view)
        for module in ("cv2", "numpy"):
            if find_spec(module) is None:
                raise UserError(
                    f"port {redact_url(url)!r}: OpenCV is not installed; expected the package "
                    "shoe-daemon-camera, or `pip install 'shoe-daemon[camera]'`"
                )
        self.profile()

    def open_line(self, url: str) -> Transport:
        """Open the camera and start reading, as `Driver.open_line`."""
        self.check_url(url)
        from drivers.camera.line import open_camera  # noqa: PLC0415 - brings OpenCV with it

        return open_camera(
            self._address(url), self.profile(), self.options, self.evidence, self._receivers
        )

    def share_frames(self, receive: Callable[[Any], None]) -> None:
        """Pass each frame to `receive` too; see `Driver.share_frames`."""
        self._receivers.append(receive)

    def _address(self, url: str) -> Address:
        options = self.options
        return add_login(parse_address(url), options.username, options.password_file, self._folder)
