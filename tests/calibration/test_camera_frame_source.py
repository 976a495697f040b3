"""
Frames for a calibration: a camera that disappears is opened again, and a source without usable
frames is reported in one line.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.camera.control_locks import lock_device, port_text
from calibration.camera.frame_source import LiveFrames, open_frames, take_frames
from drivers.camera.image import Image
from drivers.camera.profile.sections import Camera
from drivers.camera.sources import mjpeg
from drivers.camera.sources.address import parse_source
from drivers.camera.sources.capture import Source
from drivers.transport import LineError
from shoe_daemon.errors import UserError
from tests.camera.fake_cameras import BOUNDARY, NetworkCamera, Visit
from tests.camera.fake_v4l2 import AUTO_EXPOSURE, Webcam

USUAL = Camera(width=1280, height=720)
PICTURE: Image = np.full((8, 8, 3), 90, np.uint8)
VAST = (  # the head of a PNG file of 60,000 x 60,000 points
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xea`\x00\x00\xea`\x08\x02\x00\x00\x00\x00\x0f\xb0\xe2\x15"
)


class Cable(Source):
    """A camera whose cable is unplugged and plugged in again."""

    def __init__(self) -> None:
        self.plugged = threading.Event()
        self.plugged.set()
        self.opened = 1
        self.picture = PICTURE

    def read(self) -> tuple[Image, float | None]:
        if not self.plugged.wait(0.01):
            raise LineError("eye: no picture came: unplugged?")
        return self.picture, None

    def again(self) -> Cable:
        if not self.plugged.is_set():
            raise LineError("eye: no such device: unplugged?")
        self.opened += 1
        return self


@pytest.fixture
def cable() -> Cable:
    return Cable()


@pytest.fixture
def live(cable: Cable) -> Iterator[LiveFrames]:
    pictures = LiveFrames(cable, "eye", cable.again)
    yield pictures
    pictures.close()


def test_a_camera_that_comes_back_is_opened_again(cable: Cable, live: LiveFrames) -> None:
    assert len(live.take(3)) == 3
    cable.plugged.clear()
    with pytest.raises(UserError, match=r"eye: no .*unplugged\?"):
        live.take(10_000)
    with pytest.raises(UserError, match="no such device"):
        live.take(1)
    assert live.newest() is None, "no picture of before is shown as if it were now"
    cable.plugged.set()
    assert len(live.take(3)) == 3
    assert cable.opened == 2


@pytest.mark.parametrize("source", ["/dev/video0", "raw:/run/eye", "rtsp://10.0.0.5/stream1"])
def test_a_profile_names_its_camera_as_a_port(source: str) -> None:
    port = port_text(parse_source(source))
    assert port == f"camera:{source}"
    assert parse_source(port) == parse_source(source)
    assert port_text(parse_source("file:night.avi")) is None


def _folder(folder: Path, *pictures: Image) -> Path:
    folder.mkdir()
    for number, picture in enumerate(pictures):
        cv2.imwrite(str(folder / f"{number}.png"), picture)
    return folder


def test_a_folder_with_other_files_is_reported(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "night", PICTURE)
    (folder / "1.png").write_text("no picture")
    (folder / "2.png").write_bytes(VAST)
    (folder / "3.png").mkdir()
    os.mkfifo(folder / "4.png")
    pictures = open_frames(parse_source(f"folder:{folder}"), USUAL)
    assert len(pictures.take(1)) == 1
    for name in ("1.png", "2.png"):
        with pytest.raises(UserError, match=f"{name}: no picture that OpenCV can read"):
            pictures.take(1)
    with pytest.raises(UserError, match="it is over"):
        pictures.take(1)


def _drips_its_head(visit: Visit) -> None:
    visit.say(b"HTTP/1.0 200 OK\r\n")
    _drip(visit, b"X-Busy: yes\r\n")


def _drips_a_picture(visit: Visit) -> None:
    visit.answer()
    visit.say(f"--{BOUNDARY}\r\nContent-Length: 40000\r\n\r\n".encode())
    _drip(visit, bytes(100))


def _drip(visit: Visit, drop: bytes) -> None:
    while True:
        visit.say(drop)
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("behave", "said"),
    [(_drips_its_head, "no answer"), (_drips_a_picture, r"no picture for 0\.5 s")],
)
def test_a_slow_response_is_reported_as_soon_as_none(
    behave: Callable[[Visit], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: each line restarted the timeout, so that the run waited for ever."""
    monkeypatch.setattr(mjpeg, "_OPEN_TIMEOUT_S", 0.5)
    monkeypatch.setattr(mjpeg, "_FRAME_TIMEOUT_S", 0.5)
    with NetworkCamera(behave) as camera, pytest.raises(UserError, match=said):
        take_frames(parse_source(camera.url), USUAL, 1)


def test_a_changed_frame_size_is_reported_until_it_is_restored(
    cable: Cable, live: LiveFrames
) -> None:
    assert len(live.take(1)) == 1
    cable.picture = PICTURE[:6]
    with pytest.raises(UserError, match="pictures of 8x6 after such of 8x8"):
        live.take(10_000)
    cable.picture = PICTURE
    assert len(live.take(1)) == 1


@pytest.mark.parametrize("kind", ["file", "folder", "raw"])
def test_an_impossible_file_name_is_reported(kind: str) -> None:
    with pytest.raises(UserError, match="too long"):
        open_frames(parse_source(f"{kind}:{'long' * 99}"), USUAL)


@pytest.fixture
def webcam(monkeypatch: pytest.MonkeyPatch) -> Webcam:
    webcam = Webcam()
    webcam.picture = lambda _: PICTURE
    monkeypatch.setattr(cv2, "VideoCapture", webcam.capture)
    return webcam


def test_another_device_is_reported_before_controls_are_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("none", "unplugged"), ("file", "no camera"), ("pipe", "no camera")):
        with pytest.raises(UserError, match=said):
            lock_device(parse_source(str(tmp_path / name)), USUAL)


def test_a_camera_is_locked_in_the_mode_in_which_it_is_used(webcam: Webcam) -> None:
    (lock, *_) = lock_device(
        parse_source("/dev/null"), Camera(width=640, height=480, format="MJPG")
    )
    assert (lock.name, lock.locked) == ("exposure", True)
    assert webcam.controls[AUTO_EXPOSURE] == 1
    assert webcam.opened[0].format == "MJPG"
    assert not webcam.opened[0].open


def test_a_silent_camera_is_reported_before_controls_are_locked(
    webcam: Webcam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "3")
    webcam.silent.set()
    with pytest.raises(UserError, match=r"no picture for \d+\.\d s"):
        lock_device(parse_source("/dev/null"), Camera(width=640, height=480))
    assert webcam.waited == 1, "not for every picture in which it should come to rest"


def test_an_unsupported_mode_is_reported(webcam: Webcam) -> None:
    webcam.modes = {"YUYV": [(640, 480)]}
    with pytest.raises(UserError, match="gives pictures of 640x480; expected 1280x720"):
        lock_device(parse_source("/dev/null"), USUAL)
