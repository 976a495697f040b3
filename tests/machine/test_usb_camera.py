"""A USB camera: pulled out, replaced by another one, in use by a program; and clips of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import cv2
import pytest

from drivers.simulators.camera.scene_renderer import Scene
from tests.machine.conftest import CAMERA, CAMERA_SCENE
from tests.machine.serial_table import JOURNAL, SITE, TABLE, UNIT, events_after, wait_for_event
from tests.machine.usb_camera import UsbCamera
from tests.machine.virtual_machine import VirtualMachine

SERIAL = "CAM0001"
EVIDENCE = f"/var/lib/shoe-evidence/{SITE}.{TABLE}"
HOLD_THE_CAMERA = f"""
import cv2
camera = cv2.VideoCapture({CAMERA!r}, cv2.CAP_V4L2)
while camera.read()[0]:
    print("picture", flush=True)
"""


@pytest.fixture
def machine(camera_table: Path, machine_from: Callable[[Path], VirtualMachine]) -> VirtualMachine:
    """A machine with one table, whose camera is not plugged in yet."""
    return machine_from(camera_table)


@pytest.fixture
def frame() -> Callable[[], bytes]:
    """Returns the next picture of a dealt table, as JPEG."""

    def pictures() -> Iterator[bytes]:
        for shot in cycle(Scene(CAMERA_SCENE).frames()):
            if shot.image is not None:
                yield cv2.imencode(".jpg", shot.image)[1].tobytes()

    seen = pictures()
    return lambda: next(seen)


def test_a_camera_is_pulled_out_and_replaced(
    machine: VirtualMachine, frame: Callable[[], bytes]
) -> None:
    port = machine.open_usb_port("camera")
    machine.check(f"systemctl start mosquitto {UNIT}")
    seq = wait_for_event(machine, 0, "reader_status", "down")
    for _ in range(3):
        with UsbCamera(port, frame, SERIAL, fps=2) as camera:
            seq = wait_for_event(machine, seq, "reader_status", "up")
            assert camera.sent
        seq = wait_for_event(machine, seq, "reader_status", "down")
    with UsbCamera(port, frame, "CAM0002", fps=2):
        machine.wait("test -e /dev/v4l/by-id/*CAM0002*index0")
        machine.check("sleep 10")  # the daemon looks for its camera every few seconds
        assert not any(b'"up"' in body for body in events_after(machine, seq).values())
    with UsbCamera(port, frame, SERIAL, fps=2):
        wait_for_event(machine, seq, "reader_status", "up")


def test_a_camera_in_use_by_another_program_is_taken_when_it_is_free(
    machine: VirtualMachine, frame: Callable[[], bytes]
) -> None:
    port = machine.open_usb_port("camera")
    with UsbCamera(port, frame, SERIAL, fps=2):
        machine.wait(f"test -e {CAMERA}")
        machine.check(
            "cat > /root/hold.py; setsid /opt/shoe-daemon/bin/python /root/hold.py "
            ">/root/held 2>&1 </dev/null &",
            typed=HOLD_THE_CAMERA,
        )
        machine.wait("grep -q picture /root/held")
        machine.check(f"systemctl start mosquitto {UNIT}")
        seq = wait_for_event(machine, 0, "reader_status", "down")
        machine.check("pkill -f hold.py")
        wait_for_event(machine, seq, "reader_status", "up")


def test_a_dispute_leaves_a_clip_of_this_camera(
    machine: VirtualMachine, frame: Callable[[], bytes]
) -> None:
    port = machine.open_usb_port("camera")
    machine.check(f"systemctl start mosquitto {UNIT}")
    with UsbCamera(port, frame, SERIAL, fps=2):
        # The pictures are too small to read the cards.
        wait_for_event(machine, 0, "irregularity")
        machine.wait(f"ls -A {EVIDENCE} | grep -q 'witness.webm'")
        machine.check(f"systemctl stop {UNIT}")
    clips = machine.check(f"ls {EVIDENCE} | grep webm").split()
    assert clips
    verified = machine.check(f"shoe-daemon journal verify {JOURNAL} --refold --clips {EVIDENCE}")
    assert f"{len(clips)} are as they were recorded" in verified
    # The display may read it, and nobody else.
    assert machine.check(f"stat -c '%a %G' {EVIDENCE}/{clips[0]}").split() == [
        "640",
        "shoe-evidence",
    ]
