"""A station at a shoe's throat that processes drawn frames."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import numpy as np

from drivers.camera.image import Image, VideoFrame
from drivers.camera.line import make_station
from drivers.camera.messages import Statement
from drivers.camera.options import CameraOptions
from drivers.camera.profile.sections import Profile
from tests.camera import throat_images
from tests.camera.known_deck_recogniser import ByHeart
from tests.camera.throat_images import FPS

Told = list[tuple[str, str | None]]


class Watched:
    """The processed frames, and the resulting statements."""

    def __init__(self, profile: Profile, evidence: Path | None = None) -> None:
        options = CameraOptions(station="throat")
        self.station = make_station(profile, options, evidence, ByHeart(least=0.6))
        self.said: list[Statement] = []
        self.now = 0.0
        self.number = 0

    def show(
        self, *tracks: list[throat_images.Card], light: float = 1.0, rest: float = 0.2
    ) -> Told:
        """Let cards pass together, then nothing for a moment; return the statements."""
        nothing: list[tuple[throat_images.Card, ...]] = [()] * round(rest * FPS)
        together = [
            tuple(card for card in cards if card) for cards in zip_longest(*tracks, fillvalue=None)
        ]
        return self.look(*[self.drawn(*cards, light=light) for cards in [*together, *nothing]])

    def drawn(self, *cards: throat_images.Card, light: float = 1.0) -> Image:
        """Draw a frame with its own noise."""
        self.number += 1
        return throat_images.drawn(*cards, number=self.number, light=light)

    def look(self, *images: Image | None) -> Told:
        """Process frames as they are; None for a missing frame."""
        before = len(self.said)
        for image in images:
            self.now += 1 / FPS
            if image is not None:
                picture = VideoFrame(np.asarray(image, np.uint8), self.now, self.number)
                self.said += self.station.process(picture)
        return [(each.say.value, each.card) for each in self.said[before:]]
