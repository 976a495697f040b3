"""
Makes the station that a profile describes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drivers.transport import LineError

if TYPE_CHECKING:
    from drivers.camera.driver import CameraOptions
    from drivers.camera.line import Station
    from drivers.camera.profile import Profile

__all__ = ["make_station"]


def make_station(profile: Profile, options: CameraOptions, evidence: Path | None) -> Station:
    """
    Make it.

    Raises:
        LineError: It cannot work with this.
    """
    raise LineError(f"{profile.station}: {options.station} {evidence}")
