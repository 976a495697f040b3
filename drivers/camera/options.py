"""
TODO.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

__all__ = ["CameraOptions"]


class CameraOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``camera``.

    Attributes:
        station: ``overhead``, above the table, or ``throat``, at the shoe's mouth.
        profile: The file that `calibrate camera` wrote.
        threshold: The least confidence with which a card is named; without it the
            profile's. A higher one is always safe.
        evidence: The folder for pictures of what was read; without it ``evidence``
            beside the journal. An empty text keeps none.
        evidence_days: How old these pictures become.
        evidence_megabytes: How much room they take.
        fps: Pictures a second that are asked for, instead of the profile's.
        username: Who this table is for a network camera.
        password_file: Its password is the first line of this file, which is looked for
            among the unit's credentials first, then beside the configuration.
        view: Where people of this machine see what the camera sees, and what was read:
            host and port of a page for browsers, such as ``127.0.0.1:8091``. Below it,
            ``/plain`` lends the pictures as they are to `calibrate camera --check`.
        pace: Of a video file: ``own``, as it was taken, or ``fast``.
    """

    station: Literal["overhead", "throat"] = "overhead"
    profile: str | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    evidence: str | None = None
    evidence_days: Annotated[float, Meta(gt=0, le=3650)] = 30
    evidence_megabytes: Annotated[float, Meta(gt=0, le=1_000_000)] = 500
    fps: Annotated[float, Meta(gt=0, le=1000)] | None = None
    username: Annotated[str, Meta(min_length=1)] | None = None
    password_file: Annotated[str, Meta(min_length=1)] | None = None
    view: str | None = None
    pace: Literal["own", "fast"] = "own"
