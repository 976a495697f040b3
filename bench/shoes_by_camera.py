"""
Simulated shoes read by a camera, picture by picture, to the table's events.

    python -m bench.shoes_by_camera --station overhead --shoes 200
    python -m bench.shoes_by_camera --station throat --shoes 200 --out throat.jsonl

The question is whether any round is wrong without a word. Each shoe has a table, lamps, a
camera and a deck of its own, none of which the recogniser's training saw, and troubles:
hands on cards, lamps that go out, a camera that is pushed. A round is *exact* where its
result came as it was dealt; *told* where an irregularity, a gap, a lost camera or a partial
result says that something is wrong; *silent* where a wrong result, or none, came without a
word. `held` are those of the told ones for which the table, with the usual `hold_from = 3`,
waited for a person: he makes the round void before the next one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import cv2
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from drivers.camera.driver import CameraDriver, CameraOptions
from drivers.camera.frames import Judge, Picture
from drivers.camera.line import Station as Watching
from drivers.camera.messages import CameraDecoder, Say, encode_statement
from drivers.camera.profile import Profile, load_profile
from drivers.camera.stations import load_reader, make_station
from drivers.simulators.shoe import DealtRound, Excess, coup_of
from drivers.simulators.table.calibrated import write_simulated_profile
from drivers.simulators.table.scene import Scene, Shot
from drivers.simulators.table.settings import (
    OVERHEAD_TROUBLES,
    THROAT_TROUBLES,
    Settings,
    Station,
)
from drivers.simulators.table.truth import Truth
from drivers.transport import LineError
from shoe_daemon.table import observations as seen
from shoe_daemon.table.event_kinds import HandResult
from shoe_daemon.table.events import (
    Event,
    Irregularity,
    RoundAborted,
    RoundFinished,
    RoundVoided,
)
from shoe_daemon.table.machine import Table
from shoe_daemon.table.options import Options, ResultOn

_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SILENT: Final = 3.0
_AGAIN: Final = 2.0
_QUIET_GAP: Final = 3.0
_HOLDS: Final = 3
_SEES_OUT: Final = 2.5


class Dealt(Struct):
    """
    One round: what was dealt from when on, and what was said of it.
    """

    round: DealtRound
    trouble: str | None
    since: float
    shown: list[RoundFinished] = []
    told: list[str] = []
    severity: int = 0


class Verdict(Struct):
    """
    One shoe.
    """

    seed: int
    rounds: int = 0
    exact: int = 0
    told: int = 0
    held: int = 0
    silent: int = 0
    cards: int = 0
    read: int = 0
    wrong: int = 0
    unreadable: int = 0
    pictures: int = 0
    seconds: float = 0.0
    why: list[str] = []
    troubles: dict[str, list[int]] = {}


class Rig:
    """
    A camera's line and its table, in the time of the pictures.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.options = CameraOptions(station=settings.station.value)
        self.profile: Profile = load_profile(write_simulated_profile(settings, folder))
        self._reader = load_reader(self.profile, None)
        self._decoder = CameraDecoder()
        self._table = Table()
        signals = CameraDriver(self.options).signals
        overhead = settings.station is Station.OVERHEAD
        options = Options(
            signals=signals,
            quiet_gap=_QUIET_GAP,
            hold_from=_HOLDS,
            result_on=ResultOn.CONFIRMED if overhead else ResultOn.COMPLETE,
        )
        self._say(seen.Session(options=options), 0.0)
        self._station: Watching | None = None
        self._judge = self._new_judge()
        self._again = 0.0
        self._last = 0.0
        self.said: Counter[Say] = Counter()
        self.news: list[tuple[float, str | Event]] = []

    def _new_judge(self) -> Judge:
        return Judge("camera", (self.profile.camera.width, self.profile.camera.height))

    def _say(self, observation: seen.Observation, at: float) -> None:
        moment = (_EPOCH + timedelta(seconds=at)).isoformat(timespec="milliseconds")
        stamped = replace(observation, at=moment.replace("+00:00", "Z"))
        found = [(at, event) for event in self._table.apply(stamped)]
        if hasattr(self, "news"):
            self.news += found

    def look(self, shot: Shot, number: int) -> None:
        """
        Take a picture, or none.
        """
        at = shot.at
        try:
            if self._station is None:
                self._open(shot)
            if shot.image is None:
                if at - self._last > _SILENT:
                    raise LineError("no picture")  # noqa: TRY301 - as the line would
                return
            self._last = at
            self._judge.look(shot.image, at)
            station = self._station
            for statement in station.look(Picture(shot.image, at, number)) if station else ():
                self.said[statement.say] += 1
                for frame in self._decoder.feed(encode_statement(statement), at):
                    for observation in frame.observations:
                        self._say(observation, at)
        except LineError as error:
            if self._station is not None:
                self.news.append((at, f"camera lost: {error}"))
                self._say(seen.Link(up=False, detail=str(error)), at)
            self._station, self._again = None, at + _AGAIN

    def _open(self, shot: Shot) -> None:
        if shot.at < self._again or shot.image is None:
            return
        first = not self._last
        self._station = make_station(self.profile, self.options, None, self._reader)
        self._judge, self._last = self._new_judge(), shot.at
        self._say(seen.Link(up=True), shot.at)
        if not first:
            self._say(seen.Gap(detail=seen.GapDetail.RECONNECT), shot.at)

    def decide(self, at: float) -> None:
        """
        Be the person for whom the table waits, before the next round is dealt.
        """
        state = self._table.state
        orders = [seen.Command(name="void_round", operator="bench", reason="not as dealt")]
        if not state.alerts:
            orders = []
        orders += [
            seen.Command(
                name="acknowledge", operator="bench", reason="seen", irregularity=each.data.id
            )
            for each in state.alerts
        ]
        for order in orders:
            if self._table.refusal(order) is None:
                self._say(order, at)

    def wait(self, at: float) -> None:
        """
        Let time pass.
        """
        self._say(seen.Tick(deadline="quiet"), at)


