"""The calibration wizard: asks for each step, measures it and shows the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from calibration.camera.calibration_output import CalibrationResult, draft_profile
from calibration.camera.camera_device import ControlLock
from calibration.camera.frame_source import FrameSource
from calibration.camera.image_measures import (
    mean_brightness,
    mean_image,
    measure_flicker,
    measure_sharpness,
)
from calibration.camera.layout_on_plane import Plane, places_of, watched_places
from calibration.camera.marker_detection import Marker, find_markers
from calibration.camera.plane_fitting import plane_from_markers, plane_from_points
from calibration.camera.profile_check import brightness_gain
from calibration.camera.reading_settings import (
    choose_threshold,
    fit_window,
    good_index_pixels,
    min_index_pixels,
)
from calibration.camera.same_deck_check import is_back
from calibration.camera.script import CardStep, Dialogue, PlaneStep, missing_ranks
from calibration.camera.shown_cards import (
    ShownCard,
    ShownReading,
    find_card_on,
    index_pixels,
    pixel_budgets,
    read_shown_card,
)
from drivers.camera.profile.camera_profile import Camera, Place, Profile, Throat
from drivers.camera.profile.profile_file import write_profile
from drivers.camera.recognition.card_finder import CardRecogniser
from drivers.camera.recognition.confidence import crop_card
from drivers.camera.recognition.corner_index_reader import Recogniser
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.recognition.table_projection import Floats
from drivers.camera.sources.video_frame import Image
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card, Slot

__all__ = ["CalibrationRequest", "calibrate"]

T = TypeVar("T")
_MEAN_FRAMES: Final = 4
"""Frames of which the mean is taken."""


class CalibrationRequest(NamedTuple):
    """
    What to calibrate.

    Attributes:
        risk: Accepted share of wrong cards; None for that of the weights.
        reader: Makes the reader of cards; the recogniser where None.
    """

    station: str
    source: str
    camera: Camera
    risk: float | None
    at: str
    locks: tuple[ControlLock, ...] = ()
    reader: Callable[[Profile], CardRecogniser] | None = None


def calibrate(
    frames: FrameSource, dialogue: Dialogue, wanted: CalibrationRequest
) -> CalibrationResult:
    """
    Run all steps.

    Raises:
        UserError: A step failed and is not repeated.
    """
    found = _retry(dialogue, lambda: _find_plane(frames, dialogue))
    dialogue.show(_plane_summary(found.plane, len(found.markers), wanted.station))
    result = _retry(dialogue, lambda: _measure_empty_table(frames, dialogue, wanted, found))
    _retry(dialogue, lambda: _place_layout(dialogue, result, found.plane))
    _show_cards(frames, dialogue, result, wanted)
    _read_samples(frames, dialogue, result, wanted)
    return result


def _retry(dialogue: Dialogue, step: Callable[[], T]) -> T:
    while True:
        try:
            return step()
        except UserError as error:
            if not dialogue.ask_retry(str(error)):
                raise


class _FoundPlane(NamedTuple):
    """The plane, and the markers or points by which it was found."""

    plane: Plane
    image: Image
    markers: Sequence[Marker] = ()
    clicked: Sequence[Floats] = ()


def _find_plane(frames: FrameSource, dialogue: Dialogue) -> _FoundPlane:
    step = dialogue.plane()
    image = mean_image(frames.take(_MEAN_FRAMES, step.at))
    size = image.shape[1], image.shape[0]
    if step.points:
        plane = plane_from_points(step.points, _rectangle(step), size)
        return _FoundPlane(plane, image, clicked=[*np.reshape(step.points, (-1, 4, 2))])
    markers = find_markers(image)
    return _FoundPlane(plane_from_markers(markers, step.size, size), image, markers=markers)


def _rectangle(step: PlaneStep) -> tuple[float, float]:
    if step.rectangle is None:
        raise UserError("plane.rectangle: missing; expected its width and height in millimetres")
    return step.rectangle


def _plane_summary(plane: Plane, count: int, station: str) -> str:
    seen = f"{count} marker{'s' if count != 1 else ''}: " if count else ""
    off = f"plane: {seen}at most {plane.error or 0.0:.1f} mm off"
    if plane.lens is not None:
        return f"{off}; the lens bends by {plane.lens.distortion[0]:+.3f}"
    # The throat is too small for lens distortion to matter.
    if station == "throat":
        return off
    return f"{off}, besides what the lens bends: two markers or rectangles, or more, tell that"


def _measure_empty_table(
    frames: FrameSource, dialogue: Dialogue, wanted: CalibrationRequest, found: _FoundPlane
) -> CalibrationResult:
    step = dialogue.empty()
    taken = frames.take(step.pictures, step.at)
    reference = mean_image(taken)
    size = reference.shape[1], reference.shape[0]
    if size != found.plane.size:
        raise UserError(f"pictures of {size[0]}x{size[1]} after such of {found.plane.size}")
    result = CalibrationResult(
        station=wanted.station,
        source=wanted.source,
        camera=replace(wanted.camera, width=size[0], height=size[1]),
        at=wanted.at,
        plane=found.plane,
        marker_image=found.image,
        markers=found.markers,
        clicked=found.clicked,
        reference=reference,
        flicker=measure_flicker(taken, wanted.camera.fps),
        sharpness=measure_sharpness(reference),
        light=mean_brightness(reference),
        locks=wanted.locks,
    )
    _show_empty_table(dialogue, result)
    return result


def _show_empty_table(dialogue: Dialogue, result: CalibrationResult) -> None:
    empty = "empty mouth" if result.station == "throat" else "empty table"
    dialogue.show(f"{empty}: sharpness {result.sharpness:.2f}, light {result.light:.0f} of 255")
    flicker = result.flicker
    lamps = "steady" if flicker.steady else f"comes and goes by {flicker.strength:.0%}"
    dialogue.show(f"lamps: the light is {lamps}")


def _place_layout(dialogue: Dialogue, result: CalibrationResult, plane: Plane) -> None:
    if result.station == "throat":
        _place_throat_window(dialogue, result)
    else:
        _place_boxes(dialogue, result, plane)
    places = watched_places(result.places, result.throat)
    other = _slot_name(None) if result.throat else "other"
    known = result.plane, places, result.card, CropWindow(), min_index_pixels()
    result.budget = pixel_budgets(*known, other)
    pixels_by_slot = ", ".join(f"{each.slot} {each.pixels:.0f}" for each in result.budget)
    verdict = _pixels_verdict(min(each.pixels for each in result.budget))
    dialogue.show(f"pixels of an index: {pixels_by_slot}: {verdict}")


def _pixels_verdict(pixels: float) -> str:
    least, good = min_index_pixels(), good_index_pixels()
    if pixels < least:
        return f"TOO FEW, {least:.0f} are read at the least"
    return "enough" if pixels >= good else f"few: from {good:.0f} on nearly all cards are read"


def _place_boxes(dialogue: Dialogue, result: CalibrationResult, plane: Plane) -> None:
    """Place the boxes on the plane as it was found, also in a repeated step."""
    step = dialogue.layout(plane, result.reference)
    result.plane = plane.moved(step.x, step.y, step.turn)
    result.places = places_of(step.chosen)
    _check_draft(result)


def _place_throat_window(dialogue: Dialogue, result: CalibrationResult) -> None:
    step = dialogue.throat(result.plane, result.reference)
    wide, high = step.window_size
    left, top = step.x - wide / 2, step.y - high / 2
    window = ((left, top), (left + wide, top), (left + wide, top + high), (left, top + high))
    result.throat = Throat(window=window, direction=step.direction, turn=step.turn)
    _check_draft(result)


def _check_draft(result: CalibrationResult) -> None:
    """Apply the profile's own checks: every slot has a place, and all places are in the image."""
    write_profile(draft_profile(result), Path(os.devnull))


