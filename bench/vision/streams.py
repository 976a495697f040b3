"""
Latency and recovery time of network cameras: `python -m bench.vision.streams`.

Each camera draws the moment at which it takes a picture into that picture, as black and white
squares, and sends it over loopback to the driver's own thread; what is measured is the time
from there until the station has it. Besides: how late the first picture is, after how many
the lag of the start is gone, how soon it is told that no packet comes any more, that the
server was killed, and how soon after its start it is found again.

    mjpeg        JPEGs over HTTP
    rtsp-jpeg    JPEGs over RTSP, read by PyAV
    rtsp-h264    H.264 over RTSP from GStreamer's server, where it is installed:
                 apt-get install gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{good,ugly}

With `--threads N` H.264 is also decoded by OpenCV with so many threads.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import cv2
import numpy as np

from bench.harness import percentile
from bench.vision.stream_cameras import CAMERAS, FPS, HEIGHT, WIDTH, Server, age
from drivers import LineError
from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import parse_address
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck
from drivers.camera.sources.open_source import open_source
from shoe_daemon.errors import UserError

PATIENCE: Final = 30.0
"""Seconds in which trouble has to be told, and a camera be found again."""

LEVEL: Final = 1.5
"""Times the usual delay up to which the lag of the start counts as gone."""

_HEAD: Final = f"""\
{WIDTH}x{HEIGHT}, {FPS} pictures a second; milliseconds from drawn to taken; seconds
{"":12}  opened   first  settled    p50    p95   most  silent killed  again   and what is told"""


class Delays(NamedTuple):
    """In milliseconds; `settled` counts the pictures before the lag of the start was gone."""

    opened: float
    first: float
    settled: int
    usual: list[float]


@contextmanager
def looked_through(url: str) -> Iterator[CaptureThread]:
    """Look through a camera as the driver does."""
    address = parse_address(url)
    capture = CaptureThread(
        str(address),
        lambda: open_source(address, Camera(width=WIDTH, height=HEIGHT)),
        FrameCheck(str(address), (WIDTH, HEIGHT), frozen_after=None),
        # More than the newest, so that the lag of the start is seen.
        CapturePace(live=True, queue_size=100),
    )
    try:
        capture.start()
        yield capture
    finally:
        capture.stop()


def delays(url: str, seconds: float) -> Delays:
    """
    Measure how late pictures are, for so many seconds from where the stream is open.

    Raises:
        UserError: None came.
    """
    began = time.monotonic()
    ages: list[float] = []
    with looked_through(url) as capture:
        opened = time.monotonic()
        while time.monotonic() - opened < seconds:
            picture = capture.take(1.0)
            if picture is not None:
                ages.append(age(picture.image))
    if not ages:
        raise UserError(f"no picture came in {seconds:g} s")
    usual = sorted(ages[len(ages) // 3 :])
    level = LEVEL * percentile(usual, 0.5) + 20
    settled = next((number for number, each in enumerate(ages) if each < level), len(ages))
    return Delays((opened - began) * 1000, ages[0], settled, usual)


def noticed(server: Server, trouble: Callable[[], None]) -> tuple[float, str]:
    """Make trouble; return the seconds until it is reported, and the report."""
    with looked_through(server.url) as capture:
        for _ in range(FPS):
            capture.take(1.0)
        trouble()
        began = time.monotonic()
        try:
            while time.monotonic() - began < PATIENCE:
                capture.take(0.2)
        except LineError as error:
            return time.monotonic() - began, str(error).rpartition(": ")[2]
    return PATIENCE, "nothing"


def found_again(server: Server) -> float:
    """Return how many seconds pass from the server's start to the first picture."""
    server.start()
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        with contextlib.suppress(LineError), looked_through(server.url):
            return time.monotonic() - began
        time.sleep(0.1)
    return PATIENCE


def measure(name: str, server: Server, seconds: float) -> None:
    found = delays(server.url, seconds)
    usual = found.usual
    silent, said = noticed(server, server.silence)
    server.kill()
    server.start()
    time.sleep(1.0)
    killed, why = noticed(server, server.kill)
    again = found_again(server)
    print(
        f"{name:<12} {found.opened:7.0f} {found.first:7.0f} {found.settled:8} "
        f"{percentile(usual, 0.5):6.0f} {percentile(usual, 0.95):6.0f} {usual[-1]:6.0f}  "
        f"{silent:6.1f} {killed:6.1f} {again:6.1f}   {said!r}, {why!r}",
        flush=True,
    )


def with_threads(server: Server, count: int) -> list[float]:
    """Read as OpenCV would with so many decoding threads; return how late pictures were."""
    where = parse_address(server.url).location
    video = cv2.VideoCapture(where, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, count])
    ages = []
    for _ in range(FPS * 6):
        good, image = video.read()
        if not good:
            break
        ages.append(age(np.asarray(image, np.uint8)))
    video.release()
    return sorted(ages[len(ages) // 2 :])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cameras", nargs="*", choices=[[], *CAMERAS], help="all, where none is named"
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, nargs="*", default=[])
    options = parser.parse_args()
    cv2.setNumThreads(1)
    print(_HEAD)
    for name in options.cameras or CAMERAS:
        try:
            with CAMERAS[name]() as server:
                measure(name, server, options.seconds)
                for threads in options.threads if name == "rtsp-h264" else ():
                    late = with_threads(server, threads)
                    p50, p95 = percentile(late, 0.5), percentile(late, 0.95)
                    print(f"  {threads} decoding threads: {p50:.0f} ms, 95 of 100 in {p95:.0f}")
        except (LineError, UserError) as error:
            print(f"{name:<12} left out: {error}", flush=True)


if __name__ == "__main__":
    main()
