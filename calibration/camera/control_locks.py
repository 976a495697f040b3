"""
Settings of a camera: its mode, its name, and locks for exposure, white balance and focus.

Video4Linux's values of the exposure mode are 3 for automatic and 1 for manual.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Final, Protocol

import cv2
from msgspec import Struct

from calibration.camera.reference_comparison import Finding, FindingKind
from drivers import LineError, redact_url
from drivers.camera.profile.sections import Camera
from drivers.camera.sources import v4l2
from drivers.camera.sources.address import Address, SourceKind
from drivers.camera.sources.v4l2 import configure_opencv
from shoe_daemon.errors import UserError
from shoe_daemon.settings.toml import convert_toml

_VALUE_TOLERANCE: Final = 1e-3
_SETTLING_FRAMES: Final = 30
"""Frames until automatic settings have settled and can be locked."""


class _ControlDevice(Protocol):
    """
    The used part of OpenCV's capture: a missing property is 0 or -1, and a property that was set
    with success may still have been refused by the device.
    """

    def get(self, number: int, /) -> float: ...
    def set(self, number: int, value: float, /) -> bool: ...


_CONTROLS: Final = (
    ("exposure", "auto_exposure", 1.0, "exposure"),
    ("white balance", "auto_wb", 0.0, "wb_temperature"),
    ("focus", "autofocus", 0.0, "focus"),
)
"""Name for people, property of the automatic setting, its manual value, property of the value."""


class ControlLock(Struct, frozen=True):
    """
    Result for one control.

    Attributes:
        name: Its name, for people.
        said: Result for people, with advice where the device refused.
        controls: Values to set each time the camera is opened; empty where the device refused.
    """

    name: str
    said: str
    controls: dict[str, float] = {}

    @property
    def locked(self) -> bool:
        """True if the device holds the value."""
        return bool(self.controls)


def lock_device(address: Address, camera: Camera) -> list[ControlLock]:
    """
    Lock the controls of a camera of this machine; nothing for other sources.

    Raises:
        UserError: The camera is missing, or sends no frames.
    """
    if address.kind is not SourceKind.DEVICE:
        return []
    configure_opencv()
    try:
        with contextlib.closing(v4l2.V4l2Device(address, camera, camera.fps)) as device:
            for _ in range(_SETTLING_FRAMES):
                device.read()
            return lock_controls(device)
    except LineError as error:
        raise UserError(f"{error}") from error


def lock_controls(device: _ControlDevice) -> list[ControlLock]:
    """Keep the values of the automatic settings, and switch these off."""
    return [_lock_control(device, *control) for control in _CONTROLS]


def _lock_control(
    device: _ControlDevice, name: str, automatic: str, manual: float, value: str
) -> ControlLock:
    mode_number, value_number = _property_number(automatic), _property_number(value)
    mode, found = device.get(mode_number), device.get(value_number)
    if mode < 0 or (mode == 0 and found <= 0):
        advice = "set it on the camera itself, or take one that lets it be set"
        return ControlLock(name, f"the device has none: {advice}")
    device.set(mode_number, manual)
    device.set(value_number, found)
    held, kept = device.get(mode_number), device.get(value_number)
    if abs(held - manual) > _VALUE_TOLERANCE:
        said = f"refused: its automatic stays at {held:g}: it may drift with the light"
        return ControlLock(name, said)
    said = f"locked at {kept:g}"
    if abs(kept - found) > _VALUE_TOLERANCE * max(1.0, abs(found)):
        said = f"locked, but at {kept:g} instead of {found:g}"
    return ControlLock(name, said, {automatic: manual, value: kept})


def _property_number(name: str) -> int:
    return int(getattr(cv2, f"CAP_PROP_{name.upper()}"))


_MODE_TEXT: Final = re.compile(r"(\d+)x(\d+)(?:@(\d+(?:\.\d+)?))?(?::(\w{4}))?", re.ASCII)


def port_text(address: Address) -> str | None:
    """Format an address for `parse_source`, without a password; None for a recording."""
    if not address.is_live:
        return None
    kind = "raw:" if address.kind is SourceKind.RAW else ""
    return redact_url(f"camera:{kind}{address.location}")


def parse_mode(text: str | None) -> Camera:
    """Parse a mode, such as ``1280x720@30:MJPG``, or raise a UserError; None for 1280x720."""
    if text is None:
        return Camera(width=1280, height=720)
    found = _MODE_TEXT.fullmatch(text)
    if found is None:
        raise UserError(f"--mode {text}: expected WIDTHxHEIGHT@FPS:FORMAT, as 1280x720@30:MJPG")
    wide, high, fps, letters = found.groups()
    mode = {"width": int(wide), "height": int(high), "fps": fps and float(fps), "format": letters}
    return convert_toml(Camera, mode, f"--mode {text}")


def camera_fingerprint(address: Address) -> str | None:
    """Return the name of a camera of this machine; None for other sources."""
    if address.kind is not SourceKind.DEVICE:
        return None
    name = Path("/sys/class/video4linux") / Path(address.location).resolve().name / "name"
    try:
        return name.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def camera_finding(address: Address, expected: str | None) -> Finding | None:
    """Report a profile that was made with another camera."""
    now = camera_fingerprint(address)
    if expected is None or now is None or now == expected:
        return None
    text = f"other camera: {now}; the profile was made with {expected}: plug that in, or calibrate"
    return Finding(FindingKind.OTHER_CAMERA, text)
