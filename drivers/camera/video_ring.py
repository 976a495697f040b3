"""The last seconds of a camera's video, as small JPEG pictures."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

MAX_RING_BYTES: Final = 48_000_000
"""Maximum size of the pictures of a ring; if it is reached, the oldest ones go early. As many may
wait for the encoder."""


class Picture(NamedTuple):
    """A picture and its time by the wall clock; no JPEG if the camera gave none."""

    at: datetime
    jpeg: bytes | None


class VideoRing:
    """
    Pictures of the last seconds, bounded in number and in bytes.

    Attributes:
        used_bytes: Size of the pictures.
    """

    def __init__(self, max_pictures: int, max_bytes: int = MAX_RING_BYTES) -> None:
        self.used_bytes = 0
        self._max_pictures = max_pictures
        self._max_bytes = max_bytes
        self._pictures: deque[Picture] = deque()

    def add(self, picture: Picture) -> None:
        """Add the newest picture, and drop the oldest ones beyond the bounds."""
        self._pictures.append(picture)
        self.used_bytes += len(picture.jpeg or b"")
        while len(self._pictures) > self._max_pictures or self.used_bytes > self._max_bytes:
            self.used_bytes -= len(self._pictures.popleft().jpeg or b"")

    def __iter__(self) -> Iterator[Picture]:
        """Iterate over the pictures, the oldest first."""
        return iter(tuple(self._pictures))

    def __len__(self) -> int:
        """Number of pictures."""
        return len(self._pictures)
