"""Video of cameras that read no cards, for witnesses: no profile, no station."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import cv2

from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import (
    SourceKind,
    add_login,
    parse_source,
)
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck
from drivers.camera.sources.open_source import RAW_TIMEOUT_S, open_source

_FROZEN_AFTER_S: Final = 15.0
"""A network camera may send no frames while nothing changes."""


def open_video(
    source: str,
    size: tuple[int, int],
    username: str | None,
    password_file: str | None,
    folder: Path,
) -> CaptureThread:
    """
    Return the capture of a camera; `start` opens it.

    A device is asked for the width and height of `size`; streams have their own. The other
    parameters are those of `check_video`.

    Raises:
        UserError: The address is invalid, or the file has no password.
    """
    cv2.setNumThreads(1)  # the daemon has other things to do
    address = add_login(parse_source(source), username, password_file, folder)
    camera = Camera(width=size[0], height=size[1])
    is_raw = address.kind is SourceKind.RAW
    pace = CapturePace(live=address.is_live, silence_limit_s=RAW_TIMEOUT_S if is_raw else None)
    frozen = _FROZEN_AFTER_S if address.is_live else None
    check = FrameCheck(str(address), None, frozen_after=frozen)
    return CaptureThread(str(address), lambda: open_source(address, camera), check, pace)
