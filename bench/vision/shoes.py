"""
Rounds published wrong without an alert, in whole simulated shoes read by a camera.

    python -m bench.vision.shoes --shoes 200 --jobs 2 --out shoes.jsonl
    python -m bench.vision.shoes --station throat --shoes 200 --jobs 2
    python -m bench.vision.shoes --seed 17 --shoes 1 --why    # again

Each shoe has its own table, lamps, camera and deck, none of them seen in training, and faults:
hands on cards, lamps that go out, a pushed camera. A round is *exact* if its result was published
as dealt; *held* if no wrong result was published, and an irregularity, a lost camera or a partial
result asks for staff; *told* if a wrong result was published together with such an alert; *silent*
if a wrong result or none was published, without an alert.

Each finished shoe is appended to `--out` as a line of JSON, and is not played again, so an
interrupted run continues. `--share 2/4` plays the second of four parts.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import cv2
import msgspec
import structlog

from bench.harness import mosquitto
from bench.vision.shoe_camera import BEGIN
from bench.vision.shoe_table import play_shoe
from bench.vision.verdicts import Verdict, judge
from drivers.simulators.camera.settings import (
    OVERHEAD_FAULTS,
    THROAT_FAULTS,
    Settings,
    Station,
)
from drivers.simulators.shoe import Excess

_SHOES_A_PROCESS: Final = 5
_KINDS: Final = ("rounds", "exact", "held", "told", "silent")
_FPS: Final = {Station.OVERHEAD: 10.0, Station.THROAT: 25.0}
_SIZES: Final = {Station.OVERHEAD: (1280, 720), Station.THROAT: (640, 360)}


def play(settings: Settings, wishes: str, port: int) -> Verdict:
    """Play one shoe."""
    cv2.setNumThreads(1)
    only_grave = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=only_grave)
    began = time.process_time()
    verdict = Verdict(settings.station.value, settings.seed, wishes)
    try:
        with tempfile.TemporaryDirectory() as place:
            table = play_shoe(settings, Path(place), port)
            judge(verdict, table.rounds, table.events, BEGIN)
            verdict.pictures = table.film.pictures
    except Exception:  # noqa: BLE001 - one shoe must not end the others
        verdict.failed = traceback.format_exc()
    verdict.seconds = time.process_time() - began
    return verdict


def settings_of(seed: int, wishes: argparse.Namespace) -> Settings:
    """Return the settings for a seed."""
    station = Station(wishes.station)
    overhead = station is Station.OVERHEAD
    width, height = _SIZES[station]
    return Settings(
        station=station,
        width=width,
        height=height,
        seed=seed,
        shoes=1,
        rounds=wishes.rounds,
        fps=_FPS[station],
        pause=0.1 if overhead else 0.2,
        faults=(OVERHEAD_FAULTS if overhead else THROAT_FAULTS) if wishes.trouble_rate else (),
        fault_rate=wishes.trouble_rate,
        excess=Excess.EITHER if overhead else Excess.BURNED,
    )


def main() -> int:
    """Play the shoes; return 1 if any round was silently wrong."""
    wishes = _wishes()
    asked = f"rounds={wishes.rounds} trouble_rate={wishes.trouble_rate}"
    seeds = _seeds(wishes)
    known = {
        verdict.seed: verdict
        for verdict in _read(wishes.out)
        if (verdict.station, verdict.wishes) == (wishes.station, asked) and not verdict.failed
    }
    done = [known[seed] for seed in seeds if seed in known]
    left = [seed for seed in seeds if seed not in known]
    if done:
        print(f"{len(done)} shoes are in {wishes.out} already, {len(left)} are left", flush=True)
    with tempfile.TemporaryDirectory() as place, mosquitto(Path(place)) as port:
        began = time.monotonic()
        for number, verdict in enumerate(_played(left, asked, wishes, port), 1):
            done.append(verdict)
            _keep(wishes.out, verdict)
            _print(verdict, why=wishes.why)
            if number < len(left):
                _progress(number, len(left), time.monotonic() - began)
    return sum_up(wishes.station, done)


def _wishes() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.vision.shoes")
    parser.add_argument("--station", choices=["overhead", "throat"], default="overhead")
    parser.add_argument("--shoes", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="of each shoe; all without it")
    parser.add_argument("--seed", type=int, default=1, help="of the first shoe")
    parser.add_argument("--trouble-rate", type=float, default=0.15)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--share", default="1/1", help="2/4: the second of four parts")
    parser.add_argument("--out", type=Path, help="where each shoe is kept, as a line of JSON")
    parser.add_argument("--why", action="store_true", help="each round that is not exact")
    return parser.parse_args()


def _seeds(wishes: argparse.Namespace) -> list[int]:
    part, _, parts = wishes.share.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        sys.exit(f"--share {wishes.share}: expected such as 2/4")
    whole = range(wishes.seed, wishes.seed + wishes.shoes)
    return list(whole)[int(part) - 1 :: int(parts)]


def _played(
    seeds: list[int], asked: str, wishes: argparse.Namespace, port: int
) -> Iterator[Verdict]:
    if len(seeds) == 1:
        yield play(settings_of(seeds[0], wishes), asked, port)
        return
    # Memory used by many threads in turn is only released when a process ends.
    spawning = multiprocessing.get_context("spawn")
    with spawning.Pool(wishes.jobs, maxtasksperchild=_SHOES_A_PROCESS) as pool:
        play_seed = partial(_play_seed, wishes, asked, port)
        yield from pool.imap_unordered(play_seed, seeds)


def _play_seed(wishes: argparse.Namespace, asked: str, port: int, seed: int) -> Verdict:
    return play(settings_of(seed, wishes), asked, port)


def _read(path: Path | None) -> list[Verdict]:
    if path is None or not path.exists():
        return []
    return [msgspec.json.decode(line, type=Verdict) for line in path.read_bytes().splitlines()]


def _keep(path: Path | None, verdict: Verdict) -> None:
    if path is not None:
        with path.open("ab") as file:
            file.write(msgspec.json.encode(verdict) + b"\n")


def _print(verdict: Verdict, *, why: bool) -> None:
    print(
        f"shoe {verdict.seed}: {verdict.rounds} rounds, {verdict.exact} exact, {verdict.held} "
        f"held, {verdict.told} told, {verdict.silent} silent; {verdict.events} events, "
        f"{verdict.pictures} pictures, {verdict.seconds:.0f} s",
        flush=True,
    )
    for line in verdict.why:
        if why or line.startswith(("told", "silent")):
            print(f"    {line}")
    if verdict.failed:
        print(verdict.failed)


def _progress(number: int, whole: int, took: float) -> None:
    left = took / number * (whole - number)
    print(f"    {number} of {whole} in {took / 60:.0f} min, {left / 60:.0f} min left", flush=True)


def sum_up(station: str, done: list[Verdict]) -> int:
    """Print a summary of all rounds; return 1 if any was silently wrong."""
    done.sort(key=lambda verdict: verdict.seed)
    rounds = sum(each.rounds for each in done)
    seconds = sum(each.seconds for each in done)
    print(
        f"{station}: {len(done)} shoes, {rounds} rounds, {sum(each.cards for each in done)} "
        f"cards, {sum(each.events for each in done)} events; {seconds / max(1, rounds):.2f} s "
        "of the processor a round"
    )
    for kind in _KINDS[1:]:
        count = sum(getattr(each, kind) for each in done)
        print(f"  {kind:7}{count:7} {count / max(1, rounds):8.2%}")
    _print_reasons(done)
    _print_troubles(done)
    return _print_bad(done)


def _print_reasons(done: Iterable[Verdict]) -> None:
    reasons: Counter[str] = Counter()
    for each in done:
        reasons.update(each.reasons)
    print("  what was said of those that are not exact:")
    for name, count in reasons.most_common():
        print(f"    {name:24}{count:6}")


def _print_troubles(done: Iterable[Verdict]) -> None:
    sums: dict[str, Counter[str]] = {}
    for each in done:
        for name, counts in each.troubles.items():
            sums.setdefault(name, Counter()).update(dict(zip(_KINDS, counts, strict=True)))
    print(f"  {'trouble':14}" + "".join(f"{kind:>8}" for kind in _KINDS))
    for name, found in sorted(sums.items()):
        print(f"  {name:14}" + "".join(f"{found[kind]:8}" for kind in _KINDS))


def _print_bad(done: Iterable[Verdict]) -> int:
    silent = [each.seed for each in done if each.silent]
    told = [each.seed for each in done if each.told]
    failed = [each.seed for each in done if each.failed]
    for what, seeds in (
        ("SILENTLY WRONG", silent),
        ("wrong, and told", told),
        ("not played to the end", failed),
    ):
        if seeds:
            print(f"  {what}: seeds {' '.join(map(str, seeds))}")
    if not silent:
        print("  silently wrong: none")
    return 1 if silent or told or failed else 0


if __name__ == "__main__":
    sys.exit(main())
