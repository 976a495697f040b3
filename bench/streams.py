"""
How late a network camera's picture is, and how soon its stream is back: `python -m bench.streams`.

Each camera draws the moment at which it takes a picture into that picture, as black and white
squares, and sends it over loopback to the driver's own thread; what is measured is the time
from there until the station has it. Besides: how late the first picture is, after how many
the lag of the start is gone, how soon it is told that no packet comes any more, that the
server was killed, and how soon after its start it is found again.

    mjpeg        JPEGs over HTTP
    rtsp-jpeg    JPEGs over RTSP, read by OpenCV's FFmpeg
    rtsp-h264    H.264 over RTSP from GStreamer's server, where it is installed:
                 apt-get install gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{good,ugly}

With `--threads N` H.264 is also decoded by so many threads, as OpenCV would by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import cv2
import numpy as np

from bench.rig import percentile
from bench.rtsp import Mood, RtspCamera
from drivers.camera.address import parse_address
from drivers.camera.capture import Capture, Pace
from drivers.camera.frames import Image, Judge
from drivers.camera.profile import Camera
from drivers.camera.sources import open_source
from drivers.simulators.table.stream import JpegStream
from drivers.transport import LineError
from shoe_daemon.errors import UserError

FPS: Final = 25
WIDTH, HEIGHT = 1280, 720
BITS: Final = 40
SQUARE: Final = 32
PATIENCE: Final = 30.0
LEVEL: Final = 1.5
"""Times the usual delay up to which the lag of the start counts as gone."""

# Run by the system's own Python, which has GStreamer's bindings.
H264: Final = f"""
import sys, threading, time
import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer

