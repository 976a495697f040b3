"""Results of a calibration, and the files made of them: profile, empty table, cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from calibration.camera.atomic_files import write_together
from calibration.camera.camera_device import ControlLock
from calibration.camera.frame_source import encode_png
from calibration.camera.image_measures import Flicker
from calibration.camera.layout_on_plane import Plane
from calibration.camera.marker_detection import Marker
from calibration.camera.profile_check import flicker_finding
from calibration.camera.reading_settings import Threshold, WindowFit, best_proven_point
from calibration.camera.same_deck_check import BACK_NAME, card_files
from calibration.camera.shown_cards import MORE_PIXELS_ADVICE, PixelBudget, ShownCard, ShownReading
from drivers.camera.profile import camera_profile as kept
from drivers.camera.profile.profile_file import load_profile, profile_text
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.recognition.table_projection import Floats
from drivers.camera.sources.video_frame import Image

__all__ = [
    "CalibrationResult",
    "card_folder",
    "draft_profile",
    "list_faults",
    "reader_configuration",
    "write_result",
]

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
    def window(self) -> CropWindow:
        """The index window."""
        return CropWindow() if self.fit is None else self.fit.window


def list_faults(result: CalibrationResult) -> list[str]:
    """Return everything that is not good enough, with advice, a line each."""
    messages = [
        f"{each.slot}: {_too_few_pixels(each)}" for each in result.budget if not each.passed
    ]
    messages = _plane_faults(result) + messages
    if result.sharpness < _MIN_SHARPNESS:
        messages.append(f"the empty table's sharpness is {result.sharpness:.2f}: focus the lens")
    if not result.flicker.steady:
        messages.append(flicker_finding(result.flicker).text)
    messages += _risk_faults(result.threshold)
    messages += [f"{each.card} on {each.slot}: {each.fault}" for each in _failed(result)]
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
    messages = (
        f"one wrong card in {1 / chosen.stated:.0f} is not proven for this recogniser: its test "
        f"proves one in {most} at {best.threshold:g}: state --risk {most}, or take "
        f"{chosen.value:g}, at which more cards are unreadable"
    )
    return [messages]


def _too_few_pixels(budget: PixelBudget) -> str:
    few = f"{budget.pixels:.0f} pixels for an index, at least {budget.least:.0f} are needed"
    return f"{few}: {MORE_PIXELS_ADVICE}"


def _failed(result: CalibrationResult) -> list[ShownReading]:
    return [each for each in (*result.cards, *result.samples) if not each.passed]


def draft_profile(result: CalibrationResult) -> kept.Profile:
    """Return the results so far as a profile."""
    chosen, window = result.threshold, result.window
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
        window=kept.Window(x=window.x, y=window.y, width=window.width, height=window.height),
        reading=kept.Reading(threshold=None if chosen is None else chosen.value),
        extra=_extra(result),
    )


def _extra(result: CalibrationResult) -> dict[str, Any]:
    known: dict[str, Any] = {
        "sharpness": result.sharpness,
        "light": result.light,
        "least_pixels": [each.pixels for each in result.budget],
    }
    if result.markers:
        known["markers"] = [each.number for each in result.markers]
    return {"calibration": known}


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
    write_together(
        {
            path.with_name(reference): encode_png(result.reference),
            **card_files(card_folder(path), _cards(result)),
            path: profile_text(profile).encode(),
        }
    )
    return load_profile(path)


def _cards(result: CalibrationResult) -> dict[str, Image]:
    cards = {shown.card.rank: shown.upright_image(160) for shown in reversed(result.shown)}
    if result.back is not None:
        cards[BACK_NAME] = result.back
    return cards


def card_folder(profile: Path) -> Path:
    """Return the folder of a profile's cards."""
    return profile.with_name(f"{profile.stem}-cards")


def reader_configuration(profile: kept.Profile, path: Path) -> str | None:
    """
    Return the section of a table's configuration for this profile; None for a recording, which
    no table reads.

    Args:
        profile: The profile.
        path: Its path.
    """
    if profile.camera.source is None:
        return None
    lines = (
        "[[reader]]",
        'id = "camera"',
        'driver = "camera"',
        f"port = {_quoted(profile.camera.source)}",
        "",
        "[reader.options]",
        f"station = {_quoted(profile.station)}",
        f"profile = {_quoted(str(path.resolve()))}",
    )
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
