"""
State of one place: whether a card is there, has come to rest, and has been reported.

    EMPTY → MOVING → SETTLED → READ → HELD, and EMPTY again only when the empty
                        ↓ DOWN         place has come back

A hand over a place makes it MOVING, or SETTLED without a card: it is neither a card nor the
removal of one.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.recognition.card_reader import Sighting, SightingKind
from drivers.camera.recognition.confidence import PooledLooks
from shoe_daemon.game import Card

SETTLE_TIME_S: Final = 0.03
"""Time without motion after which a card is read."""

EMPTY_TIME_S: Final = 0.25
EMPTY_TIME_WITH_CHIP_S: Final = 0.8
"""Time without motion after which a place without a card is empty; longer where something small
lies on it."""

_MAX_EMPTY_SHARE: Final = 0.06
_MIN_OCCUPIED_SHARE: Final = 0.30
"""Share of a place that differs from the empty one: at most when empty, at least when occupied."""

_MIN_MOVED_SHARE: Final = 0.03
_UNREADABLE_AFTER_S: Final = 1.2
"""Time after which a card that cannot be read is reported as unreadable."""

_UNKNOWN_AFTER_S: Final = 3.0
_MIN_UNKNOWN_READS: Final = 3
_MIN_UNKNOWN_SHARE: Final = 0.6
"""Share of a place, and time and looks after which a still object that is not found to be a card
is reported as a possible card."""

_MAX_DOUBTED_FRAMES: Final = 2
"""Frames in a row that are not believed where a place looks occupied, or empty, and was not,
though nothing has moved on it: the light of a torn picture is measured wrongly."""

_MIN_READS: Final = 6
_MIN_AGREEING_READS: Final = 2
_MIN_CHANGED_READS: Final = 3
_FACE_DOWN_INTERVAL_S: Final = 2.0
"""Interval at which a face-down card is read again, though nothing has moved."""


class SlotState(StrEnum):
    """State of a place."""

    EMPTY = "empty"
    MOVING = "moving"
    SETTLED = "settled"
    DOWN = "down"
    READ = "read"
    HELD = "held"


class SlotChange(NamedTuple):
    """
    Change of a place in one frame.

    Attributes:
        share: Share of the place that differs from the empty one.
        since: Time since which nothing has moved on it.
    """

    share: float
    since: float


class ChangeDetector:
    """Compares places with the previous frames and with samples of the empty places."""

    def __init__(self, empty: Image) -> None:
        # Neighbouring points count too, because the camera may have moved by some millimetres.
        self._low, self._high = (
            np.stack([_neighbourhood(each, choose) for each in empty]).astype(np.float32)
            for choose in (np.minimum, np.maximum)
        )
        self._still: Image | None = None
        self._since = np.zeros(len(empty))

    def update(self, samples: Image, at: float, *, gain: float, noise: float) -> list[SlotChange]:
        """Compare the next samples of all places, in the `Lighting` of their frame."""
        if self._still is None:
            self._still = samples.copy()
            self._since[:] = at
        else:
            moved = self._moved(samples, self._still, noise)
            self._still[moved], self._since[moved] = samples[moved], at
        shares = self._shares(samples, gain, noise)
        return list(map(SlotChange, shares.tolist(), self._since.tolist()))

    def _moved(self, samples: Image, before: Image, noise: float) -> NDArray[np.bool_]:
        apart = samples.astype(np.int16) - before
        # A flickering lamp changes all points of a place at once.
        few = apart[:, ::3, ::3].reshape(len(apart), -1)
        apart -= np.median(few, axis=1).astype(np.int16)[:, None, None, None]
        far = _max_channel(np.abs(apart)) > 12 + 5 * noise
        return np.asarray(far.mean(axis=(1, 2)) > _MIN_MOVED_SHARE)

    def _shares(self, samples: Image, gain: float, noise: float) -> NDArray[np.float64]:
        above = samples - self._high * gain
        below = self._low * gain - samples
        apart = _max_channel(np.maximum(above, below))
        far = apart > (16 + 4 * noise) * min(1.0, max(0.4, gain))
        return np.asarray(far.mean(axis=(1, 2)), np.float64)


def _max_channel(points: NDArray[Any]) -> NDArray[Any]:
    # numpy's own maximum over three channels takes ten times as long.
    blue, green, red = (points[..., colour] for colour in range(3))
    return np.asarray(np.maximum(np.maximum(blue, green), red))


def _neighbourhood(image: Image, choose: np.ufunc) -> Image:
    # The minimum or maximum of each point and its neighbours.
    edged = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    rows = choose(choose(edged[:-2], edged[1:-1]), edged[2:])
    return np.asarray(choose(choose(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:]), np.uint8)


class SlotTracker:
    """
    Tracks the state of one place.

    A card is named by two agreeing looks, and only where all looks since it came to rest agree
    too: see `PooledLooks`.

    Args:
        threshold: The minimum confidence of all looks together.

    Attributes:
        reported_unreadable: Whether the card was reported as unreadable.
        since: When the place was last left empty: when the card appeared.
        still_since: Time since which nothing has moved on it.
        card: The card that was read.
    """

    def __init__(self, threshold: float = 0.0) -> None:
        self._threshold = threshold
        self.state = SlotState.EMPTY
        self.since = 0.0
        self.still_since = 0.0
        self.card: Card | None = None
        self._share = 0.0
        self._confirmed_since: float | None = None
        self._doubted_frames = 0
        self._reset()

    def _reset(self) -> None:
        self._votes: deque[Sighting] = deque(maxlen=3)
        self._looks = PooledLooks()
        self._read_count = 0
        self._next_read_at = 0.0
        self._unsure_since: float | None = None
        self.reported_unreadable = False

    @property
    def last_sighting(self) -> Sighting | None:
        """The last sighting, where nothing has moved since."""
        return self._votes[-1] if self._votes else None

    @property
    def was_read_in_vain(self) -> bool:
        """True if the last look saw a card, and did not name it."""
        last = self.last_sighting
        return last is not None and last.kind is SightingKind.UNSURE

    @property
    def reading_order(self) -> tuple[bool, bool, float]:
        """
        Sorts the places that are due for reading.

        One that has just come to rest goes first. Cards that were reported as unreadable go last,
        in turn: on a slow computer all are due in every frame.
        """
        if self.reported_unreadable:
            return True, False, self._next_read_at
        return False, self.state is not SlotState.SETTLED, -self.still_since

    def update(self, change: SlotChange, at: float) -> bool:
        """Apply the change of the next frame; return whether a card is gone."""
        moved = change.since != self.still_since
        self.still_since, self._share = change.since, change.share
        if self._await_more_frames(change):
            return False
        still_for = at - change.since
        if change.share < _MIN_OCCUPIED_SHARE:
            bare = change.share < _MAX_EMPTY_SHARE
            if self.state is SlotState.EMPTY:
                return False
            # A back of the felt's own colour differs by less than a face does.
            stays = self.state is SlotState.DOWN and not bare
            if not stays and still_for >= (EMPTY_TIME_S if bare else EMPTY_TIME_WITH_CHIP_S):
                return self._set_empty()
        elif self.state is SlotState.EMPTY:
            self._reset()
            self.state, self.since, self.card = SlotState.MOVING, at, None
        if moved:
            self._on_motion(at)
        elif self.state is SlotState.MOVING and still_for >= SETTLE_TIME_S:
            self.state = SlotState.SETTLED
        return False

    def _await_more_frames(self, change: SlotChange) -> bool:
        """
        Count the frames that contradict the state of a place on which nothing has moved.

        Return whether there are too few yet to believe them.
        """
        if (change.share < _MIN_OCCUPIED_SHARE) == (self.state is SlotState.EMPTY):
            self._confirmed_since, self._doubted_frames = change.since, 0
            return False
        self._doubted_frames += 1
        still = change.since == self._confirmed_since
        return still and self._doubted_frames <= _MAX_DOUBTED_FRAMES

    def _set_empty(self) -> bool:
        was = self.state
        self.state, self.card = SlotState.EMPTY, None
        self._reset()
        return was in {SlotState.HELD, SlotState.READ, SlotState.DOWN}

    def _on_motion(self, at: float) -> None:
        # Sightings from before a motion do not count.
        self._votes.clear()
        self._looks = PooledLooks()
        self._read_count = 0
        self._next_read_at = at + SETTLE_TIME_S
        if self.state in {SlotState.SETTLED, SlotState.DOWN}:
            self.state = SlotState.MOVING
            self._unsure_since = None

    def is_read_due(self, at: float) -> bool:
        """True if the place should be read now."""
        if self.state in {SlotState.EMPTY, SlotState.MOVING, SlotState.READ}:
            return False
        if self.state is SlotState.HELD and (
            at - self.still_since < SETTLE_TIME_S or self._read_count > _MIN_CHANGED_READS
        ):
            return False
        return at >= self._next_read_at

    def add_sighting(self, sighting: Sighting, at: float) -> Sighting | None:
        """
        Add a sighting.

        Returns:
            The sighting to report: an accepted `FACE`, or `UNSURE` for a card that cannot be
            read; None where there is nothing new.
        """
        self._read_count += 1
        self._next_read_at = at + self._read_interval(sighting.kind)
        if sighting.kind is not SightingKind.NOTHING:
            self._votes.append(sighting)
        if sighting.ends:
            self._looks.add(sighting.ends)
        if self.state is SlotState.HELD:
            return self._check_change()
        if self._is_named(sighting, _MIN_AGREEING_READS):
            self.state, self.card = SlotState.READ, sighting.card
            return sighting
        if sighting.kind is SightingKind.BACK and self._has_votes(sighting, _MIN_AGREEING_READS):
            # A card is not turned over without motion.
            self.state, self._next_read_at = SlotState.DOWN, at + _FACE_DOWN_INTERVAL_S
            return None
        return self._check_unreadable(sighting, at)

    def _read_interval(self, kind: SightingKind) -> float:
        # A card that was not read at once is read at longer intervals, to save time.
        if kind is SightingKind.NOTHING:
            return min(1.6, 0.1 * (1 << min(self._read_count, 4)))
        if self.state is SlotState.DOWN:
            return _FACE_DOWN_INTERVAL_S
        if self.reported_unreadable:
            return 0.5
        return 0.0 if self._read_count < _MIN_READS else 0.15

    def _is_named(self, sighting: Sighting, least: int) -> bool:
        """Return whether the last looks and all looks together show the card of a sighting."""
        if sighting.kind is not SightingKind.FACE or not self._has_votes(sighting, least):
            return False
        return not sighting.ends or self._looks.accepted_card(self._threshold) is sighting.card

    def _has_votes(self, sighting: Sighting, least: int) -> bool:
        alike = (sighting.kind, sighting.card)
        return sum((each.kind, each.card) == alike for each in self._votes) >= least

    def _check_change(self) -> Sighting | None:
        """Detect another card on a place that was never seen empty in between."""
        last = self.last_sighting
        if last is None or last.kind is not SightingKind.FACE:
            return None
        if last.card is self.card:
            self._read_count = _MIN_CHANGED_READS + 1  # it still lies there
            return None
        if not self._is_named(last, _MIN_CHANGED_READS):
            self._read_count = min(self._read_count, _MIN_CHANGED_READS - 1)
            return None
        self.card = last.card
        return last

    def _check_unreadable(self, sighting: Sighting, at: float) -> Sighting | None:
        if sighting.kind is SightingKind.NOTHING:
            return self._check_unknown(sighting, at)
        if sighting.kind not in {SightingKind.UNSURE, SightingKind.FACE}:
            return None
        if self._unsure_since is None:
            self._unsure_since = at
        patient = at - self._unsure_since < _UNREADABLE_AFTER_S or self._read_count < _MIN_READS
        if patient or self.reported_unreadable:
            return None
        self.reported_unreadable = True
        return sighting._replace(kind=SightingKind.UNSURE, card=None)

    def _check_unknown(self, sighting: Sighting, at: float) -> Sighting | None:
        still_s = at - max(self.still_since, self.since)
        patient = still_s < _UNKNOWN_AFTER_S or self._read_count < _MIN_UNKNOWN_READS
        if patient or self.reported_unreadable or self._share < _MIN_UNKNOWN_SHARE:
            return None
        self.reported_unreadable = True
        return sighting._replace(kind=SightingKind.UNSURE)

    def mark_reported(self) -> None:
        """Mark the card as reported."""
        self.state = SlotState.HELD
        if self._votes:  # nothing has moved since it was read
            self._read_count = _MIN_CHANGED_READS + 1
