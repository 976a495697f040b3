"""
The guided run: asks, looks, measures, one step after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from calibration.camera.calibration_result import Result, draft
from calibration.camera.camera_device import Lock
from calibration.camera.deck_comparison import is_back
from calibration.camera.frame_source import Pictures
from calibration.camera.image_measures import flicker_of, light_of, mean_of, sharpness_of
from calibration.camera.marker_detection import Marker, find_markers
from calibration.camera.plane_fitting import plane_from_markers, plane_from_points
from calibration.camera.profile_check import gain_of
from calibration.camera.reading_settings import choose, fit_window, good_pixels, least_pixels
from calibration.camera.script import Asker, CardStep, PlaneStep, missing_ranks
from calibration.camera.shown_cards import (
    Sample,
    Shown,
    budget_of,
    find_on,
    index_pixels,
    read_shown,
)
from calibration.camera.table_layout import Plane, places_of, watched
from drivers.camera.profile.camera_profile import Camera, Place, Profile, Throat
from drivers.camera.profile.profile_file import write_profile
from drivers.camera.recognition.card_reader import Reader
from drivers.camera.recognition.confidence import upright
from drivers.camera.recognition.index_window import CropWindow
from drivers.camera.recognition.recogniser import Recogniser
from drivers.camera.recognition.table_geometry import Floats
from drivers.camera.sources.frame_quality import Image
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot

__all__ = ["Wanted", "calibrate"]

T = TypeVar("T")
_STILL: Final = 4
"""Pictures of which the mean is taken."""


class Wanted(NamedTuple):
    """
    What is to be made.

    Attributes:
        risk: Wrong cards in one card read that are borne; None for what the weights come with.
        reader: Makes what reads cards; the recogniser where None.
    """

    station: str
    source: str
    camera: Camera
    risk: float | None
    at: str
    locks: tuple[Lock, ...] = ()
    reader: Callable[[Profile], Reader] | None = None


def calibrate(pictures: Pictures, asker: Asker, wanted: Wanted) -> Result:
    """
    Run all steps.

    Raises:
        UserError: A step cannot be done, and nobody tries again.
    """
    found = _until_good(asker, lambda: _plane(pictures, asker))
    asker.tell(_plane_told(found.plane, len(found.markers), wanted.station))
    result = _until_good(asker, lambda: _empty(pictures, asker, wanted, found))
    _until_good(asker, lambda: _places(asker, result, found.plane))
    _cards(pictures, asker, result, wanted)
    _verify(pictures, asker, result, wanted)
    return result


def _until_good(asker: Asker, step: Callable[[], T]) -> T:
    while True:
        try:
            return step()
        except UserError as error:
            if not asker.again(str(error)):
                raise


class _Found(NamedTuple):
    """
    The plane, and what it was found by.
    """

    plane: Plane
    image: Image
    markers: Sequence[Marker] = ()
    clicked: Sequence[Floats] = ()


def _plane(pictures: Pictures, asker: Asker) -> _Found:
    step = asker.plane()
    image = mean_of(pictures.take(_STILL, step.at))
    size = image.shape[1], image.shape[0]
    if step.points:
        plane = plane_from_points(step.points, _rectangle(step), size)
        return _Found(plane, image, clicked=[*np.reshape(step.points, (-1, 4, 2))])
    markers = find_markers(image)
    return _Found(plane_from_markers(markers, step.size, size), image, markers=markers)


def _rectangle(step: PlaneStep) -> tuple[float, float]:
    if step.rectangle is None:
        raise UserError("plane.rectangle: missing; expected its width and height in millimetres")
    return step.rectangle


def _plane_told(plane: Plane, count: int, station: str) -> str:
    seen = f"{count} marker{'s' if count != 1 else ''}: " if count else ""
    off = f"plane: {seen}at most {plane.error or 0.0:.1f} mm off"
    if plane.lens is not None:
        return f"{off}; the lens bends by {plane.lens.distortion[0]:+.3f}"
    # A shoe's mouth is too small for that to matter.
    if station == "throat":
        return off
    return f"{off}, besides what the lens bends: two markers or rectangles, or more, tell that"


def _empty(pictures: Pictures, asker: Asker, wanted: Wanted, found: _Found) -> Result:
    step = asker.empty()
    taken = pictures.take(step.pictures, step.at)
    reference = mean_of(taken)
    size = reference.shape[1], reference.shape[0]
    if size != found.plane.size:
        raise UserError(f"pictures of {size[0]}x{size[1]} after such of {found.plane.size}")
    result = Result(
        station=wanted.station,
        source=wanted.source,
        camera=replace(wanted.camera, width=size[0], height=size[1]),
        at=wanted.at,
        plane=found.plane,
        marker_image=found.image,
        markers=found.markers,
        clicked=found.clicked,
        reference=reference,
        flicker=flicker_of(taken, wanted.camera.fps),
        sharpness=sharpness_of(reference),
        light=light_of(reference),
        locks=wanted.locks,
    )
    _tell_empty(asker, result)
    return result


def _tell_empty(asker: Asker, result: Result) -> None:
    empty = "empty mouth" if result.station == "throat" else "empty table"
    asker.tell(f"{empty}: sharpness {result.sharpness:.2f}, light {result.light:.0f} of 255")
    flicker = result.flicker
    lamps = "steady" if flicker.steady else f"comes and goes by {flicker.strength:.0%}"
    asker.tell(f"lamps: the light is {lamps}")


def _places(asker: Asker, result: Result, plane: Plane) -> None:
    if result.station == "throat":
        _mouth(asker, result)
    else:
        _boxes(asker, result, plane)
    places = watched(result.places, result.throat)
    other = _name(None) if result.throat else "other"
    known = result.plane, places, result.card, CropWindow(), least_pixels()
    result.budget = budget_of(*known, other)
    told = ", ".join(f"{each.slot} {each.pixels:.0f}" for each in result.budget)
    asker.tell(f"pixels of an index: {told}: {_enough(min(e.pixels for e in result.budget))}")


def _enough(pixels: float) -> str:
    least, good = least_pixels(), good_pixels()
    if pixels < least:
        return f"TOO FEW, {least:.0f} are read at the least"
    return "enough" if pixels >= good else f"few: from {good:.0f} on nearly all cards are read"


def _boxes(asker: Asker, result: Result, plane: Plane) -> None:
    """
    Have the boxes placed on the plane as it was found, however often that is tried.
    """
    step = asker.layout(plane, result.reference)
    result.plane = plane.moved(step.x, step.y, step.turn)
    result.places = places_of(step.chosen)
    _checked(result)


def _mouth(asker: Asker, result: Result) -> None:
    step = asker.mouth(result.plane, result.reference)
    wide, high = step.window_size
    left, top = step.x - wide / 2, step.y - high / 2
    window = ((left, top), (left + wide, top), (left + wide, top + high), (left, top + high))
    result.throat = Throat(window=window, direction=step.direction, turn=step.turn)
    _checked(result)


def _checked(result: Result) -> None:
    """
    Have the profile's own rules applied: every slot has a place, and all are in the picture.
    """
    write_profile(draft(result), Path(os.devnull))


def _cards(pictures: Pictures, asker: Asker, result: Result, wanted: Wanted) -> None:
    """
    See a card of every rank, fit the window to them, and read them all.
    """
    done = _faces(pictures, asker, result)
    _back(pictures, asker, result)
    if missing := missing_ranks(done):
        result.notes.append(f"not shown: {', '.join(missing)}: show a card of every rank")
    result.threshold = choose(wanted.risk)
    asker.tell(f"threshold: {result.threshold.told}")
    if result.shown and wanted.reader is None:
        result.fit = fit_window(Recogniser(), result.shown)
        asker.tell(f"index window: {result.fit.told}")
    reader = _reader(result, wanted)
    result.cards = [_read(each, reader, result) for each in result.shown]
    _tell(asker, result.cards)


def _faces(pictures: Pictures, asker: Asker, result: Result) -> list[Card]:
    done: list[Card] = []
    for step in _steps(lambda: asker.card(done)):
        shown = _shown(pictures, asker, result, step)
        if shown is None:
            result.notes.append(f"{step.card}: no card was found on {_name(step.slot)}")
            continue
        result.shown.append(shown)
        done.append(step.card)
        pixels = index_pixels(shown.quad, CropWindow())
        asker.tell(f"{step.card} on {shown.slot}: {pixels:.0f} pixels: {_enough(pixels)}")
    return done


def _steps(ask: Callable[[], CardStep | None]) -> Iterator[CardStep]:
    while (step := ask()) is not None:
        yield step


def _name(slot: Slot | None) -> str:
    return slot.value if slot else "the shoe's mouth"


def _place(result: Result, slot: Slot | None) -> Place:
    for place in watched(result.places, result.throat):
        if result.throat is not None or place.slot is (slot or Slot.P1):
            return place
    raise UserError(f"{_name(slot)}: no such place")


def _shown(pictures: Pictures, asker: Asker, result: Result, step: CardStep) -> Shown | None:
    place = _place(result, step.slot)
    while True:
        image, quad = _until_good(asker, lambda: _lying(pictures, step.at, result, place))
        if quad is not None:
            return Shown(step.card, _name(place.slot), image, quad)
        advice = "lay it flat into the box, nothing over it"
        if not asker.again(f"{step.card}: no card found on {_name(place.slot)}: {advice}"):
            return None


def _lying(
    pictures: Pictures, at: float | None, result: Result, place: Place
) -> tuple[Image, Floats | None]:
    """
    Take a picture, and find the corners of the card that lies on a place.
    """
    image = pictures.take(_STILL, at)[-1]
    gain = gain_of(draft(result), result.reference, image)
    return image, find_on(result.plane, place, image, result.reference, result.card, gain)


def _back(pictures: Pictures, asker: Asker, result: Result) -> None:
    step = asker.back()
    if step is None:
        result.notes.append("no card was shown face down: another back will not be noticed")
        return
    at, place = step.at, _place(result, step.slot)
    image, quad = _until_good(asker, lambda: _lying(pictures, at, result, place))
    if quad is None or not is_back(upright(image, quad)):
        result.notes.append(
            "no back was found where a card should lie face down: show it again; one of the "
            "felt's own colour cannot be seen: another back will then not be noticed, and cards "
            "that are dealt face down are told in the order in which they are turned"
        )
        return
    result.back = upright(image, quad, width=160)


def _reader(result: Result, wanted: Wanted) -> Reader:
    from drivers.camera.camera_line import load_reader

    profile = draft(result)
    return load_reader(profile, None) if wanted.reader is None else wanted.reader(profile)


def _read(shown: Shown, reader: Reader, result: Result) -> Sample:
    most = draft(result).reading.blur
    return read_shown(shown, reader, result.window, least_pixels(), most)


def _tell(asker: Asker, samples: list[Sample]) -> None:
    passed = [each for each in samples if each.passed]
    if passed:
        least = min(each.confidence for each in passed)
        cards = " ".join(str(each.card) for each in passed)
        asker.tell(f"read: {cards} (confidence {least:.3f}{' or more' * (len(passed) > 1)})")
    for each in samples:
        if not each.passed:
            asker.tell(f"NOT read: {each.card} on {each.slot}: {each.fault}")


def _verify(pictures: Pictures, asker: Asker, result: Result, wanted: Wanted) -> None:
    """
    Read a sample with all that is set now.
    """
    reader = _reader(result, wanted)
    for step in _steps(lambda: asker.sample(len(result.samples))):
        shown = _shown(pictures, asker, result, step)
        if shown is None:
            result.notes.append(f"sample {step.card}: no card was found")
            continue
        sample = _read(shown, reader, result)
        result.samples.append(sample)
        _tell(asker, [sample])
    if not result.samples:
        result.notes.append("no sample was read: nothing verifies this profile")
