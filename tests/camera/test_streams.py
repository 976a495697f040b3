"""
MJPEG stream of a network camera, from a real socket: a round is read, and every fault is
reported by name. The reader recovers, no card is invented, no threads pile up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from drivers.camera import line as camera_line
from drivers.camera.driver import CameraDriver
from drivers.camera.options import CameraOptions
from drivers.camera.sources import capture, mjpeg
from drivers.camera.sources.address import SourceKind, parse_address
from drivers.transport import LineError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.camera.camera_table import Watching
from tests.camera.fake_cameras import (
    BOUNDARY,
    MULTIPART,
    NetworkCamera,
    Visit,
    asks_for_a_digest,
    asks_for_a_password,
    capture_threads,
    dark_jpeg,
    draw_all,
    encoded,
    first_then,
    jpeg,
)
from tests.camera.overhead_scene import Scene, on
from tests.volume import sample
from tests.waiting import wait_for

ACE = seen.Placed(slot=Slot.P1, card=Card("AS"))
SILENT = "no picture for "
ROUND = [("P1", "AS"), ("B1", "10H"), ("P2", "KD"), ("B2", "7C")]

pytestmark = pytest.mark.usefixtures("by_heart")


@pytest.fixture(scope="module", autouse=True)
def _drawn() -> None:
    draw_all()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long timeouts: a busy machine is not a silent camera."""
    for module, name in (
        (capture, "_SILENCE_LIMIT_S"),
        (mjpeg, "_FRAME_TIMEOUT_S"),
        (mjpeg, "_OPEN_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, 60.0)


@pytest.fixture
def driver(profile: Path) -> CameraDriver:
    return CameraDriver(CameraOptions(profile=str(profile), evidence=""))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("told", sample([True, False], 2))
def test_a_round_is_read_from_a_stream(profile: Path, told: bool) -> None:  # noqa: FBT001 - a parameter of the test
    scenes_ = [Scene(tuple(on(*each) for each in ROUND[:count])) for count in range(5)]
    film = [[encoded(scene.drawn(number)) for number in range(4)] for scene in scenes_]

    def behave(visit: Visit) -> None:
        """Four cards, and the cleared table."""
        visit.answer()
        for pictures in film:
            for number in range(8):
                visit.picture(pictures[number % 4], told=told)
        visit.pictures(told=told)

    with NetworkCamera(behave) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: seen.TableCleared() in watching.said, "the end of the round")
        dealt = [seen.Placed(slot=Slot(slot), card=Card(card)) for slot, card in ROUND]
        assert watching.cards == dealt
        assert not watching.lost


def _half_for_ever(visit: Visit) -> None:
    while True:
        data = jpeg("KD", 1)
        visit.picture(data[: len(data) // 2])


def _garbage_for_ever(visit: Visit) -> None:
    noise = np.random.default_rng(3).integers(0, 256, 40_000, dtype=np.uint8).tobytes()
    while True:
        visit.picture(noise)


def _another_size(visit: Visit) -> None:
    while True:
        visit.picture(jpeg("KD", 1, width=640))


def _black(visit: Visit) -> None:
    while True:
        visit.picture(dark_jpeg(3))


def _frozen(visit: Visit) -> None:
    while True:
        visit.picture(jpeg(None, 3))


def _noise_for_ever(visit: Visit) -> None:
    while True:
        visit.say(bytes(range(256)) * 40)
        time.sleep(0.02)


def _stops_in_mid_picture(visit: Visit) -> None:
    data = jpeg("KD", 1)
    head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
    visit.say(head.encode() + data[: len(data) // 2])


def _hangs_in_mid_picture(visit: Visit) -> None:
    _stops_in_mid_picture(visit)
    visit.wait()


@pytest.mark.parametrize(
    ("trouble", "told"),
    sample(
        [
            (_stops_in_mid_picture, "closed by the other side in mid-picture"),
            (lambda visit: None, "closed by the other side"),
            (Visit.wait, SILENT),
            (_hangs_in_mid_picture, SILENT),
            (_half_for_ever, "damaged"),
            (_noise_for_ever, SILENT),
            (_another_size, "pictures of 640x360; its profile was made with 1280x720"),
            (_garbage_for_ever, "damaged"),
            (_frozen, "the picture is frozen"),
            (_black, "the picture is black"),
        ],
        2,
    ),
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_stream_fault_is_reported_and_recovered(
    trouble: Callable[[Visit], None],
    told: str,
    profile: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    frozen_after: dict[SourceKind, float | None] = vars(camera_line)["_FROZEN_LIMITS_S"]
    monkeypatch.setitem(frozen_after, SourceKind.STREAM, 1.0)
    monkeypatch.setattr(mjpeg, "_MAX_DAMAGED_S", 0.5)
    if told == SILENT:
        request.getfixturevalue("hasty")
    with (
        NetworkCamera(first_then(trouble)) as camera,
        Watching(camera.url, profile) as watching,
    ):
        why = watching.wait_lost()
        assert told in why
        assert why.startswith(camera.url.removeprefix("camera:"))
        assert "\n" not in why
        # Only cards from after the fault are reported.
        assert watching.wait_card() == ACE
        assert watching.cards == [ACE]
        back = watching.said.index(seen.Link(up=True), 1)
        assert watching.said[back + 1] == seen.Gap(detail=seen.GapDetail.RECONNECT)
        assert len(list(capture_threads())) == 1
    wait_for(lambda: not list(capture_threads()), "the end of the thread")


@pytest.mark.usefixtures("patient")
def test_one_incomplete_frame_is_skipped(profile: Path) -> None:
    endless = bytearray(jpeg("KD", 1))
    height_and_width = endless.find(b"\xff\xc0") + 5
    endless[height_and_width : height_and_width + 4] = b"\xfd\xe8" * 2

    def behave(visit: Visit) -> None:
        visit.answer()
        while True:
            visit.pictures("AS", count=3)
            visit.picture(jpeg("KD", 1)[:9000])
            visit.picture(b"no picture at all")
            visit.picture(bytes(endless))

    with NetworkCamera(behave) as camera, Watching(camera.url, profile) as watching:
        assert watching.wait_card() == ACE
        wait_for(lambda: watching.reader.counts.repeats >= 1, "a second more")
        assert watching.cards == [ACE]
        assert not watching.lost


def _says(status: str, kind: str, body: bytes = b"", *more: str) -> Callable[[Visit], None]:
    def behave(visit: Visit) -> None:
        visit.answer(status, kind, f"Content-Length: {len(body)}", *more)
        visit.say(body)

    return behave


def _drips_its_head(visit: Visit) -> None:
    """A line now and then, each before a timeout for each read would end."""
    visit.say(b"HTTP/1.0 200 OK\r\n")
    while True:
        visit.say(b"X-Busy: yes\r\n")
        time.sleep(0.5)


def _drips_what_it_refuses(visit: Visit) -> None:
    visit.answer("302 Found", "text/html", "Location: /elsewhere")
    while True:
        visit.say(b"Moved. ")
        time.sleep(0.5)


NO_STREAM = "no stream comes from there"
NO_ANSWER = "no answer"


@pytest.mark.parametrize(
    ("behave", "told"),
    [
        (_says("404 Not Found", "text/html", b"gone"), "404 Not Found: is the path right?"),
        (
            _says("401 Unauthorized", "text/html", b"", 'WWW-Authenticate: Basic realm="camera"'),
            "401 Unauthorized: are name and password right?",
        ),
        (_says("503 Service Unavailable", "text/html"), "503 Service Unavailable"),
        (
            _says("200 OK", "text/html; charset=utf-8", b"<html>Log in</html>"),
            "a page (text/html), no pictures: is the path right?",
        ),
        (_says("200 OK", "image/jpeg", jpeg()), "one picture (image/jpeg), no stream"),
        (lambda visit: visit.say(b"SSH-2.0-OpenSSH_9.2\r\n"), "SSH-2.0-OpenSSH_9.2"),
        (lambda visit: None, "Remote end closed connection"),
        (Visit.wait, NO_ANSWER),
        (_drips_its_head, NO_ANSWER),
        (_drips_what_it_refuses, NO_ANSWER),
    ],
    ids=[
        *("404", "401", "503", "a-page", "one-picture", "no-http", "hangs-up", "hangs"),
        *("drips", "drips-elsewhere"),
    ],
)
def test_a_refused_stream_is_reported_in_the_servers_words(
    behave: Callable[[Visit], None],
    told: str,
    driver: CameraDriver,
    request: pytest.FixtureRequest,
) -> None:
    if told == NO_ANSWER:
        request.getfixturevalue("hasty")
    with NetworkCamera(behave) as camera:
        with pytest.raises(LineError) as raised:
            driver.open_line(camera.url)
        assert f"{camera.url.removeprefix('camera:')}: {NO_STREAM}: {told}" in str(raised.value)


def test_a_missing_server_is_reported(driver: CameraDriver) -> None:
    with NetworkCamera(Visit.wait) as camera:
        url = camera.url
    with pytest.raises(LineError, match=f"{NO_STREAM}: Connection refused"):
        driver.open_line(url)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("behave", [asks_for_a_digest, asks_for_a_password])
def test_a_login_is_sent_on_request_and_never_logged(
    behave: Callable[[Visit], None], driver: CameraDriver
) -> None:
    with NetworkCamera(behave) as camera:
        driver.open_line(camera.url.replace("//", "//admin:s%23c%3Aret@")).close()
        with pytest.raises(LineError, match="401") as raised:
            driver.open_line(camera.url.replace("//", "//admin:wrong@"))
        assert "wrong" not in str(raised.value)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("kind", "head"),
    [
        (f'multipart/x-mixed-replace; boundary="{BOUNDARY}"', f"--{BOUNDARY}"),
        (f"multipart/x-mixed-replace;boundary=--{BOUNDARY}", f"--{BOUNDARY}"),
        (f"multipart/x-mixed-replace; boundary=--{BOUNDARY}", f"----{BOUNDARY}"),
        (MULTIPART, f"--{BOUNDARY}\r\nContent-Length: -5"),
        (MULTIPART, f"--{BOUNDARY}\r\nContent-Length: about 30 kB"),
        (MULTIPART, f"--{BOUNDARY}\r\nContent-Length:"),
    ],
)
def test_all_forms_of_boundaries_and_lengths_are_accepted(kind: str, head: str) -> None:
    def behave(visit: Visit) -> None:
        visit.answer("200 OK", kind)
        while True:
            visit.say(f"{head}\r\n\r\n".encode() + jpeg() + b"\r\n")
            time.sleep(0.04)

    with NetworkCamera(behave) as camera:
        stream = mjpeg.open_mjpeg(parse_address(camera.url))
        assert stream is not None
        for _ in range(2):
            assert stream.read()[0].shape == (720, 1280, 3)
        stream.close()


def test_a_camera_that_comes_back_is_reconnected(profile: Path) -> None:
    def behave(visit: Visit) -> None:
        visit.answer()
        visit.pictures("AS" if visit.number > 1 else None)

    with NetworkCamera(behave) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        camera.stop()
        watching.wait_lost()
        wait_for(lambda: "Connection refused" in watching.reader.detail, "the next attempt")
        assert not watching.cards
        camera.start()
        assert watching.wait_card() == ACE


def test_stopping_interrupts_a_hanging_camera(profile: Path) -> None:
    def behave(visit: Visit) -> None:
        visit.answer()
        visit.pictures(count=10)
        visit.wait()

    with NetworkCamera(behave) as camera:
        with Watching(camera.url, profile) as watching:
            wait_for(lambda: watching.links, "the camera")
            began = time.monotonic()
        assert time.monotonic() - began < 30
        wait_for(lambda: not list(capture_threads()), "the end of the thread")


@pytest.mark.usefixtures("hasty")
def test_an_unresponsive_camera_piles_up_no_threads(profile: Path) -> None:
    with NetworkCamera(Visit.wait) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: camera.visits >= 3, "some attempts")
        assert NO_STREAM in watching.wait_lost()
        assert len(list(capture_threads())) <= 1


def test_a_stream_of_another_kind_is_read_by_ffmpeg(profile: Path, tmp_path: Path) -> None:
    writer = cv2.VideoWriter(
        str(tmp_path / "table.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 25, (1280, 720)
    )
    for number in range(40):
        writer.write(Scene((on("P1", "AS"),) if number > 5 else ()).drawn(number % 4))
    writer.release()
    film = (tmp_path / "table.avi").read_bytes()

    def behave(visit: Visit) -> None:
        visit.answer("200 OK", "video/x-msvideo")
        visit.say(film)

    with NetworkCamera(behave) as camera, Watching(camera.url, profile) as watching:
        assert watching.wait_card() == ACE
        assert "the stream broke off" in watching.wait_lost()
