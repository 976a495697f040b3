"""Writes the simulated camera's pictures to a video file, and the truth beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import IO, Final

import cv2

from drivers.simulators.camera.ground_truth import round_line, truth_line
from drivers.simulators.camera.scene_renderer import Scene, Shot
from shoe_daemon.errors import UserError, one_line

__all__ = ["check_whole", "write_video"]

_CODECS: Final = {".avi": "MJPG", ".mp4": "mp4v", ".mkv": "MJPG"}


def write_video(scene: Scene, path: Path, truth: Path | None, stopping: Event) -> Iterator[Shot]:
    """
    Write all pictures; yield each picture after writing it.

    If the camera delivers no picture for a while, the file lacks those pictures; the truth has
    them.

    Raises:
        UserError: The video or its truth cannot be written completely.
    """
    count = 0
    settings = scene.settings
    codec = _CODECS.get(path.suffix.lower())
    if codec is None:
        raise UserError(f"{path}: expected a name ending in {', '.join(sorted(_CODECS))}")
    code = cv2.VideoWriter.fourcc(*codec)
    size = (settings.width, settings.height)
    writer = cv2.VideoWriter(str(path), code, settings.fps, size)
    with closing(_Closing(writer)), _truth_file(truth) as ledger:
        if not writer.isOpened():
            raise UserError(f"{path}: no video can be written there; does its folder exist?")
        if codec == "MJPG":
            writer.set(cv2.VIDEOWRITER_PROP_QUALITY, 90)
        for shot in scene.frames():
            if stopping.is_set():
                break
            if shot.image is not None:
                writer.write(shot.image)
                count += 1
            if ledger is not None:
                _write_truth(ledger, shot)
            yield shot
    check_whole(path, count)


def check_whole(path: Path, count: int) -> None:
    """
    Check that a video contains all its pictures; OpenCV does not report write errors.

    Raises:
        UserError: Pictures are missing.
    """
    film = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    found = film.get(cv2.CAP_PROP_FRAME_COUNT) if film.isOpened() else 0
    film.release()
    if found != count:
        raise UserError(f"{path}: not all of its {count} pictures are in it: is the disk full?")


def _write_truth(ledger: IO[bytes], shot: Shot) -> None:
    ledger.write(truth_line(shot.truth))
    if shot.truth.finished is not None:
        ledger.write(round_line(shot.truth.finished, shot.truth.trouble))


class _Closing:
    def __init__(self, writer: cv2.VideoWriter) -> None:
        self.close = writer.release


@contextmanager
def _truth_file(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error
