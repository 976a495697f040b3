"""
Results of a calibration, and the files made of them: profile, empty table, cards.

Files that belong together, such as a profile and its images, are written all or not at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from calibration.camera.control_locks import ControlLock
from calibration.camera.deck_comparison import BACK_NAME, card_files
from calibration.camera.frame_source import encode_png
from calibration.camera.image_measures import Flicker
from calibration.camera.layout import PixelBudget
from calibration.camera.markers import Marker
from calibration.camera.plane import Plane
from calibration.camera.reference_comparison import flicker_finding
from calibration.camera.shown_cards import (
    ShownCard,
    ShownReading,
    Threshold,
    WindowFit,
    best_proven_point,
)
from drivers.camera.image import Image
from drivers.camera.profile import sections as kept
from drivers.camera.profile.file import load_profile, profile_text
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.table_projection import Floats
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.settings.toml import toml_value

_MAX_PLANE_ERROR_MM: Final = 1.5
"""Maximum error of the plane."""

_MIN_SHARPNESS: Final = 0.35
"""Sharpness of the empty table, of 1, below which the lens has to be focused."""


@dataclass(kw_only=True)
class CalibrationResult:
    """
    Results, filled in step by step.

    Attributes:
        at: Date, for people.
        marker_image: Image in which the plane was found.
        reference: Mean image of the empty table.
        sharpness: Its sharpness, from 0 to 1.
        light: Its brightness, from 0 to 255.
        clicked: Corners of rectangles in pixels, 4 x 2 each, where there were no markers.
        budget: Pixels of an index on each place.
        shown: Cards that were laid to fit the index window and to know the deck.
        back: Upright image of a card that lay face down.
        cards: Readings of the shown cards.
        samples: Readings of the sample cards, with the final settings.
        notes: Omitted steps and their consequences.
    """

    station: str
    source: str
    camera: kept.Camera
    at: str
    plane: Plane
    marker_image: Image
    markers: Sequence[Marker]
    reference: Image
    flicker: Flicker
    sharpness: float
    light: float
    clicked: Sequence[Floats] = ()
    locks: Sequence[ControlLock] = ()
    places: tuple[kept.Place, ...] = ()
    throat: kept.Throat | None = None
    card: kept.CardSize = field(default_factory=kept.CardSize)
    budget: Sequence[PixelBudget] = ()
    shown: list[ShownCard] = field(default_factory=list)
    back: Image | None = None
    fit: WindowFit | None = None
    threshold: Threshold | None = None
    cards: list[ShownReading] = field(default_factory=list)
    samples: list[ShownReading] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def window(self) -> IndexWindow:
        """The index window."""
        return IndexWindow() if self.fit is None else self.fit.window


def list_faults(result: CalibrationResult) -> list[str]:
    """Return everything that is not good enough, with advice, a line each."""
    messages = _plane_faults(result)
    messages += [f"{each.slot}: {each.fault}" for each in result.budget if not each.passed]
    if result.sharpness < _MIN_SHARPNESS:
        messages.append(f"the empty table's sharpness is {result.sharpness:.2f}: focus the lens")
    if not result.flicker.steady:
        messages.append(flicker_finding(result.flicker).text)
    messages += _risk_faults(result.threshold)
    readings = (*result.cards, *result.samples)
    messages += [f"{each.card} on {each.slot}: {each.fault}" for each in readings if each.fault]
    return messages + result.notes


def _plane_faults(result: CalibrationResult) -> list[str]:
    plane, messages = result.plane, []
    sheet = f"marker {plane.worst}" if result.markers else f"rectangle {(plane.worst or 0) + 1}"
    advice = "lay more markers, far apart" if result.markers else "lay printed markers instead"
    if plane.misfit > _MAX_PLANE_ERROR_MM:
        messages.append(
            f"{sheet} does not fit the plane by {plane.misfit:.1f} mm; "
            f"expected {_MAX_PLANE_ERROR_MM} mm: "
            + ("press it flat, and measure its printed size" if result.markers else advice)
        )
    elif plane.error is not None and plane.error > _MAX_PLANE_ERROR_MM:
        off = f"the plane may be {plane.error:.1f} mm off"
        messages.append(f"{off}; expected {_MAX_PLANE_ERROR_MM} mm: {advice}")
    if plane.lens is None and result.station == "overhead":
        messages.append(f"the lens is not known, it may bend by millimetres: {advice}")
    return messages


def _risk_faults(chosen: Threshold | None) -> list[str]:
    best = best_proven_point()
    if chosen is None or chosen.stated is None or chosen.is_proven or best is None:
        return []
    most = f"{1 / best.risk:.0f}"
    text = (
        f"one wrong card in {1 / chosen.stated:.0f} is not proven for this recogniser: its test "
        f"proves one in {most} at {best.threshold:g}: state --risk {most}, or take "
        f"{chosen.value:g}, at which more cards are unreadable"
    )
    return [text]


def draft_profile(result: CalibrationResult) -> kept.Profile:
    """Return the results so far as a profile."""
    chosen = result.threshold
    measured: dict[str, Any] = {
        "sharpness": result.sharpness,
        "light": result.light,
        "least_pixels": [each.pixels for each in result.budget],
    }
    if result.markers:
        measured["markers"] = [each.number for each in result.markers]
    return kept.Profile(
        version=kept.VERSION,
        station="throat" if result.station == "throat" else "overhead",
        camera=result.camera,
        table=kept.Table(
            homography=result.plane.rows, reference="reference.png", error=result.plane.error
        ),
        card=result.card,
        lens=result.plane.lens,
        place=result.places,
        throat=result.throat,
        window=result.window,
        reading=kept.Reading(threshold=None if chosen is None else chosen.value),
        extra={"calibration": measured},
    )


def write_result(result: CalibrationResult, path: Path, version: str) -> kept.Profile:
    """
    Write the profile, the empty table and the cards; return the profile as loaded again.

    Raises:
        UserError: A file cannot be written; the previous profile is unchanged.
    """
    reference = f"{path.stem}-reference.png"
    risk = "" if result.threshold is None else result.threshold.summary
    made = kept.Made(at=result.at, version=version, risk=risk)
    profile = draft_profile(result)
    table = replace(profile.table, reference=reference)
    profile = replace(profile, table=table, made=made)
    cards = {shown.card.rank: shown.upright_image(160) for shown in reversed(result.shown)}
    if result.back is not None:
        cards[BACK_NAME] = result.back
    write_together(
        {
            path.with_name(reference): encode_png(result.reference),
            **card_files(card_folder(path), cards),
            path: profile_text(profile).encode(),
        }
    )
    return load_profile(path)


def card_folder(profile: Path) -> Path:
    """Return the folder of a profile's cards."""
    return profile.with_name(f"{profile.stem}-cards")


