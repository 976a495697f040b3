"""
A picture that claims more pixels than any camera has is refused before it is decoded, whatever
it comes in: 378 bytes of JPEG took 5.9 GB.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from tests.volume import sample

_MEMORY_MB = 150
"""More than the largest permitted picture takes, and less than a quarter of a larger one's."""

_VIDEO_MB = 60
"""Less than one frame of 8192x8192 takes, which is 96 MB."""

_CHILD = """
import resource, sys
from pathlib import Path
from {module} import {name}
def peak_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak_mb()
try:
    print({call})
except Exception as error:
    print(type(error).__name__, error)
print(peak_mb() - before)
"""


def _said(module: str, name: str, call: str) -> tuple[str, int]:
    """Run a call in a process of its own; return its result or error, and the memory it took."""
    script = _CHILD.format(module=module, name=name, call=call)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    *text, peak = done.stdout.splitlines()
    return "\n".join(text), int(peak)


def _jpeg(width: int, height: int, *, first: tuple[int, int] | None = None) -> bytes:
    """Return a small JPEG whose header claims this size; `first` adds a header before it."""
    small = cv2.imencode(".jpg", np.zeros((16, 16, 3), np.uint8))[1].tobytes()
    start = small.index(b"\xff\xc0")
    (length,) = struct.unpack(">H", small[start + 2 : start + 4])

    def header(wide: int, high: int) -> bytes:
        frame = small[start : start + 2 + length]
        return frame[:5] + struct.pack(">HH", high, wide) + frame[9:]

    before = b"" if first is None else header(*first)
    return small[:start] + before + header(width, height) + small[start + 2 + length :]


def _png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


_PICTURES = {
    "wide.jpg": _jpeg(32_000, 32_000),
    "second.jpg": _jpeg(32_000, 32_000, first=(16, 16)),
    "first.jpg": _jpeg(16, 16, first=(32_000, 32_000)),
    "long.jpg": _jpeg(65_500, 300),
    "large.png": _png(30_000, 30_000),
    "thin.png": _png(1_000_000, 1_000),
}


def test_pictures_that_are_too_large_are_none(tmp_path: Path) -> None:
    for name, data in _PICTURES.items():
        (tmp_path / name).write_bytes(data)
    call = f"[read_image(path) for path in Path({str(tmp_path)!r}).iterdir()]"
    text, peak_mb = _said("drivers.camera.image", "read_image", call)
    assert text.endswith(str([None] * len(_PICTURES)))
    assert peak_mb < _MEMORY_MB


def test_a_frame_of_an_mjpeg_stream_is_refused_before_it_is_decoded() -> None:
    data = _jpeg(32_000, 32_000)
    text, peak_mb = _said("drivers.camera.sources.mjpeg", "_decode", f"_decode({data!r})")
    assert text.endswith("None")
    assert peak_mb < _MEMORY_MB


def test_calibration_has_the_limit_too() -> None:
    data = _jpeg(32_000, 32_000)
    call = f"cv2.imdecode(np.frombuffer({data!r}, np.uint8), cv2.IMREAD_COLOR)"
    text, _ = _said("calibration.camera.image_measures", "cv2, np", call)
    assert text.startswith("error OpenCV")


@pytest.mark.parametrize("good_frames", [0, 3])
def test_a_frame_of_a_video_is_refused_before_it_is_decoded(
    good_frames: int, tmp_path: Path
) -> None:
    """A film that is too large from its first frame on, or grows."""
    path = tmp_path / "film.mkv"
    large = _jpeg(15_000, 15_000)
    small = cv2.imencode(".jpg", np.zeros((48, 64, 3), np.uint8))[1].tobytes()
    with av.open(str(path), "w") as film:
        stream = film.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        for number, data in enumerate([small] * good_frames + [large] * 2):
            packet = av.Packet(data)
            packet.stream, packet.time_base = stream, Fraction(1, 10)
            packet.pts = packet.dts = number
            film.mux(packet)
    address = f"Address(SourceKind.FILE, {str(path)!r})"
    call = f"[VideoFile({address})] and [len(list(iter(VideoFile({address}).read, None)))]"
    text, peak_mb = _said(
        "drivers.camera.sources.video",
        "VideoFile, Address; from drivers.camera.sources.address import SourceKind",
        call,
    )
    assert re.search("no video that can be read|the video is over", text), text
    assert peak_mb < _MEMORY_MB


@pytest.mark.parametrize(
    ("codec", "file"), sample([("libx264", "film.mp4"), ("libvpx", "film.webm")], 2)
)
def test_a_video_whose_first_frame_is_too_large_is_refused(
    codec: str, file: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    with av.open(str(path), "w") as film:
        stream: Any = film.add_stream(codec, rate=10)
        stream.width = stream.height = 8192
        stream.pix_fmt, stream.thread_count = "yuv420p", 1
        fast = {"deadline": "realtime", "cpu-used": "8"}
        stream.options = fast if codec == "libvpx" else {"preset": "ultrafast"}
        film.mux(stream.encode(av.VideoFrame(8192, 8192, "yuv420p")))
        film.mux(stream.encode(None))
    names = "VideoFile, Address; from drivers.camera.sources.address import SourceKind"
    for module, name, call, expected in (
        ("clip", "is_playable, Path", f"is_playable(Path({str(path)!r}))", "False"),
        (
            "sources.video",
            names,
            f"VideoFile(Address(SourceKind.FILE, {str(path)!r})).read()",
            "LineError .*no video that can be read",
        ),
    ):
        text, peak_mb = _said(f"drivers.camera.{module}", name, call)
        assert re.search(expected, text), text
        assert peak_mb < _VIDEO_MB


def test_opencv_is_loaded_only_where_the_limit_was_set() -> None:
    """OpenCV reads the limit once: the packages that load it set it when they are imported."""
    root = Path(__file__).parents[2]
    limited = ("drivers/camera/", "calibration/", "drivers/simulators/")
    for package in ("shoe_daemon", "drivers", "calibration"):
        for path in sorted((root / package).rglob("*.py")):
            name = str(path.relative_to(root))
            if re.search(r"^\s*import cv2", path.read_text("utf-8"), re.MULTILINE):
                assert name.startswith(limited), name
