"""
From a source of frames to lines and observations: every fault of a camera is reported by name,
the reader goes on, and no card is invented.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from drivers.camera.driver import CameraDriver
from drivers.camera.image import Image
from drivers.camera.options import CameraOptions
from drivers.camera.sources import open_source
from drivers.camera.sources.capture import CapturePace, CaptureThread, FrameCheck, Source
from drivers.driver import Frame, Transport
from drivers.reader_thread import Reader
from drivers.registry import create_driver
from drivers.simulators.camera.live import RawSender
from drivers.transport import EndOfCaptureError, LineError
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.table import observations as seen
from tests.camera.overhead_scene import Scene, on

ROUND = [("P1", "AS"), ("B1", "10H"), ("P2", "KD"), ("B2", "7C")]

pytestmark = pytest.mark.usefixtures("by_heart")


@pytest.fixture
def driver(profile: Path) -> CameraDriver:
    return CameraDriver(CameraOptions(profile=str(profile), pace="fast"))


def film() -> Iterator[Image]:
    """A round at twenty frames per second, and the cleared table."""
    cards: tuple[Any, ...] = ()
    yield from (Scene().drawn(n) for n in range(3))
    for slot, card in ROUND:
        cards = (*cards, on(slot, card))
        yield from (Scene(cards).drawn(n) for n in range(7))
    yield from (Scene().drawn(n) for n in range(18))


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "round.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 20, (1280, 720))
    for image in film():
        writer.write(image)
    writer.release()
    return path


def all_of(line: Transport) -> bytes:
    data = b""
    try:
        while True:
            data += line.read()
    except EndOfCaptureError:
        line.close()
        return data


def observed(driver: CameraDriver, data: bytes) -> list[seen.Observation]:
    frames = driver.decoder().feed(data, 0.0)
    return [observation for frame in frames for observation in frame.observations]


EXPECTED = [seen.Placed(slot=slot, card=Card(card)) for slot, card in ROUND]  # type: ignore[arg-type]


def test_a_folder_of_images_gives_its_cards(profile: Path, tmp_path: Path) -> None:
    for number, image in enumerate(film()):
        if number < 10:
            cv2.imwrite(str(tmp_path / f"{number:03}.png"), image)
    driver = CameraDriver(CameraOptions(profile=str(profile), pace="fast", fps=20))
    data = all_of(driver.open_line(f"camera:folder:{tmp_path}"))
    assert observed(driver, data) == EXPECTED[:1]


def test_a_reader_reports_link_card_and_end(driver: CameraDriver, video: Path) -> None:
    heard: list[Frame] = []
    reader = Reader("camera", driver, f"camera:file:{video}", driver.line, heard.append)
    reader.run()
    said = [each for frame in heard for each in frame.observations]
    assert said[0] == seen.Link(up=True)
    assert said[1:-1] == [*EXPECTED, seen.TableCleared()]
    assert isinstance(said[-1], seen.Link)
    assert not said[-1].up
    assert "the pictures are over" in str(said[-1].detail)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("camera:/dev/no-such-camera", r"/dev/no-such-camera: no such device: unplugged\?"),
        ("camera:/dev/null", r"/dev/null: (cannot be opened|no picture)"),
        ("camera:/etc/passwd", r"/etc/passwd: no camera: expected a device such as /dev/video0"),
        ("camera:file:/none.mp4", r"/none\.mp4: no such video"),
        ("camera:folder:/none", r"/none: no such folder"),
        ("camera:raw:/none.sock", r"/none\.sock: no program sends pictures there: No such file"),
        ("camera:http://127.0.0.1:9/", r"http://127\.0\.0\.1:9/: no stream comes from there"),
    ],
)
def test_a_missing_source_is_reported_by_name(driver: CameraDriver, url: str, told: str) -> None:
    with pytest.raises(LineError, match=told):
        driver.open_line(url)


def test_a_text_file_is_not_a_video(driver: CameraDriver, tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video at all")
    with pytest.raises(LineError, match=r"text\.mp4: no video that can be read"):
        driver.open_line(f"camera:file:{tmp_path / 'text.mp4'}")


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((480, 640, 3), r"pictures of 640x480; its profile was made with 1280x720"),
        ((720, 1280), r"wrong pixel format: 1 channel\(s\) instead of blue, green and red"),
        ((720, 1280, 2), r"wrong pixel format: 2 channel\(s\)"),
    ],
)
def test_frames_of_another_format_are_reported(shape: tuple[int, ...], told: str) -> None:
    judge = FrameCheck("cam", (1280, 720))
    with pytest.raises(LineError, match=rf"^cam: {told}"):
        judge.check(np.full(shape, 90, np.uint8), 0.0)
    with pytest.raises(LineError, match="wrong pixel format: uint16 instead of eight bits"):
        judge.check(np.zeros((720, 1280, 3), np.uint16), 0.0)


def test_black_frames_fail_soon() -> None:
    black = np.full((720, 1280, 3), 3, np.uint8)
    judge = FrameCheck("cam", (1280, 720))
    assert not judge.check(black, 0.0)
    assert not judge.check(black, 0.9)
    with pytest.raises(LineError, match="the picture is black"):
        judge.check(black, 1.0)
    judge = FrameCheck("cam", (1280, 720))
    assert judge.check(Scene().drawn(0), 0.0)
    assert judge.check(black, 0.5)
    assert judge.check(black, 1.2)
    with pytest.raises(LineError, match="the picture is black"):
        judge.check(black, 1.6)


def test_a_camera_that_begins_with_black_frames_is_opened() -> None:
    black, table = np.full((720, 1280, 3), 3, np.uint8), Scene().drawn(0)
    frames = [black, black, table, Scene().drawn(1)]

    class Begins(Source):
        def read(self) -> tuple[Image, None]:
            if not frames:
                raise LineError("cam: unplugged")
            return frames.pop(0), None

    check = FrameCheck("cam", (1280, 720))
    capture = CaptureThread("cam", Begins, check, CapturePace(live=True, queue_size=4))
    first = capture.start()
    assert first.number == 1
    assert np.array_equal(first.image, table)
    capture.stop()


def test_plain_and_frozen_frames_are_reported() -> None:
    plain = np.full((720, 1280, 3), (200, 20, 20), np.uint8)
    judge = FrameCheck("cam", (1280, 720))
    assert not judge.check(plain, 0.0)
    with pytest.raises(LineError, match="all of one colour: no signal"):
        judge.check(plain, 1.0)
    judge = FrameCheck("cam", (1280, 720), frozen_after=3.0)
    picture = Scene().drawn(0)
    for tenth in range(30):
        judge.check(picture, tenth / 10)
    with pytest.raises(LineError, match="frozen: the same to the last pixel for 3 s"):
        judge.check(picture, 3.1)
    for tenth in range(40):
        judge.check(Scene().drawn(tenth + 1), 4 + tenth / 10)


class Hanging(Source):
    """A camera that hangs in its read after one frame."""

    def __init__(self) -> None:
        self.freed = threading.Event()
        self.closed = threading.Event()
        self.given = 0

    def read(self) -> tuple[Any, float | None]:
        self.given += 1
        if self.given > 1:
            self.freed.wait(60)
            raise LineError("let go")
        return Scene().drawn(0), None

    def close(self) -> None:
        self.closed.set()


def test_a_hanging_source_is_abandoned_without_blocking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("drivers.camera.sources.capture._SILENCE_LIMIT_S", 0.3)
    source = Hanging()
    capture = CaptureThread(
        "cam", lambda: source, FrameCheck("cam", (1280, 720)), CapturePace(live=True)
    )
    capture.start()
    assert capture.take(1) is not None
    began = time.monotonic()
    with pytest.raises(LineError, match=r"cam: no picture for \d"):
        _until_it_fails(lambda: capture.take(0.1))
    capture.stop()
    assert time.monotonic() - began < 20
    source.freed.set()
    assert source.closed.wait(30)


@contextmanager
def sending(path: Path, *, slow: float = 0.03) -> Iterator[RawSender]:
    """Send an empty table, and an ace on it from the seventh frame on, delayed by `slow`."""
    sender, stop = RawSender(path), threading.Event()

    def send() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            sender.send(Scene((on("P1", "AS"),) if number > 6 else ()).drawn(number % 4), 0.0)
            stop.wait(slow if number == 6 else 0.03)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sender
    finally:
        stop.set()
        thread.join()
        sender.close()


def test_a_simulator_sends_frames_and_disconnects(driver: CameraDriver, tmp_path: Path) -> None:
    with sending(tmp_path / "camera.sock") as sender:
        line = driver.open_line(f"camera:raw:{sender.path}")
        data, until = b"", time.monotonic() + 60
        while b"placed" not in data and time.monotonic() < until:
            data += line.read()
        assert EXPECTED[0] in observed(driver, data)
    with pytest.raises(LineError, match=r"camera\.sock: closed by the other side"):
        _until_it_fails(line.read)
    line.close()


def test_a_simulator_that_is_slow_is_waited_for(
    driver: CameraDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.camera.sources.capture._SILENCE_LIMIT_S", 0.2)
    with sending(tmp_path / "camera.sock", slow=0.6) as sender:
        line = driver.open_line(f"camera:raw:{sender.path}")
        data, until = b"", time.monotonic() + 60
        while b"placed" not in data and time.monotonic() < until:
            data += line.read()
            line.check()
        assert EXPECTED[0] in observed(driver, data)
        line.close()


def test_a_silent_simulator_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(open_source, "RAW_TIMEOUT_S", 0.2)
    sender = RawSender(tmp_path / "camera.sock")
    source = open_source.RawSource(str(sender.path))
    with pytest.raises(LineError, match=r"camera\.sock: no picture for 0\.2 s$"):
        source.read()
    source.close()
    sender.close()


def _until_it_fails(call: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        call()


def test_the_options_are_checked_with_the_configuration(profile: Path, tmp_path: Path) -> None:
    url = "camera:/dev/video0"
    with pytest.raises(UserError, match=r"^options\.profile: missing; expected the file that"):
        create_driver("camera").check_url(url)
    other = create_driver("camera", {"profile": str(profile), "station": "throat"})
    with pytest.raises(UserError, match=r"^options\.station: 'throat'; expected 'overhead'"):
        other.check_url(url)
    with pytest.raises(UserError, match=r"options of driver 'camera': .*`threshold`|threshold"):
        create_driver("camera", {"threshold": 2})
    lies = CameraDriver(CameraOptions(profile=profile.name)).beside(profile.parent, tmp_path / "j")
    lies.check_url(url)
    assert lies.evidence == tmp_path / "evidence"
    none = CameraDriver(CameraOptions(evidence="")).beside(tmp_path, tmp_path / "j")
    assert none.evidence is None


def test_loading_a_configuration_imports_no_opencv() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from drivers import create_driver; create_driver('camera').decoder()"
        "; sys.exit('cv2' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
