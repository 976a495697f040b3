"""
A camera of this machine, with the known behaviour of OpenCV's Video4Linux backend: the mode is
requested in the right order and read back, refused controls are logged, and an unplugged,
silent, damaged or used camera is reported by name.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest
from structlog.testing import capture_logs

from drivers.camera.image import Image
from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import Address, SourceKind
from drivers.camera.sources.open_source import open_source
from drivers.camera.sources.v4l2 import V4l2Device
from drivers.transport import LineError
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.camera import overhead_scene
from tests.camera.camera_table import Watching
from tests.camera.fake_cameras import capture_threads
from tests.camera.fake_v4l2 import (
    AUTO_EXPOSURE,
    AUTO_WB,
    AUTOFOCUS,
    EXPOSURE,
    FOCUS,
    WB_TEMPERATURE,
    Webcam,
)
from tests.camera.overhead_scene import Scene, on
from tests.waiting import wait_for

ACE = seen.Placed(slot=Slot.P1, card=Card("AS"))
# In the order of a careless person: values before their modes.
LOCKED = {
    "exposure": 156.0,
    "auto_exposure": 1.0,
    "wb_temperature": 4000.0,
    "auto_wb": 0.0,
    "focus": 30.0,
    "autofocus": 0.0,
}
HELD = {AUTO_EXPOSURE: 1, EXPOSURE: 156, AUTO_WB: 0, WB_TEMPERATURE: 4000, AUTOFOCUS: 0, FOCUS: 30}


@pytest.fixture
def webcam(monkeypatch: pytest.MonkeyPatch, by_heart: None) -> Webcam:
    webcam = Webcam()
    scene = [Scene().drawn(number) for number in range(4)]
    webcam.picture = lambda number: scene[number % 4]
    monkeypatch.setattr(cv2, "VideoCapture", webcam.capture)
    return webcam


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An existing device until it is unlinked: any that can be read and written."""
    (tmp_path / "video0").symlink_to("/dev/null")
    return tmp_path / "video0"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    camera = Camera(width=1280, height=720, fps=30, format="MJPG", controls=LOCKED)
    return overhead_scene.profile(tmp_path, camera=camera)


def card_after(pictures: int) -> Callable[[int], Image]:
    empty = [Scene().drawn(number) for number in range(4)]
    lying = [Scene((on("P1", "AS"),)).drawn(number) for number in range(4)]
    return lambda number: (lying if number >= pictures else empty)[number % 4]


def opened(path: Path, **wishes: object) -> V4l2Device:
    camera = Camera(width=1280, height=720, **wishes)  # type: ignore[arg-type]
    source = open_source(Address(SourceKind.DEVICE, str(path)), camera)
    assert isinstance(source, V4l2Device)
    return source


def test_a_card_is_read_in_the_mode_of_the_profile(
    webcam: Webcam, path: Path, profile: Path
) -> None:
    webcam.picture = card_after(6)
    with Watching(f"camera:{path}", profile) as watching:
        assert watching.wait_card() == ACE
    (capture,) = webcam.opened
    assert (capture.format, capture.size, capture.rate) == ("MJPG", (1280, 720), 30)
    # With one buffer, a driver has none to fill during decoding: half of the frames.
    assert capture.buffers >= 2
    assert not capture.open


def test_an_unsupported_format_is_reported(webcam: Webcam, path: Path) -> None:
    webcam.modes = {"YUYV": [(1280, 720)]}
    with pytest.raises(LineError, match=r"wrong pixel format: gives YUYV; expected MJPG"):
        opened(path, format="MJPG")
    assert not webcam.opened[0].open


def test_an_unsupported_size_is_reported_before_any_frame(webcam: Webcam, path: Path) -> None:
    webcam.modes = {"MJPG": [(640, 480)]}
    told = r"gives pictures of 640x480; expected 1280x720, as its profile, .* or the size of its"
    with pytest.raises(LineError, match=told):
        opened(path, format="MJPG")


def test_controls_are_set_after_their_modes(webcam: Webcam, path: Path) -> None:
    with capture_logs() as logs:
        source = opened(path, format="MJPG", controls=LOCKED)
        source.read()
    assert {number: webcam.controls[number] for number in HELD} == HELD
    assert not webcam.opened[0].refused
    assert not logs


