"""
Sections of a camera's profile, as ``shoe-daemon calibrate camera`` writes them.

Places are measured in millimetres on the table; a homography maps them to the image.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.game import Slot

VERSION: Final = 1

Millimetres = Annotated[float, Meta(gt=0, le=10_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Pixels = Annotated[int, Meta(ge=64, le=16_384)]
Point = tuple[float, float]
Polygon = Annotated[tuple[Point, ...], Meta(min_length=3, max_length=24)]
Row = tuple[float, float, float]


class _Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section that rejects unknown keys."""


class Camera(_Strict, frozen=True):
    """
    Section ``[camera]``.

    Attributes:
        source: The address that was calibrated; for people.
        width, height: Size of its images.
        fps: Frame rate to request; None for the camera's default.
        format: Four letters, such as ``MJPG``; None for the camera's default.
        controls: Locked controls, by OpenCV's names without ``CAP_PROP_``, in lower case:
            ``{auto_exposure = 1, exposure = 120, autofocus = 0}``.
        fingerprint: Name of the camera, for `calibrate camera --check`.
    """

    width: Pixels
    height: Pixels
    source: str | None = None
    fps: Annotated[float, Meta(gt=0, le=1000)] | None = None
    format: Annotated[str, Meta(min_length=4, max_length=4)] | None = None
    controls: dict[str, float] = {}
    fingerprint: str | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of its images."""
        return self.width, self.height


class CardSize(_Strict, frozen=True):
    """Section ``[card]``, in millimetres."""

    width: Millimetres = 63.0
    height: Millimetres = 88.0


class Table(_Strict, frozen=True):
    """
    Section ``[table]``.

    Attributes:
        homography: Maps millimetres to pixels, row by row.
        error: Its largest error, in millimetres.
        reference: Image of the empty table, beside the profile.
    """

    homography: tuple[Row, Row, Row]
    reference: str
    error: Annotated[float, Meta(ge=0)] | None = None


class Lens(_Strict, frozen=True):
    """
    Section ``[lens]``: camera matrix and distortion, as OpenCV defines them.

    The homography is then that of the undistorted image.
    """

    matrix: tuple[Row, Row, Row]
    distortion: Annotated[tuple[float, ...], Meta(min_length=4, max_length=14)]


class Place(_Strict, frozen=True):
    """
    One ``[[place]]``.

    Attributes:
        slot: The hand's slot; None for a box that belongs to no hand: its cards are not
            reported. Two boxes may have one slot.
        polygon: Its corners in millimetres on the table.
        turn: 0 where a card's long side runs along y, 90 along x.
    """

    polygon: Polygon
    slot: Slot | None = None
    turn: Literal[0, 90] = 0

    @property
    def centre(self) -> Point:
        """Mean of its corners."""
        xs, ys = zip(*self.polygon, strict=True)
        return sum(xs) / len(xs), sum(ys) / len(ys)


class Throat(_Strict, frozen=True):
    """
    Section ``[throat]``: where cards leave the shoe.

    Attributes:
        window: Corners of the watched window, in millimetres.
        direction: Direction in which cards leave the shoe, in millimetres.
        turn: 0 where a short side leads, 90 where a long one does.
    """

    window: Polygon
    direction: Point
    turn: Literal[0, 90] = 0


class IndexWindow(_Strict, frozen=True):
    """Section ``[window]``: position of the indexes on these cards, as shares of a card."""

    x: Annotated[float, Meta(ge=-0.2, le=0.3)] = 0.0
    y: Annotated[float, Meta(ge=-0.2, le=0.3)] = 0.0
    width: Annotated[float, Meta(gt=0.05, lt=0.6)] = 0.30
    height: Annotated[float, Meta(gt=0.05, lt=0.6)] = 0.42

    def scaled(self, across: float, along: float) -> IndexWindow:
        """Return a window of a multiple of the width and height, with the same corner."""
        return IndexWindow(
            x=self.x, y=self.y, width=self.width * across, height=self.height * along
        )


class Reading(_Strict, frozen=True):
    """
    Section ``[reading]``: limits of an accepted reading.

    Attributes:
        threshold: Minimum confidence; None for that of the recogniser.
        sharpness: Minimum sharpness of an index; None for that of the recogniser.
        blur: Maximum blur, as a share of the card's width.
    """

    threshold: Share | None = None
    sharpness: Annotated[float, Meta(ge=0)] | None = None
    blur: Share = 0.024


class Made(_Strict, frozen=True):
    """Section ``[made]``: date, version and accepted risk of the calibration."""

    at: str = ""
    version: str = ""
    risk: str = ""


class Profile(_Strict, frozen=True):
    """
    The whole profile.

    Attributes:
        folder: Folder of the profile; not in the file.
    """

    version: int
    station: Literal["overhead", "throat"]
    camera: Camera
    table: Table
    card: CardSize = CardSize()
    lens: Lens | None = None
    place: tuple[Place, ...] = ()
    throat: Throat | None = None
    window: IndexWindow = IndexWindow()
    reading: Reading = Reading()
    made: Made = Made()
    extra: dict[str, Any] = {}
    folder: str = ""

    @property
    def reference(self) -> Path:
        """Path of the image of the empty table."""
        return Path(self.folder) / self.table.reference
