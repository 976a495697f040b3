"""
The station above the table: which card lies on which place.

Cards are reported in the order in which they were dealt. A card that lies face down, or under
a hand, is waited for: later cards are reported after it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Final, NamedTuple

from msgspec import Struct

from drivers.camera.evidence import Evidence
from drivers.camera.image import Image, VideoFrame
from drivers.camera.messages import Say, Statement
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.card_reader import (
    CardReader,
    SearchArea,
    Sighting,
    SightingKind,
)
from drivers.camera.recognition.table_projection import (
    NO_SHIFT,
    PixelShift,
    max_stray_mm,
    place_patch,
    places_raster,
)
from drivers.camera.stations.reference_check import CheckedStation
from drivers.camera.stations.slot_tracker import ChangeDetector, SlotState, SlotTracker
from shoe_daemon.game import DEALING_ORDER, Card, Slot

_SAME_TIME_STEP_S: Final = 0.03
"""Offset per place: cards that appear within it are in dealing order."""


_MAX_GONE_WAIT_S: Final = 3.0
"""Time for which later cards wait for one that was taken off before it could be read."""


class DealtCard(Struct):
    """
    A card that was dealt.

    Attributes:
        since: When it appeared.
        sighting: The sighting to report; None while nothing is known.
        read_at: When it was read.
        delay_ms: Milliseconds for which it had been still by then.
        is_face_down: Whether it showed its back.
        gone_since: Since when its place is empty, if it was not read.
    """

    slot: Slot
    since: float
    sighting: Sighting | None = None
    read_at: float = 0.0
    delay_ms: int = 0
    is_face_down: bool = False
    gone_since: float | None = None


class DealOrder:
    """Cards that have not been reported yet, in the order in which they were dealt."""

    def __init__(self) -> None:
        self._pending: list[DealtCard] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, slot: Slot, since: float) -> DealtCard:
        """Add a card on a place, unless one is pending already; return the last one there."""
        for card in reversed(self._pending):
            if card.slot is slot:
                return card
        return self._append(slot, since)

    def add_read(self, slot: Slot, since: float, sighting: Sighting) -> DealtCard:
        """
        Add the sighting to report of a card on a place; return the card.

        Another card than the pending one that was read there is a second one: the first was taken
        off. Nothing before it is waited for any more: unread cards are reported as such.
        """
        card = self.add(slot, since)
        before = card.sighting
        if (
            before is not None
            and before.kind is SightingKind.FACE
            and before.card is not sighting.card
            and card.since != since
        ):
            for earlier in self._pending[: self._pending.index(card)]:
                earlier.sighting = earlier.sighting or Sighting(SightingKind.UNSURE)
            card = self._append(slot, since)
        card.sighting = sighting
        return card

    def _append(self, slot: Slot, since: float) -> DealtCard:
        card = DealtCard(slot, since)
        self._pending.append(card)
        # Cards that appear together are in dealing order.
        self._pending.sort(
            key=lambda card: card.since + _SAME_TIME_STEP_S * DEALING_ORDER.index(card.slot)
        )
        return card

    def remove(self, slot: Slot) -> None:
        """
        Handle an empty place. A card that was read stays pending, and so does a card that was face
        down: it may come back, or be turned elsewhere. Anything else was not a card.
        """
        self._pending = [
            card
            for card in self._pending
            if card.slot is not slot or card.sighting or card.is_face_down
        ]

    def give_up_gone(self, is_empty: Callable[[Slot], bool], at: float) -> None:
        """Report cards that were taken off unread as unreadable, unless they come back soon."""
        for card in self._pending:
            if card.sighting or card.is_face_down or not is_empty(card.slot):
                card.gone_since = None
            elif card.gone_since is None:
                card.gone_since = at
            elif at - card.gone_since >= _MAX_GONE_WAIT_S:
                card.sighting = Sighting(SightingKind.UNSURE)

    def take_due(self, waits: Callable[[DealtCard], bool]) -> list[DealtCard]:
        """
        Take the cards that can be reported: those before which none is unread, and none `waits`
        for an object that may become a card.
        """
        due = list(takewhile(lambda card: card.sighting and not waits(card), self._pending))
        del self._pending[: len(due)]
        return due

    def take_all(self) -> list[DealtCard]:
        """Take all cards, read or not: the table was cleared."""
        pending, self._pending = self._pending, []
        return pending


_CLEARED_AFTER_S: Final = 0.5
"""Time for which all places have to be empty before the table is cleared."""

_MAX_READS_PER_FRAME: Final = 2
"""Places that are read in one frame, so that frames do not pile up. A card that cannot be read
takes as long as three others, and is the last of its frame."""

_MAX_ORDER_WAIT_S: Final = 0.4
"""Time for which a card waits for an earlier place on which something moves."""


class _WatchedSlot(NamedTuple):
    """A slot, the area of its place and its state."""

    slot: Slot
    area: SearchArea
    tracker: SlotTracker


class OverheadStation(CheckedStation):
    """Watches all places."""

    def __init__(
        self,
        profile: Profile,
        reference: Image,
        reader: CardReader,
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__(profile, reference, reader, evidence)
        places = [place for place in profile.place if place.slot is not None]
        self._slots = [
            _WatchedSlot(
                place.slot,
                SearchArea(
                    place_patch(self._projection, place, profile.card),
                    self._reference,
                    max_stray_mm(place, profile.place),
                ),
                SlotTracker(reader.threshold),
            )
            for place in places
            if place.slot is not None
        ]
        self._raster = places_raster(self._projection, places, profile.card)
        self._changes = ChangeDetector(self._samples(self._reference))
        self._deal_order = DealOrder()
        self._has_dealt = False
        self._empty_since: float | None = None

    def process(self, frame: VideoFrame) -> list[Statement]:
        """Process the next frame."""
        image, at, _ = frame
        self._colours.check(image, at)
        if not self._pose.check(image, at):
            return []
        light = self._lighting.measure(image)
        samples = self._samples(image, self._pose.shift_px)
        changes = self._changes.update(samples, at, gain=light.gain, noise=light.noise)
        for watched, change in zip(self._slots, changes, strict=True):
            if watched.tracker.update(change, at):
                self._deal_order.remove(watched.slot)
        statements: list[Statement] = []
        for watched in self._slots_to_read(at):
            # A place is read only where the camera has not moved since it came to rest.
            if not self._pose.confirm(image, at, watched.tracker.still_since):
                continue
            statements += self._read_slot(watched, image, at, light.gain)
            if watched.tracker.was_read_in_vain:
                break
        self._deal_order.give_up_gone(self._is_empty, at)
        due = self._deal_order.take_due(lambda card: self._waits_for_earlier(card, at))
        statements += map(self._report, due)
        return statements + self._check_cleared(image, at)

    def _samples(self, image: Image, shift: PixelShift = NO_SHIFT) -> Image:
        whole = self._raster.sample(image, shift)
        return whole.reshape(len(self._slots), -1, *whole.shape[1:])

    def finish(self) -> list[Statement]:
        """Report the pending cards; there are no more frames."""
        return [self._report(card) for card in self._deal_order.take_all()]

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        """Return the state of each place and the card that was read there."""
        return {slot: (place.state.value, place.card) for slot, _, place in self._slots}

    def _slots_to_read(self, at: float) -> list[_WatchedSlot]:
        wanting = [watched for watched in self._slots if watched.tracker.is_read_due(at)]
        wanting.sort(key=lambda watched: watched.tracker.reading_order)
        return wanting[:_MAX_READS_PER_FRAME]

    def _read_slot(
        self, watched: _WatchedSlot, image: Image, at: float, gain: float
    ) -> list[Statement]:
        place = watched.tracker
        held = place.state is SlotState.HELD
        sighting = self._reader.find_card(
            watched.area, image, gain, place.last_sighting, self._pose.shift_px
        )
        reportable = place.add_sighting(sighting, at)
        late = int((at - place.still_since) * 1000)
        if held:
            return [] if reportable is None else [self._statement(watched.slot, reportable, late)]
        ignored = sighting.kind is SightingKind.NOTHING or place.reported_unreadable
        if reportable is None and ignored:
            return []
        if reportable is not None:
            card = self._deal_order.add_read(watched.slot, place.since, reportable)
            card.read_at, card.delay_ms = at, late
        else:
            card = self._deal_order.add(watched.slot, place.since)
            card.is_face_down |= place.state is SlotState.DOWN
        return []

    def _is_empty(self, slot: Slot) -> bool:
        return all(
            watched.tracker.state is SlotState.EMPTY
            for watched in self._slots
            if watched.slot is slot
        )

    def _waits_for_earlier(self, card: DealtCard, at: float) -> bool:
        """True if an object that appeared earlier may be a card under a hand."""
        if at - card.read_at >= _MAX_ORDER_WAIT_S:
            return False
        return any(
            place.state in {SlotState.MOVING, SlotState.SETTLED}
            and at - place.still_since < _MAX_ORDER_WAIT_S
            and place.since < card.since
            and slot is not card.slot
            for slot, _, place in self._slots
        )

    def _report(self, card: DealtCard) -> Statement:
        sighting = card.sighting or Sighting(SightingKind.UNSURE)
        for watched in self._slots:
            place = watched.tracker
            if watched.slot is card.slot and place.state is SlotState.READ:
                place.mark_reported()
            elif watched.slot is card.slot and sighting.kind is not SightingKind.FACE:
                # A card that still lies face down is not waited for a second time.
                place.reported_unreadable |= card.is_face_down or card.since == place.since
        return self._statement(card.slot, sighting, card.delay_ms)

    def _statement(self, slot: Slot, sighting: Sighting, late: int) -> Statement:
        self._has_dealt = True
        read = sighting.kind is SightingKind.FACE
        patch = None
        if self._evidence is not None and sighting.patch is not None:
            what = f"{slot}-{sighting.card if read else 'unread'}"
            patch = self._evidence.store(sighting.patch, what)
        return Statement(
            say=Say.PLACED if read else Say.UNREADABLE,
            slot=slot,
            card=sighting.card if read else None,
            best=None if read else sighting.best,
            confidence=sighting.confidence,
            blur=sighting.blur,
            late=late,
            patch=patch,
        )

    def _check_cleared(self, image: Image, at: float) -> list[Statement]:
        """Report a cleared table once, when all places have been empty for long enough."""
        if not (self._has_dealt or self._deal_order):
            return []
        if any(watched.tracker.state is not SlotState.EMPTY for watched in self._slots):
            self._empty_since = None
            return []
        if self._empty_since is None:
            self._empty_since = at
        if at - self._empty_since < _CLEARED_AFTER_S:
            return []
        if not self._pose.confirm(image, at, self._empty_since):
            return []
        statements = [self._report(card) for card in self._deal_order.take_all()]
        self._empty_since, self._has_dealt = None, False
        return [*statements, Statement(say=Say.CLEARED)]
