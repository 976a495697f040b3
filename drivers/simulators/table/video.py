"""
Writes what the simulated camera sees to a video file, and the truth beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import IO, Final

import cv2

from drivers.simulators.table.scene import Scene, Shot
from drivers.simulators.table.truth import round_line, truth_line
from shoe_daemon.errors import UserError

__all__ = ["write_video"]

_CODECS: Final = {".avi": "MJPG", ".mp4": "mp4v", ".mkv": "MJPG"}


def write_video(scene: Scene, path: Path, truth: Path | None, stopping: Event) -> Iterator[Shot]:
    """
    Write picture after picture; give each once it is written.

    A camera that gives none for a while is a video whose time jumps: the file just
    lacks those pictures, its truth has them.

    Raises:
        UserError: The file cannot be written.
    """
    settings = scene.settings
    codec = _CODECS.get(path.suffix.lower())
    if codec is None:
        raise UserError(f"{path}: expected a name ending in {', '.join(sorted(_CODECS))}")
    code = cv2.VideoWriter.fourcc(*codec)
    size = (settings.width, settings.height)
    writer = cv2.VideoWriter(str(path), code, settings.fps, size)
    with closing(_Closing(writer)), _ledger(truth) as ledger:
        if not writer.isOpened():
            raise UserError(f"{path}: no video can be written there; does its folder exist?")
        if codec == "MJPG":
            writer.set(cv2.VIDEOWRITER_PROP_QUALITY, 90)
        for shot in scene.frames():
            if stopping.is_set():
                return
            if shot.image is not None:
                writer.write(shot.image)
            if ledger is not None:
                _note(ledger, shot)
            yield shot


def _note(ledger: IO[bytes], shot: Shot) -> None:
    ledger.write(truth_line(shot.truth))
    if shot.truth.finished is not None:
        ledger.write(round_line(shot.truth.finished, shot.truth.trouble))


class _Closing:
    def __init__(self, writer: cv2.VideoWriter) -> None:
        self.close = writer.release


@contextmanager
def _ledger(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    with file:
        yield file
