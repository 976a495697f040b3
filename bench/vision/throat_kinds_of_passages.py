"""Passages of cards at a shoe's exit: slow and fast, two at once, pushed back, turned over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.vision.throat_acts import Act, Acts
from drivers.simulators.camera.animated_round import Key

__all__ = ["PASSAGES"]


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