def _show_cards(
    frames: FrameSource,
    dialogue: Dialogue,
    result: CalibrationResult,
    wanted: CalibrationRequest,
) -> None:
    """Show a card of every rank, fit the index window to them, and read them all."""
    done = _show_faces(frames, dialogue, result)
    _show_back(frames, dialogue, result)
    if missing := missing_ranks(done):
        result.notes.append(f"not shown: {', '.join(missing)}: show a card of every rank")
    result.threshold = choose_threshold(wanted.risk)
    dialogue.show(f"threshold: {result.threshold.summary}")
    if result.shown and wanted.reader is None:
        result.fit = fit_window(Recogniser(), result.shown)
        dialogue.show(f"index window: {result.fit.summary}")
    reader = _load_recogniser(result, wanted)
    result.cards = [_read_card(each, reader, result) for each in result.shown]
    _show_readings(dialogue, result.cards)


def _show_faces(frames: FrameSource, dialogue: Dialogue, result: CalibrationResult) -> list[Card]:
    done: list[Card] = []
    for step in _card_steps(lambda: dialogue.card(done)):
        shown = _show_card(frames, dialogue, result, step)
        if shown is None:
            result.notes.append(f"{step.card}: no card was found on {_slot_name(step.slot)}")
            continue
        result.shown.append(shown)
        done.append(step.card)
        pixels = index_pixels(shown.quad, CropWindow())
        dialogue.show(
            f"{step.card} on {shown.slot}: {pixels:.0f} pixels: {_pixels_verdict(pixels)}"
        )
    return done


