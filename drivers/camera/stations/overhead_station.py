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
        self.read_at = 0.0
        self.delay_ms = 0
        self.is_face_down = False


class DealOrder:
    """
    Cards that are owed.
    """

    def __init__(self) -> None:
        self._pending: list[DealtCard] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, slot: Slot, since: float) -> DealtCard:
        """
        A card was found on a place; return what is owed of it.
        """
        for laid in self._pending:
            if laid.slot is slot:
                return laid
        laid = DealtCard(slot, since)
        self._pending.append(laid)
        self._pending.sort(key=_sort_key)
        return laid

    def remove(self, slot: Slot) -> None:
        """
        A place is empty again. What was read is still owed, and so is a card of which
        the back was seen: it may come back, or be turned elsewhere. Anything else was
        only taken for a card.
        """
        self._pending = [
            laid
            for laid in self._pending
            if laid.slot is not slot or laid.seen or laid.is_face_down
        ]

    def take_due(self, waits: Callable[[DealtCard], bool]) -> list[DealtCard]:
        """
        Take what can be told: nothing that was laid before it is unknown.

        Args:
            waits: Whether it has to wait for something that may become a card.
        """
        told: list[DealtCard] = []
        while self._pending and self._pending[0].seen is not None and not waits(self._pending[0]):
            told.append(self._pending.pop(0))
        return told

    def take_all(self) -> list[DealtCard]:
        """
        Take all that is owed, known or not: the cards were taken off.
        """
        owed, self._pending = self._pending, []
        return owed


def _sort_key(laid: DealtCard) -> float:
    # What came into sight together was laid as cards are dealt.
    return laid.since + _SAME_TIME_STEP_S * DEALING_ORDER.index(laid.slot)


_CLEARED_AFTER_S: Final = 0.5
"""Seconds for which all places are empty before the table is cleared."""

_MAX_READS_PER_FRAME: Final = 2
"""Places that are looked at in one frame, so that pictures do not pile up."""

_MAX_ORDER_WAIT_S: Final = 0.4
"""Seconds for which a card waits for an earlier place on which something moves."""


class _WatchedSlot:
    """
    One place of the layout.
    """

    def __init__(self, slot: Slot, spot: SearchArea) -> None:
        self.slot = slot
        self.area = spot
        self.tracker = SlotTracker()


