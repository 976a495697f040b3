"""A station whose frames and readings are shown in the preview."""

from __future__ import annotations

import contextlib
from typing import Final, Protocol, runtime_checkable

from drivers.camera.line_messages import Say, Statement, Station
from drivers.camera.preview.preview_server import PlaceOverlay, PreviewServer
from drivers.camera.profile.camera_profile import Place, Profile
from drivers.camera.recognition.table_projection import TableProjection
from drivers.camera.sources.frame_capture_and_checks import VideoFrame
from shoe_daemon.game import Card, Slot

_THROAT_CARD_SHOWN_S: Final = 1.5
"""Time for which a card that left the shoe is still shown at the throat."""


@runtime_checkable
class HasPlaceStates(Protocol):
    """A station that knows the state of each place."""

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """Return the state of each place and the card that was read there."""


class PreviewedStation:
    """Passes frames to a station, and shows them with its readings."""

    def __init__(self, station: Station, profile: Profile, preview: PreviewServer) -> None:
        self._station = station
        self._preview = preview
        self._projection = TableProjection(profile)
        self._profile = profile
        self._statements: dict[Slot | None, tuple[float, Statement]] = {}
        self._now = 0.0

    def process(self, frame: VideoFrame) -> list[Statement]:
        """Process the next frame."""
        statements = self._station.process(frame)
        self._now = frame.at
        for each in statements:
            if each.say is Say.CLEARED:
                self._statements.clear()
            elif each.say in {Say.PLACED, Say.CARD, Say.UNREADABLE}:
                self._statements[each.slot] = frame.at, each
        self._preview.show(frame.image, self.overlays)
        return statements

    def finish(self) -> list[Statement]:
        """Return the last statements; there are no more frames."""
        return self._station.finish()

    def close(self) -> None:
        """Close the preview and the station."""
        with contextlib.suppress(Exception):
            self._preview.close()
        self._station.close()

    def overlays(self) -> list[PlaceOverlay]:
        """Return every place with its state and card."""
        throat = self._profile.throat
        if throat is not None:
            return [self._throat_overlay(throat.window)]
        states = self._station.states() if isinstance(self._station, HasPlaceStates) else {}
        return [
            self._place_overlay(place, place.slot, *states.get(place.slot, ("", None)))
            for place in self._profile.place
            if place.slot is not None
        ]

    def _place_overlay(
        self, place: Place, slot: Slot, state: str, card: Card | None
    ) -> PlaceOverlay:
        _, statement = self._statements.get(slot, (0.0, None))
        confidence = None
        if statement is not None and statement.say is Say.PLACED and statement.card is card:
            confidence = statement.confidence
        elif statement is not None and statement.say is Say.UNREADABLE and card is None:
            state = "unreadable"
        polygon = self._to_pixels(place.polygon)
        return PlaceOverlay(slot.value, polygon, state, card, confidence)

    def _throat_overlay(self, window: tuple[tuple[float, float], ...]) -> PlaceOverlay:
        corners = self._to_pixels(window)
        at, statement = self._statements.get(None, (0.0, None))
        if statement is None or self._now - at > _THROAT_CARD_SHOWN_S:
            return PlaceOverlay("throat", corners, "empty")
        state = "unreadable" if statement.card is None else "read"
        # The next card may be in the window already.
        return PlaceOverlay("last", corners, state, statement.card, statement.confidence)

    def _to_pixels(
        self, polygon: tuple[tuple[float, float], ...]
    ) -> tuple[tuple[float, float], ...]:
        return tuple((float(x), float(y)) for x, y in self._projection.to_pixels(polygon))
