"""
Reading, writing and validation of a profile's TOML file.

Values that no table, lens or image can have are reported when the profile is loaded, in one
line with their key, and not when the camera is opened.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from drivers.camera.profile.sections import VERSION, Lens, Point, Profile, Row
from shoe_daemon.errors import UserError
from shoe_daemon.game import DEALING_ORDER
from shoe_daemon.settings.toml import convert_toml, read_toml


def load_profile(path: Path) -> Profile:
    """
    Load and validate a profile.

    Raises:
        UserError: File, key, value and what was expected, a line for each error of a type.
    """
    try:
        mapping = read_toml(path, "a camera's profile")
        _check_version(mapping)
        _check_numbers(mapping)
        read = convert_toml(Profile, mapping, str(path))
        profile = msgspec.structs.replace(read, folder=str(path.parent))
        _check_geometry(profile)
        _check_reference(profile)
    except UserError as error:
        message = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {message}") from error
    return profile


def profile_text(profile: Profile) -> str:
    """Return a profile as TOML that `load_profile` reads back; a `UserError` if it is invalid."""
    mapping = msgspec.to_builtins(msgspec.structs.replace(profile, folder=""))
    _check_numbers(mapping)
    convert_toml(Profile, mapping, "profile")
    _check_geometry(profile)
    return "\n".join(_toml_lines(_without_empty(mapping))) + "\n"


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile into a file; raises as `profile_text`, or an `OSError`."""
    path.write_text(profile_text(profile), encoding="utf-8")


def _check_version(mapping: dict[str, Any]) -> None:
    if "folder" in mapping:
        raise UserError("folder: unknown key; expected nothing: it is where the file lies")
    version = mapping.get("version", VERSION)
    if version != VERSION:
        raise UserError(
            f"version: {version!r}; expected {VERSION}: calibrate this camera again, or take "
            "the daemon of that version"
        )


