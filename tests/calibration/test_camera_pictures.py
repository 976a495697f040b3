"""
Pictures for a calibration: a camera that goes away comes back without a new beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from calibration.camera.pictures import Live, address_of, port_of
from drivers.camera.frames import Image
from drivers.transport import LineError
from shoe_daemon.errors import UserError

PICTURE: Image = np.full((8, 8, 3), 90, np.uint8)


class Cable:
    """
    A camera on a cable that is pulled, and plugged in again.
    """

    def __init__(self) -> None:
        self.plugged = threading.Event()
        self.plugged.set()
        self.opened = 1

    def read(self) -> tuple[Image, float | None]:
        if not self.plugged.wait(0.01):
            raise LineError("eye: no picture came: unplugged?")
        return PICTURE, None

    def check(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def close(self) -> None:
        pass

    def again(self) -> Cable:
        if not self.plugged.is_set():
            raise LineError("eye: no such device: unplugged?")
        self.opened += 1
        return self


@pytest.fixture
def cable() -> Cable:
    return Cable()


@pytest.fixture
def live(cable: Cable) -> Iterator[Live]:
    pictures = Live(cable, "eye", cable.again)
    yield pictures
    pictures.close()


def test_a_camera_that_comes_back_is_looked_through_again(cable: Cable, live: Live) -> None:
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
def test_a_profile_names_its_camera_so_that_it_is_found_again(source: str) -> None:
    port = port_of(address_of(source))
    assert port == f"camera:{source}"
    assert address_of(port) == address_of(source)
    assert port_of(address_of("file:night.avi")) is None
