"""Calibrates the USB camera in the machine by the guided run, whose questions are answered."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

import numpy as np

from drivers.camera.profile.file import load_profile
from drivers.camera.recognition.table_projection import TableProjection
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.settings import Settings
from drivers.simulators.camera.table_layout import PLACES
from tests.machine.filmed_table import FilmedTable
from tests.machine.usb_camera import UsbCamera
from tests.machine.virtual_machine import VirtualMachine
from tests.waiting import wait_for

FRESH_PICTURES: Final = 4
"""After so many pictures none of the scene before is left in the buffers of the guest."""

_LOG, _TYPED = "/root/calibration.log", "/root/typed"
_MAX_QUESTIONS: Final = 40
"""About twice as many as without faults."""

_MAX_OFF_MM: Final = 5.0
"""Distance between a place and where the profile has it."""

_PICTURE_TIMES: Final = """
import statistics, sys, time
import cv2
from drivers.camera.line import make_station
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.image import VideoFrame
from pathlib import Path
cv2.setNumThreads(1)
station = make_station(load_profile(Path(sys.argv[1])), CameraOptions(), None)
camera = cv2.VideoCapture(sys.argv[2], cv2.CAP_V4L2)
decoding, processing = [], []
for number in range(8):
    camera.grab()
    began = time.monotonic()
    image = camera.retrieve()[1]
    decoded = time.monotonic()
    station.process(VideoFrame(image, decoded, number))
    decoding.append(1000 * (decoded - began))
    processing.append(1000 * (time.monotonic() - decoded))
print(f"{statistics.median(decoding):.0f} ms to decode, {statistics.median(processing):.0f} ms to "
    f"process, {max(processing):.0f} ms where cards are read")
"""


def calibrate(machine: VirtualMachine, command: str, camera: UsbCamera, table: FilmedTable) -> str:
    """Run `calibrate camera`, do and answer what it asks for, and return what it showed."""
    machine.check(
        f"mkfifo {_TYPED}; (sleep infinity >{_TYPED} &) >/dev/null 2>&1; "
        f"setsid script -qec '{command} >{_LOG} 2>&1; echo status $? >>{_LOG}' /dev/null "
        f"<{_TYPED} >/dev/null 2>&1 &"
    )
    for number in range(_MAX_QUESTIONS):
        log = _wait_for_question(machine, number + 1)
        if _has_ended(log):
            return log
        table.follow(_questions(log)[number])
        wait_for_pictures(camera, FRESH_PICTURES)
        machine.check(f"echo >{_TYPED}")
    raise AssertionError(machine.check(f"cat {_LOG}"))


def _wait_for_question(machine: VirtualMachine, number: int) -> str:
    """Wait for a question, or for the end; return what was shown so far."""
    shown = ""
    while not _has_ended(shown) and len(_questions(shown)) < number:
        next_byte = f"tail --bytes=+{len(shown.encode()) + 1} --follow {_LOG} 2>/dev/null"
        grown = f"timeout 600 head --bytes=1 <({next_byte}) >/dev/null"
        assert machine.run(grown, timeout_s=1200).status == 0, f"no question {number}: {shown}"
        shown = machine.check(f"cat {_LOG}")
    return shown


def _has_ended(log: str) -> bool:
    return "\nstatus " in log


def _questions(log: str) -> list[str]:
    # Below an empty line: a question, or at the end the lines of a configuration.
    parts = log.split("\n\n")[1:]
    return [each.partition("\n")[0] for each in parts if not each.startswith("[")]


def wait_for_pictures(camera: UsbCamera, count: int) -> None:
    """Wait until a camera has sent so many pictures more."""
    sent = camera.sent
    wait_for(lambda: camera.sent >= sent + count, f"{count} pictures", timeout=240)


def check_log(log: str) -> None:
    """No card was read as another one, and nothing else is to be put right."""
    assert "markers: at most" in log, log
    assert "The boxes of the felt were found" in log, log
    faults = [line for line in log.splitlines() if line.startswith("to put right: ")]
    # A card may be below the threshold of the weights, whatever these are.
    assert all("not certain" in each for each in faults), log
    assert log.rstrip().endswith(f"status {1 if faults else 0}"), log


def check_profile(
    machine: VirtualMachine, profile_path: str, settings: Settings, folder: Path
) -> None:
    """The places of the profile are those of the table."""
    for path in (profile_path, profile_path.replace(".toml", "-reference.png")):
        content = base64.b64decode(machine.check(f"base64 {path}"))
        (folder / Path(path).name).write_bytes(content)
    profile = load_profile(folder / Path(profile_path).name)
    places = {each.slot: each.centre for each in profile.place if each.slot is not None}
    assert places.keys() == PLACES.keys()
    pixels = create_camera(settings).on_table(np.array([PLACES[slot][:2] for slot in places]))
    apart = TableProjection(profile).to_table(pixels) - np.array([*places.values()])
    assert np.hypot(*apart.T).max() < _MAX_OFF_MM, apart


def picture_times(machine: VirtualMachine, profile: str, device: str) -> str:
    """Return how long a picture takes in the guest, as text."""
    command = f"/opt/shoe-daemon/bin/python - {profile} {device}"
    return machine.check(command, typed=_PICTURE_TIMES).strip()
