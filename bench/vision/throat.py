"""
Cards reported, missed and invented at a shoe's exit, with every kind of disturbance.

    python -m bench.vision.throat --passages 3000

For each disturbance: the number of acts and cards; and of the acts, the share *right* (each card
is named, nothing else reported), *told* (cards are reported as unreadable, or a fault is
reported), and told without need. No act may be *silent* (cards missing without an alert),
*invented* (too many cards without an alert) or *wrong* (a card named that was not drawn).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cv2
from msgspec import Struct

from bench.vision.throat_acts import PASSAGES, Act, Acts, Stage, stage_settings
from bench.vision.throat_disturbances import DISTURBANCES
from drivers import LineError
from drivers.camera.image import VideoFrame
from drivers.camera.line import load_recogniser, make_station
from drivers.camera.messages import Say, Statement, Station
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Profile
from drivers.camera.recognition.card_reader import CardRecogniser
from drivers.camera.sources.capture import FrameCheck
from drivers.simulators.camera.files import write_simulated_profile
from drivers.simulators.camera.settings import Settings

TROUBLES: Final = PASSAGES | DISTURBANCES
_BAD: Final = ("silent", "invented", "wrong")
_COLUMNS: Final = ("acts", "cards", "right", "unreadable", "told", "needless", *_BAD)
_PASSED: Final = (Say.CARD, Say.UNREADABLE)
_AGAIN: Final = 0.5
_WIDTH: Final = 480
"""Picture width: enough for reading, and fast to draw."""


class Told(Struct):
    """The reports about an act."""

    statements: list[Statement] = []
    lost: list[str] = []

    @property
    def passed(self) -> list[Statement]:
        return [each for each in self.statements if each.say in _PASSED]

    @property
    def returned(self) -> int:
        return sum(each.say is Say.RETURNED for each in self.statements)

    def alarm(self, returned: int) -> bool:
        """Return whether a report covers a missing or wrong card."""
        said = Counter(each.say for each in self.statements)
        more = said[Say.RETURNED] > returned
        return bool(self.lost or said[Say.MISSED] or said[Say.DOUBLE_FEED]) or (
            more and bool(said[Say.UNREADABLE])
        )


class Watch:
    """A camera's line without its thread."""

    def __init__(self, profile: Profile, reader: CardRecogniser) -> None:
        self._profile, self._reader = profile, reader
        self._station: Station | None = None
        self._now = self._again = 0.0
        self._number = 0
        self._judge = self._new_judge()

    def _new_judge(self) -> FrameCheck:
        camera = self._profile.camera
        return FrameCheck("camera", (camera.width, camera.height))

    def see(self, stage: Stage, act: Act) -> Told:
        """Read all pictures of an act."""
        told, began = Told(), self._now + 1 / act.fps
        for at, image in stage.pictures(act):
            self._now = began + at
            if image is None or self._now < self._again:
                continue
            self._number += 1
            try:
                told.statements += self._look(VideoFrame(image, self._now, self._number))
            except LineError as error:
                told.lost.append(str(error))
                self._station, self._again = None, self._now + _AGAIN
        return told

    def _look(self, picture: VideoFrame) -> list[Statement]:
        if self._station is None:
            options = CameraOptions(station="throat")
            self._station = make_station(self._profile, options, None, self._reader)
            self._judge = self._new_judge()
        self._judge.check(picture.image, picture.at)
        return self._station.process(picture)


def judged(act: Act, told: Told) -> str:
    """Classify the reports about an act."""
    passed, left = told.passed, list(act.left)
    named = [each.card for each in passed if each.card is not None]
    if (act.plain and named) or not _is_part(named, left):
        return "wrong"
    if told.alarm(act.returned):
        return "told"
    more = len(passed) - len(left) or told.returned - act.returned
    if more < 0 and act.joined and passed:
        return "joined"
    if more:
        return "silent" if more < 0 else "invented"
    return "right" if len(named) == len(left) else "unreadable"


def _is_part(named: list, left: list) -> bool:  # type: ignore[type-arg]
    rest = iter(left)
    return all(any(card is other for other in rest) for card in named)


def _played(
    passages: int, troubles: list[str], seed: int, width: int
) -> Iterator[tuple[str, Act, Told]]:
    number = 0
    while number < passages:
        settings = stage_settings(seed, width)
        yield from _shift(settings, troubles, min(len(troubles) * 4, passages - number))
        number += len(troubles) * 4
        seed += 1


def _shift(settings: Settings, troubles: list[str], many: int) -> Iterator[tuple[str, Act, Told]]:
    """One shoe exit, deck and camera: each disturbance a few times, in random order."""
    with tempfile.TemporaryDirectory() as folder:
        profile = load_profile(write_simulated_profile(settings, Path(folder)))
        stage, maker = Stage(settings), Acts(settings)
        watch = Watch(profile, load_recogniser(profile, None))
        order = (troubles * 4)[:many]
        maker.chance.shuffle(order)
        watch.see(stage, Act(seconds=0.5))
        for trouble in order:
            act = TROUBLES[trouble](maker)
            yield trouble, act, watch.see(stage, act)
            watch.see(stage, Act(seconds=2.2))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.vision.throat")
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=_WIDTH, help="of the pictures")
    parser.add_argument("--trouble", action="append", choices=list(TROUBLES))
    parser.add_argument("--why", action="store_true", help="each act that was not told well")
    wishes = parser.parse_args()
    cv2.setNumThreads(1)
    began = time.process_time()
    counts: dict[str, Counter[str]] = {}
    for trouble, act, told in _played(
        wishes.passages, wishes.trouble or list(TROUBLES), wishes.seed, wishes.width
    ):
        word = judged(act, told)
        count = counts.setdefault(trouble, Counter())
        count.update({"acts": 1, "cards": len(act.left), word: 1})
        named = [each.card for each in told.passed]
        count["needless"] += word == "told" and named == act.left
        if word in _BAD or (wishes.why and word not in {"right", "joined"}):
            print(
                f"  {trouble}: {word}: {' '.join(act.left) or 'nothing'} left; {_said(told)}",
                flush=True,
            )
    _print(counts)
    print(f"{time.process_time() - began:.0f} s of one core")
    return 1 if any(count[bad] for count in counts.values() for bad in _BAD) else 0


def _said(told: Told) -> str:
    words = [
        f"{each.say.value} {each.card or each.best or ''} {each.note or ''}".strip()
        for each in told.statements
    ]
    return "; ".join([*words, *told.lost]) or "nothing said"


def _print(counts: dict[str, Counter[str]]) -> None:
    print(f"{'':24}" + "".join(f"{name:>11}" for name in _COLUMNS))
    whole: Counter[str] = Counter()
    for trouble, count in counts.items():
        whole.update(count)
        print(f"{trouble:24}" + "".join(f"{count[name]:11}" for name in _COLUMNS))
    print(f"{'all':24}" + "".join(f"{whole[name]:11}" for name in _COLUMNS))


if __name__ == "__main__":
    sys.exit(main())