def _card_steps(ask: Callable[[], CardStep | None]) -> Iterator[CardStep]:
    while (step := ask()) is not None:
        yield step


def _slot_name(slot: Slot | None) -> str:
    return slot.value if slot else "the shoe's mouth"


def _watched_place(result: CalibrationResult, slot: Slot | None) -> Place:
    for place in watched_places(result.places, result.throat):
        if result.throat is not None or place.slot is (slot or Slot.P1):
            return place
    raise UserError(f"{_slot_name(slot)}: no such place")


def _show_card(
    frames: FrameSource, dialogue: Dialogue, result: CalibrationResult, step: CardStep
) -> ShownCard | None:
    place = _watched_place(result, step.slot)
    while True:
        image, quad = _retry(dialogue, lambda: _find_lying_card(frames, step.at, result, place))
        if quad is not None:
            return ShownCard(step.card, _slot_name(place.slot), image, quad)
        advice = "lay it flat into the box, nothing over it"
        if not dialogue.ask_retry(
            f"{step.card}: no card found on {_slot_name(place.slot)}: {advice}"
        ):
            return None


def _find_lying_card(
    frames: FrameSource, at: float | None, result: CalibrationResult, place: Place
) -> tuple[Image, Floats | None]:
    """Take a frame, and find the corners of the card on a place."""
    image = frames.take(_MEAN_FRAMES, at)[-1]
    gain = brightness_gain(draft_profile(result), result.reference, image)
    return image, find_card_on(result.plane, place, image, result.reference, result.card, gain)


def _show_back(frames: FrameSource, dialogue: Dialogue, result: CalibrationResult) -> None:
    step = dialogue.back()
    if step is None:
        result.notes.append("no card was shown face down: another back will not be noticed")
        return
    at, place = step.at, _watched_place(result, step.slot)
    image, quad = _retry(dialogue, lambda: _find_lying_card(frames, at, result, place))
    if quad is None or not is_back(crop_card(image, quad)):
        result.notes.append(
            "no back was found where a card should lie face down: show it again; one of the "
            "felt's own colour cannot be seen: another back will then not be noticed, and cards "
            "that are dealt face down are told in the order in which they are turned"
        )
        return
    result.back = crop_card(image, quad, width=160)


def _load_recogniser(result: CalibrationResult, wanted: CalibrationRequest) -> CardRecogniser:
    from drivers.camera.camera_as_line import load_recogniser

    profile = draft_profile(result)
    return load_recogniser(profile, None) if wanted.reader is None else wanted.reader(profile)


def _read_card(
    shown: ShownCard, reader: CardRecogniser, result: CalibrationResult
) -> ShownReading:
    most = draft_profile(result).reading.blur
    return read_shown_card(shown, reader, result.window, min_index_pixels(), most)


def _show_readings(dialogue: Dialogue, samples: list[ShownReading]) -> None:
    passed = [each for each in samples if each.passed]
    if passed:
        least = min(each.confidence for each in passed)
        cards = " ".join(str(each.card) for each in passed)
        dialogue.show(f"read: {cards} (confidence {least:.3f}{' or more' * (len(passed) > 1)})")
    for each in samples:
        if not each.passed:
            dialogue.show(f"NOT read: {each.card} on {each.slot}: {each.fault}")


def _read_samples(
    frames: FrameSource,
    dialogue: Dialogue,
    result: CalibrationResult,
    wanted: CalibrationRequest,
) -> None:
    """Read the sample cards with the final settings."""
    reader = _load_recogniser(result, wanted)
    for step in _card_steps(lambda: dialogue.sample(len(result.samples))):
        shown = _show_card(frames, dialogue, result, step)
        if shown is None:
            result.notes.append(f"sample {step.card}: no card was found")
            continue
        sample = _read_card(shown, reader, result)
        result.samples.append(sample)
        _show_readings(dialogue, [sample])
    if not result.samples:
        result.notes.append("no sample was read: nothing verifies this profile")