def play(settings: Settings) -> Verdict:
    """
    Play one shoe.
    """
    cv2.setNumThreads(1)
    began = time.process_time()
    verdict = Verdict(settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        rig, scene = Rig(settings, Path(folder)), Scene(settings)
        dealt = _watch(rig, scene, verdict)
    verdict.seconds = time.process_time() - began
    for round_ in dealt:
        _judge(round_, verdict)
    verdict.read = rig.said[Say.PLACED] + rig.said[Say.CARD]
    verdict.unreadable = rig.said[Say.UNREADABLE]
    return verdict


def _watch(rig: Rig, scene: Scene, verdict: Verdict) -> list[Dealt]:
    rounds: list[Dealt] = []
    at = 0.0
    for number, shot in enumerate(_pictures(scene)):
        at = shot.at
        verdict.pictures += shot.image is not None
        playing, truth = scene.playing, shot.truth
        new = playing is not None and (not rounds or rounds[-1].round is not playing)
        if new and playing is not None and (truth.cards or truth.moving or not rounds):
            rig.decide(at - 0.002)
            rounds.append(Dealt(playing, truth.trouble and truth.trouble.value, at))
        rig.look(shot, number)
        if number % 20 == 0:
            rig.wait(at)
    _see_out(rig, scene, at)
    for moment, event in rig.news:
        _note(rounds, moment, event)
    return rounds


def _see_out(rig: Rig, scene: Scene, at: float) -> None:
    """
    Look at the empty table for a moment, and let time pass.
    """
    span = 1 / scene.settings.fps
    for number in range(1, int(_SEES_OUT / span)):
        shot = Shot(scene.empty(), at + number * span, Truth(at + number * span))
        rig.look(shot, 1_000_000 + number)
    rig.wait(at + 4 * _QUIET_GAP)


def _pictures(scene: Scene) -> Iterator[Shot]:
    """
    Give every picture of a table; at the shoe's mouth few of those in which nothing is.
    """
    if scene.settings.station is Station.OVERHEAD:
        yield from scene.frames()
        return
    number, busy = 0, 0.0
    while (shot := scene.shot(number / scene.settings.fps, draw=False)) is not None:
        busy = shot.at if shot.truth.moving or shot.truth.active else busy
        if shot.at - busy < 0.3 or number % 10 == 0:  # a moment after, and now and then
            drawn = scene.shot(shot.at)
            if drawn is not None:
                yield drawn._replace(truth=shot.truth)
        number += 1


def _note(rounds: list[Dealt], at: float, event: str | Event) -> None:
    about = next((each for each in reversed(rounds) if each.since <= at), None)
    if about is None:
        return
    if isinstance(event, str):
        about.told.append(event)
        about.severity = max(about.severity, _HOLDS)
        return
    match event.data:
        case RoundFinished() as finished:
            # A result may come late, when the next round has begun: with it comes its word.
            before = rounds[: rounds.index(about)][-1:]
            if before and not before[0].shown and _same(before[0].round, finished):
                about = before[0]
            about.shown.append(finished)
            if finished.partial:
                about.told.append("partial")
                about.severity = max(about.severity, _HOLDS)
        case RoundAborted(cause=cause):
            about.told.append(f"aborted {cause}")
            about.severity = max(about.severity, _HOLDS)
        case RoundVoided():
            about.shown.clear()
        case Irregularity() as found:
            about.told.append(str(found.kind))
            about.severity = max(about.severity, found.severity)


def _judge(dealt: Dealt, verdict: Verdict) -> None:
    verdict.rounds += 1
    verdict.cards += len(dealt.round.cards) + (dealt.round.excess is not None)
    shown = [each for each in dealt.shown if not each.partial]
    exact = len(shown) == 1 and _same(dealt.round, shown[0])
    if exact:
        verdict.exact += 1
    elif dealt.told:
        verdict.told += 1
        verdict.held += dealt.severity >= _HOLDS
    elif not dealt.shown and dealt.round.aborted:
        verdict.exact += 1  # nothing was to be shown
    else:
        verdict.silent += 1
    counts = verdict.troubles.setdefault(dealt.trouble or "none", [0, 0])
    counts[0] += 1
    counts[1] += exact
    if not exact and not (dealt.round.aborted and not dealt.shown and not dealt.told):
        cards = " ".join(f"{slot}:{card}" for slot, card in dealt.round.cards)
        results = [
            " ".join(f"{hand}={','.join(map(str, each.cards))}" for hand, each in _hands(one))
            for one in dealt.shown
        ]
        verdict.why.append(
            f"round {dealt.round.number} at {dealt.since:.1f} [{dealt.trouble}] dealt {cards}: "
            f"shown {results or 'nothing'}; told {sorted(set(dealt.told)) or 'NOTHING'}"
        )


def _hands(finished: RoundFinished) -> tuple[tuple[str, HandResult], ...]:
    return ("P", finished.player), ("B", finished.banker)


def _same(dealt: DealtRound, finished: RoundFinished) -> bool:
    if dealt.aborted or len(dealt.cards) < 4:
        return False
    coup = coup_of(dealt.cards)
    return (tuple(coup.player.cards), tuple(coup.banker.cards), coup.outcome) == (
        tuple(finished.player.cards),
        tuple(finished.banker.cards),
        finished.outcome,
    )


def _settings(seed: int, wishes: argparse.Namespace) -> Settings:
    overhead = wishes.station == "overhead"
    troubles = OVERHEAD_TROUBLES if overhead else THROAT_TROUBLES
    return Settings(
        station=Station(wishes.station),
        seed=seed,
        shoes=1,
        rounds=wishes.rounds,
        fps=12.5 if overhead else 50.0,
        pause=0.1 if overhead else 0.45,
        troubles=troubles if wishes.trouble_rate else (),
        trouble_rate=wishes.trouble_rate,
        excess=Excess.EITHER if overhead else Excess.BURNED,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.shoes_by_camera")
    parser.add_argument("--station", choices=["overhead", "throat"], default="overhead")
    parser.add_argument("--shoes", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="of each shoe; all without it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trouble-rate", type=float, default=0.15)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a JSON object a shoe, added to this file")
    parser.add_argument("--why", action="store_true", help="each round that is not exact")
    wishes = parser.parse_args()
    wanted = [_settings(wishes.seed + number, wishes) for number in range(wishes.shoes)]
    done: list[Verdict] = []
    with ProcessPoolExecutor(wishes.jobs) as pool:
        for verdict in pool.map(partial(play), wanted):
            done.append(verdict)
            _print(verdict, why=wishes.why)
            if wishes.out:
                with wishes.out.open("ab") as file:
                    file.write(msgspec.json.encode(verdict) + b"\n")
    return _sum_up(wishes.station, done)


def _print(verdict: Verdict, *, why: bool) -> None:
    print(
        f"shoe {verdict.seed}: {verdict.rounds} rounds, {verdict.exact} exact, "
        f"{verdict.told} told ({verdict.held} held), {verdict.silent} silent; "
        f"{verdict.seconds:.0f} s for {verdict.pictures} pictures",
        flush=True,
    )
    for line in verdict.why:
        if why or "NOTHING" in line:
            print(f"    {line}")


def _sum_up(station: str, done: list[Verdict]) -> int:
    rounds, silent = sum(each.rounds for each in done), sum(each.silent for each in done)
    exact, told = sum(each.exact for each in done), sum(each.told for each in done)
    held, cards = sum(each.held for each in done), sum(each.cards for each in done)
    print(f"{station}: {len(done)} shoes, {rounds} rounds, {cards} cards")
    print(f"  exact  {exact:6} {exact / max(1, rounds):7.2%}")
    print(f"  told   {told:6} {told / max(1, rounds):7.2%}, of which held {held}")
    print(f"  silent {silent:6}")
    troubles: dict[str, list[int]] = {}
    for each in done:
        for name, (many, right) in each.troubles.items():
            sums = troubles.setdefault(name, [0, 0])
            sums[0], sums[1] = sums[0] + many, sums[1] + right
    for name, (many, right) in sorted(troubles.items()):
        print(f"    {name:14} {many:5} rounds, {right:5} exact")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
