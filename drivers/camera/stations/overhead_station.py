"""
What was laid and has not been told yet, in the order in which it was laid.

The station above the table: which card lies on which place.

Cards are told in the order in which they were laid. One that lies face down, or under a
hand, is waited for: those that came after it are told after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cv2
import numpy as np

from drivers.camera.evidence import Evidence
from drivers.camera.line_messages import Say, Statement
from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.card_reader import CardReader, SearchArea, Sighting, SightingKind
from drivers.camera.recognition.table_geometry import (
    NO_SHIFT,
    PixelShift,
    TableProjection,
    max_stray_mm,
    place_patch,
    places_raster,
)
from drivers.camera.sources.frame_quality import Image, VideoFrame
from drivers.camera.stations.pose_check import LightingMonitor, PoseCheck
from drivers.camera.stations.slot_tracker import ChangeDetector, SlotState, SlotTracker
from shoe_daemon.game import DEALING_ORDER, Card, Slot

__all__ = ["DealOrder", "DealtCard", "OverheadStation"]

_SAME_TIME_STEP_S: Final = 0.03
"""Seconds for each place by which cards are taken to be laid in dealing order."""


class DealtCard:
    """
    A card that was laid.

    Attributes:
        slot: Where.
        since: When it came.
        seen: What is to be told of it; None while nothing is known.
        ready: When that was known.
        late: Milliseconds for which it had lain still then.
        is_down: Whether it showed its back.
    """

    def __init__(self, slot: Slot, since: float) -> None:
        self.slot = slot
        self.since = since
        self.seen: Sighting | None = None
        self.ready = 0.0
        self.late = 0
        self.is_down = False


class DealOrder:
    """
    Cards that are owed.
    """

    def __init__(self) -> None:
        self._owed: list[DealtCard] = []

    def __bool__(self) -> bool:
        return bool(self._owed)

    def lay(self, slot: Slot, since: float) -> DealtCard:
        """
        A card was found on a place; return what is owed of it.
        """
        for laid in self._owed:
            if laid.slot is slot:
                return laid
        laid = DealtCard(slot, since)
        self._owed.append(laid)
        self._owed.sort(key=_sort_key)
        return laid

    def lift(self, slot: Slot) -> None:
        """
        A place is empty again. What was read is still owed, and so is a card of which
        the back was seen: it may come back, or be turned elsewhere. Anything else was
        only taken for a card.
        """
        self._owed = [
            laid for laid in self._owed if laid.slot is not slot or laid.seen or laid.is_down
        ]

    def due(self, waits: Callable[[DealtCard], bool]) -> list[DealtCard]:
        """
        Take what can be told: nothing that was laid before it is unknown.

        Args:
            waits: Whether it has to wait for something that may become a card.
        """
        told: list[DealtCard] = []
        while self._owed and self._owed[0].seen is not None and not waits(self._owed[0]):
            told.append(self._owed.pop(0))
        return told

    def settle(self) -> list[DealtCard]:
        """
        Take all that is owed, known or not: the cards were taken off.
        """
        owed, self._owed = self._owed, []
        return owed


def _sort_key(laid: DealtCard) -> float:
    # What came into sight together was laid as cards are dealt.
    return laid.since + _SAME_TIME_STEP_S * DEALING_ORDER.index(laid.slot)


_CLEARED_AFTER_S: Final = 0.5
"""Seconds for which all places are empty before the table is cleared."""

_MAX_READS_PER_FRAME: Final = 2
"""Places that are looked at in one picture, so that pictures do not pile up."""

_MAX_ORDER_WAIT_S: Final = 0.4
"""Seconds for which a card waits for an earlier place on which something moves."""


class _WatchedSlot:
    """
    One place of the layout.
    """

    def __init__(self, slot: Slot, spot: SearchArea) -> None:
        self.slot = slot
        self.spot = spot
        self.place = SlotTracker()


class OverheadStation:
    """
    Watches all places.
    """

    def __init__(
        self, profile: Profile, reference: Image, eye: CardReader, evidence: Evidence | None = None
    ) -> None:
        ground = TableProjection(profile)
        # The noise of one picture is nobody's reference.
        reference = np.asarray(cv2.GaussianBlur(reference, (3, 3), 0), np.uint8)
        places = [place for place in profile.place if place.slot is not None]
        self._boxes = [
            _WatchedSlot(
                place.slot,
                SearchArea(
                    place_patch(ground, place, profile.card),
                    reference,
                    max_stray_mm(place, profile.place),
                ),
            )
            for place in places
            if place.slot is not None
        ]
        self._raster = places_raster(ground, places, profile.card)
        self._watcher = ChangeDetector(self._samples(reference))
        self._ambience = LightingMonitor(profile, ground, reference)
        self._bearings = PoseCheck(profile, ground, reference)
        self._eye = eye
        self._evidence = evidence
        self._ledger = DealOrder()
        self._dealt = False
        self._empty_since: float | None = None

    def look(self, picture: VideoFrame) -> list[Statement]:
        """
        Take the next picture.
        """
        image, at, _ = picture
        if not self._bearings.check(image, at):
            return []
        light = self._ambience.measure(image)
        samples = self._samples(image, self._bearings.aside)
        glances = self._watcher.update(samples, at, gain=light.gain, noise=light.noise)
        for box, glance in zip(self._boxes, glances, strict=True):
            if box.place.step(glance, at):
                self._ledger.lift(box.slot)
        said: list[Statement] = []
        for box in self._next(at):
            # What lies on a place is that place's card only where the place has not moved.
            if self._bearings.confirm(image, at, box.place.still):
                said += self._look_at(box, image, at, light.gain)
        for laid in self._ledger.due(lambda laid: self._waits(laid, at)):
            said.append(self._tell(laid))
        return said + self._clear(image, at)

    def _samples(self, image: Image, aside: PixelShift = NO_SHIFT) -> Image:
        whole = self._raster.sample(image, aside)
        return whole.reshape(len(self._boxes), -1, *whole.shape[1:])

    def finish(self) -> list[Statement]:
        """
        There will be no more pictures: what is owed is told.
        """
        return [self._tell(laid) for laid in self._ledger.settle()]

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """
        Say how each place is, and which card was read there.
        """
        return {box.slot: (box.place.state.value, box.place.card) for box in self._boxes}

    def close(self) -> None:
        """
        Give back what it holds.
        """
        if self._evidence is not None:
            self._evidence.close()

    def _next(self, at: float) -> list[_WatchedSlot]:
        wanting = [box for box in self._boxes if box.place.wants_look(at)]
        # What has just come to rest goes before what was looked at in vain.
        wanting.sort(key=lambda box: (box.place.state is not SlotState.SETTLED, -box.place.still))
        return wanting[:_MAX_READS_PER_FRAME]

    def _look_at(self, box: _WatchedSlot, image: Image, at: float, gain: float) -> list[Statement]:
        place = box.place
        held = place.state is SlotState.HELD
        seen = self._eye.look(box.spot, image, gain, place.last, self._bearings.aside)
        news = place.looked(seen, at)
        late = int((at - place.still) * 1000)
        if held:
            return [] if news is None else [self._say(box.slot, news, late)]
        if news is None and (seen.kind is SightingKind.NOTHING or place.gave_up):
            return []
        laid = self._ledger.lay(box.slot, place.since)
        laid.is_down |= place.state is SlotState.DOWN
        if news is not None:
            laid.seen, laid.ready, laid.late = news, at, late
        return []

    def _waits(self, laid: DealtCard, at: float) -> bool:
        """
        Whether something that came earlier may be a card under a hand.
        """
        if at - laid.ready >= _MAX_ORDER_WAIT_S:
            return False
        return any(
            box.place.state in {SlotState.MOVING, SlotState.SETTLED}
            and at - box.place.still < _MAX_ORDER_WAIT_S
            and box.place.since < laid.since
            and box.slot is not laid.slot
            for box in self._boxes
        )

    def _tell(self, laid: DealtCard) -> Statement:
        seen = laid.seen or Sighting(SightingKind.UNSURE)
        for box in self._boxes:
            if box.slot is laid.slot and box.place.state is SlotState.READ:
                box.place.told()
        return self._say(laid.slot, seen, laid.late)

    def _say(self, slot: Slot, seen: Sighting, late: int) -> Statement:
        self._dealt = True
        read = seen.kind is SightingKind.FACE
        patch = None
        if self._evidence is not None and seen.patch is not None:
            what = f"{slot}-{seen.card if read else 'unread'}"
            patch = self._evidence.keep(seen.patch, what)
        return Statement(
            say=Say.PLACED if read else Say.UNREADABLE,
            slot=slot,
            card=seen.card if read else None,
            best=None if read else seen.best,
            confidence=seen.confidence,
            blur=seen.blur,
            late=late,
            patch=patch,
        )

    def _clear(self, image: Image, at: float) -> list[Statement]:
        """
        Say once that all cards were taken off, when they have been for a while.
        """
        if not (self._dealt or self._ledger):
            return []
        if any(box.place.state is not SlotState.EMPTY for box in self._boxes):
            self._empty_since = None
            return []
        if self._empty_since is None:
            self._empty_since = at
        if at - self._empty_since < _CLEARED_AFTER_S:
            return []
        if not self._bearings.confirm(image, at, self._empty_since):
            return []
        said = [self._tell(laid) for laid in self._ledger.settle()]
        self._empty_since, self._dealt = None, False
        return [*said, Statement(say=Say.CLEARED)]
