"""
Pictures that a running daemon lends: a camera has one user, and beside it `--check` must
take what that one sees.
"""

from __future__ import annotations

import contextlib
import time
from typing import Final
from urllib.parse import urlsplit

from calibration.camera.frame_source import open_pictures
from drivers.camera.preview.loopback_address import LOOPBACK
from drivers.camera.profile.camera_profile import Camera
from drivers.camera.sources.frame_quality import Image
from drivers.camera.sources.source_address import Address
from shoe_daemon.errors import UserError

__all__ = ["is_lent", "take"]

_PATIENCE: Final = 25.0
"""Seconds: of a camera that was pushed far away the daemon lends pictures for two seconds
whenever it tries it again, which is every ten in the end."""

_AGAIN: Final = 0.2
"""Seconds between two attempts."""


def is_lent(address: Address) -> bool:
    """
    Whether this is what a camera's view lends.
    """
    if not address.is_stream:
        return False
    parts = urlsplit(address.where)
    return parts.hostname in LOOPBACK and parts.path == "/plain"


def take(address: Address, camera: Camera, count: int, at: float | None = None) -> list[Image]:
    """
    Take pictures in a row; where a daemon lends them, wait until it does.

    Raises:
        UserError: There are none.
    """
    until = time.monotonic() + (_PATIENCE if is_lent(address) else 0.0)
    while True:
        try:
            with contextlib.closing(open_pictures(address, camera)) as pictures:
                return pictures.take(count, at)
        except UserError as error:
            if time.monotonic() < until:
                time.sleep(_AGAIN)
                continue
            raise _told(address, error) from error


def _told(address: Address, error: UserError) -> UserError:
    if is_lent(address):
        place = urlsplit(address.where).netloc
        return UserError(f"{error}; is options.view {place}, does the daemon run?")
    if "another program has it" in str(error):
        beside = "beside a running daemon: --source http://HOST:PORT/plain, of its options.view"
        return UserError(f"{error}; {beside}")
    return error
