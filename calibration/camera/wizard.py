"""The calibration wizard: asks for each step, measures it and shows the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from calibration.camera.control_locks import ControlLock
from calibration.camera.image_measures import (
    mean_brightness,
    mean_image,
    measure_flicker,
    measure_sharpness,
)
from calibration.camera.layout import index_pixels, pixel_budgets, places_of, watched_places
from calibration.camera.markers import Marker, find_markers
from calibration.camera.output import CalibrationResult, draft_profile
from calibration.camera.person_dialogue import PromptDialogue
from calibration.camera.plane import Plane, plane_from_markers, plane_from_points, projection_of
from calibration.camera.reference_comparison import brightness_gain
from calibration.camera.scripted_dialogue import CardStep, ScriptedDialogue, missing_ranks
from calibration.camera.shown_cards import (
    ShownCard,
    ShownReading,
    choose_threshold,
    find_card_on,
    fit_window,
    good_index_pixels,
    min_index_pixels,
    read_shown_card,
)
from drivers.camera.image import Image
from drivers.camera.profile.file import write_profile
from drivers.camera.profile.sections import Camera, IndexWindow, Place, Profile, Throat
from drivers.camera.recognition.blur import CARD_WIDTH_PX, crop_card
from drivers.camera.recognition.card_reader import CardRecogniser, is_back
from drivers.camera.recognition.recogniser import Recogniser
from drivers.camera.recognition.table_projection import Floats
from drivers.camera.stations.reference_check import MIN_COLOUR, measure_colour
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card, Slot

T = TypeVar("T")
Dialogue = PromptDialogue | ScriptedDialogue
"""A dialogue that supplies the steps: of a person, or of a script."""

_MEAN_FRAMES: Final = 4
"""Frames of which the mean is taken."""


class _FrameSource(Protocol):
    def take(self, count: int, at: float | None = None) -> list[Image]: ...


class CalibrationRequest(NamedTuple):
    """
    The camera that is calibrated, and the request for it.

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
    frames: _FrameSource, dialogue: Dialogue, wanted: CalibrationRequest
) -> CalibrationResult:
    """
    Run all steps.

    Raises:
        UserError: A step failed and is not repeated.
    """
    wizard = _Wizard(frames, dialogue, wanted)
    found = wizard.retry(wizard.find_plane)
    dialogue.show(_plane_summary(found.plane, len(found.markers), wanted.station))
    result = wizard.retry(lambda: wizard.measure_empty_table(found))
    wizard.retry(lambda: wizard.place_layout(result, found.plane))
    wizard.show_cards(result)
    wizard.read_samples(result)
    return result


class _FoundPlane(NamedTuple):
    """The plane, and the markers or points by which it was found."""

    plane: Plane
    image: Image
    markers: Sequence[Marker] = ()
    clicked: Sequence[Floats] = ()


