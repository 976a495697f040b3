"""
What happens in a shoe's mouth, and the pictures that a camera takes of it: an act, what makes
one, and the stage on which it is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct

from drivers.camera.sources.frame_quality import Image
from drivers.simulators.camera.motion_tracks import FACE, CardTrack, Key, Pose
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.round_animation import AnimatedRound, Effect, scene_state
from drivers.simulators.camera.scene_settings import SceneFault, Settings, Station
from drivers.simulators.camera.sensor_effects import Sensor
from drivers.simulators.camera.table_layout import CARD, THROAT
from drivers.simulators.camera.throat_image import ThroatImage
from shoe_daemon.game import DECK, Card

__all__ = ["Act", "Acts", "Change", "Stage", "stage_settings"]

_FAR: Final = THROAT.size[0] / 2 + CARD[1] / 2 + 6

Change = Callable[[Image, float], Image | None]
"""What becomes of a picture taken at a moment; None where it does not come."""


class Act(Struct, eq=False):
    """
    What happens in the mouth.

    Attributes:
        tracks: The cards that move.
        left: Those that left the shoe, in their order.
        seconds: How long it takes, with the quiet after it.
        fps: Pictures a second.
        shutter: Whether all is exposed so long that nothing is sharp.
        changes: What happens to the pictures.
        joined: Whether two may be told as one: they lie upon each other.
        returned: How many went back.
        plain: Whether what passes is no card that has a name.
    """

    tracks: list[CardTrack] = []
    left: list[Card] = []
    seconds: float = 1.2
    fps: float = 25.0
    shutter: bool = False
    changes: list[Change] = []
    joined: bool = False
    returned: int = 0
    plain: bool = False


class Stage:
    """One shoe's mouth, lamp, deck and camera."""

    def __init__(self, settings: Settings) -> None:
        self._view = ThroatImage(settings, create_camera(settings))
        self._sensor = Sensor(settings)

    def pictures(self, act: Act) -> Iterator[tuple[float, Image | None]]:
        """Take the pictures of an act, from 0 on."""
        animation = AnimatedRound(1, cards=act.tracks)
        if act.shutter:
            animation.effects.append(Effect(SceneFault.UNREADABLE, 0.0, act.seconds))
        for number in range(int(act.seconds * act.fps)):
            at = number / act.fps
            image: Image | None = np.asarray(self._view.draw(scene_state(animation, at)), np.uint8)
            for change in act.changes:
                image = None if image is None else change(image, at)
            yield at, None if image is None else self._noisy(image, at)

    def _noisy(self, image: Image, at: float) -> Image:
        if not image.flags.writeable:
            return image  # frozen: with its noise
        return self._sensor.take(image, at, flicker=False, blur=0.0, torn=False)


class Acts:
    """Makes acts for one stage, by the chance of its seed."""

    def __init__(self, settings: Settings) -> None:
        self.chance = Random(f"passages {settings.seed}")
        self.settings = settings
        self.scale = settings.width / THROAT.size[0]

    def _ends(self) -> tuple[Pose, Pose]:
        chance = self.chance
        y = max(-1.5, min(1.5, chance.gauss(0, 0.7)))
        heading = 90 + max(-2.5, min(2.5, chance.gauss(0, 0.9))) + 180 * chance.randrange(2)
        inside = Pose(-_FAR, y, 0.0, heading, FACE)
        return inside, inside._replace(x=_FAR, y=y + chance.uniform(-0.6, 0.6))

    def track(self, start: float, *moves: tuple[float, float, float]) -> CardTrack:
        """A card that moves: when, for how long, to which share of its way."""
        inside, outside = self._ends()
        track = CardTrack([Key(start, inside)], self.chance.choice(DECK), None, stays=False)
        for at, seconds, share in moves:
            x = inside.x + (outside.x - inside.x) * share
            y = inside.y + (outside.y - inside.y) * share
            track.move(at, seconds, inside._replace(x=x, y=y))
        return track

    def one(self, low: float = 0.28, high: float = 0.42, *, start: float = 0.24) -> Act:
        """One card that passes."""
        seconds = self.chance.uniform(low, high)
        start += self.chance.uniform(0, 0.04)
        track = self.track(start, (start, seconds, 1.0))
        return Act([track], [track.card], seconds=start + seconds + 0.4)

    def pair(self, low: float = 0.35, high: float = 1.2) -> Act:
        """One card and then another, later by such a share of the time that one takes."""
        act = self.one()
        (first,) = act.tracks
        start, end = first.keys[0].at, first.keys[-1].at
        seconds = end - start
        lag = seconds * self.chance.uniform(low, high)
        second = self.track(start + lag, (start + lag, seconds, 1.0))
        act.tracks.append(second)
        act.left.append(second.card)
        act.seconds += lag
        return act

    def with_change(self, change: Change) -> Act:
        """One card that passes while this happens to the pictures."""
        act = self.one()
        act.changes.append(change)
        return act

    def span(self, act: Act, low: float, high: float) -> tuple[float, float]:
        """A stretch of time, so long, that touches what passes or comes near to it."""
        seconds = self.chance.uniform(low, high)
        begin, end = act.tracks[0].keys[0].at, act.tracks[-1].keys[-1].at
        since = self.chance.uniform(begin - seconds, end)
        act.seconds = max(act.seconds, since + seconds + 0.5)
        return since, since + seconds


def stage_settings(seed: int, width: int) -> Settings:
    """Give the settings of a picture of this width."""
    high = width * 9 // 16
    return Settings(station=Station.THROAT, width=width, height=high, seed=seed, fps=25.0)