def reader_configuration(profile: kept.Profile, path: Path) -> str | None:
    """
    Return the section of a table's configuration for a profile at a path; None for a recording,
    which no table reads.
    """
    if profile.camera.source is None:
        return None
    lines = (
        "[[reader]]",
        'id = "camera"',
        'driver = "camera"',
        f"port = {toml_value(profile.camera.source)}",
        "",
        "[reader.options]",
        f"station = {toml_value(profile.station)}",
        f"profile = {toml_value(str(path.resolve()))}",
    )
    return "\n".join(lines)


def write_together(files: Mapping[Path, bytes | None]) -> None:
    """
    Write temporary files, and rename them only once all are on the disk; None deletes a file.
    Folders are created.

    Raises:
        UserError: A file cannot be written; then none was changed.
    """
    written: dict[Path, Path] = {}
    path = Path()
    try:
        for path, data in files.items():
            if data is not None:
                _write(path, data, written)
        for path, data in files.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                written[path].replace(_link_target(path))
    except OSError as error:
        for file in written.values():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written: {one_line(error)}") from error


def check_writable(path: Path) -> None:
    """
    Check that a file can be written there, before the work that it will hold.

    Raises:
        UserError: It cannot be written.
    """
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise UserError(f"{path}: cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{path}: cannot be written: no file may come into {folder}")
    if os.path.lexists(path) and not path.is_file():
        raise UserError(f"{path}: cannot be written: expected the name of a file")


def _write(path: Path, data: bytes, written: dict[Path, Path]) -> None:
    place = _link_target(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    written[path] = new = place.with_name(f".{place.name}.{os.getpid()}")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _link_target(path: Path) -> Path:
    # The target of a link is replaced, not the link.
    return Path(os.path.realpath(path))
