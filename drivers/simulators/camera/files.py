"""Files of the simulated camera: its video with the truth beside it, and its profile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import IO, Any, Final

import cv2
import msgspec
import numpy as np

from drivers.camera.profile import sections as kept
from drivers.camera.profile.file import write_profile
from drivers.simulators.camera.projection import Camera, Floats
from drivers.simulators.camera.scene import Scene, Shot, Truth
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.simulators.camera.sprites import Pixels
from drivers.simulators.camera.table_layout import CARD, PLACES, THROAT_WINDOW
from drivers.simulators.shoe import DealtRound
from shoe_daemon.errors import UserError, one_line

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
    with ExitStack() as stack:
        stack.callback(writer.release)
        ledger = None if truth is None else stack.enter_context(_truth_file(truth))
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
    ledger.write(_truth_line(shot.truth))
    if shot.truth.finished is not None:
        ledger.write(_round_line(shot.truth.finished, shot.truth.trouble))


@contextmanager
def _truth_file(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error


def _truth_line(truth: Truth) -> bytes:
    """Encode a picture's truth as a line of JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(truth)
    fields["at"] = round(truth.at, 4)
    for card in fields["cards"]:
        card["quad"] = [[round(v, 2) for v in corner] for corner in card["quad"]]
        card["since"] = round(card["since"], 3)
    del fields["finished"]
    return msgspec.json.encode({"picture": fields}) + b"\n"


def _round_line(dealt: DealtRound, trouble: SceneFault | None) -> bytes:
    """Encode a round's truth as a line of JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(dealt)
    fields["trouble"] = None if trouble is None else trouble.value
    if not dealt.aborted and len(dealt.cards) >= 4:  # noqa: PLR2004 - a whole round
        coup = dealt.coup
        fields["coup"] = {
            "outcome": coup.outcome.value,
            "player": coup.player.total,
            "banker": coup.banker.total,
        }
    return msgspec.json.encode({"round": fields}) + b"\n"


PROFILE: Final = "profile.toml"
_REFERENCE: Final = "reference.png"
_PICTURES: Final = 8


def write_simulated_profile(settings: Settings, folder: Path) -> Path:
    """
    Write the profile of a perfect calibration, with the picture of the empty table beside it.

    Returns:
        The path of the profile.

    Raises:
        OSError: One of them cannot be written.
    """
    scene = Scene(settings)
    folder.mkdir(parents=True, exist_ok=True)
    # OpenCV's own writing would not say that the disk is full.
    _, data = cv2.imencode(".png", _without_noise(scene))
    (folder / _REFERENCE).write_bytes(data.tobytes())
    path = folder / PROFILE
    write_profile(_profile(settings, scene.camera), path)
    return path


def _without_noise(scene: Scene) -> Pixels:
    """Take the mean of several pictures, as a calibration does."""
    whole = scene.empty().astype(np.uint16)
    for _ in range(1, _PICTURES):
        whole += scene.empty()
    return np.asarray((whole / _PICTURES).round(), np.uint8)


def _profile(settings: Settings, camera: Camera) -> kept.Profile:
    overhead = settings.station is Station.OVERHEAD
    lens = None
    if camera.distortion.any():
        bends = tuple(float(each) for each in camera.distortion)
        lens = kept.Lens(matrix=_rows(camera.matrix), distortion=bends)
    return kept.Profile(
        version=kept.VERSION,
        station=settings.station.value,
        camera=kept.Camera(width=settings.width, height=settings.height, fps=settings.fps),
        table=kept.Table(homography=_rows(camera.homography), reference=_REFERENCE, error=0.0),
        card=kept.CardSize(width=CARD[0], height=CARD[1]),
        lens=lens,
        place=tuple(
            kept.Place(polygon=box.corners, slot=slot, turn=90 if box.turn else 0)
            for slot, box in PLACES.items()
            if overhead
        ),
        throat=None
        if overhead
        else kept.Throat(window=THROAT_WINDOW.corners, direction=(1.0, 0.0)),
        made=kept.Made(version="simulated"),
    )


def _rows(matrix: Floats) -> tuple[kept.Row, kept.Row, kept.Row]:
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c