def test_controls_reset_by_the_camera_are_set_again(webcam: Webcam, path: Path) -> None:
    webcam.forgetful = True
    with capture_logs() as logs:
        opened(path, format="MJPG", controls=LOCKED).read()
    assert {number: webcam.controls[number] for number in HELD} == HELD
    assert not logs


def test_a_refused_control_is_logged(webcam: Webcam, path: Path) -> None:
    del webcam.controls[FOCUS]
    # OpenCV's older value: 0.25 for manual.
    wishes = {"focus": 30.0, "autofocus": 0.0, "auto_exposure": 0.25}
    with capture_logs() as logs:
        source = opened(path, format="MJPG", controls=wishes)
        source.read()
        source.read()
    assert [
        (log["event"], log["log_level"], log["control"], log["wanted"], log["held"])
        for log in logs
    ] == [
        ("camera_control_refused", "warning", "focus", 30.0, -1.0),
        ("camera_control_refused", "warning", "auto_exposure", 0.25, 3.0),
    ]


def test_an_unknown_control_is_reported(webcam: Webcam, path: Path) -> None:
    with pytest.raises(UserError, match=r"camera\.controls\.shine: OpenCV has no such control"):
        opened(path, format="MJPG", controls={"shine": 1.0})


def test_one_damaged_frame_is_skipped(webcam: Webcam, path: Path, profile: Path) -> None:
    webcam.damaged = lambda number: number % 3 == 0
    webcam.picture = card_after(9)
    with Watching(f"camera:{path}", profile) as watching:
        assert watching.wait_card() == ACE
        assert not watching.lost


def test_only_damaged_frames_are_reported(webcam: Webcam, path: Path, profile: Path) -> None:
    webcam.damaged = lambda number: number > 5
    with Watching(f"camera:{path}", profile) as watching:
        assert "no picture came: unplugged, or switched off?" in watching.wait_lost()


def test_an_unplugged_camera_is_reported_and_found_again(
    webcam: Webcam, path: Path, profile: Path
) -> None:
    with Watching(f"camera:{path}", profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        path.unlink()
        webcam.plugged = False
        assert "video0: no such device: unplugged?" in watching.wait_lost()
        webcam.plugged, webcam.picture = True, card_after(6)
        path.symlink_to("/dev/null")
        assert watching.wait_card() == ACE


@pytest.mark.usefixtures("hasty")
def test_a_silent_camera_is_reported_and_keeps_one_thread(
    webcam: Webcam, path: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "60")
    with Watching(f"camera:{path}", profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        webcam.silent.set()
        assert "no picture for " in watching.wait_lost()
        # The device is still in use: opening it again would fail.
        wait_for(
            lambda: "the last attempt has not released it" in watching.reader.detail, "an attempt"
        )
        assert len(webcam.opened) == 1
        assert len(list(capture_threads())) == 1
        webcam.silent.clear()
        webcam.picture = card_after(6)
        assert watching.wait_card() == ACE


def test_a_camera_used_by_another_program_is_reported(webcam: Webcam, path: Path) -> None:
    webcam.busy = True
    with pytest.raises(LineError, match="cannot be opened: another program has it, or it is no"):
        opened(path)


def test_opencvs_device_timeout_is_the_readers(webcam: Webcam, path: Path) -> None:
    opened(path, format="MJPG")
    assert float(os.environ["OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT"]) <= 3
    # It would apply to the whole process, and cost a video its first frames.
    assert "OPENCV_FFMPEG_CAPTURE_OPTIONS" not in os.environ


def test_a_device_is_not_released_during_a_read(
    webcam: Webcam, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "2")
    source = opened(path, format="MJPG")
    webcam.silent.set()

    def read() -> None:
        with contextlib.suppress(LineError):
            source.read()

    reading = threading.Thread(target=read)
    reading.start()
    wait_for(lambda: webcam.opened[0].reading, "a read")
    source.close()
    assert not webcam.opened[0].closed_in_read
    reading.join(60)
    source.close()
    assert not webcam.opened[0].open
