"""Vote between both indexes of a card in the throat, each read in its sharpest frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from drivers.camera.recognition.card_finder import CardReader, Reading
from drivers.camera.recognition.table_projection import Floats, TableProjection
from drivers.camera.sources.video_frame import Image, VideoFrame
from drivers.camera.stations.card_track import Extent
from drivers.camera.stations.throat_card_pose import ThroatWindow
from shoe_daemon.game import Card

__all__ = ["EndVotes", "IndexVote", "TrackFrame", "TwoIndexVote"]

_MAX_FRAMES_READ: Final = 3
"""Frames of either end that are read."""

_MIN_VOTES: Final = 2
"""Frames that have to show the same card."""


class TrackFrame(NamedTuple):
    """A frame of a track, and the extent of the card in it."""

    frame: VideoFrame
    extent: Extent


class IndexVote(NamedTuple):
    """
    Reading of one end in one frame.

    Attributes:
        blur: As a share of the card's width.
        patch: Image of the card, for evidence.
    """

    reading: Reading
    blur: float
    patch: Image


EndVotes = tuple[list[IndexVote], list[IndexVote]]
"""Votes of the leading and of the trailing end, each with the sharpest first."""


class _VisibleIndex(NamedTuple):
    """A frame in which the index of one end is completely visible."""

    image: Image
    index_window: Floats
    blur: float
    patch: Image


class TwoIndexVote:
    """Reads both ends of cards in the throat."""

    def __init__(
        self, window: ThroatWindow, projection: TableProjection, reader: CardReader
    ) -> None:
        self._window = window
        self._projection = projection
        self._reader = reader

    def read(self, frames: Sequence[TrackFrame], gain: float) -> EndVotes:
        """
        Read both ends, each in its sharpest frames.

        Args:
            frames: All frames of one track.
            gain: Brightness, as a multiple of the empty throat's.
        """
        return self._read(frames, gain, leading=True), self._read(frames, gain, leading=False)

    def agreed_card(
        self, one: Sequence[IndexVote], other: Sequence[IndexVote] = ()
    ) -> Card | None:
        """
        Return the card on which all frames together, and most of them alone, agree; else None.
        """
        both = [*one, *other]
        whole = self.combine(one, other)
        if whole is None or whole.card is None:
            return None
        for_it = sum(each.reading.best is whole.card for each in both)
        against = any(
            each.reading.card is not None and each.reading.card is not whole.card for each in both
        )
        return None if against or for_it < max(_MIN_VOTES, len(both) * 2 / 3) else whole.card

    def combine(self, one: Sequence[IndexVote], other: Sequence[IndexVote] = ()) -> Reading | None:
        """Combine the readings of one end, or of both; None where there is none."""
        return self._reader.combine(
            [each.reading for each in one], [each.reading for each in other]
        )

    def _read(
        self, frames: Sequence[TrackFrame], gain: float, *, leading: bool
    ) -> list[IndexVote]:
        found = [
            index
            for frame in frames
            if (index := self._index(frame, gain, leading=leading)) is not None
        ]
        found.sort(key=lambda index: index.blur)
        return [
            IndexVote(
                self._reader.read_index(index.image, index.index_window), index.blur, index.patch
            )
            for index in found[:_MAX_FRAMES_READ]
        ]

    def _index(self, frame: TrackFrame, gain: float, *, leading: bool) -> _VisibleIndex | None:
        image = frame.frame.image
        card = self._window.align_card(image, frame.extent, gain, leading=leading)
        if card is None:
            return None
        end = ThroatWindow.leading if leading else 1 - ThroatWindow.leading
        window = self._reader.index_window(card.quad, end)
        if not self._window.contains(self._projection, window):
            return None
        blur = self._reader.index_blur(image, window)
        return (
            _VisibleIndex(image, window, blur, card.patch) if self._reader.is_sharp(blur) else None
        )
