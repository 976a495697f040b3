"""
The two ends of a card that passes the shoe's mouth: at each is an index, read in the pictures
in which it is whole and sharpest, and they have to agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from drivers.camera.recognition.card_reader import CardReader, Reading
from drivers.camera.recognition.table_geometry import Floats, TableProjection
from drivers.camera.sources.frame_quality import Image, VideoFrame
from drivers.camera.stations.card_track import Extent
from drivers.camera.stations.throat_window import ThroatWindow
from shoe_daemon.game import Card

__all__ = ["EndVotes", "IndexVote", "TrackFrame", "TwoIndexVote"]

_MAX_FRAMES_READ: Final = 3
"""Pictures of either end that are read."""

_MIN_VOTES: Final = 2
"""Pictures that have to show one card, at the least."""


class TrackFrame(NamedTuple):
    """
    A frame of a passage, and where in the mouth the card was.
    """

    frame: VideoFrame
    extent: Extent


class IndexVote(NamedTuple):
    """
    What one end said in one frame.

    Attributes:
        blur: As a share of the card's width.
        patch: The card, for evidence.
    """

    reading: Reading
    blur: float
    patch: Image


EndVotes = tuple[list[IndexVote], list[IndexVote]]
"""The end that leads and the one that trails, each the sharpest first."""


class _VisibleIndex(NamedTuple):
    """
    A frame in which one end of a card is whole.
    """

    image: Image
    index_window: Floats
    blur: float
    patch: Image


class TwoIndexVote:
    """
    Reads the ends of cards in a mouth.
    """

    def __init__(self, mouth: ThroatWindow, ground: TableProjection, eye: CardReader) -> None:
        self._window = mouth
        self._ground = ground
        self._reader = eye

    def read(self, shots: Sequence[TrackFrame], gain: float) -> EndVotes:
        """
        Read both ends, each in its sharpest pictures.

        Args:
            shots: All pictures of one passage.
            gain: How bright they are, as a multiple of the frame of the empty mouth.
        """
        return self._read(shots, gain, leading=True), self._read(shots, gain, leading=False)

    def agreed_card(
        self, one: Sequence[IndexVote], other: Sequence[IndexVote] = ()
    ) -> Card | None:
        """
        Return what pictures agree upon, all together and most of them alone; None where they
        do not.
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
        """
        Put what was read at one end, or at both, into one reading; None where nothing was.
        """
        return self._reader.combine(
            [each.reading for each in one], [each.reading for each in other]
        )

    def _read(self, shots: Sequence[TrackFrame], gain: float, *, leading: bool) -> list[IndexVote]:
        found = [
            index
            for shot in shots
            if (index := self._index(shot, gain, leading=leading)) is not None
        ]
        found.sort(key=lambda index: index.blur)
        return [
            IndexVote(
                self._reader.read_index(index.image, index.index_window), index.blur, index.patch
            )
            for index in found[:_MAX_FRAMES_READ]
        ]

    def _index(self, shot: TrackFrame, gain: float, *, leading: bool) -> _VisibleIndex | None:
        image = shot.frame.image
        aimed = self._window.align_card(image, shot.extent, gain, leading=leading)
        if aimed is None:
            return None
        end = ThroatWindow.leading if leading else 1 - ThroatWindow.leading
        window = self._reader.index_window(aimed.quad, end)
        if not self._window.contains(self._ground, window):
            return None
        blur = self._reader.index_blur(image, window)
        return (
            _VisibleIndex(image, window, blur, aimed.patch)
            if self._reader.is_sharp(blur)
            else None
        )
