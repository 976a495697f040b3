"""
A table whose cameras are all faulty, each in its own way: the doctor and the daemon report each
by name, the displays show it as lost, and the shoe and the commands go on.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from drivers.camera.profile.sections import Camera
from shoe_daemon.game.coup import Outcome
from tests.brokers import Mosquitto, mosquitto
from tests.camera import overhead_scene
from tests.camera.fake_cameras import (
    NetworkCamera,
    Visit,
    dark_jpeg,
    draw_all,
    encoded,
    jpeg,
)
from tests.camera.overhead_scene import Scene, on
from tests.commands.command_table import Supervisor
from tests.fakes.rtsp_camera import RtspCamera, StreamState
from tests.service.daemon_process import SITE, TABLE, DaemonProcess, Shoe, cli, configure
from tests.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(600)]

__all__ = ["mosquitto"]

QUICK_ENOUGH = 30.0

# A webcam without MJPG, at the path of a device that always exists.
WEBCAM = """
import cv2
from tests.camera.fake_v4l2 import Webcam
webcam, opened = Webcam(), cv2.VideoCapture
webcam.modes = {"YUYV": [(1280, 720)]}
def open_video(name, *more):
    return (webcam.capture if name == "/dev/zero" else opened)(name, *more)
cv2.VideoCapture = open_video
"""


@dataclass
class Bad:
    """One camera."""

    url: str
    told: str
    seen_by_doctor: bool = True
    profile: str = "profile.toml"


def _stops(visit: Visit) -> None:
    """Frames for the first visit, and then none."""
    if visit.number == 1:
        visit.answer()
        visit.pictures(count=10)
    visit.wait()


def _black(visit: Visit) -> None:
    visit.answer()
    while True:
        visit.picture(dark_jpeg(2))


def _elsewhere(visit: Visit) -> None:
    """A table seen by a camera that was set up the other way round."""
    scene = Scene((on("P1", "KD"),))
    pictures = [encoded(scene.drawn(number)[::-1, ::-1].copy()) for number in range(4)]
    visit.answer()
    for number in count():
        visit.picture(pictures[number % 4])


@pytest.fixture
def cameras(tmp_path: Path) -> Iterator[dict[str, Bad]]:
    draw_all()
    folder = tmp_path / "table"
    folder.mkdir()
    camera = Camera(width=1280, height=720, format="MJPG")
    (folder / "webcam").mkdir()
    overhead_scene.profile(folder / "webcam", camera=camera)
    overhead_scene.profile(folder)
    with ExitStack() as stack:

        def serve(behave: Callable[[Visit], None]) -> str:
            return stack.enter_context(NetworkCamera(behave)).url

        rtsp = stack.enter_context(RtspCamera(jpeg))
        rtsp.state = StreamState.NO_REPLY
        yield {
            "gone": Bad("camera:/dev/no-such-camera", "no such device: unplugged?"),
            "format": Bad(
                "camera:/dev/zero", "wrong pixel format: gives YUYV", profile="webcam/profile.toml"
            ),
            "stops": Bad(serve(_stops), "no picture for ", seen_by_doctor=False),
            "black": Bad(serve(_black), "the picture is black: is the lamp on"),
            "elsewhere": Bad(serve(_elsewhere), "something else", seen_by_doctor=False),
            "deaf": Bad(rtsp.url, "no stream comes from there"),
        }


def _configured(folder: Path, cameras: dict[str, Bad], port: int, shoe: Shoe) -> Path:
    checkers = json.dumps(list(cameras))
    path = configure(folder, f"checkers = {checkers}", port=port, line=shoe.link)
    with path.open("a", encoding="utf-8") as file:
        for name, bad in cameras.items():
            file.write(
                f'[[reader]]\nid = "{name}"\ndriver = "camera"\nport = "{bad.url}"\n'
                f'[reader.options]\nprofile = "{bad.profile}"\nevidence = ""\n'
            )
    return path


def _lost(daemon: DaemonProcess) -> dict[str, list[str]]:
    """Reasons in the daemon's log for each lost reader."""
    told: dict[str, list[str]] = {}
    for line in daemon.log.read_text().splitlines():
        if '"link_lost"' in line:
            said = json.loads(line)
            told.setdefault(said["reader"], []).append(said["detail"])
    return told


def _wait_told(daemon: DaemonProcess, pit: Supervisor, name: str, told: str) -> None:
    def is_in_the_log() -> bool:
        return any(told in each for each in _lost(daemon).get(name, []))

    def is_away() -> bool:
        return any(each.json["state"] == "no-signal" for each in pit.of(f"device/{name}"))

    # The cameras share the processors with other tests.
    wait_for(is_in_the_log, f"{name}: {told}", timeout=3 * PATIENCE)
    wait_for(is_away, f"that {name} is away on the displays")


def test_faulty_cameras_are_reported_and_the_table_goes_on(
    tmp_path: Path, mosquitto: Mosquitto, cameras: dict[str, Bad]
) -> None:
    with (
        Shoe(tmp_path / "shoe") as shoe,
        Supervisor(mosquitto.port, f"shoe/v1/{SITE}/{TABLE}") as pit,
    ):
        config = _configured(tmp_path / "table", cameras, mosquitto.port, shoe)
        with DaemonProcess(config, patch=WEBCAM) as daemon:
            daemon.start().wait_ready()
            shoe.wait_heard().say("S")
            for name, bad in cameras.items():
                _wait_told(daemon, pit, name, bad.told)
            shoe.draw("P1:9S", "B1:2H", "P2:KD", "B2:3C")
            shoe.call(Outcome.PLAYER)
            (finished,) = pit.wait("event/round_finished")
            data = finished.json["data"]
            assert (data["outcome"], data["partial"]) == ("player", False)
            dealt = [each.json["data"]["card"] for each in pit.of("event/card_dealt")]
            assert sorted(dealt) == sorted(["9S", "2H", "KD", "3C"])
            assert pit.order("new-shoe")["ok"]
            # The end is quick, even while some cameras hang.
            began = time.monotonic()
            daemon.process.send_signal(signal.SIGTERM)
            assert daemon.process.wait(PATIENCE) == 0
            assert time.monotonic() - began < QUICK_ENOUGH
            # Each line of the log is a JSON object: no library writes there by itself.
            for line in daemon.log.read_text().splitlines():
                assert json.loads(line)["event"]


def test_the_doctor_reports_each_faulty_camera(
    tmp_path: Path, mosquitto: Mosquitto, cameras: dict[str, Bad]
) -> None:
    del cameras["format"]  # there is no such webcam but in a daemon's own process
    with Shoe(tmp_path / "shoe") as shoe:
        config = _configured(tmp_path / "table", cameras, mosquitto.port, shoe)
        done = cli("doctor", "--config", config, "--json")
    assert done.exit_code == 1
    findings = json.loads(done.stdout)
    for name, bad in cameras.items():
        told = [
            (each["verdict"], each["text"])
            for each in findings
            if each["about"].endswith(f" {name}")
        ]
        found_bad = [text for verdict, text in told if verdict == "bad"]
        if bad.seen_by_doctor:
            assert any(bad.told in text for text in found_bad), told
        else:
            assert told
            assert not found_bad