class _Wizard(NamedTuple):
    """Frames, answers and request of one calibration; its methods are the steps."""

    frames: _FrameSource
    dialogue: Dialogue
    wanted: CalibrationRequest

    def retry(self, step: Callable[[], T]) -> T:
        """Run a step, again as long as it fails and the dialogue repeats it."""
        while True:
            try:
                return step()
            except UserError as error:
                if not self.dialogue.ask_retry(str(error)):
                    raise

    def find_plane(self) -> _FoundPlane:
        step = self.dialogue.plane()
        image = mean_image(self.frames.take(_MEAN_FRAMES, step.at))
        size = image.shape[1], image.shape[0]
        if step.points:
            if step.rectangle is None:
                fault = "missing; expected its width and height in millimetres"
                raise UserError(f"plane.rectangle: {fault}")
            plane = plane_from_points(step.points, step.rectangle, size)
            return _FoundPlane(plane, image, clicked=[*np.reshape(step.points, (-1, 4, 2))])
        markers = find_markers(image)
        return _FoundPlane(plane_from_markers(markers, step.size, size), image, markers=markers)

    def measure_empty_table(self, found: _FoundPlane) -> CalibrationResult:
        step = self.dialogue.empty()
        taken = self.frames.take(step.pictures, step.at)
        reference = mean_image(taken)
        size = reference.shape[1], reference.shape[0]
        if size != found.plane.size:
            raise UserError(f"pictures of {size[0]}x{size[1]} after such of {found.plane.size}")
        wanted = self.wanted
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
        empty = "empty throat" if wanted.station == "throat" else "empty table"
        measures = f"sharpness {result.sharpness:.2f}, light {result.light:.0f} of 255"
        self.dialogue.show(f"{empty}: {measures}")
        flicker = result.flicker
        lamps = "steady" if flicker.steady else f"comes and goes by {flicker.strength:.0%}"
        self.dialogue.show(f"lamps: the light is {lamps}")
        return result

    def place_layout(self, result: CalibrationResult, plane: Plane) -> None:
        """Place boxes or throat window on the plane as it was found, also in a repeated step."""
        if result.station == "throat":
            window = self.dialogue.throat(plane)
            result.throat = Throat(
                window=window.corners, direction=window.direction, turn=window.turn
            )
        else:
            step = self.dialogue.layout(plane, result.reference)
            result.plane = plane.moved(step.x, step.y, step.turn)
            result.places = places_of(step.chosen)
        # The profile's own checks: every slot has a place, and all places are in the image.
        write_profile(draft_profile(result), Path(os.devnull))
        result.budget = pixel_budgets(
            result.plane,
            watched_places(result.places, result.throat),
            result.card,
            min_index_pixels(),
            _slot_name(None) if result.throat else "other",
        )
        pixels_by_slot = ", ".join(f"{each.slot} {each.pixels:.0f}" for each in result.budget)
        verdict = _pixels_verdict(min(each.pixels for each in result.budget))
        self.dialogue.show(f"pixels of an index: {pixels_by_slot}: {verdict}")

    def show_cards(self, result: CalibrationResult) -> None:
        """Show a card of every rank, fit the index window to them, and read them all."""
        done = self._show_faces(result)
        self._show_back(result)
        if missing := missing_ranks(done):
            result.notes.append(f"not shown: {', '.join(missing)}: show a card of every rank")
        result.threshold = choose_threshold(self.wanted.risk)
        self.dialogue.show(f"threshold: {result.threshold.summary}")
        if result.shown and self.wanted.reader is None:
            self.dialogue.show("index window: trying some sizes and positions, some seconds …")
            result.fit = fit_window(Recogniser(), result.shown)
            self.dialogue.show(f"index window: {result.fit.summary}")
        reader = self._load_recogniser(result)
        result.cards = [_read_card(each, reader, result) for each in result.shown]
        self._show_readings(result.cards)

    def _show_faces(self, result: CalibrationResult) -> list[Card]:
        done: list[Card] = []
        for step in iter(lambda: self.dialogue.card(done), None):
            shown = self._show_card(result, step)
            if shown is None:
                result.notes.append(f"{step.card}: no card was found on {_slot_name(step.slot)}")
                continue
            _check_colours(shown)
            result.shown.append(shown)
            done.append(step.card)
            pixels = index_pixels(shown.quad, IndexWindow())
            self.dialogue.show(
                f"{step.card} on {shown.slot}: {pixels:.0f} pixels: {_pixels_verdict(pixels)}"
            )
        return done

    def _show_card(self, result: CalibrationResult, step: CardStep) -> ShownCard | None:
        place = _watched_place(result, step.slot)
        while True:
            image, quad = self._find_lying_card(result, place, step.at)
            if quad is not None:
                return ShownCard(step.card, _slot_name(place.slot), image, quad)
            fault = f"{step.card}: no card found on {_slot_name(place.slot)}"
            if not self.dialogue.ask_retry(f"{fault}: lay it flat into the box, nothing over it"):
                return None

    def _find_lying_card(
        self, result: CalibrationResult, place: Place, at: float | None
    ) -> tuple[Image, Floats | None]:
        image = self.retry(lambda: self.frames.take(_MEAN_FRAMES, at)[-1])
        gain = brightness_gain(draft_profile(result), result.reference, image)
        ground, empty = projection_of(result.plane), result.reference
        return image, find_card_on(ground, place, image, empty, result.card, gain)

    def _show_back(self, result: CalibrationResult) -> None:
        step = self.dialogue.back()
        if step is None:
            result.notes.append("no card was shown face down: another back will not be noticed")
            return
        image, quad = self._find_lying_card(result, _watched_place(result, step.slot), step.at)
        if quad is None or not is_back(crop_card(image, quad)):
            result.notes.append(
                "no back was found where a card should lie face down: show it again; one of the "
                "felt's own colour cannot be seen: another back will then not be noticed, and "
                "cards that are dealt face down are told in the order in which they are turned"
            )
            return
        result.back = crop_card(image, quad, width=160)

    def _load_recogniser(self, result: CalibrationResult) -> CardRecogniser:
        from drivers.camera.line import load_recogniser

        profile, reader = draft_profile(result), self.wanted.reader
        return load_recogniser(profile, None) if reader is None else reader(profile)

    def _show_readings(self, samples: list[ShownReading]) -> None:
        passed = [each for each in samples if each.passed]
        if passed:
            least = min(each.confidence for each in passed)
            cards = " ".join(str(each.card) for each in passed)
            more = " or more" * (len(passed) > 1)
            self.dialogue.show(f"read: {cards} (confidence {least:.3f}{more})")
        for each in samples:
            if not each.passed:
                self.dialogue.show(f"NOT read: {each.card} on {each.slot}: {each.fault}")

    def read_samples(self, result: CalibrationResult) -> None:
        reader = self._load_recogniser(result)
        for step in iter(lambda: self.dialogue.sample(len(result.samples)), None):
            shown = self._show_card(result, step)
            if shown is None:
                result.notes.append(f"sample {step.card}: no card was found")
                continue
            sample = _read_card(shown, reader, result)
            result.samples.append(sample)
            self._show_readings([sample])
        if not result.samples:
            result.notes.append("no sample was read: nothing verifies this profile")


