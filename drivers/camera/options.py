"""Options of the driver ``camera``."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.errors import UserError

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "::1")
_PORT_COUNT: Final = 65536


class CameraOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``camera``.

    Attributes:
        station: ``overhead``, above the table, or ``throat``, at the shoe's throat.
        profile: File written by `calibrate camera`.
        threshold: Minimum confidence of an accepted card; the profile's where missing. A
            higher one is always safe.
        evidence: Folder for pictures of the cards that were read; ``evidence`` beside the
            journal where missing. An empty text stores none.
        evidence_days: Maximum age of these pictures.
        evidence_megabytes: Maximum size of all of them.
        fps: Frame rate to request, instead of the profile's.
        username: User name for a network camera.
        password_file: File with the password in its first line, searched among the unit's
            credentials first, then beside the configuration.
        view: Host and port of the preview page for browsers of this machine, such as
            ``127.0.0.1:8091``. Below it, ``/plain`` streams the frames as they are to
            `calibrate camera --check`.
        pace: Speed of a video file: ``own``, as it was recorded, or ``fast``.
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


def parse_listen_address(listen: str) -> tuple[str, int]:
    """Parse the option ``view``; a `UserError` unless it is an address of this machine alone."""
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    is_port = port.isascii() and port.isdecimal() and int(port) < _PORT_COUNT
    if not (colon and is_port and host in LOOPBACK_NAMES):
        raise UserError(
            f"options.view: {listen!r}; expected an address of this machine alone, such as "
            "127.0.0.1:8091"
        )
    return host, int(port)
