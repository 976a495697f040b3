"""The sections ``[[witness]]`` of a table's configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from drivers import check_video, redact_url
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.settings.loader import Loader
from shoe_daemon.settings.toml import Name

MISSING_VIDEO_PACKAGES: Final = (
    "clips need OpenCV and PyAV: expected the package shoe-daemon-camera, or "
    "`pip install 'shoe-daemon[camera]'`"
)

_MAX_WITNESSES: Final = 4
_SIZE: Final = re.compile(r"([1-9]\d{1,3})x([1-9]\d{1,3})")
_FOLDER: Final = "evidence"


class WitnessSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[witness]]``, by exactly one of `source` and `reader`.

    Attributes:
        id: Its name in the log, the status, the journal and the names of its clips.
        source: A camera that reads nothing: ``rtsp://…``, ``http://…`` or ``/dev/…``.
        reader: The id of a reader that is a camera: its pictures are used.
        username: User name for a network camera.
        password_file: File with the password in its first line, searched among the unit's
            credentials first, then beside the configuration.
        size: Size of the pictures that a device is asked for.
        before: Seconds of video before a cause.
        after: Seconds of video after the decision.
        longest: Seconds after which a clip ends without a decision.
        fps: Pictures per second in a clip.
        width: Greatest width of a clip, in pixels.
        folder: Folder for the clips; ``evidence`` beside the journal if missing.
        days: Maximum age of the clips.
        megabytes: Maximum size of all of them.
    """

    id: Name = "witness"
    source: Annotated[str, Meta(min_length=1)] | None = None
    reader: str | None = None
    username: Annotated[str, Meta(min_length=1)] | None = None
    password_file: Annotated[str, Meta(min_length=1)] | None = None
    size: str = "1280x720"
    before: Annotated[float, Meta(ge=1, le=120)] = 20
    after: Annotated[float, Meta(ge=0, le=60)] = 5
    longest: Annotated[float, Meta(ge=10, le=3600)] = 300
    fps: Annotated[float, Meta(ge=1, le=30)] = 5
    width: Annotated[int, Meta(ge=160, le=1920)] = 960
    folder: Annotated[str, Meta(min_length=1)] | None = None
    days: Annotated[float, Meta(gt=0, le=3650)] = 30
    megabytes: Annotated[float, Meta(ge=10, le=1_000_000)] = 2000

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of `size`; it must be valid."""
        width, _, height = self.size.partition("x")
        return int(width), int(height)

    def clip_folder(self, beside: Path, journal: Path) -> Path:
        """Return the folder of the clips of a configuration in `beside`."""
        return journal.parent / _FOLDER if self.folder is None else beside / self.folder


def check_witnesses(
    witnesses: Sequence[WitnessSettings], readers: Sequence[tuple[str, str, str]], loader: Loader
) -> None:
    """Check what types cannot: ids, cameras and readers (id, driver and port of each)."""
    with loader.check():
        if len(witnesses) > _MAX_WITNESSES:
            raise UserError(
                f"witness: {len(witnesses)} of them; expected at most {_MAX_WITNESSES}"
            )
    ids: set[str] = set()
    owners = {
        _device(port.removeprefix("camera:")): f"reader {name!r}" for name, _, port in readers
    }
    cameras = [name for name, driver, _ in readers if driver == "camera"]
    for number, witness in enumerate(witnesses, start=1):
        with loader.check(), errors_at(f"witness {number}"):
            if witness.id in ids:
                raise UserError(f"id: {witness.id!r} is another witness's; expected each id once")
            ids.add(witness.id)
            _check_camera(witness, cameras)
            _check_seconds(witness)
            if witness.source is None:
                continue
            own = f"witness {witness.id!r}"
            other = owners.setdefault(_device(witness.source.removeprefix("camera:")), own)
            if other != own:
                advice = (
                    f"; expected reader = {other[8:-1]!r}" if other.startswith("reader") else ""
                )
                shown = redact_url(witness.source)
                raise UserError(f"source: {shown!r} is the camera of {other} too{advice}")


def check_video_installed(witnesses: Sequence[WitnessSettings], loader: Loader) -> None:
    """Check the packages and the password files of all witnesses; their absence is a fault."""
    for witness in witnesses:
        with loader.check(), loader.tolerate(), errors_at(f"witness {witness.id!r}"):
            for module in ("cv2", "av"):
                if find_spec(module) is None:
                    raise UserError(MISSING_VIDEO_PACKAGES)
            if witness.source is not None:
                username, file = witness.username, witness.password_file
                check_video(witness.source, username, file, loader.folder)


def _check_camera(witness: WitnessSettings, cameras: Sequence[str]) -> None:
    given = [key for key in ("source", "reader") if getattr(witness, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "neither source nor reader"
        raise UserError(f"{found}; expected exactly one of source and reader")
    if witness.reader is not None:
        if witness.reader not in cameras:
            known = ", ".join(cameras) or "none"
            raise UserError(
                f"reader: {witness.reader!r}; expected a reader whose driver is camera: {known}"
            )
        for key in ("username", "password_file"):
            if getattr(witness, key) is not None:
                raise UserError(f"{key}: given with reader; expected it with source only")


def _check_seconds(witness: WitnessSettings) -> None:
    if not _SIZE.fullmatch(witness.size):
        raise UserError(f"size: {witness.size!r}; expected width and height, such as '1280x720'")
    if witness.longest < witness.before + witness.after:
        raise UserError(
            f"longest: {witness.longest:g}; expected at least before and after together, "
            f"{witness.before + witness.after:g}"
        )


def _device(source: str) -> str:
    return os.path.realpath(source) if source.startswith("/") else source