def _plane_summary(plane: Plane, count: int, station: str) -> str:
    seen = f"{count} marker{'s' if count != 1 else ''}: " if count else ""
    off = f"plane: {seen}at most {plane.error or 0.0:.1f} mm off"
    if plane.lens is not None:
        return f"{off}; the lens bends by {plane.lens.distortion[0]:+.3f}"
    # The throat is too small for lens distortion to matter.
    if station == "throat":
        return off
    return f"{off}, besides what the lens bends: two markers or rectangles, or more, tell that"


def _pixels_verdict(pixels: float) -> str:
    least, good = min_index_pixels(), good_index_pixels()
    if pixels < least:
        return f"TOO FEW, {least:.0f} are read at the least"
    return "enough" if pixels >= good else f"few: from {good:.0f} on nearly all cards are read"


def _check_colours(shown: ShownCard) -> None:
    is_red = shown.card.suit in {"H", "D"}
    if is_red and measure_colour(shown.upright_image(CARD_WIDTH_PX)) < MIN_COLOUR:
        raise UserError(
            f"{shown.card} on {shown.slot} has no colour in the picture: the camera is "
            "monochrome, or in night mode (infrared). Suits are read by their colour: switch "
            "night mode off, or take a camera with colours"
        )


def _slot_name(slot: Slot | None) -> str:
    return slot.value if slot else "the shoe's throat"


def _watched_place(result: CalibrationResult, slot: Slot | None) -> Place:
    for place in watched_places(result.places, result.throat):
        if result.throat is not None or place.slot is (slot or Slot.P1):
            return place
    raise UserError(f"{_slot_name(slot)}: no such place")


def _read_card(
    shown: ShownCard, reader: CardRecogniser, result: CalibrationResult
) -> ShownReading:
    most_blur = draft_profile(result).reading.blur
    return read_shown_card(shown, reader, result.window, min_index_pixels(), most_blur)
