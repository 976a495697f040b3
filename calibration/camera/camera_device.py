"""
Locks a camera's exposure, white balance and focus, and says honestly what it refused.

Video4Linux's numbers for the exposure's automatic mode are 3 for on and 1 for by hand.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Final, Protocol

import cv2
from msgspec import Struct

from calibration.camera.profile_check import Finding, Kind
from drivers.camera.profile.camera_profile import Camera
from drivers.camera.sources import opencv_video
from drivers.camera.sources.opencv_video import settle
from drivers.camera.sources.source_address import Address
from drivers.camera.sources.source_address import Kind as AddressKind
from drivers.redact import discreet
from drivers.transport import LineError
from shoe_daemon.errors import UserError
from shoe_daemon.game.toml_validation import in_plain_words, read_as

__all__ = [
    "Device",
    "Lock",
    "fingerprint_of",
    "lock_all",
    "lock_device",
    "mode_of",
    "other_camera",
    "port_of",
]

_NEAR: Final = 1e-3
_SETTLING: Final = 30
"""Pictures in which the automatic settings come to rest before they are locked."""


class Device(Protocol):
    """
    What of OpenCV's capture is used.
    """

    def get(self, number: int, /) -> float:
        """
        Read a property; 0 or -1 where there is none.
        """
        ...

    def set(self, number: int, value: float, /) -> bool:
        """
        Set one; whether the device took it is another question.
        """
        ...


class _Wish(Struct, frozen=True):
    name: str
    automatic: str
    manual: float
    value: str


_WISHES: Final = (
    _Wish("exposure", "auto_exposure", 1.0, "exposure"),
    _Wish("white balance", "auto_wb", 0.0, "wb_temperature"),
    _Wish("focus", "autofocus", 0.0, "focus"),
)


class Lock(Struct, frozen=True):
    """
    One setting.

    Attributes:
        name: For people.
        locked: Whether the device now holds it.
        controls: What to ask for again each time the camera is opened.
        said: What the device did; what to do where it refused.
    """

    name: str
    locked: bool
    controls: dict[str, float]
    said: str


def lock_device(address: Address, camera: Camera) -> list[Lock]:
    """
    Lock what a camera of this machine lets be locked; nothing for other sources.

    Raises:
        UserError: It is not there, or gives no pictures.
    """
    if address.kind is not AddressKind.DEVICE:
        return []
    settle()
    try:
        with contextlib.closing(opencv_video.Device(address, camera, camera.fps)) as device:
            for _ in range(_SETTLING):
                device.read()
            return lock_all(device)
    except LineError as error:
        raise UserError(f"{error}") from error


def lock_all(device: Device) -> list[Lock]:
    """
    Keep what the automatic settings have found, and switch them off.
    """
    return [_lock(device, wish) for wish in _WISHES]


def _lock(device: Device, wish: _Wish) -> Lock:
    automatic, value = _number(wish.automatic), _number(wish.value)
    found = device.get(value)
    if device.get(automatic) < 0 or (device.get(automatic) == 0 and found <= 0):
        advice = "set it on the camera itself, or take one that lets it be set"
        return Lock(wish.name, locked=False, controls={}, said=f"the device has none: {advice}")
    device.set(automatic, wish.manual)
    device.set(value, found)
    held, kept = device.get(automatic), device.get(value)
    if abs(held - wish.manual) > _NEAR:
        said = f"refused: its automatic stays at {held:g}: it may drift with the light"
        return Lock(wish.name, locked=False, controls={}, said=said)
    controls = {wish.automatic: wish.manual, wish.value: kept}
    if abs(kept - found) > _NEAR * max(1.0, abs(found)):
        said = f"locked, but at {kept:g} instead of {found:g}"
        return Lock(wish.name, locked=True, controls=controls, said=said)
    return Lock(wish.name, locked=True, controls=controls, said=f"locked at {kept:g}")


def _number(name: str) -> int:
    return int(getattr(cv2, f"CAP_PROP_{name.upper()}"))


_USUAL: Final = Camera(width=1280, height=720)


_MODE: Final = re.compile(r"(\d+)x(\d+)(?:@(\d+(?:\.\d+)?))?(?::(\w{4}))?", re.ASCII)


def port_of(address: Address) -> str | None:
    """
    Write a camera as `parse_source` reads it again, without a password; None for a recording.
    """
    if not address.is_live:
        return None
    kind = "raw:" if address.kind is AddressKind.RAW else ""
    return discreet(f"camera:{kind}{address.where}")


def mode_of(text: str | None) -> Camera:
    """
    Read a mode, such as ``1280x720@30:MJPG``; None is the usual one.

    Raises:
        UserError: It is none.
    """
    if text is None:
        return _USUAL
    found = _MODE.fullmatch(text)
    if found is None:
        raise UserError(f"--mode {text}: expected WIDTHxHEIGHT@FPS:FORMAT, as 1280x720@30:MJPG")
    wide, high, fps, letters = found.groups()
    mode = {"width": int(wide), "height": int(high), "fps": fps and float(fps), "format": letters}
    try:
        return read_as(Camera, mode, f"--mode {text}")
    except UserError as error:
        raise UserError(in_plain_words(str(error))) from error


def fingerprint_of(address: Address) -> str | None:
    """
    Return what a camera of this machine is called; None for anything else.
    """
    if address.kind is not AddressKind.DEVICE:
        return None
    name = Path("/sys/class/video4linux") / Path(address.where).resolve().name / "name"
    try:
        return name.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def other_camera(address: Address, known: str | None) -> Finding | None:
    """
    Say where a profile was made with another camera.
    """
    now = fingerprint_of(address)
    if known is None or now is None or now == known:
        return None
    text = f"other camera: {now}; the profile was made with {known}: plug that in, or calibrate"
    return Finding(Kind.OTHER_CAMERA, text)
