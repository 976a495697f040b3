"""Beside a running daemon, a camera is checked by the frames of the preview."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from click.testing import CliRunner, Result

from calibration.camera import frame_source
from drivers.camera.image import Image
from drivers.camera.preview import PlaceOverlay, PreviewServer
from drivers.camera.sources import mjpeg
from drivers.camera.sources.address import parse_address
from drivers.simulators.camera.live import RawSender
from drivers.simulators.camera.settings import Settings
from drivers.transport import LineError
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from tests.brokers import free_port
from tests.calibration.simulated_scene import seen
from tests.camera.profiles import simulated_profile
from tests.service.daemon_process import DaemonProcess, configure
from tests.waiting import wait_for

_PLACE = ((100.0, 100.0), (300.0, 100.0), (300.0, 220.0), (100.0, 220.0))
_FPS = 12.0


class _Eye:
    """A simulated camera above the simulated table, which can be moved."""

    def __init__(self, path: Path) -> None:
        self._sender = RawSender(path)
        self._ended = threading.Event()
        self.push(0.0)
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def push(self, millimetres: float) -> None:
        self._pictures = [seen(pushed=(0.0, millimetres, 0.0)) for _ in range(4)]

    def _send(self) -> None:
        number = 0
        while not self._ended.wait(1 / _FPS):
            number += 1
            self._sender.send(self._pictures[number % 4], number / _FPS)

    def close(self) -> None:
        self._ended.set()
        self._thread.join(60)
        self._sender.close()


@pytest.fixture
def eye(tmp_path: Path) -> Iterator[_Eye]:
    with closing(_Eye(tmp_path / "eye")) as eye:
        yield eye


@pytest.fixture
def view() -> Iterator[PreviewServer]:
    with closing(PreviewServer("127.0.0.1:0")) as view:
        yield view


def _daemon(folder: Path, profile: Path, port: int) -> DaemonProcess:
    reader = f'[[reader]]\nid = "eye"\ndriver = "camera"\nport = "camera:raw:{folder}/eye"\n'
    options = f'[reader.options]\nprofile = "{profile}"\nview = "127.0.0.1:{port}"\n'
    return DaemonProcess(configure(folder / "table", reader + options))


def _checked(profile: Path, port: int) -> Result:
    source = f"camera:http://127.0.0.1:{port}/plain"
    wanted = ["--check", "--profile", str(profile), "--source", source, "--json"]
    return CliRunner().invoke(main, ["calibrate", "camera", *wanted])


def test_a_camera_is_checked_beside_the_daemon(eye: _Eye, tmp_path: Path) -> None:
    profile, port = simulated_profile(Settings(seed=3), tmp_path / "profile"), free_port()
    with _daemon(tmp_path, profile, port) as daemon:
        daemon.start().wait_ready()
        done = _checked(profile, port)
        told = json.loads(done.stdout)
        assert (done.exit_code, told["passed"]) == (0, True), done.output
        assert told["moved"] < 0.3

        eye.push(5.0)
        told = _pushed(profile, port)
        assert told["moved"] == pytest.approx(5.0, abs=0.3)
        assert "has moved" not in daemon.log.read_text()
        assert daemon.stop() == 0


def _pushed(profile: Path, port: int) -> dict[str, Any]:
    """Check until the frames are those after the movement."""
    told: dict[str, Any] = {}

    def is_pushed() -> bool:
        done = _checked(profile, port)
        told.update(json.loads(done.stdout))
        return done.exit_code == 1 and told["findings"][0]["kind"] == "moved"

    wait_for(is_pushed, timeout=120)
    return told


def test_a_missing_preview_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(frame_source, "_PREVIEW_TIMEOUT_S", 0.0)
    profile, port = simulated_profile(Settings(seed=3), tmp_path), free_port()
    done = _checked(profile, port)
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert f"is options.view 127.0.0.1:{port}, does the daemon run?" in done.output


def test_a_used_camera_is_reported_with_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def taken(*_: object) -> None:
        raise UserError("/dev/video0: cannot be opened: another program has it")

    monkeypatch.setattr(frame_source, "open_frames", taken)
    profile = simulated_profile(Settings(seed=3), tmp_path)
    wanted = ["--check", "--profile", str(profile), "--source", "/dev/video0"]
    done = CliRunner().invoke(main, ["calibrate", "camera", *wanted])
    assert done.exit_code == 2
    assert "another program has it; beside a running daemon: --source http://" in done.output


@pytest.mark.parametrize(
    ("port", "yes"),
    [
        ("camera:http://127.0.0.1:8091/plain", True),
        ("camera:http://[::1]:8091/plain", True),
        ("camera:http://10.0.0.5:8091/plain", False),
        ("camera:http://127.0.0.1:8091/video", False),
        ("camera:/dev/video0", False),
    ],
)
def test_only_a_daemon_of_this_machine_is_waited_for(port: str, yes: bool) -> None:  # noqa: FBT001 - what is expected
    assert frame_source.is_preview_stream(parse_address(port)) is yes


class _Showing:
    """Feeds a preview with one frame after another, with a place marked in it."""

    def __init__(self, view: PreviewServer, picture: Image) -> None:
        self._ended = threading.Event()
        self._view = view
        self._picture = picture
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._thread.start()

    def _show(self) -> None:
        while not self._ended.wait(0.02):
            self._view.show(
                self._picture, lambda: [PlaceOverlay("P1", _PLACE, "held", Card("AS"), 0.98)]
            )

    def close(self) -> None:
        self._ended.set()
        self._thread.join(60)


def _borrowed(view: PreviewServer) -> mjpeg.MjpegStream:
    found = mjpeg.open_mjpeg(parse_address(f"camera:http://127.0.0.1:{view.port}/plain"))
    assert found is not None
    return found


def test_the_feed_is_what_the_camera_sees(view: PreviewServer) -> None:
    picture = seen()
    with closing(_Showing(view, picture)), closing(_borrowed(view)) as borrowed:
        for _ in range(3):
            image, _ = borrowed.read()
            assert image.shape == picture.shape
            apart = cv2.absdiff(image, picture)
            assert float(np.mean(apart)) < 1.0
            assert int(apart.max()) < 24


def _asked(view: PreviewServer, host: str) -> tuple[int, dict[str, str]]:
    with closing(http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)) as line:
        line.request("GET", "/plain", headers={"Host": host})
        answer = line.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}


def test_the_feed_has_the_pages_guards(view: PreviewServer) -> None:
    with closing(_Showing(view, seen())):
        assert _asked(view, "evil.example:8091")[0] == 400
        status, headers = _asked(view, "localhost:8091")
        assert status == 200
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_the_number_of_feed_readers_is_limited(view: PreviewServer) -> None:
    first, second = _borrowed(view), _borrowed(view)
    with pytest.raises(LineError, match="503"):
        _borrowed(view)
    first.close()
    second.close()
    with closing(_Showing(view, seen())):
        wait_for(lambda: _asked(view, "127.0.0.1:1")[0] == 200, timeout=60)


def test_the_feed_ends_with_the_preview_and_without_frames(
    view: PreviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drivers.camera.web._FEED_TIMEOUT_S", 0.1)
    with pytest.raises(LineError, match="closed by the other side"):
        _borrowed(view).read()
    monkeypatch.undo()
    borrowed = _borrowed(view)
    view.close()
    with pytest.raises(LineError, match=r"closed by the other side|broke off"):
        borrowed.read()
