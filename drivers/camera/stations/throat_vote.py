"""Reads both indexes of a card in the throat, each in its sharpest frames; the frames vote."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from drivers.camera.image import Image, VideoFrame
from drivers.camera.recognition.card_reader import CardReader, Reading
from drivers.camera.recognition.table_projection import Floats, TableProjection
from drivers.camera.stations.card_track import Extent
from drivers.camera.stations.throat_window import ThroatWindow
from shoe_daemon.game import Card

_MAX_FRAMES_READ: Final = 3
"""Frames of either end that are read."""

_MIN_VOTES: Final = 2
"""Frames that have to show the same card."""


class TrackFrame(NamedTuple):
    """A frame of a track, and the extent of the card in it."""

    frame: VideoFrame
    extent: Extent


class IndexVote(NamedTuple):
    """Reading of one end in one frame: its blur as a share of the card's width, and the card."""

    reading: Reading
    blur: float
    patch: Image


EndVotes = tuple[list[IndexVote], list[IndexVote]]
"""Votes of the leading and of the trailing end, each with the sharpest first."""


class TwoIndexVote:
    """Reads both ends of cards in the throat."""

    def __init__(
        self, window: ThroatWindow, projection: TableProjection, reader: CardReader
    ) -> None:
        self._window = window
        self._projection = projection
        self._reader = reader

    def read(self, frames: Sequence[TrackFrame], gain: float) -> EndVotes:
        """Read both ends in the frames of a track; `gain` is the light, of the empty throat's."""
        return self._read(frames, gain, leading=True), self._read(frames, gain, leading=False)

    def agreed_card(
        self, one: Sequence[IndexVote], other: Sequence[IndexVote] = ()
    ) -> Card | None:
        """Return the card on which all frames together, and most alone, agree; else None."""
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
        readings = ([each.reading for each in votes] for votes in (one, other))
        return self._reader.combine(*readings)

    def _read(
        self, frames: Sequence[TrackFrame], gain: float, *, leading: bool
    ) -> list[IndexVote]:
        found: list[tuple[float, Image, Floats, Image]] = []
        for frame, extent in frames:
            card = self._window.align_card(frame.image, extent, gain, leading=leading)
            if card is None:
                continue
            quad, patch = card
            # The lower end of a card leads.
            window = self._reader.index_window(quad, 1 if leading else 0)
            if self._window.contains(self._projection, window):
                blur = self._reader.index_blur(frame.image, window)
                if self._reader.is_sharp(blur):
                    found.append((blur, frame.image, window, patch))
        found.sort(key=itemgetter(0))
        return [
            IndexVote(self._reader.read_index(image, window), blur, patch)
            for blur, image, window, patch in found[:_MAX_FRAMES_READ]
        ]
