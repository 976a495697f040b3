"""
The station at the shoe's throat: which card left the shoe.

The frames of a card are kept until it has passed. Then both of its ends are read
(`throat_vote`). A card that went back was not dealt.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from drivers.camera.evidence import Evidence
from drivers.camera.image import Image, VideoFrame
from drivers.camera.messages import Say, Statement
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.card_reader import CardReader
from drivers.camera.stations.card_track import (
    CardTrack,
    Extent,
    TrackOutcome,
    VisibilityMonitor,
)
from drivers.camera.stations.reference_check import CheckedStation, ThroatEdges
from drivers.camera.stations.throat_vote import EndVotes, TrackFrame, TwoIndexVote
from drivers.camera.stations.throat_window import ThroatWindow
from drivers.transport import LineError

_MAX_TRACK_FRAMES: Final = 14
"""Frames of one track that are kept."""

_MAX_EXCESS_MM: Final = 8.0
"""Length beyond which a card is two cards."""

_MIN_LIGHT_SHARE: Final = 0.2
_MIN_LIGHT: Final = 12.0
"""Share of the usual light, and grey value, below which a frame is unusable."""

_MAX_BLIND_S: Final = 5.0
"""Time without a usable frame after which the camera is given up."""

_MAX_BLOCKED_S: Final = 10.0
"""Time for which an object may lie in the throat."""

_INDEX_LENGTH_SHARE: Final = 0.42
"""Share of a card's length that an index takes."""

_ERROR_CLEARED_AFTER_S: Final = 1.0
"""Time with an empty throat after which an error is over."""


