"""
RTSP stream of a network camera, read by PyAV over TCP: a card is read, and every
fault is reported by name. The reader recovers, and nothing piles up.
"""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import pytest

from drivers.camera.driver import CameraDriver
from drivers.camera.options import CameraOptions
from drivers.camera.sources.address import parse_source
from drivers.camera.sources.video import VideoStream
from drivers.transport import LineError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from tests.camera.camera_table import Watching
from tests.camera.fake_cameras import capture_threads, draw_all, jpeg
from tests.fakes.rtsp_camera import RtspCamera, StreamState
from tests.waiting import wait_for

ACE = seen.Placed(slot=Slot.P1, card=Card("AS"))

pytestmark = pytest.mark.usefixtures("by_heart")


@pytest.fixture(scope="module", autouse=True)
def _drawn() -> None:
    draw_all()


class Table:
    """The scene; one card may lie on the table."""

    def __init__(self) -> None:
        self.card: str | None = None
        self._numbers = count()

    def __call__(self) -> bytes:
        return jpeg(self.card, next(self._numbers) % 4)


def test_a_card_is_read_over_rtsp(profile: Path) -> None:
    table = Table()
    with RtspCamera(table) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        table.card = "AS"
        assert watching.wait_card() == ACE
        assert not watching.lost


def test_a_server_that_is_killed_and_started_again(profile: Path) -> None:
    table = Table()
    with RtspCamera(table) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        camera.stop()
        assert "rtsp://127.0.0.1" in watching.wait_lost()
        wait_for(lambda: "Connection refused" in watching.reader.detail, "the next attempt")
        assert not watching.cards
        table.card = "AS"
        camera.start()
        assert watching.wait_card() == ACE
        assert len(list(capture_threads())) == 1


@pytest.mark.usefixtures("hasty")
def test_missing_packets_are_reported_and_the_stream_reopened(profile: Path) -> None:
    table = Table()
    with RtspCamera(table) as camera, Watching(camera.url, profile) as watching:
        wait_for(lambda: watching.links, "the camera")
        camera.state = StreamState.SILENT
        assert "no picture for " in watching.wait_lost()
        table.card = "AS"
        camera.state = StreamState.SENDING
        assert watching.wait_card() == ACE
        assert watching.cards == [ACE]


@pytest.mark.usefixtures("hasty")
def test_a_server_that_accepts_and_never_responds(profile: Path) -> None:
    with RtspCamera(Table()) as camera:
        camera.state = StreamState.NO_REPLY
        with Watching(camera.url, profile) as watching:
            assert "no stream comes from there: no answer" in watching.wait_lost()
            wait_for(lambda: camera.visits >= 4, "some attempts")
            assert len(list(capture_threads())) <= 1
            # Stopping does not wait: the hanging thread is abandoned.
            began = time.monotonic()
            watching.reader.stop()
            assert watching.reader.join(60)
            assert time.monotonic() - began < 40
        wait_for(lambda: not list(capture_threads()), "the end of the thread")


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        ("404 Stream Not Found", "404 Stream Not Found: is the path right?"),
        ("401 Unauthorized", "401 Unauthorized: are name and password right?"),
        ("453 Not Enough Bandwidth", "453 Not Enough Bandwidth"),
    ],
)
def test_an_rtsp_refusal_is_reported_in_the_servers_words(
    refusal: str, told: str, profile: Path
) -> None:
    driver = CameraDriver(CameraOptions(profile=str(profile), evidence=""))
    with RtspCamera(Table()) as camera:
        camera.refusal = refusal
        with pytest.raises(LineError) as raised:
            driver.open_line(camera.url.replace("//", "//admin:secret@"))
    assert f"{camera.url.removeprefix('camera:')}: no stream comes from there: {told}" in str(
        raised.value
    )
    assert "secret" not in str(raised.value)


def test_decoding_delays_no_frame(profile: Path) -> None:
    """Each further thread delays a frame; by default there are as many as cores."""
    with RtspCamera(Table()) as camera:
        stream = VideoStream(parse_source(camera.url))
        stream.read()
        codec = stream._stream.codec_context  # noqa: SLF001 - it is not to be seen from outside
        assert codec.thread_type.value == 0
        stream.close()
