"""
The driver ``camera``: one camera, above the table or at the shoe's mouth.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from msgspec import Meta, Struct
from msgspec.structs import replace

from drivers.camera.line_messages import CameraDecoder
from drivers.camera.preview.loopback_address import check_listen
from drivers.camera.profile.camera_profile import Profile, load_profile
from drivers.camera.sources.source_address import Address, parse_address
from drivers.camera.sources.stream_login import logged_in
from drivers.driver_interface import Decoder, LineSettings, Transport
from drivers.redact import discreet
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Signal

__all__ = ["CameraDriver", "CameraOptions"]

_SIGNALS: Final = {
    "overhead": (Signal.PLACEMENT, Signal.CLEARED),
    "throat": (Signal.FAULTS,),
}


class CameraOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``camera``.

    Attributes:
        station: ``overhead``, above the table, or ``throat``, at the shoe's mouth.
        profile: The file that `calibrate camera` wrote.
        threshold: The least confidence with which a card is named; without it the
            profile's. A higher one is always safe.
        evidence: The folder for pictures of what was read; without it ``evidence``
            beside the journal. An empty text keeps none.
        evidence_days: How old these pictures become.
        evidence_megabytes: How much room they take.
        fps: Pictures a second that are asked for, instead of the profile's.
        username: Who this table is for a network camera.
        password_file: Its password is the first line of this file, which is looked for
            among the unit's credentials first, then beside the configuration.
        view: Where people of this machine see what the camera sees, and what was read:
            host and port of a page for browsers, such as ``127.0.0.1:8091``. Below it,
            ``/plain`` lends the pictures as they are to `calibrate camera --check`.
        pace: Of a video file: ``own``, as it was taken, or ``fast``.
    """

    station: Literal["overhead", "throat"] = "overhead"
    profile: str | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    evidence: str | None = None
    evidence_days: Annotated[float, Meta(gt=0, le=3650)] = 30
    evidence_megabytes: Annotated[float, Meta(gt=0, le=1_000_000)] = 500
    fps: Annotated[float, Meta(gt=0, le=1000)] | None = None
    username: Annotated[str, Meta(min_length=1)] | None = None
    password_file: Annotated[str, Meta(min_length=1)] | None = None
    view: str | None = None
    pace: Literal["own", "fast"] = "own"


class CameraDriver:
    """
    The driver ``camera``.
    """

    name: ClassVar[str] = "camera"
    line: ClassVar[LineSettings] = LineSettings()
    options_type: ClassVar[type[Struct]] = CameraOptions

    def __init__(self, options: Struct | None = None) -> None:
        options = CameraOptions() if options is None else options
        if not isinstance(options, CameraOptions):
            raise TypeError(f"options of {type(options).__name__}, not of CameraOptions")
        self.options = options
        self._folder = Path()
        self._journal: Path | None = None

    @property
    def signals(self) -> tuple[Signal, ...]:
        """
        What this station can tell.
        """
        return _SIGNALS[self.options.station]

    @property
    def look(self) -> str:
        """
        How a person looks through it.
        """
        return "look through it with `calibrate camera`"

    @property
    def evidence(self) -> Path | None:
        """
        The folder for pictures of what was read; None where none are kept.
        """
        if self.options.evidence is not None:
            return self._folder / self.options.evidence if self.options.evidence else None
        return None if self._journal is None else self._journal.parent / "evidence"

    def beside(self, folder: Path, journal: Path) -> Self:
        """
        Return the driver that looks for its files where the configuration lies.
        """
        driver = type(self)(replace(self.options))
        driver._folder, driver._journal = folder, journal  # noqa: SLF001 - one of us
        return driver

    def decoder(self) -> Decoder:
        """
        Return a fresh decoder.
        """
        return CameraDecoder()

    def profile(self) -> Profile:
        """
        Read the profile.

        Raises:
            UserError: There is none, or it is wrong, or is one of the other station.
        """
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
        """
        Look whether this can name a camera, and whether all is there that it needs.

        Raises:
            UserError: What is wrong, in one line.
        """
        self._address(url)
        if self.options.view is not None:
            check_listen(self.options.view)
        for module in ("cv2", "numpy"):
            if find_spec(module) is None:
                raise UserError(
                    f"port {discreet(url)!r}: cameras need OpenCV, which is not installed; "
                    "expected `pip install 'shoe-daemon[camera]'`"
                )
        self.profile()

    def open_line(self, url: str) -> Transport:
        """
        Open the camera and watch.

        Raises:
            UserError: As `check_url`.
            LineError: There is no picture, or none that can be used.
        """
        self.check_url(url)
        from drivers.camera.camera_line import open_camera  # noqa: PLC0415 - brings OpenCV with it

        return open_camera(self._address(url), self.profile(), self.options, self.evidence)

    def _address(self, url: str) -> Address:
        options = self.options
        return logged_in(parse_address(url), options.username, options.password_file, self._folder)
