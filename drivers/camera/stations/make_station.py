"""
Makes the station that a profile describes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np

from drivers.camera.evidence import Evidence
from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.card_reader import Eye, Reader
from drivers.camera.sources.frame_quality import Image
from drivers.camera.stations.overhead_station import Overhead
from drivers.camera.stations.throat_station import Throat
from shoe_daemon.errors import UserError

if TYPE_CHECKING:
    from drivers.camera.camera_line import Station
    from drivers.camera.driver import CameraOptions

__all__ = ["load_reader", "make_station"]


def make_station(
    profile: Profile,
    options: CameraOptions,
    evidence: Path | None,
    reader: Reader | None = None,
) -> Station:
    """
    Make it; `reader` instead of the recogniser that comes with the package.

    Raises:
        UserError: A picture of the profile is not one.
    """
    reference = _reference(profile)
    eye = Eye(profile, reader or load_reader(profile, options.threshold))
    kept = None
    if evidence is not None:
        kept = Evidence(evidence, options.evidence_days, options.evidence_megabytes)
    kind = Throat if profile.station == "throat" else Overhead
    return kind(profile, reference, eye, kept)


def load_reader(profile: Profile, threshold: float | None) -> Reader:
    """
    Load the recogniser, set as a profile says.
    """
    from drivers.camera.recognition.index_window import CropWindow  # noqa: PLC0415 - likewise
    from drivers.camera.recognition.recogniser import Recogniser  # noqa: PLC0415 - its weights take time

    window, reading = profile.window, profile.reading
    return Recogniser(
        window=CropWindow(x=window.x, y=window.y, width=window.width, height=window.height),
        threshold=reading.threshold if threshold is None else threshold,
        sharpness=reading.sharpness,
    )


def _reference(profile: Profile) -> Image:
    image = cv2.imread(str(profile.reference), cv2.IMREAD_COLOR)
    wanted = profile.camera.height, profile.camera.width
    if image is None:
        raise UserError(f"{profile.reference}: no picture; expected that of the empty table")
    if image.shape[:2] != wanted:
        raise UserError(
            f"{profile.reference}: {image.shape[1]}x{image.shape[0]}; expected "
            f"{wanted[1]}x{wanted[0]}, as its profile says"
        )
    return np.asarray(image, np.uint8)