Gst.init(None)
CAPS = "video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate={FPS}/1"
ENCODER = "x264enc tune=zerolatency speed-preset=superfast bitrate=4000 key-int-max=50 threads=1"
LAUNCH = (
    f"( appsrc name=eye is-live=true do-timestamp=true format=time caps={{CAPS}}"
    f" ! queue leaky=downstream max-size-buffers=1 ! {{ENCODER}}"
    " ! rtph264pay name=pay0 pt=96 config-interval=1 )"
)
REST = bytes(range(60, 140)) * ({WIDTH} * ({HEIGHT} - {SQUARE}) // 80)
COLOUR = bytes([128]) * ({WIDTH} * {HEIGHT} // 2)


def picture():
    now = int(time.monotonic() * 1000)
    row = b"".join((b"\\xeb" if now >> bit & 1 else b"\\x10") * {SQUARE} for bit in range({BITS}))
    return Gst.Buffer.new_wrapped(row * {SQUARE} + REST + COLOUR)


class Factory(GstRtspServer.RTSPMediaFactory):
    def do_create_element(self, url):
        return Gst.parse_launch(LAUNCH)

    def do_configure(self, media):
        eye = media.get_element().get_child_by_name("eye")
        threading.Thread(target=self.feed, args=(eye,), daemon=True).start()

    def feed(self, eye):
        due = time.monotonic()
        while eye.emit("push-buffer", picture()) == Gst.FlowReturn.OK:
            due += 1 / {FPS}
            time.sleep(max(0, due - time.monotonic()))


server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = Factory()
factory.set_shared(True)
server.get_mount_points().add_factory("/table", factory)
server.attach(None)
print(server.get_bound_port(), flush=True)
GLib.MainLoop().run()
"""
SYSTEM_PYTHON: Final = "/usr/bin/python3"
NO_GSTREAMER: Final = "GStreamer's RTSP server is not installed: see `--help`"


class Server(NamedTuple):
    """
    A camera that can be told to fall silent, to go and to come back.
    """

    url: str
    silence: Callable[[], None]
    kill: Callable[[], None]
    start: Callable[[], None]


class Delays(NamedTuple):
    """
    In milliseconds; `settled` is how many pictures came before the lag of the start was gone.
    """

    opened: float
    first: float
    settled: int
    usual: list[float]


def stamped() -> Image:
    """
    Draw the moment into a picture.
    """
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    now = int(time.monotonic() * 1000)
    for bit in range(BITS):
        image[:SQUARE, bit * SQUARE : (bit + 1) * SQUARE] = 255 * (now >> bit & 1)
    return image


def age(image: Image) -> float:
    """
    Read the moment, and return how many milliseconds ago it was.
    """
    middle = SQUARE // 2
    bits = [image[middle, bit * SQUARE + middle].mean() > 127 for bit in range(BITS)]
    return time.monotonic() * 1000 - sum(1 << bit for bit, set_ in enumerate(bits) if set_)


@contextmanager
def looked_through(url: str) -> Iterator[Capture]:
    """
    Look through a camera as the driver does.
    """
    address = parse_address(url)
    capture = Capture(
        str(address),
        lambda: open_source(address, Camera(width=WIDTH, height=HEIGHT)),
        Judge(str(address), (WIDTH, HEIGHT), frozen_after=None),
        # More than the newest, so that the lag of the start is seen.
        Pace(live=True, waiting=100),
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
    """
    Make trouble, and return after how many seconds it is told, and how.
    """
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
    """
    Return how many seconds pass from the server's start to the first picture.
    """
    server.start()
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        with contextlib.suppress(LineError), looked_through(server.url):
            return time.monotonic() - began
        time.sleep(0.1)
    return PATIENCE


class _Mjpeg:
    """
    The simulator's stream, fed in time.
    """

    def __init__(self) -> None:
        self._stream = JpegStream("127.0.0.1", 0)
        self._port = int(self._stream.address.rstrip("/").rpartition(":")[2])
        self._silent = threading.Event()
        self._over = threading.Event()
        threading.Thread(target=self._feed, daemon=True).start()

    def _feed(self) -> None:
        while not self._over.wait(1 / FPS):
            if not self._silent.is_set():
                self._stream.send(stamped(), 0.0)

    def start(self) -> None:
        self._silent.clear()
        with contextlib.suppress(UserError):
            self._stream = JpegStream("127.0.0.1", self._port)

    def kill(self) -> None:
        self._stream.close()

    def server(self) -> Server:
        return Server(self._stream.address, self._silent.set, self.kill, self.start)

    def close(self) -> None:
        self._over.set()
        self._stream.close()


@contextmanager
def mjpeg() -> Iterator[Server]:
    camera = _Mjpeg()
    try:
        yield camera.server()
    finally:
        camera.close()


def _jpeg() -> bytes:
    return cv2.imencode(".jpg", stamped(), [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()


@contextmanager
def rtsp_jpeg() -> Iterator[Server]:
    with RtspCamera(_jpeg, FPS) as camera:

        def silence() -> None:
            camera.mood = Mood.SILENT

        def start() -> None:
            camera.mood = Mood.SENDS
            camera.come_back()

        yield Server(camera.url, silence, camera.go_away, start)


@contextmanager
def rtsp_h264() -> Iterator[Server]:
    """
    Run GStreamer's server.

    Raises:
        UserError: It is not installed.
    """
    running: list[subprocess.Popen[str]] = []

    def start_at(port: str) -> str:
        command = [SYSTEM_PYTHON, "-c", H264, port]
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True)
        except FileNotFoundError:
            raise UserError(NO_GSTREAMER) from None
        running.append(process)
        bound = "" if process.stdout is None else process.stdout.readline().strip()
        if not bound:
            process.wait()
            raise UserError(NO_GSTREAMER)
        return bound

    port = start_at("0")

    def start() -> None:
        start_at(port)

    def kill() -> None:
        # What was stopped has to go on to be killed.
        running[-1].send_signal(signal.SIGCONT)
        running[-1].kill()
        running[-1].communicate()

    try:
        yield Server(
            f"camera:rtsp://127.0.0.1:{port}/table",
            lambda: running[-1].send_signal(signal.SIGSTOP),
            kill,
            start,
        )
    finally:
        kill()


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
    """
    Read as OpenCV would with so many decoding threads; return how late pictures were.
    """
    where = parse_address(server.url).where
    video = cv2.VideoCapture(where, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, count])
    ages = []
    for _ in range(FPS * 6):
        good, image = video.read()
        if not good:
            break
        ages.append(age(np.asarray(image, np.uint8)))
    video.release()
    return sorted(ages[len(ages) // 2 :])


SERVERS: Final = {"mjpeg": mjpeg, "rtsp-jpeg": rtsp_jpeg, "rtsp-h264": rtsp_h264}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cameras", nargs="*", choices=[[], *SERVERS], help="all, where none is named"
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, nargs="*", default=[])
    options = parser.parse_args()
    cv2.setNumThreads(1)
    print(f"{WIDTH}x{HEIGHT}, {FPS} pictures a second; milliseconds from drawn to taken; seconds")
    print(
        f"{'':12} {'opened':>7} {'first':>7} {'settled':>8} {'p50':>6} {'p95':>6} {'most':>6}",
        end="",
    )
    print(f"  {'silent':>6} {'killed':>6} {'again':>6}   and what is told")
    for name in options.cameras or SERVERS:
        try:
            with SERVERS[name]() as server:
                measure(name, server, options.seconds)
                for threads in options.threads if name == "rtsp-h264" else ():
                    late = with_threads(server, threads)
                    p50, p95 = percentile(late, 0.5), percentile(late, 0.95)
                    print(
                        f"  {threads} decoding threads: {p50:.0f} ms, 95 of 100 within {p95:.0f}"
                    )
        except (LineError, UserError) as error:
            print(f"{name:<12} left out: {error}", flush=True)


if __name__ == "__main__":
    main()
