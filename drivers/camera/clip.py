"""
Clips: VP8 video in WebM files, with the time burned in.

The name of a clip has the time of its first picture, its witness, its length and the first
digits of its SHA-256; the whole hash is in the journal. A clip that is still written has a
hidden name.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, Final

import av
import cv2
import numpy as np
from msgspec import Struct

from drivers.camera.image import Image
from drivers.camera.sources.address import Address, SourceKind
from drivers.camera.sources.video import VideoFile
from drivers.camera.video_ring import Picture
from drivers.transport import LineError
from shoe_daemon.evidence import FILE_MODE

_AT: Final = "%Y%m%d-%H%M%S.%f"
_HASH_DIGITS: Final = 16
_BITS_PER_PIXEL: Final = 0.35
_JPEG_QUALITY: Final = 85
_NO_PICTURE_GREY: Final = 64
_BASE_WIDTH: Final = 960
"""Width of a picture whose text has the scale 0.6."""

_ENCODER_OPTIONS: Final = {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
_CONTAINER_OPTIONS: Final = {
    # A daemon that is killed leaves a clip that plays, but for the last second.
    "cluster_time_limit": "1000",
    "flush_packets": "1",
}


class Clip(Struct, frozen=True, kw_only=True):
    """
    A finished clip.

    Attributes:
        file: The name that it gets when it is in the journal.
        path: Its hidden file until then.
        sha256: The hash of the file, 64 hexadecimal digits.
        bytes: The size of the file.
        begin: The time of the first picture.
        end: The time of the last picture.
        blind_s: Seconds in which the camera gave no picture.
    """

    file: str
    path: Path
    sha256: str
    bytes: int
    begin: datetime
    end: datetime
    blind_s: float = 0.0


def clip_names(witness: str) -> re.Pattern[str]:
    """Return the names of a witness's files: clips, and hidden ones that were not finished."""
    own = re.escape(witness)
    return re.compile(
        rf"(?P<at>\d{{8}}-\d{{6}}\.\d{{3}})-{own}-\d+s-[0-9a-f]{{{_HASH_DIGITS}}}\.webm"
        rf"|\.(?P<half>\d{{8}}-\d{{6}}\.\d{{3}})-{own}(-\d+)?\.webm"
    )


