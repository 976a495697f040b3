"""
A station over whose shoulder people look.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from drivers.camera.line_messages import Say, Statement
from drivers.camera.preview.overlay import Look
from drivers.camera.preview.preview_server import View
from drivers.camera.profile.camera_profile import Place, Profile
from drivers.camera.recognition.table_geometry import Ground
from drivers.camera.sources.frame_quality import Picture
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot

if TYPE_CHECKING:
    from drivers.camera.camera_line import Station

__all__ = ["KnowsPlaces", "Viewed"]

_STAYS: Final = 1.5
"""Seconds for which a card that left the shoe is still shown at its mouth."""


@runtime_checkable
class KnowsPlaces(Protocol):
    """
    A station that can say how its places are.
    """

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """
        Give each place's state, and the card that was read there.
        """
        ...


class Viewed:
    """
    Does what its station does, and shows each picture with what was read in it.
    """

    def __init__(self, station: Station, profile: Profile, view: View) -> None:
        self._station = station
        self._view = view
        self._ground = Ground(profile)
        self._profile = profile
        self._said: dict[Slot | None, tuple[float, Statement]] = {}
        self._now = 0.0

    def look(self, picture: Picture) -> list[Statement]:
        """
        Take the next picture.
        """
        said = self._station.look(picture)
        self._now = picture.at
        for each in said:
            if each.say is Say.CLEARED:
                self._said.clear()
            elif each.say in {Say.PLACED, Say.CARD, Say.UNREADABLE}:
                self._said[each.slot] = picture.at, each
        self._view.show(picture.image, self.looks)
        return said

    def finish(self) -> list[Statement]:
        """
        There will be no more pictures.
        """
        return self._station.finish()

    def close(self) -> None:
        """
        Give back what it holds.
        """
        with contextlib.suppress(Exception):
            self._view.close()
        self._station.close()

    def looks(self) -> list[Look]:
        """
        Say how every place is.
        """
        throat = self._profile.throat
        if throat is not None:
            return [self._mouth(throat.window)]
        states = self._station.states() if isinstance(self._station, KnowsPlaces) else {}
        return [
            self._place(place, place.slot, *states.get(place.slot, ("", None)))
            for place in self._profile.place
            if place.slot is not None
        ]

    def _place(self, place: Place, slot: Slot, state: str, card: Card | None) -> Look:
        _, said = self._said.get(slot, (0.0, None))
        confidence = None
        if said is not None and said.say is Say.PLACED and said.card is card:
            confidence = said.confidence
        elif said is not None and said.say is Say.UNREADABLE and card is None:
            state = "unreadable"
        return Look(slot.value, self._in_picture(place.polygon), state, card, confidence)

    def _mouth(self, window: tuple[tuple[float, float], ...]) -> Look:
        corners = self._in_picture(window)
        at, said = self._said.get(None, (0.0, None))
        if said is None or self._now - at > _STAYS:
            return Look("mouth", corners, "empty")
        state = "unreadable" if said.card is None else "read"
        # The next one may be passing already.
        return Look("last", corners, state, said.card, said.confidence)

    def _in_picture(
        self, polygon: tuple[tuple[float, float], ...]
    ) -> tuple[tuple[float, float], ...]:
        return tuple((float(x), float(y)) for x, y in self._ground.to_pixels(polygon))
