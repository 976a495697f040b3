"""Video for witnesses: over RTSP and HTTP, and never at the cost of a reader's camera."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from drivers import CaptureThread, LineError, open_video
from tests.camera.fake_cameras import NetworkCamera, Visit, jpeg
from tests.fakes.rtsp_camera import RtspCamera
from tests.waiting import wait_for

SIZE = (1280, 720)


def test_a_stream_over_rtsp_is_seen_and_its_end_too() -> None:
    with RtspCamera(lambda: jpeg("AS", 1)) as camera:
        video = open_video(camera.url.removeprefix("camera:"), SIZE, None, None, Path())
        first = video.start()
        assert first.image.shape == (720, 1280, 3)
        assert video.take(1) is first
        wait_for(lambda: video.take(0.2), "another frame")
        camera.stop()

        def lost() -> bool:
            try:
                video.take(0.2)
            except LineError as error:
                return "the stream broke off" in str(error) or "no picture" in str(error)
            return False

        wait_for(lost, "the end")
        video.stop()


def test_no_message_has_a_password(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    video = open_video("rtsp://127.0.0.1:9/1", SIZE, "viewer", "password", tmp_path)
    with pytest.raises(LineError, match="no stream comes from there") as caught:
        video.start()
    assert "s3cret" not in str(caught.value)


def test_a_camera_that_never_answers_keeps_no_other_waiting() -> None:
    def behave(visit: Visit) -> None:
        visit.answer()
        visit.pictures()

    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        RtspCamera(lambda: jpeg("AS", 1)) as camera,
        NetworkCamera(behave) as other,
    ):
        url = f"rtsp://127.0.0.1:{silent.getsockname()[1]}/1"
        hangs = open_video(url, SIZE, None, None, Path())
        opening = threading.Thread(target=_start, args=(hangs,))
        opening.start()
        asked, _ = silent.accept()
        for address in (camera.url, other.url):
            video = open_video(address.removeprefix("camera:"), SIZE, None, None, Path())
            video.start()
            assert opening.is_alive()
            video.stop()
        hangs.stop()
        asked.close()
        opening.join(30)


def _start(video: CaptureThread) -> None:
    with pytest.raises(LineError):
        video.start()
