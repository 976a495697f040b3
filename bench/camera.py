"""
Processor time, latency and memory of a camera above the table: `python -m bench.camera`.

A simulated table is shown to a simulated camera of 1280x720. The station receives its pictures one
by one; measured is the processor time of one thread, so other programs do not matter. Aims: 30
pictures per second while nothing moves, 15 while a card lands, and 250 ms from a card's rest to
its report.

Baseline on the same pictures: a template matcher by normalised cross-correlation. It gets the true
corners and the faces of the same deck as templates, and always answers. Also measured: the memory
of a daemon with this camera (aim: 250 MB), and with a witness that writes clips too (300 MB),
their processor time, and the time from the start to the first picture.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Final, NamedTuple

import cv2
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bench.harness import (
    percentile,
    process_seconds,
    resident_mb,
    running_daemon,
    wait_for,
)
from drivers.camera.image import Image, VideoFrame
from drivers.camera.line import make_station
from drivers.camera.messages import Say
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.recogniser import Recogniser, crop_window, window_quads
from drivers.simulators.camera.card_images import choose_deck
from drivers.simulators.camera.files import write_simulated_profile
from drivers.simulators.camera.live import RawSender
from drivers.simulators.camera.scene import CardTruth, Scene, Shot
from drivers.simulators.camera.settings import SceneFault, Settings
from drivers.simulators.card_artwork import face
from shoe_daemon.game import DECK, Card
from shoe_daemon.journal import JournalReader

IDLE_AIM: Final = 30
LANDING_AIM: Final = 15
LATE_AIM: Final = 250
MEMORY_AIM: Final = 250
WITNESS_MEMORY_AIM: Final = 300
_WITNESS: Final = '[[witness]]\nreader = "camera"\nafter = 0\n'
_SEARCH: Final = 5
"""Search range of the template matcher in pixels, of 48x96."""

_LANDING: Final = 0.4
"""Time after a card came to rest in which it is read."""

_FED: Final = 20.0
"""Time for which a daemon receives pictures before its memory is read."""


class Cost(NamedTuple):
    """One picture: milliseconds of the station, and whether a card was landing."""

    took: float
    landing: bool


class Score(NamedTuple):
    """One card in one picture, read in both ways: right, wrong or none, and milliseconds."""

    ours: str
    took: float
    matched: str
    matching: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--no-daemon", action="store_true", help="leave the memory out")
    chosen = parser.parse_args()
    cv2.setNumThreads(1)
    settings = Settings(seed=chosen.seed, rounds=chosen.rounds, pause=0.3, turned=0.0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_simulated_profile(settings, folder)
        costs, lates, wrong, scores = watch(settings, folder)
        report(costs, lates, wrong)
        compare(scores)
        if not chosen.no_daemon:
            disputed = replace(settings, faults=(SceneFault.OVERDRAW,), fault_rate=1.0, pause=0.1)
            memory(disputed, folder)


def watch(settings: Settings, folder: Path) -> tuple[list[Cost], list[float], int, list[Score]]:
    """Show all pictures to the station, and read one card per second in both ways."""
    profile = load_profile(folder / "profile.toml")
    station = make_station(profile, CameraOptions(evidence=""), None)
    matcher, reader = Matcher(settings), Recogniser()
    costs: list[Cost] = []
    lates: list[float] = []
    scores: list[Score] = []
    wrong = 0
    for number, shot in enumerate(_shots(settings)):
        if shot.image is None:
            continue
        began = time.thread_time()
        reports = station.process(VideoFrame(shot.image, shot.at, number))
        took = time.thread_time() - began
        costs.append(Cost(took * 1000, _lands(shot)))
        truth = {each.slot: each for each in shot.truth.cards}
        for each in reports:
            if each.say is Say.PLACED:
                lies = truth.get(each.slot)
                wrong += lies is None or lies.card is not each.card
                if lies is not None and not lies.covered:
                    lates.append((shot.at - lies.since + took) * 1000)
        if number % 25 == 0:
            scores += [_score(shot.image, card, reader, matcher) for card in _open(shot)]
    return costs, lates, wrong, scores


def _shots(settings: Settings) -> Iterator[Shot]:
    yield from Scene(settings).frames()


def _lands(shot: Shot) -> bool:
    return any(shot.at - each.since < _LANDING for each in shot.truth.cards)


def _open(shot: Shot) -> list[CardTruth]:
    return [
        each
        for each in shot.truth.cards
        if each.face_up and not each.covered and not each.overlapped and each.since >= 0
    ]


class Matcher:
    """Compares both index windows with those of all cards of the deck."""

    def __init__(self, settings: Settings) -> None:
        deck = choose_deck(settings.seed, settings.deck, 0, 240)
        quad = np.array([(0, 0), (240, 0), (240, 335), (0, 335)], np.float32)
        self._templates: list[tuple[Card, NDArray[np.uint8]]] = []
        for card in DECK:
            drawn = np.asarray(face(card, deck.style, 240), np.uint8)
            quad[2:, 1] = drawn.shape[0]
            patch = crop_window(drawn, window_quads(quad, IndexWindow())[0])
            inner = patch[_SEARCH:-_SEARCH, _SEARCH:-_SEARCH]
            self._templates.append((card, np.ascontiguousarray(inner)))

    def read(self, image: Image, quad: NDArray[np.float32]) -> Card:
        """Return the card whose template fits best at either end."""
        patches = [crop_window(image, window) for window in window_quads(quad, IndexWindow())]
        scores = [
            max(
                float(cv2.matchTemplate(patch, template, cv2.TM_CCOEFF_NORMED).max())
                for patch in patches
            )
            for _, template in self._templates
        ]
        return self._templates[int(np.argmax(scores))][0]


def _score(image: Image, lies: CardTruth, reader: Recogniser, matcher: Matcher) -> Score:
    quad = np.array(lies.quad, np.float32)
    began = time.thread_time()
    ours = reader.read(image, quad).card
    between = time.thread_time()
    theirs = matcher.read(image, quad)
    end = time.thread_time()
    return Score(
        "none" if ours is None else "right" if ours is lies.card else "wrong",
        (between - began) * 1000,
        "right" if theirs is lies.card else "wrong",
        (end - between) * 1000,
    )


def report(costs: list[Cost], lates: list[float], wrong: int) -> None:
    """Print the time per picture, and the latency of cards."""
    print(f"{len(costs)} pictures of 1280x720, one thread; {len(lates)} cards read, {wrong} wrong")
    for name, landing, aim in (
        ("otherwise", False, IDLE_AIM),
        ("a card lands", True, LANDING_AIM),
    ):
        took = [cost.took for cost in costs if cost.landing is landing] or [0.0]
        fps = 1000 / max(mean(took), 1e-9)
        slow = percentile(took, 0.99)
        print(
            f"  {name:<16}{fps:7.0f} pictures a second ({_met(fps >= aim)} {aim}); "
            f"median {median(took):.1f} ms, 99 of 100 within {slow:.0f} ms"
        )
    if lates:
        worst = percentile(lates, 0.95)
        print(
            f"  reported after   {median(lates):7.0f} ms, 95 of 100 within {worst:.0f} ms "
            f"({_met(worst <= LATE_AIM)} {LATE_AIM} ms)"
        )


def compare(scores: list[Score]) -> None:
    """Print both ways of reading side by side."""
    print(f"{len(scores)} cards with true corners")
    for name, words, took in (
        ("recogniser", [each.ours for each in scores], [each.took for each in scores]),
        ("templates", [each.matched for each in scores], [each.matching for each in scores]),
    ):
        counts = ", ".join(f"{words.count(word)} {word}" for word in ("right", "wrong", "none"))
        print(f"  {name:<16}{counts}; {median(took or [0.0]):.1f} ms a card")


def memory(settings: Settings, folder: Path) -> None:
    """Run a daemon with live pictures, without and with a witness, and print what it needs."""
    for witness, aim in (("", MEMORY_AIM), (_WITNESS, WITNESS_MEMORY_AIM)):
        config = folder / "table.toml"
        (folder / "journal.db").unlink(missing_ok=True)
        config.write_text(
            'site = "bench"\n[[reader]]\nid = "camera"\ndriver = "camera"\n'
            f'port = "camera:raw:{folder / "camera.sock"}"\n'
            f'[reader.options]\nprofile = "profile.toml"\n{witness}',
            encoding="utf-8",
        )
        sender = RawSender(folder / "camera.sock")
        first = next(shot.image for shot in _shots(settings) if shot.image is not None)
        began = time.perf_counter()
        with running_daemon(config) as ready:
            first_s = _until_seen(folder / "journal.db", sender, first, began)
            _feed(settings, sender)
            now, peak = resident_mb(ready.process), resident_mb(ready.process, peak=True)
            cpu_s = process_seconds(ready.process)
        sender.close()
        clips = [each.stat().st_size for each in folder.glob("evidence/*.webm")]
        about = f" and a witness with {sum(clips) / 1e6:.1f} MB of clips" if witness else ""
        print(
            f"daemon with this camera{about}: {now:.0f} MB resident, {peak:.0f} MB at most "
            f"({_met(peak <= aim)} {aim} MB), {cpu_s:.1f} s of the processor in {_FED:g} s; "
            f"first picture {first_s:.1f} s after the start"
        )


def _until_seen(journal: Path, sender: RawSender, image: Image, began: float) -> float:
    """Send a picture until the daemon has journaled that its camera works; return the seconds."""

    def seen() -> bool:
        sender.send(image, time.monotonic())
        with JournalReader(journal) as reader:
            return any(each.type == "reader_status" for each in reader.events(0))

    wait_for(seen, "the first picture")
    return time.perf_counter() - began


def _feed(settings: Settings, sender: RawSender) -> None:
    until = time.monotonic() + _FED
    for shot in _shots(settings):
        if time.monotonic() > until:
            return
        if shot.image is not None:
            sender.send(shot.image, shot.at)


def _met(good: bool) -> str:  # noqa: FBT001 - a verdict
    return "aim met:" if good else "aim missed:"


if __name__ == "__main__":
    main()
