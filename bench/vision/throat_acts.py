"""Acts at a shoe's exit and their pictures; above all, passages of cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import numpy as np
from msgspec import Struct

from drivers.camera.image import Image
from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    CardTrack,
    Effect,
    Key,
    Pose,
    scene_state,
)
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.simulators.camera.table_layout import CARD, THROAT_SIZE
from drivers.simulators.camera.throat_image import ThroatImage
from shoe_daemon.game import DECK, Card

_FAR: Final = THROAT_SIZE[0] / 2 + CARD[1] / 2 + 6

Change = Callable[[Image, float], Image | None]
"""A change of a picture at a given time; None if the picture is lost."""


class Act(Struct, eq=False):
    """
    Something that happens at the shoe's exit.

    Attributes:
        tracks: Moving cards.
        left: Cards drawn, in order.
        seconds: Duration, including the quiet afterwards.
        fps: Pictures per second.
        shutter: Exposure too long for sharp pictures.
        changes: Changes of the pictures.
        joined: Two cards may be reported as one, since they overlap.
        returned: Number of cards pushed back.
        plain: The object has no card name.
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
    """One shoe's exit with lamp, deck and camera."""

    def __init__(self, settings: Settings) -> None:
        self._view = ThroatImage(settings, create_camera(settings))
        self._sensor = Sensor(settings)

    def pictures(self, act: Act) -> Iterator[tuple[float, Image | None]]:
        """Yield the pictures of an act, from time 0."""
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
    """Creates acts for one stage, determined by its seed."""

    def __init__(self, settings: Settings) -> None:
        self.chance = Random(f"passages {settings.seed}")
        self.settings = settings
        self.scale = settings.width / THROAT_SIZE[0]

    def _ends(self) -> tuple[Pose, Pose]:
        chance = self.chance
        y = max(-1.5, min(1.5, chance.gauss(0, 0.7)))
        heading = 90 + max(-2.5, min(2.5, chance.gauss(0, 0.9))) + 180 * chance.randrange(2)
        inside = Pose(-_FAR, y, 0.0, heading, FACE)
        return inside, inside._replace(x=_FAR, y=y + chance.uniform(-0.6, 0.6))

    def track(self, start: float, *moves: tuple[float, float, float]) -> CardTrack:
        """A moving card: start, duration and target of each move."""
        inside, outside = self._ends()
        track = CardTrack([Key(start, inside)], self.chance.choice(DECK), None, stays=False)
        for at, seconds, share in moves:
            x = inside.x + (outside.x - inside.x) * share
            y = inside.y + (outside.y - inside.y) * share
            track.move(at, seconds, inside._replace(x=x, y=y))
        return track

    def one(self, low: float = 0.28, high: float = 0.42, *, start: float = 0.24) -> Act:
        """One passing card."""
        seconds = self.chance.uniform(low, high)
        start += self.chance.uniform(0, 0.04)
        track = self.track(start, (start, seconds, 1.0))
        return Act([track], [track.card], seconds=start + seconds + 0.4)

    def pair(self, low: float = 0.35, high: float = 1.2) -> Act:
        """Two cards; the second follows after this share of the first one's duration."""
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
        """One passing card while the pictures are changed."""
        act = self.one()
        act.changes.append(change)
        return act

    def span(self, act: Act, low: float, high: float) -> tuple[float, float]:
        """Return a time span that overlaps or is close to the passage."""
        seconds = self.chance.uniform(low, high)
        begin, end = act.tracks[0].keys[0].at, act.tracks[-1].keys[-1].at
        since = self.chance.uniform(begin - seconds, end)
        act.seconds = max(act.seconds, since + seconds + 0.5)
        return since, since + seconds


def stage_settings(seed: int, width: int) -> Settings:
    """Return the settings for pictures of this width."""
    high = width * 9 // 16
    return Settings(station=Station.THROAT, width=width, height=high, seed=seed, fps=25.0)


def _clean(acts: Acts) -> Act:
    return acts.one()


def _slow(acts: Acts) -> Act:
    return acts.one(0.7, 2.5)


def _fast(acts: Acts) -> Act:
    return acts.one(0.10, 0.22)


def _hurried(acts: Acts) -> Act:
    act = acts.one(0.08, 0.14)
    act.shutter = True
    return act


def _twenty(acts: Acts) -> Act:
    act = acts.one()
    act.fps = 20.0
    return act


def _sixty(acts: Acts) -> Act:
    act = acts.one()
    act.fps = 60.0
    return act


def _double(acts: Acts) -> Act:
    return acts.pair(0.06, 0.14)


def _upon(acts: Acts) -> Act:
    act = acts.pair(0.0, 0.03)
    act.joined = True
    return act


def _behind(acts: Acts) -> Act:
    return acts.pair()


def _rests(acts: Acts) -> Act:
    chance = acts.chance
    share, rest = chance.uniform(0.1, 0.9), chance.uniform(0.2, 3.0)
    track = acts.track(0.3, (0.3, 0.25, share), (0.55 + rest, 0.25, 1.0))
    return Act([track], [track.card], seconds=rest + 1.3)


def _returned(acts: Acts) -> Act:
    share = acts.chance.uniform(0.35, 0.65)
    rest = acts.chance.uniform(0.0, 0.4)
    track = acts.track(0.3, (0.3, 0.25, share), (0.55 + rest, 0.3, 0.0))
    return Act([track], [], seconds=rest + 1.4, returned=1)


def _peeps(acts: Acts) -> Act:
    track = acts.track(0.3, (0.3, 0.3, acts.chance.uniform(0.04, 0.12)), (0.9, 0.3, 0.0))
    return Act([track], [], seconds=1.7)


def _redrawn(acts: Acts) -> Act:
    act = _returned(acts)
    (first,) = act.tracks
    again = acts.track(act.seconds, (act.seconds, 0.34, 1.0))
    again.card = first.card
    act.tracks.append(again)
    act.left, act.seconds = [again.card], act.seconds + 0.9
    return act


def _turned(acts: Acts) -> Act:
    act = acts.one()
    for number, key in enumerate(act.tracks[0].keys):
        act.tracks[0].keys[number] = Key(key.at, key.pose._replace(turn=0.0))
    act.plain = True
    return act


def _askew(acts: Acts) -> Act:
    act = acts.one()
    turn = acts.chance.choice([-1, 1]) * acts.chance.uniform(3, 8)
    for number, key in enumerate(act.tracks[0].keys):
        pose = key.pose._replace(heading=key.pose.heading + turn)
        act.tracks[0].keys[number] = Key(key.at, pose)
    return act


PASSAGES: Final[dict[str, Callable[[Acts], Act]]] = {
    "none": _clean,
    "slow": _slow,
    "fast": _fast,
    "hurried": _hurried,
    "20 a second": _twenty,
    "60 a second": _sixty,
    "double feed": _double,
    "one upon the other": _upon,
    "close behind": _behind,
    "rests half way": _rests,
    "pushed back": _returned,
    "peeps out": _peeps,
    "pushed back, redrawn": _redrawn,
    "back to the camera": _turned,
    "askew": _askew,
}
