"""
The station at the shoe's mouth: which card left.

All pictures of a passage are kept until it is over. Then both ends of the card are read in
them (`ends`). A card that went back was not dealt.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import cv2
import numpy as np

from drivers.camera.evidence import Evidence
from drivers.camera.line_messages import Say, Statement
from drivers.camera.profile.camera_profile import Profile
from drivers.camera.recognition.card_reader import CardReader
from drivers.camera.recognition.table_geometry import TableProjection
from drivers.camera.sources.frame_quality import Image, VideoFrame
from drivers.camera.stations.card_track import CardTrack, Extent, TrackOutcome
from drivers.camera.stations.pose_check import LightingMonitor, PoseCheck
from drivers.camera.stations.throat_visibility import ThroatEdges, VisibilityMonitor
from drivers.camera.stations.throat_window import ThroatWindow
from drivers.camera.stations.two_index_vote import EndVotes, TrackFrame, TwoIndexVote
from drivers.transport import LineError

__all__ = ["ThroatStation"]

_MAX_TRACK_FRAMES: Final = 14
"""Pictures of one passage that are kept."""

_MAX_EXCESS_MM: Final = 8.0
"""Millimetres by which a card is too long to be one."""

_MIN_LIGHT_SHARE: Final = 0.2
_MIN_LIGHT: Final = 12.0
"""Share of its usual light, and grey value, up to which nothing is to be seen."""

_MAX_BLIND_S: Final = 5.0
"""Seconds without sight after which the camera is given up."""

_MAX_BLOCKED_S: Final = 10.0
"""Seconds for which something may be in the mouth that is no card half out of the shoe."""

_INDEX_LENGTH_SHARE: Final = 0.42
"""Share of a card's length that an index takes."""

_ERROR_CLEARED_AFTER_S: Final = 1.0
"""Seconds without anything in the mouth after which an error is over."""