class ThroatStation(CheckedStation):
    """Watches the throat."""

    def __init__(
        self,
        profile: Profile,
        reference: Image,
        reader: CardReader,
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__(profile, reference, reader, evidence)
        self._window = ThroatWindow(profile, self._projection, self._reference)
        self._edges = ThroatEdges(profile, self._projection, self._reference)
        self._vote = TwoIndexVote(self._window, self._projection, reader)
        self._visibility = VisibilityMonitor()
        self._darkest = max(_MIN_LIGHT, _MIN_LIGHT_SHARE * _brightness(self._reference))
        self._gain = 1.0
        self._track: CardTrack | None = None
        self._frames: list[TrackFrame] = []
        self._card_vanished = False
        self._has_error = False
        self._quiet_since = self._last_empty_at = 0.0

    def process(self, frame: VideoFrame) -> list[Statement]:
        """Process the next frame, as `Station.process`."""
        image, at, _ = frame
        self._colours.check(image, at)
        self._pose.check(image, at)
        sample = self._window.sample(image)
        gain = self._lighting.measure(image).gain
        dark = _brightness(image) < self._darkest
        if self._visibility.is_frozen(sample) or dark or not self._edges.is_visible(image):
            return self._on_unusable_frame(at)
        found = self._window.extents(sample, at, gain)
        statements = self._missed(self._visibility.add_usable_frame(at))
        self._gain = gain
        if self._track is not None and self._visibility.gap_before_frame:
            self._track.interrupted = True
        if found:
            return statements + self._on_covered(frame, found)
        self._visibility.add_idle_frame()
        self._last_empty_at = at
        return statements + self._on_empty(at)

    def finish(self) -> list[Statement]:
        """Report a card in the throat as unclear; there are no more frames."""
        return [] if self._track is None else self._report_unclear()

    def _on_unusable_frame(self, at: float) -> list[Statement]:
        """Handle a frame in which a card could not be detected."""
        gap_s = self._visibility.add_unusable_frame(at)
        if self._track is not None:
            self._track.interrupted |= gap_s is not None
        if self._visibility.unseen_s(at) > _MAX_BLIND_S:
            raise LineError(
                "camera: the shoe's throat does not look as in its profile: was the camera "
                "moved, is something before its lens, or its lamp out?"
            )
        return self._missed(gap_s)

    def _missed(self, gap_s: float | None) -> list[Statement]:
        if gap_s is None:
            return []
        note = f"the shoe's throat was not seen for {gap_s:.1f} s"
        return [Statement(say=Say.MISSED, note=note)]

    def _on_covered(self, frame: VideoFrame, found: list[Extent]) -> list[Statement]:
        """Handle a frame with an object in the throat."""
        statements: list[Statement] = []
        track, innermost = self._track, found[0]
        if track is not None and track.is_next_card(innermost, more=len(found) > 1):
            # The next card appears before this one is gone.
            if track.may_continue_with(found[-1]) and len(found) > 1:
                track.add(found[-1])
                self._keep_frame(TrackFrame(frame, found[-1]))
            statements = self._finish_track(frame.at)
            track = None
        if track is None:
            torn = self._visibility.gap_before_frame or (len(found) > 1 and not statements)
            window, before = self._window, self._last_empty_at
            track = CardTrack(window.start, window.length, before=before, interrupted=torn)
            self._frames = []
        self._track, self._card_vanished = track, False
        track.add(innermost)
        self._keep_frame(TrackFrame(frame, innermost))
        if track.blocked_s > _MAX_BLOCKED_S:
            raise LineError(
                "camera: something lies in the shoe's throat, where cards pass: take it out"
            )
        return statements

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
            # Drop the frame with the least motion.
            extents = pairwise(shot.extent for shot in self._frames)
            steps = [abs(b.end - a.end) + abs(b.start - a.start) for a, b in extents]
            del self._frames[int(np.argmin(steps[:-1])) + 1]

    def _finish_track(self, at: float) -> list[Statement]:
        """Report the outcome of the track."""
        track, frames = self._track, self._frames
        if track is None:
            return []
        fate = track.outcome(at)
        if fate is TrackOutcome.UNCLEAR or (track.interrupted and fate is not TrackOutcome.LEFT):
            return self._report_unclear()
        self._track, self._frames = None, []
        if fate is TrackOutcome.RETURNED:
            return self._report_returned(frames)
        if fate is TrackOutcome.LEFT:
            return self._report_left(track, frames, int((at - track.extents[-1].at) * 1000))
        return []

    def _report_unclear(self) -> list[Statement]:
        """Report that a card may have left."""
        frames, self._track, self._frames = self._frames, None, []
        patch = self._store_evidence(frames[len(frames) // 2].frame.image, "unclear")
        note = "something was in the shoe's throat: whether a card left is not known"
        return [Statement(say=Say.MISSED, patch=patch, note=note)]

    def _report_left(
        self, track: CardTrack, frames: list[TrackFrame], delay_ms: int
    ) -> list[Statement]:
        readings = self._vote.read(frames, self._gain)
        excess = track.excess_mm
        if excess is not None and excess > _MAX_EXCESS_MM:
            return self._report_double_feed(readings, excess, delay_ms, frames)
        first, last = (self._vote.agreed_card(part) for part in readings)
        if first is not None and last is not None and first is not last:
            return self._report_double_feed(readings, 0.0, delay_ms, frames)
        is_one = first is not None and first is last
        if track.interrupted and not is_one:
            self._frames = frames
            return self._report_unclear()
        # Where the length is unknown, only one of two cards may have been read.
        certain = is_one or excess is not None
        return [self._card_statement(readings, delay_ms, frames, certain=certain)]

    def _report_returned(self, frames: list[TrackFrame]) -> list[Statement]:
        self._has_error = True
        patch = self._store_evidence(frames[-1].frame.image, "returned")
        return [Statement(say=Say.RETURNED, patch=patch)]

    def _report_double_feed(
        self, readings: EndVotes, excess: float, delay_ms: int, frames: list[TrackFrame]
    ) -> list[Statement]:
        """Report two cards at once: the first hides all of the second but its end."""
        self._has_error = True
        far = f"by {excess:.0f} mm" if excess else "as both indices show"
        note = f"two cards left the shoe together, one behind the other {far}"
        first, last = readings
        # Where the second card shows little, its index may be the first card's.
        shows = excess >= _INDEX_LENGTH_SHARE * self._window.length or not excess
        apart = self._vote.agreed_card(first) is not self._vote.agreed_card(last)
        return [
            Statement(say=Say.DOUBLE_FEED, note=note),
            self._card_statement((first, []), delay_ms, frames),
            self._card_statement((last, []), delay_ms, frames, certain=shows and apart),
        ]

    def _card_statement(
        self,
        readings: EndVotes,
        delay_ms: int,
        frames: list[TrackFrame],
        *,
        certain: bool = True,
    ) -> Statement:
        card = self._vote.agreed_card(*readings) if certain else None
        whole = self._vote.combine(*readings)
        sharpest = min([*readings[0], *readings[1]], key=lambda read: read.blur, default=None)
        patch = sharpest.patch if sharpest else None
        if patch is None and frames:
            patch = frames[len(frames) // 2].frame.image
        return Statement(
            say=Say.UNREADABLE if card is None else Say.CARD,
            card=card,
            best=whole.best if card is None and whole else None,
            confidence=round(whole.confidence, 4) if whole else None,
            blur=round(sharpest.blur, 4) if sharpest else None,
            late=delay_ms,
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
