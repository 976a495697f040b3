"""A camera as a line: frames in, one JSON line for each card out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import cv2

from drivers.camera.evidence import Evidence
from drivers.camera.image import Image, VideoFrame, read_image
from drivers.camera.messages import Say, Statement, Station, encode_statement
from drivers.camera.options import CameraOptions
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.card_reader import CardReader, CardRecogniser
from drivers.camera.recognition.recogniser import Recogniser
from drivers.camera.sources.address import Address, SourceKind
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck
from drivers.camera.sources.open_source import RAW_TIMEOUT_S, open_source
from drivers.camera.stations.overhead import OverheadStation
from drivers.camera.stations.throat import ThroatStation
from drivers.transport import READ_TIMEOUT_S, EndOfCaptureError, LineError
from shoe_daemon.errors import UserError

_STATUS_INTERVAL_S: Final = 1.0
"""Time between two ``watching`` statements with the frame rate."""

_THROAT_QUEUE_SIZE: Final = 16
"""Frames of the throat that may wait: none of a card may be lost."""

_FROZEN_LIMITS_S: Final[dict[SourceKind, float | None]] = {
    SourceKind.DEVICE: 3.0,
    # An encoder in a network camera may send no frames while nothing changes.
    SourceKind.STREAM: 15.0,
    SourceKind.RAW: 3.0,
    SourceKind.FILE: None,
    SourceKind.FOLDER: None,
}


class CameraLine:
    """
    An open camera.

    Attributes:
        frame_count: Number of processed frames.
    """

    def __init__(self, name: str, capture: CaptureThread, station: Station) -> None:
        self.frame_count = 0
        self._name = name
        self._capture = capture
        self._station = station
        self._status_sent_at = time.monotonic()
        self._status_count = 0
        self._ended = False

    def read(self) -> bytes:
        """Return the statements of the next frame; nothing where none arrives in time."""
        try:
            frame = None if self._ended else self._capture.take(READ_TIMEOUT_S)
        except EndOfCaptureError:
            self._ended = True
            return b"".join(map(encode_statement, self._station.finish()))
        if self._ended:
            raise EndOfCaptureError(f"{self._name}: the pictures are over")
        if frame is None:
            return b""
        statements = self._station.process(frame)
        self.frame_count += 1
        return b"".join(map(encode_statement, [*statements, *self._status()]))

    def _status(self) -> list[Statement]:
        now = time.monotonic()
        span = now - self._status_sent_at
        if span < _STATUS_INTERVAL_S:
            return []
        fps = (self.frame_count - self._status_count) / span
        self._status_count, self._status_sent_at = self.frame_count, now
        return [Statement(say=Say.WATCHING, fps=round(fps, 1))]

    def check(self) -> None:
        """Check that frames still arrive."""
        if not self._ended:
            self._capture.check()

    def write(self, data: bytes) -> None:
        """Reject all data."""
        raise LineError(f"{self._name}: cameras accept no data: {len(data)} bytes refused")

    def close(self) -> None:
        """Release the camera."""
        with contextlib.suppress(Exception):
            self._capture.stop()
        with contextlib.suppress(Exception):
            self._station.close()


def _previewed(station: Station, profile: Profile, options: CameraOptions) -> Station:
    """Wrap a station in a preview, where the options ask for one."""
    if options.view is None:
        return station
    from drivers.camera.preview import PreviewedStation, PreviewServer  # noqa: PLC0415 - most tables have none

    return PreviewedStation(station, profile, PreviewServer(options.view))


def open_camera(
    address: Address,
    profile: Profile,
    options: CameraOptions,
    evidence: Path | None,
    receivers: Sequence[Callable[[VideoFrame], None]] = (),
) -> CameraLine:
    """
    Open a camera and wait for its first frame; the receivers are given each frame as it arrives.

    Raises:
        LineError: No frame arrives, or none of the profile's table.
        UserError: The profile or the options are invalid.
    """
    throat = profile.station == "throat"
    pace = CapturePace(
        live=address.is_live,
        real_time=options.pace == "own",
        # A card passes the throat within a few frames; above the table the newest frame is
        # enough.
        queue_size=_THROAT_QUEUE_SIZE if throat else 1,
        silence_limit_s=RAW_TIMEOUT_S if address.kind is SourceKind.RAW else None,
    )
    name, camera, frozen_after = str(address), profile.camera, _FROZEN_LIMITS_S[address.kind]
    check = FrameCheck(name, camera.size, frozen_after=frozen_after)
    capture = CaptureThread(name, lambda: open_source(address, camera, options.fps), check, pace)
    capture.receivers = receivers
    return start_line(name, capture, profile, options, evidence)


def start_line(
    name: str,
    capture: CaptureThread,
    profile: Profile,
    options: CameraOptions,
    evidence: Path | None,
) -> CameraLine:
    """Start a capture and the station of a profile; raises as `open_camera`."""
    cv2.setNumThreads(1)  # the daemon has other things to do

    station = _previewed(make_station(profile, options, evidence), profile, options)
    try:
        capture.start()
    except Exception:
        station.close()
        raise
    return CameraLine(name, capture, station)


def make_station(
    profile: Profile,
    options: CameraOptions,
    evidence: Path | None,
    reader: CardRecogniser | None = None,
) -> Station:
    """
    Make the station of a profile; `reader` replaces the recogniser of the package. A `UserError`
    if the reference frame of the profile is invalid.
    """
    reference = _load_reference(profile)
    card_reader = CardReader(profile, reader or load_recogniser(profile, options.threshold))
    kept = None
    if evidence is not None:
        kept = Evidence(evidence, options.evidence_days, options.evidence_megabytes)
    kind = ThroatStation if profile.station == "throat" else OverheadStation
    return kind(profile, reference, card_reader, kept)


def load_recogniser(profile: Profile, threshold: float | None) -> CardRecogniser:
    """Load the recogniser with the settings of a profile."""
    reading = profile.reading
    return Recogniser(
        window=profile.window,
        threshold=reading.threshold if threshold is None else threshold,
        sharpness=reading.sharpness,
    )


def _load_reference(profile: Profile) -> Image:
    image = read_image(profile.reference)
    width, height = profile.camera.size
    if image is None:
        raise UserError(f"{profile.reference}: no frame; expected that of the empty table")
    if image.shape[:2] != (height, width):
        raise UserError(
            f"{profile.reference}: {image.shape[1]}x{image.shape[0]}; expected "
            f"{width}x{height}, as its profile says"
        )
    return image