def encode_picture(image: Image, width: int) -> bytes:
    """Return a frame as JPEG, reduced to a width; a `ValueError` if OpenCV cannot encode it."""
    scale = width / image.shape[1]
    if scale < 1:
        size = (width, max(1, round(image.shape[0] * scale)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    try:
        good, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    except cv2.error as error:
        raise ValueError(str(error)) from error
    if not good:
        raise ValueError("no picture that OpenCV can encode")
    return data.tobytes()


class ClipWriter:
    """
    Writes a clip, picture by picture, at a constant rate.

    Args:
        folder: It must exist.
        witness: The id of the witness.
        label: Burned into each picture, after the time.
        fps: Pictures per second.
        size: Width and height; even numbers.
        begin: The time of the first picture.

    Raises:
        OSError: The file cannot be written; also raised by `add` and `finish`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all of them are facts of one clip
        self,
        folder: Path,
        witness: str,
        label: str,
        fps: float,
        size: tuple[int, int],
        begin: datetime,
    ) -> None:
        self._folder = folder
        self._witness = witness
        self._label = label
        self._fps = Fraction(fps).limit_denominator(1000)
        self._begin = self._end = begin
        self._size = size
        self._blind = self._count = 0
        self._last_seen: datetime | None = None
        self._path = _new_file(folder, f".{begin:{_AT}}"[:-3] + f"-{witness}")
        with _encoder_errors(), contextlib.ExitStack() as undo:
            undo.callback(self._path.unlink, missing_ok=True)
            self._container = av.open(
                str(self._path), "w", format="webm", options=_CONTAINER_OPTIONS
            )
            self._stream = self._container.add_stream(
                "libvpx", rate=self._fps, options=_ENCODER_OPTIONS
            )
            self._stream.width, self._stream.height = size
            self._stream.pix_fmt = "yuv420p"
            self._stream.bit_rate = round(size[0] * size[1] * fps * _BITS_PER_PIXEL)
            self._stream.thread_count = 1
            undo.pop_all()

    @property
    def is_blind(self) -> bool:
        """True if no picture of the camera is in it."""
        return self._last_seen is None

    def add(self, picture: Picture) -> None:
        """Write the next picture; a missing one becomes a grey picture that says so."""
        frame = av.VideoFrame.from_ndarray(self._draw(picture), format="bgr24")
        frame.pts = self._count
        with _encoder_errors():
            for packet in self._stream.encode(frame):
                self._container.mux(packet)
        self._count += 1
        self._end = picture.at

    def _draw(self, picture: Picture) -> Image:
        width, height = self._size
        image: Any = None
        if picture.jpeg is not None:
            image = cv2.imdecode(np.frombuffer(picture.jpeg, np.uint8), cv2.IMREAD_COLOR)
        text = f"{picture.at:%Y-%m-%d %H:%M:%S.%f}"[:-5] + f" UTC  {self._label}"
        if image is None:
            self._blind += 1
            image = np.full((height, width, 3), _NO_PICTURE_GREY, np.uint8)
            since = "" if self._last_seen is None else f" since {self._last_seen:%H:%M:%S} UTC"
            _write_text(image, f"no picture{since}", height // 2)
        else:
            self._last_seen = picture.at
            if image.shape[1::-1] != self._size:
                image = cv2.resize(image, self._size, interpolation=cv2.INTER_AREA)
        drawn = np.asarray(image, np.uint8)
        _write_text(drawn, text, max(16, height // 18))  # players cover the lower edge
        return drawn

    def finish(self) -> Clip:
        """Finish the file."""
        with _encoder_errors():
            for packet in self._stream.encode(None):
                self._container.mux(packet)
            self._container.close()
        blind_s = round(float(self._blind / self._fps), 1)
        return describe_clip(self._path, self._witness, self._begin, self._end, blind_s=blind_s)

    def abandon(self) -> None:
        """Remove the unfinished file; nothing is raised."""
        with contextlib.suppress(OSError, av.FFmpegError, ValueError):
            self._container.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def _new_file(folder: Path, stem: str) -> Path:
    """Create a hidden file. The last clip may begin with the same picture and have no name yet."""
    for number in count(1):
        path = folder / (f"{stem}.webm" if number == 1 else f"{stem}-{number}.webm")
        with contextlib.suppress(FileExistsError):
            path.touch(FILE_MODE, exist_ok=False)
            return path
    raise AssertionError


def describe_clip(
    path: Path, witness: str, begin: datetime, end: datetime, *, blind_s: float = 0.0
) -> Clip:
    """Return what is known of a written file, and make it durable; an `OSError` if it fails."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.seek(0, os.SEEK_END)
        os.fsync(file.fileno())
    whole_seconds = math.ceil(max(0.0, (end - begin).total_seconds()))
    at = f"{begin:{_AT}}"[:-3]
    name = f"{at}-{witness}-{whole_seconds}s-{digest[:_HASH_DIGITS]}.webm"
    return Clip(
        file=name,
        path=path,
        sha256=digest,
        bytes=size,
        begin=begin,
        end=end,
        blind_s=blind_s,
    )


def is_playable(path: Path) -> bool:
    """Return whether a file has at least one picture."""
    with (
        contextlib.suppress(LineError),
        contextlib.closing(VideoFile(Address(SourceKind.FILE, str(path)))) as video,
    ):
        video.read()
        return True
    return False


def find_unfinished(folder: Path, witness: str) -> list[tuple[Path, datetime]]:
    """Return the clips that a daemon did not finish, and when they begin."""
    names = clip_names(witness)
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(folder.iterdir()):
            parts = names.fullmatch(path.name)
            regular = stat.S_ISREG(path.lstat().st_mode)
            if regular and parts is not None and parts["half"] is not None:
                with contextlib.suppress(ValueError):  # no such day
                    begin = datetime.strptime(f"{parts['half']}+0000", f"{_AT}%z")
                    found.append((path, begin.astimezone(UTC)))
    return found


@contextlib.contextmanager
def _encoder_errors() -> Iterator[None]:
    try:
        yield
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, OSError):
            raise
        raise OSError(f"video cannot be encoded: {error}") from error


def _write_text(image: Image, text: str, baseline: int) -> None:
    """Write white text on a dark box, so that it can be read on any table."""
    scale = 0.6 * image.shape[1] / _BASE_WIDTH
    thickness = max(1, round(1.6 * scale))
    font = cv2.FONT_HERSHEY_SIMPLEX
    (width, height), below = cv2.getTextSize(text, font, scale, thickness)
    left = max(4, image.shape[1] // 80)
    margin = max(3, height // 2)
    top = max(0, baseline - height - margin)
    box = image[top : baseline + below + margin, left - 4 : left + width + margin]
    box[:] = box // 4
    cv2.putText(
        image, text, (left, baseline), font, scale, (255, 255, 255), thickness, cv2.LINE_AA
    )