class ThroatStation:
    """
    Watches the mouth.
    """

    def __init__(
        self, profile: Profile, reference: Image, eye: CardReader, evidence: Evidence | None = None
    ) -> None:
        ground = TableProjection(profile)
        reference = np.asarray(cv2.GaussianBlur(reference, (3, 3), 0), np.uint8)
        self._window = ThroatWindow(profile, ground, reference)
        self._lighting = LightingMonitor(profile, ground, reference)
        self._pose = PoseCheck(profile, ground, reference)
        self._edges = ThroatEdges(profile, ground, reference)
        self._vote = TwoIndexVote(self._window, ground, eye)
        self._visibility = VisibilityMonitor()
        self._evidence = evidence
        self._darkest = max(_MIN_LIGHT, _MIN_LIGHT_SHARE * _brightness(reference))
        self._gain = 1.0
        self._track: CardTrack | None = None
        self._frames: list[TrackFrame] = []
        self._card_vanished = False
        self._has_error = False
        self._quiet_since = self._last_empty_at = 0.0

    def process(self, frame: VideoFrame) -> list[Statement]:
        """
        Take the next frame.

        Raises:
            LineError: The camera cannot be trusted any more, or its window is not free.
        """
        image, at, _ = frame
        self._pose.check(image, at)
        sample = self._window.sample(image)
        gain = self._lighting.measure(image).gain
        dark = _brightness(image) < self._darkest
        if self._visibility.is_frozen(sample) or dark or not self._edges.is_visible(image):
            return self._on_unusable_frame(at)
        found = self._window.extents(sample, at, gain)
        said = self._missed(self._visibility.add_usable_frame(at))
        self._gain = gain
        if self._track is not None and self._visibility.gap_before_frame:
            self._track.interrupted = True
        if found:
            return said + self._on_covered(frame, found)
        self._visibility.add_idle_frame()
        self._last_empty_at = at
        return said + self._on_empty(at)

    def finish(self) -> list[Statement]:
        """
        There will be no more pictures: what is on its way may have left or not.
        """
        if self._track is None:
            return []
        return self._report_unclear()

    def close(self) -> None:
        """
        Give back what it holds.
        """
        if self._evidence is not None:
            self._evidence.close()

    def _on_unusable_frame(self, at: float) -> list[Statement]:
        """
        A frame came of which it cannot be told whether a card is there.
        """
        hole = self._visibility.add_unusable_frame(at)
        if self._track is not None:
            self._track.interrupted |= hole is not None
        if self._visibility.unseen_s(at) > _MAX_BLIND_S:
            raise LineError(
                "camera: the shoe's mouth does not look as in its profile: was the camera "
                "moved, is something before its lens, or its lamp out?"
            )
        return self._missed(hole)

    def _missed(self, hole: float | None) -> list[Statement]:
        if hole is None:
            return []
        note = f"the shoe's mouth was not seen for {hole:.1f} s"
        return [Statement(say=Say.MISSED, note=note)]

    def _on_covered(self, frame: VideoFrame, found: list[Extent]) -> list[Statement]:
        """
        Something is in the mouth.
        """
        said: list[Statement] = []
        passage, innermost = self._track, found[0]
        if passage is not None and passage.is_next_card(innermost, more=len(found) > 1):
            # The next card is on its way before this one is gone.
            if passage.may_continue_with(found[-1]) and len(found) > 1:
                passage.add(found[-1])
                self._keep_frame(TrackFrame(frame, found[-1]))
            said = self._finish_track(frame.at)
            passage = None
        if passage is None:
            torn = self._visibility.gap_before_frame or (len(found) > 1 and not said)
            before = self._last_empty_at
            passage = CardTrack(
                self._window.start, self._window.length, before=before, interrupted=torn
            )
            self._frames = []
        self._track, self._card_vanished = passage, False
        passage.add(innermost)
        self._keep_frame(TrackFrame(frame, innermost))
        if passage.blocked_s > _MAX_BLOCKED_S:
            raise LineError(
                "camera: something lies in the shoe's mouth, where cards pass: take it out"
            )
        return said

    def _on_empty(self, at: float) -> list[Statement]:
        if self._track is not None:
            if not (self._track.is_leaving or self._card_vanished):
                self._card_vanished = True  # in mid-window: perhaps only for this frame
                return []
            self._quiet_since = at
            return self._finish_track(at)
        if self._has_error and at - self._quiet_since >= _ERROR_CLEARED_AFTER_S:
            self._has_error = False
            return [Statement(say=Say.OVER)]
        return []

    def _keep_frame(self, shot: TrackFrame) -> None:
        self._frames.append(shot)
        if len(self._frames) > _MAX_TRACK_FRAMES:
            # Where it rests, one frame is as good as another.
            steps = [
                abs(after.extent.end - before.extent.end)
                + abs(after.extent.start - before.extent.start)
                for before, after in pairwise(self._frames)
            ]
            del self._frames[int(np.argmin(steps[:-1])) + 1]

    def _finish_track(self, at: float) -> list[Statement]:
        """
        Say what has passed.
        """
        passage, shots = self._track, self._frames
        if passage is None:
            return []
        fate = passage.outcome(at)
        if fate is TrackOutcome.UNCLEAR or (passage.interrupted and fate is not TrackOutcome.LEFT):
            return self._report_unclear()
        self._track, self._frames = None, []
        match fate:
            case TrackOutcome.RETURNED:
                return self._report_returned(shots)
            case TrackOutcome.LEFT:
                return self._report_left(passage, shots, int((at - passage.extents[-1].at) * 1000))
        return []

    def _report_unclear(self) -> list[Statement]:
        """
        A card may have left, or not.
        """
        shots, self._track, self._frames = self._frames, None, []
        patch = self._store_evidence(shots[len(shots) // 2].frame.image, "unclear")
        note = "something was in the shoe's mouth: whether a card left is not known"
        return [Statement(say=Say.MISSED, patch=patch, note=note)]

    def _report_left(
        self, passage: CardTrack, shots: list[TrackFrame], late: int
    ) -> list[Statement]:
        readings = self._vote.read(shots, self._gain)
        excess = passage.excess_mm
        if excess is not None and excess > _MAX_EXCESS_MM:
            return self._report_double_feed(readings, excess, late, shots)
        first, last = (self._vote.agreed_card(part) for part in readings)
        if first is not None and last is not None and first is not last:
            return self._report_double_feed(readings, 0.0, late, shots)
        is_one = first is not None and first is last
        if passage.interrupted and not is_one:
            self._frames = shots
            return self._report_unclear()
        # Of two together one alone may have been read, where their length is not known.
        return [self._card_statement(readings, late, shots, certain=is_one or excess is not None)]

    def _report_returned(self, shots: list[TrackFrame]) -> list[Statement]:
        self._has_error = True
        return [
            Statement(
                say=Say.RETURNED, patch=self._store_evidence(shots[-1].frame.image, "returned")
            )
        ]

    def _report_double_feed(
        self,
        readings: EndVotes,
        excess: float,
        late: int,
        shots: list[TrackFrame],
    ) -> list[Statement]:
        """
        Two cards came together: the first hides the second but for its end.
        """
        self._has_error = True
        far = f"by {excess:.0f} mm" if excess else "as two indices tell"
        note = f"two cards left the shoe together, one behind the other {far}"
        first, last = readings
        # Where so little of the second shows, its index is one with the first one's.
        shows = excess >= _INDEX_LENGTH_SHARE * self._window.length or not excess
        apart = self._vote.agreed_card(first) is not self._vote.agreed_card(last)
        return [
            Statement(say=Say.DOUBLE_FEED, note=note),
            self._card_statement((first, []), late, shots),
            self._card_statement((last, []), late, shots, certain=shows and apart),
        ]

    def _card_statement(
        self,
        readings: EndVotes,
        late: int,
        shots: list[TrackFrame],
        *,
        certain: bool = True,
    ) -> Statement:
        card = self._vote.agreed_card(*readings) if certain else None
        whole = self._vote.combine(*readings)
        sharpest = min([*readings[0], *readings[1]], key=lambda read: read.blur, default=None)
        patch = sharpest.patch if sharpest else None
        if patch is None and shots:
            patch = shots[len(shots) // 2].frame.image
        return Statement(
            say=Say.UNREADABLE if card is None else Say.CARD,
            card=card,
            best=whole.best if card is None and whole else None,
            confidence=round(whole.confidence, 4) if whole else None,
            blur=round(sharpest.blur, 4) if sharpest else None,
            late=late,
            patch=self._store_evidence(patch, card.value if card else "unread"),
        )

    def _store_evidence(self, image: Image | None, what: str) -> str | None:
        if self._evidence is None or image is None:
            return None
        shrink = max(1, round(image.shape[1] / 400))
        small = image[::shrink, ::shrink].copy()
        return self._evidence.store(small, f"shoe-{what}")


def _brightness(image: Image) -> float:
    return float(np.percentile(image[8::16, 8::16], 99))