def _without_empty(mapping: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(value, dict):
            value = _without_empty(value)  # noqa: PLW2901 - the same, with less in it
        elif key == "place":
            value = [_without_empty(each) for each in value]  # noqa: PLW2901 - as above
        if value not in (None, {}, [], ""):
            kept[key] = value
    return kept


def _toml_lines(mapping: dict[str, Any], name: str = "") -> list[str]:
    """Format a table: its values first, its tables after them."""
    lines = [
        f"{key} = {_toml_value(value)}" for key, value in mapping.items() if not _is_table(value)
    ]
    for key, value in mapping.items():
        below = f"{name}.{key}" if name else key
        if isinstance(value, dict):
            lines += ["", f"[{below}]", *_toml_lines(value, below)]
        elif _is_table(value):
            for each in value:
                lines += ["", f"[[{below}]]", *_toml_lines(each, below)]
    return lines


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


def _toml_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    # Strings, numbers and booleans are the same in JSON and TOML.
    return msgspec.json.encode(value).decode()


_MIN_DETERMINANT: Final = 1e-9
_EDGE_TOLERANCE: Final = 0.05
"""Share of an image's side by which a corner of a place may lie outside the image."""

_DISTORTION_COEFFICIENTS: Final = 8
"""Coefficients that are supported: hardly any lens has more."""

_MATRIX_LAST_ROW: Final = (0.0, 0.0, 1.0)


def _check_numbers(mapping: dict[str, Any]) -> None:
    """Check that all numbers are finite: TOML has ``nan`` and ``inf`` too."""
    for key, value in _find_floats({**mapping, "extra": None}):
        if not math.isfinite(value):
            raise UserError(f"{key}: {value}; expected a number")


def _find_floats(value: object, key: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield key, value
    elif isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in pairs:
            yield from _find_floats(each, f"{key}.{name}" if key else str(name))


def _check_reference(profile: Profile) -> None:
    """Check that the image of the empty table exists and has the camera's size."""
    key, named, camera = "table.reference", profile.table.reference, profile.camera
    # Path.is_file raises for a name that is too long.
    if not os.path.isfile(profile.reference):  # noqa: PTH113 - as said
        raise UserError(f"{key}: {named!r}; expected a picture's file beside the profile")
    size = image_size(profile.reference)
    if size is not None and size != camera.size:
        raise UserError(
            f"{key}: {named!r} is {size[0]}x{size[1]}; expected {camera.width}x{camera.height}, "
            "as camera.width and camera.height say"
        )


def _check_geometry(profile: Profile) -> None:
    """Check that a camera can see the table as described."""
    if not _MIN_DETERMINANT <= abs(_determinant(profile.table.homography)) < math.inf:
        raise UserError(
            "table.homography: no camera can see a table so; expected nine other numbers"
        )
    if profile.lens is not None:
        _check_lens(profile.lens)
    if profile.station == "throat":
        _check_throat(profile)
    else:
        _check_places(profile)


def _check_lens(lens: Lens) -> None:
    across, down = lens.matrix[0][0], lens.matrix[1][1]
    if not (across > 0 and down > 0 and tuple(lens.matrix[2]) == _MATRIX_LAST_ROW):
        raise UserError(
            "lens.matrix: impossible; expected [[f, 0, x], [0, f, y], [0, 0, 1]] with f > 0"
        )


def _check_throat(profile: Profile) -> None:
    throat = profile.throat
    if throat is None:
        raise UserError("throat: missing; expected the section of a camera at the shoe's throat")
    if not any(throat.direction):
        raise UserError("throat.direction: [0, 0]; expected the way that cards leave the shoe")
    _check_polygon(profile, throat.window, "throat.window")


def _check_places(profile: Profile) -> None:
    placed_slots = {place.slot for place in profile.place}
    missing = [slot.value for slot in DEALING_ORDER if slot not in placed_slots]
    if missing:
        raise UserError(f"place: none for {', '.join(missing)}; expected one for every slot")
    for number, place in enumerate(profile.place, 1):
        _check_polygon(profile, place.polygon, f"place {number}: polygon")


def _check_polygon(profile: Profile, polygon: Iterable[Point], key: str) -> None:
    for x, y in polygon:
        if not _is_in_image(profile, x, y):
            raise UserError(
                f"{key}: [{x:g}, {y:g}] lies outside the picture; expected a place that the "
                f"camera sees with {profile.camera.width}x{profile.camera.height}"
            )


def _is_in_image(profile: Profile, x: float, y: float) -> bool:
    u, v, w = (row[0] * x + row[1] * y + row[2] for row in profile.table.homography)
    if abs(w) < _MIN_DETERMINANT:
        return False
    at = u / w, v / w
    if profile.lens is not None:
        at = _distort(profile.lens, *at)
    return all(
        -_EDGE_TOLERANCE * side <= place <= (1 + _EDGE_TOLERANCE) * side
        for place, side in zip(at, profile.camera.size, strict=True)
    )


def _distort(lens: Lens, u: float, v: float) -> Point:
    """Return where a lens shows a point of the undistorted image."""
    (across, _, left), (_, down, top), _ = lens.matrix
    k1, k2, p1, p2, k3, k4, k5, k6 = (*lens.distortion, 0.0, 0.0, 0.0, 0.0)[
        :_DISTORTION_COEFFICIENTS
    ]
    x, y = (u - left) / across, (v - top) / down
    r = x * x + y * y
    out = 1 + r * (k4 + r * (k5 + r * k6))
    far = (1 + r * (k1 + r * (k2 + r * k3))) / out if out else math.inf
    there_x = x * far + 2 * p1 * x * y + p2 * (r + 2 * x * x)
    there_y = y * far + p1 * (r + 2 * y * y) + 2 * p2 * x * y
    return there_x * across + left, there_y * down + top


def _determinant(rows: tuple[Row, Row, Row]) -> float:
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


_PNG_MAGIC: Final = b"\x89PNG\r\n\x1a\n"
_JPEG_MAGIC: Final = b"\xff\xd8"
_SIZE_MARKERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers of a segment with the image size."""

_EMPTY_MARKERS: Final = frozenset({0x01, *range(0xD0, 0xDA)})
"""JPEG markers without a segment."""


def image_size(path: Path) -> tuple[int, int] | None:
    """Return width and height of a PNG or a JPEG without decoding it; None for other files."""
    try:
        with path.open("rb") as file:
            head = file.read(24)
            if head.startswith(_PNG_MAGIC) and head[12:16] == b"IHDR":
                width, height = struct.unpack("!II", head[16:24])
                return width, height
            if head.startswith(_JPEG_MAGIC):
                file.seek(2)
                return _jpeg_size(file)
    except (OSError, struct.error):
        pass
    return None


def _jpeg_size(file: BinaryIO) -> tuple[int, int] | None:
    while file.read(1) == b"\xff":
        mark = (file.read(1) or b"\xd9")[0]
        while mark == 0xFF:  # noqa: PLR2004 - it may be repeated
            mark = (file.read(1) or b"\xd9")[0]
        if mark in _SIZE_MARKERS:
            height, width = struct.unpack("!HH", file.read(7)[3:])
            return width, height
        if mark not in _EMPTY_MARKERS:
            (length,) = struct.unpack("!H", file.read(2))
            file.seek(length - 2, 1)
    return None