class OverheadStation:
    """
    Watches all places.
    """

    def __init__(
        self, profile: Profile, reference: Image, eye: CardReader, evidence: Evidence | None = None
    ) -> None:
        ground = TableProjection(profile)
        # The noise of one frame is nobody's reference.
        reference = np.asarray(cv2.GaussianBlur(reference, (3, 3), 0), np.uint8)
        places = [place for place in profile.place if place.slot is not None]
        self._slots = [
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
        self._changes = ChangeDetector(self._samples(reference))
        self._lighting = LightingMonitor(profile, ground, reference)
        self._pose = PoseCheck(profile, ground, reference)
        self._reader = eye
        self._evidence = evidence
        self._deal_order = DealOrder()
        self._has_dealt = False
        self._empty_since: float | None = None

    def process(self, frame: VideoFrame) -> list[Statement]:
        """
        Take the next frame.
        """
        image, at, _ = frame
        if not self._pose.check(image, at):
            return []
        light = self._lighting.measure(image)
        samples = self._samples(image, self._pose.shift_px)
        glances = self._changes.update(samples, at, gain=light.gain, noise=light.noise)
        for box, glance in zip(self._slots, glances, strict=True):
            if box.tracker.update(glance, at):
                self._deal_order.remove(box.slot)
        said: list[Statement] = []
        for box in self._slots_to_read(at):
            # What lies on a place is that place's card only where the place has not moved.
            if self._pose.confirm(image, at, box.tracker.still_since):
                said += self._read_slot(box, image, at, light.gain)
        for laid in self._deal_order.take_due(lambda laid: self._waits_for_earlier(laid, at)):
            said.append(self._report(laid))
        return said + self._check_cleared(image, at)

    def _samples(self, image: Image, aside: PixelShift = NO_SHIFT) -> Image:
        whole = self._raster.sample(image, aside)
        return whole.reshape(len(self._slots), -1, *whole.shape[1:])

    def finish(self) -> list[Statement]:
        """
        There will be no more pictures: what is owed is told.
        """
        return [self._report(laid) for laid in self._deal_order.take_all()]

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """
        Say how each place is, and which card was read there.
        """
        return {box.slot: (box.tracker.state.value, box.tracker.card) for box in self._slots}

    def close(self) -> None:
        """
        Give back what it holds.
        """
        if self._evidence is not None:
            self._evidence.close()

    def _slots_to_read(self, at: float) -> list[_WatchedSlot]:
        wanting = [box for box in self._slots if box.tracker.is_read_due(at)]
        # What has just come to rest goes before what was looked at in vain.
        wanting.sort(
            key=lambda box: (box.tracker.state is not SlotState.SETTLED, -box.tracker.still_since)
        )
        return wanting[:_MAX_READS_PER_FRAME]

    def _read_slot(
        self, box: _WatchedSlot, image: Image, at: float, gain: float
    ) -> list[Statement]:
        place = box.tracker
        held = place.state is SlotState.HELD
        seen = self._reader.find_card(
            box.area, image, gain, place.last_sighting, self._pose.shift_px
        )
        news = place.add_sighting(seen, at)
        late = int((at - place.still_since) * 1000)
        if held:
            return [] if news is None else [self._statement(box.slot, news, late)]
        if news is None and (seen.kind is SightingKind.NOTHING or place.reported_unreadable):
            return []
        laid = self._deal_order.add(box.slot, place.since)
        laid.is_face_down |= place.state is SlotState.DOWN
        if news is not None:
            laid.seen, laid.read_at, laid.delay_ms = news, at, late
        return []

    def _waits_for_earlier(self, laid: DealtCard, at: float) -> bool:
        """
        Whether something that came earlier may be a card under a hand.
        """
        if at - laid.read_at >= _MAX_ORDER_WAIT_S:
            return False
        return any(
            box.tracker.state in {SlotState.MOVING, SlotState.SETTLED}
            and at - box.tracker.still_since < _MAX_ORDER_WAIT_S
            and box.tracker.since < laid.since
            and box.slot is not laid.slot
            for box in self._slots
        )

    def _report(self, laid: DealtCard) -> Statement:
        seen = laid.seen or Sighting(SightingKind.UNSURE)
        for box in self._slots:
            if box.slot is laid.slot and box.tracker.state is SlotState.READ:
                box.tracker.mark_reported()
        return self._statement(laid.slot, seen, laid.delay_ms)

    def _statement(self, slot: Slot, seen: Sighting, late: int) -> Statement:
        self._has_dealt = True
        read = seen.kind is SightingKind.FACE
        patch = None
        if self._evidence is not None and seen.patch is not None:
            what = f"{slot}-{seen.card if read else 'unread'}"
            patch = self._evidence.store(seen.patch, what)
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

    def _check_cleared(self, image: Image, at: float) -> list[Statement]:
        """
        Say once that all cards were taken off, when they have been for a while.
        """
        if not (self._has_dealt or self._deal_order):
            return []
        if any(box.tracker.state is not SlotState.EMPTY for box in self._slots):
            self._empty_since = None
            return []
        if self._empty_since is None:
            self._empty_since = at
        if at - self._empty_since < _CLEARED_AFTER_S:
            return []
        if not self._pose.confirm(image, at, self._empty_since):
            return []
        said = [self._report(laid) for laid in self._deal_order.take_all()]
        self._empty_since, self._has_dealt = None, False
        return [*said, Statement(say=Say.CLEARED)]
